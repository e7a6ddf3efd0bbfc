"""Leave-one-out checks: how well the model predicts what it has not seen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bktf._typing import Bools, Floats, Ints
from bktf.analysis.left_out_draws import left_out_draws
from bktf.analysis.normal_mixture import NormalMixture
from bktf.analysis.pareto_smoothing import smooth_weights
from bktf.gaussian_process import ProcessDraws
from bktf.surrogate import Posterior, RankPosterior, fit_model

MAX_PARETO_K = 0.7  # of weights that are trusted; less with few draws, see `max_pareto_k`
LEVELS = (0.5, 0.9)  # of the intervals that summaries look at
FALSE_ALARM = 0.05  # probability that a calibrated model is called too narrow or too wide


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Predictions of each observation (noise included) from all the others, in the units of y.

    Print it for a summary.
    """

    index: Ints  # (n,) which observations were left out
    y: Floats  # (n,) what was observed there
    mean: Floats  # (n,) predictive mean
    std: Floats  # (n,) predictive standard deviation
    log_density: Floats  # (n,) log predictive density of y
    pit: Floats  # (n,) predictive distribution function at y; uniform where the model is calibrated
    spread: float  # standard deviation of all observations, to compare errors with
    crps: Floats  # (n,) continuous ranked probability score: an error, like |y − mean|; 0 is best
    pareto_k: Floats  # (n,) how heavy the tail of the weights is; NaN without weights, or with few
    was_refitted: Bools  # (n,) the prediction is of a fit without the observation
    max_pareto_k: float  # above it, and where k is NaN, weights are not trusted

    def coverage(self, level: float) -> float:
        """Share of observations inside their central predictive interval of this level."""
        if not 0 <= level <= 1:
            raise ValueError(f"level must lie in [0, 1]; got {level!r}")
        return float(np.mean(np.abs(self.pit - 0.5) <= level / 2))

    @property
    def is_rough(self) -> Bools:
        """Predictions by weights that are not trusted, and that were not refitted either, (n,)."""
        return ~self.was_refitted & ~(self.pareto_k <= self.max_pareto_k)

    @property
    def calibration(self) -> str:
        """Whether the predictive intervals hold as many observations as they should, in words.

        The rule is an exact binomial test. If the model is calibrated, the number of observations
        inside their 90 % intervals is binomial with probability 0.9. Intervals are too narrow where
        so few inside, or fewer, have a probability below 1.25 %, and too wide where so many, or
        more, have one. The same goes for the 50 % intervals, so a calibrated model fails one of
        the four comparisons in at most 5 % of cases. The test is rough: predictions that share
        observations are not independent.
        """
        n = len(self.y)
        found = []
        for level in reversed(LEVELS):
            inside = round(n * self.coverage(level))
            low, high = allowed_counts(n, level, FALSE_ALARM / (2 * len(LEVELS)))
            if not low <= inside <= high:
                found.append(
                    f"too {'narrow' if inside < low else 'wide'}: the {percent(level)} intervals "
                    f"hold {percent(inside / n)} of {n} observations; chance allows "
                    f"{percent(low / n)} to {percent(high / n)}"
                )
        if found:
            return "; ".join(found)
        half, most = (percent(self.coverage(level)) for level in LEVELS)
        return (
            f"the 90 % intervals hold {most} and the 50 % intervals {half} of {n} observations: "
            "within what chance allows"
        )

    def __str__(self) -> str:
        """Errors, scores, coverage, calibration and how it was computed, a line each."""
        errors = self.y - self.mean
        largest = float(np.abs(errors).max()) or 1.0
        error = largest * math.sqrt(float(np.mean((errors / largest) ** 2)))
        errors_line = f"root mean square error {error:.4g} (spread of y {self.spread:.4g})"
        worst = float(self.crps.max()) or 1.0
        crps = worst * float(np.mean(self.crps / worst))  # the sum may overflow
        half, most = (percent(self.coverage(level)) for level in LEVELS)
        lines = [
            f"leave-one-out over {len(self.y)} observations: {errors_line}",
            f"mean log predictive density {self.log_density.mean():.4g}, mean CRPS {crps:.4g}",
            f"coverage of the 50 % interval {half}, of the 90 % interval {most}",
            f"calibration: {self.calibration}",
            f"{self.was_refitted.sum()} of {len(self.y)} observations were left out by a refit",
        ]
        if self.is_rough.any():
            lines.append(
                f"{self.is_rough.sum()} predictions are rough: Pareto k of their weights is above "
                f"{self.max_pareto_k:.2f} or unknown, and they were not refitted"
            )
        return "\n".join(lines)


def leave_one_out(
    posterior: Posterior, *, index: Sequence[int] | None = None, refit: bool | None = None
) -> LeaveOneOut:
    """Predict each observation from the others, and compare.

    At infinite rank the prediction given a draw's parameters has a closed form. Draws are weighted
    by 1 / p(y_i | the others), because they knew y_i, and the weights are Pareto-smoothed.
    Observations whose weights have too heavy a tail are refitted; more draws leave fewer of them.
    At finite rank weights would be wrong: without a point, a chain may be in another mode. So all
    observations are refitted there.

    Args:
        posterior: a fit of one rank. What it knows besides its observations, such as earlier
            campaigns, stays; such a fit cannot be refitted, and `is_rough` says where that matters.
        index: restricts the check to some observations.
        refit: True: leave out every observation by a fit without it, with the settings of the fit.
            False: never refit; infinite rank only. None: as above.
    """
    left_out = _check_index(posterior, index)
    if refit is not None and not isinstance(refit, bool | np.bool_):
        raise ValueError(f"refit must be True, False or None; got {refit!r}")
    has_closed_form = isinstance(posterior.draws, ProcessDraws)
    if not has_closed_form and refit is not None and not refit:
        raise ValueError(
            "refit=False needs a closed form, which there is at infinite rank only; the posterior "
            f"is of rank {posterior.rank}. Leave refit out, or fit with rank=math.inf"
        )
    # All, unless a closed form says otherwise
    was_refitted, pareto_k = np.ones(left_out.size, dtype=bool), np.full(left_out.size, np.nan)
    rows, limit = np.empty((left_out.size, 5)), max_pareto_k(posterior.n_draws)
    if has_closed_form and not refit:
        rows, pareto_k = _predict_in_closed_form(posterior, left_out)
        can_refit = refit is None and not _knows_more(posterior)
        was_refitted = ~(pareto_k <= limit) & can_refit
    elif _knows_more(posterior):
        raise ValueError(
            "leave_one_out refits the observations that a posterior shows; this one also knows "
            "earlier campaigns or descriptors of categories. Fit without them to check the rest, "
            "or leave refit=True out"
        )
    for j in np.flatnonzero(was_refitted):
        rows[j] = _predict_by_refit(posterior, int(left_out[j]))
    mean, std, log_density, pit, crps = rows.T.copy()
    return LeaveOneOut(
        index=left_out,
        y=posterior.y[left_out],
        mean=mean,
        std=std,
        log_density=log_density,
        pit=pit,
        spread=posterior.standardisation.scale,
        crps=crps,
        pareto_k=pareto_k,
        was_refitted=was_refitted,
        max_pareto_k=limit,
    )


def max_pareto_k(n_draws: int) -> float:
    """The largest k with which weights of so many draws are trusted: min(0.7, 1 − 1 / log₁₀ K).

    The rule is that of Vehtari et al. (2024): with k near 0.7 an average needs some 2,000 draws.
    A default fit has 32. With 0.7 its log densities came out 0.04 to 0.13 nats too high per
    observation; with 0.34, which is the rule, 0.02 to 0.04. Those of refits with 32 draws are 0.01
    to 0.10 too low. The price is that about half of the observations are refitted; with 160 draws
    it is 9 to 34 %. With fewer than 21 draws k cannot be estimated, and all are refitted. (Four
    data sets of 12 to 18 observations, 60 seeds each, against refits of 9,600 draws.)
    """
    if n_draws < 2:
        return -math.inf
    return min(MAX_PARETO_K, 1.0 - 1.0 / math.log10(n_draws))


def allowed_counts(n: int, level: float, tail: float) -> tuple[int, int]:
    """Smallest and largest count of a binomial variable whose tails are at least `tail` each."""
    from scipy.special import bdtr  # heavy, and only needed here

    at_most = bdtr(np.arange(n + 1), n, level)  # P(count ≤ j), (n + 1,)
    at_least = np.append(1.0, 1.0 - at_most[:-1])
    allowed = np.flatnonzero((at_most >= tail) & (at_least >= tail))
    return int(allowed[0]), int(allowed[-1])


def percent(share: float) -> str:
    """A share as a percentage without decimals."""
    return f"{100 * share:.0f} %"


def _check_index(posterior: Posterior, index: Sequence[int] | None) -> Ints:
    """The observations to leave out; refuses posteriors that nothing can be left out of."""
    if not isinstance(posterior, Posterior):
        raise ValueError(f"leave_one_out takes a bktf.Posterior; got {type(posterior).__name__}")
    if isinstance(posterior, RankPosterior):
        raise ValueError(
            'leave_one_out refits one rank; the posterior is of rank="auto". Fit the rank that you '
            "want to check, as in bktf.fit(…, rank=2)"
        )
    n = len(posterior.y)
    if n < 2:
        raise ValueError(f"leave_one_out needs at least 2 observations; the posterior has {n}")
    left_out = np.arange(n) if index is None else np.asarray(index)
    is_list = np.issubdtype(left_out.dtype, np.integer) and left_out.ndim == 1 and left_out.size
    if not is_list or left_out.min() < 0 or left_out.max() >= n:
        raise ValueError(f"index must list observations among 0 … {n - 1}; got {index!r}")
    return left_out.astype(np.int64)


def _knows_more(posterior: Posterior) -> bool:
    """Whether a posterior knows earlier campaigns or descriptors, which a refit would not."""
    process = posterior.draws.process
    return process is not None and bool(process.context.size or process.descriptors)


def _predict_in_closed_form(posterior: Posterior, left_out: Ints) -> tuple[Floats, Floats]:
    """The rows of `_score` by weighted draws, (n, 5), and Pareto k, (n,)."""
    process = posterior.draws.process
    assert process is not None
    draws = left_out_draws(posterior, process)
    weights, pareto_k = smooth_weights(draws.log_weights[:, left_out])
    mixture = NormalMixture(weights, draws.mean[:, left_out], np.sqrt(draws.variance[:, left_out]))
    return _score(mixture, posterior.y[left_out], posterior), pareto_k


def _predict_by_refit(posterior: Posterior, i: int) -> Floats:
    """The row of `_score` by a fit without observation i, (5,)."""
    X, y = np.delete(posterior.X, i, axis=0), np.delete(posterior.y, i)
    refit = fit_model(posterior.spec, posterior.axes, X, y, posterior.seed)
    mean, variance = refit.draws.moments_by_draw(posterior.X[i : i + 1])
    std = np.sqrt(variance + 1.0 / refit.noise_precision[:, None])
    mixture = NormalMixture(np.full(mean.shape, 1.0 / len(mean)), mean, std)
    return np.asarray(_score(mixture, posterior.y[i : i + 1], refit)[0])


def _score(mixture: NormalMixture, y: Floats, fit: Posterior) -> Floats:
    """Mean, deviation, log density, distribution function and CRPS at y, (n, 5), in units of y.

    The mixture is in the units of the fit.
    """
    units = fit.standardisation
    z, (mean, std) = units.to_model(y), mixture.moments()
    log_density = mixture.log_density(z) - math.log(units.scale)
    return np.column_stack(
        (
            units.to_user(mean),
            units.scale * std,
            log_density,
            mixture.distribution(z),
            units.scale * mixture.crps(z),
        )
    )
