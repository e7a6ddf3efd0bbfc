"""Have the chains mixed? R-hat and effective sample sizes, and advice in words.

The quantities do not depend on the signs and labels of components. Both statistics are the
rank-normalised versions of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021, Bayesian
Analysis 16, 667–718). Draws are replaced by the normal scores of their ranks, so heavy tails and
the units of a quantity do not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bktf._typing import Floats
from bktf.axis_kernels import Axis

RHAT_LIMIT = 1.1  # above it a quantity counts as not mixed
MIN_EFFECTIVE = 100  # effective draws below which means and quantiles are rough
MANY_CHAINS = 16  # from which on chains may differ: their average is over many explanations
MIN_BETWEEN = 30  # effective draws at unseen points with which many chains may be trusted
MIN_SHARE = 0.05  # chains disagree where more of the unseen points are above RHAT_LIMIT
OBSERVED, UNSEEN, OTHER = "observed points", "unseen points", "other quantities"
GROUPS = (OBSERVED, UNSEEN, OTHER)  # of quantities


def rank_normalised_rhat(chains: Floats) -> Floats:
    """R-hat of (C, N, …) draws, the larger of two: of locations and, folded, of spreads.

    It is NaN with fewer than four draws per chain and 1 for a quantity that never changes.
    """
    parts = split_chains(chains)
    if parts.shape[1] < 2:
        return np.full(chains.shape[2:], np.nan)
    folded = np.abs(parts - np.median(parts, axis=(0, 1)))
    of_locations = potential_scale_reduction(normal_scores(parts))
    of_spreads = potential_scale_reduction(normal_scores(folded))
    return np.maximum(of_locations, of_spreads)


def split_chains(chains: Floats) -> Floats:
    """Each of the chains (C, N, …) cut in two, (2C, N // 2, …).

    A trend along a chain then counts as a difference between chains.
    """
    half = chains.shape[1] // 2
    return np.concatenate((chains[:, :half], chains[:, chains.shape[1] - half :]), axis=0)


def normal_scores(chains: Floats) -> Floats:
    """Draws (C, N, …) replaced by normal quantiles of their ranks among all chains.

    Ties share their mean rank (eq. 14).
    """
    from scipy.special import ndtri  # not at the top: `import bktf` must not pay for it

    draws = chains.reshape(chains.shape[0] * chains.shape[1], -1)
    count = len(draws)
    order = np.argsort(draws, axis=0, kind="stable")
    ordered = np.take_along_axis(draws, order, axis=0)
    position = np.broadcast_to(np.arange(count)[:, None], ordered.shape)
    rises = ordered[1:] != ordered[:-1]
    edge = np.ones((1, ordered.shape[1]), dtype=bool)
    # First and last position of the draws that are tied with each draw.
    starts = np.where(np.concatenate((edge, rises)), position, 0)
    first = np.maximum.accumulate(starts, axis=0)
    ends = np.where(np.concatenate((rises, edge)), position, count - 1)
    last = np.minimum.accumulate(ends[::-1], axis=0)[::-1]
    ranks = np.empty_like(draws)
    np.put_along_axis(ranks, order, 1.0 + 0.5 * (first + last), axis=0)
    return np.asarray(ndtri((ranks - 0.375) / (count + 0.25))).reshape(chains.shape)


def potential_scale_reduction(parts: Floats) -> Floats:
    """Square root of pooled against within-chain variance of (C, N, …) draws (eq. 1–4)."""
    n = parts.shape[1]
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.sqrt((n - 1) / n + between / within)
    return np.where((within == 0) & (between == 0), 1.0, ratio)


def effective_sample_size(chains: Floats) -> Floats:
    """Effective number of independent draws in (C, N, …), for the bulk of the distribution.

    It comes from the autocorrelations of the rank-normalised split chains. Pairs of lags are
    summed while they are positive, made monotone (Geyer's initial sequence; eq. 10–13).
    """
    parts = split_chains(chains)
    n_parts, n = parts.shape[:2]
    if n < 2:
        return np.full(chains.shape[2:], np.nan)
    parts = normal_scores(parts)
    centred = parts - parts.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    autocovariance = np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=1)[:, :n] / n
    within = autocovariance[:, 0].mean(axis=0) * n / (n - 1)
    pooled = within * (n - 1) / n + parts.mean(axis=1).var(axis=0, ddof=1)
    flat = pooled <= 0
    correlation = 1.0 - (within - autocovariance.mean(axis=0)) / np.where(flat, 1.0, pooled)
    correlation[0] = 1.0
    n_pairs = n // 2
    pairs = correlation[: 2 * n_pairs].reshape(n_pairs, 2, *correlation.shape[1:]).sum(axis=1)
    is_positive = np.minimum.accumulate(pairs, axis=0) > 0
    pairs = np.minimum.accumulate(np.where(is_positive, pairs, 0.0), axis=0)
    total = n_parts * n
    time = np.maximum(2.0 * pairs.sum(axis=0) - 1.0, 1.0 / np.log10(total))
    return np.where(flat, float(total), total / time)


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """R-hat (1 is mixed, above 1.1 is not) and effective sample size of each quantity.

    Print it for a summary.
    """

    names: tuple[str, ...]
    rhat: Floats
    ess: Floats
    groups: tuple[str, ...]  # of each quantity: one of GROUPS
    n_chains: int
    unseen: Floats  # (U, D) points of the quantities of the group UNSEEN, in their order

    def count_above(self, group: str) -> tuple[int, int]:
        """How many quantities of a group have R-hat above RHAT_LIMIT, and how many there are."""
        members = np.array([g == group for g in self.groups])
        return int(np.sum(self.rhat[members] > RHAT_LIMIT)), int(np.sum(members))

    @property
    def advice(self) -> str:
        """What the figures mean and what to do."""
        if np.all(np.isnan(self.rhat)):
            return "too few draws to tell: R-hat needs at least four per chain. Raise n_sweeps"
        above, asked = self.count_above(UNSEEN)
        if above > MIN_SHARE * asked:
            members = np.array([g == UNSEEN for g in self.groups])
            effective = float(np.median(self.ess[members]))
            if self.n_chains >= MANY_CHAINS and effective >= MIN_BETWEEN:
                return (
                    "The chains are many and short, and each holds an explanation of its own. "
                    f"Together they count as about {effective:.0f} independent draws at unseen "
                    "points: mean and std may be trusted to that precision. For more, raise "
                    "n_chains"
                )
            lower_bound = "Treat std at unseen points as a lower bound"
            if self.n_chains == 1:
                return (
                    "The chain has not settled at unseen points: its first and second half "
                    f"describe different surfaces. Use several chains (n_chains=4) and run longer "
                    f"(n_sweeps). {lower_bound}"
                )
            return (
                "The chains disagree at unseen points: draws of different chains describe "
                "different surfaces. Keep several chains (n_chains), so that their average covers "
                f"them, and run longer (n_sweeps). {lower_bound}"
            )
        if np.any(self.rhat > RHAT_LIMIT):
            more = "run longer (n_sweeps) or use more chains (n_chains)"
            return f"Some quantities have not mixed: {more}"
        verdict = "No sign of poor mixing"
        if np.min(self.ess) < MIN_EFFECTIVE:
            few = f"some quantity has only {np.min(self.ess):.0f} effective draws"
            verdict += f", but {few}: run longer (n_sweeps)"
        if self.n_chains == 1:
            several = "use several (n_chains=4) to see whether they agree"
            verdict += f". One chain cannot show what it never reached: {several}"
        return verdict

    def __str__(self) -> str:
        """The worst quantities, how many are above the limit, and advice."""
        worst = np.argsort(-np.nan_to_num(self.rhat, nan=np.inf))[:5]
        width = max(len(self.names[i]) for i in worst)
        lines = [f"{'quantity':{width}s}  R-hat  effective draws"]
        lines += [
            f"{self.names[i]:{width}s}  {self.rhat[i]:5.2f}  {self.ess[i]:15.0f}" for i in worst
        ]
        if not np.all(np.isnan(self.rhat)):
            counts = [(*self.count_above(group), group) for group in GROUPS if group in self.groups]
            lines.append(
                f"R-hat above {RHAT_LIMIT}: "
                + ", ".join(f"{above} of {asked} {group}" for above, asked, group in counts)
            )
        return "\n".join([*lines, self.advice])


def diagnose(
    quantities: dict[str, Floats],
    n_chains: int,
    groups: Sequence[str] | None = None,
    unseen: Floats | None = None,
) -> Diagnostics:
    """Diagnostics of draws (K,), chain after chain, by name.

    `groups` as in `Diagnostics`, by default all OTHER.
    """
    stacked = np.stack(list(quantities.values()), axis=1)
    largest = np.abs(stacked).max(axis=0)
    # Scaled, so that distances from the median of values near 1e308 do not overflow.
    stacked = stacked / np.where(largest > 0, largest, 1.0)
    chains = stacked.reshape(n_chains, -1, stacked.shape[1])
    return Diagnostics(
        names=tuple(quantities),
        rhat=rank_normalised_rhat(chains),
        ess=effective_sample_size(chains),
        groups=(OTHER,) * len(quantities) if groups is None else tuple(groups),
        n_chains=n_chains,
        unseen=np.empty((0, 0)) if unseen is None else unseen,
    )


def random_unseen_cells(
    grid: Sequence[Axis], observed: Floats, n_cells: int, rng: np.random.Generator
) -> Floats:
    """Up to n_cells random cells of a grid that are none of the observed points (n, D), (U, D)."""
    # More than are needed: some are observed or repeated.
    drawn = rng.integers(0, [axis.size for axis in grid], (4 * n_cells, len(grid)))
    known = np.stack([axis.locate(observed[:, d]) for d, axis in enumerate(grid)], axis=1)
    _, first = np.unique(np.concatenate((known, drawn)), axis=0, return_index=True)
    cells = drawn[np.sort(first[first >= len(known)] - len(known))[:n_cells]]
    return np.stack([axis.points[cells[:, d]] for d, axis in enumerate(grid)], axis=1)
