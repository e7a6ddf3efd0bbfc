"""On which axes random waves vary, and how fast: what data leave open has waves enough.

Axes are drawn order by order, where the order counts the axes that a wave varies along.

The kernel is Π_d (a_d + (1 − a_d)·M_d), with a_d the probability that a wave does not vary along
axis d. Often a_d is near 1. Then nearly all waves of independent draws are constant or vary along
one axis, and few vary along two. But data determine constants and main effects first, so what
remains unknown is interactions, carried by rare large waves. So each order has waves of its own,
more than its share of the variance, and their variance is smaller by as much. Mean and covariance
are the same for every division.

Frequencies are drawn in the same spirit. Data determine slow waves, so what remains unknown near
them is fast ones, which are rare in the spectrum of the kernel. So half of the waves have, along
one of their axes, a frequency with the tails of a Cauchy distribution. Their variance is smaller by
the ratio of the densities, which is at most 2. Without it, values of paths between close
observations had a kurtosis of up to a thousand; now it is near that of a normal distribution.
"""

import math

import numpy as np

from bktf._typing import Bools, Floats, Ints

MIN_SHARE = 1e-12  # of the prior variance; an order with less is left out
HEAVY_SHARE = 0.5  # of waves that have one frequency with heavier tails
FLATNESS = 0.125  # waves of an order are as many as its share of the variance to this power


def draw_subsets(
    absent: Floats, draws: Ints, n_waves: int, rng: np.random.Generator
) -> tuple[Bools, Floats]:
    """Which axes are absent from each wave, (N, F, A), and its share of the variance, (N, F).

    absent (K, A): the probability, of each draw of the parameters; draws (N,): that of each path.
    """
    n_axes = absent.shape[1]
    left = _orders_left(1.0 - absent)  # (K, A + 1, A + 1)
    shares = left[:, 0]  # (K, A + 1) of each order
    counts = np.array([_counts(row, n_waves) for row in shares])
    if (counts < 0).any():  # too few waves for every order: independent draws
        is_absent = rng.random((len(draws), n_waves, n_axes)) < absent[draws][:, None]
        return is_absent, np.full((len(draws), n_waves), 1.0 / max(n_waves, 1))
    orders = np.array([np.repeat(np.arange(n_axes + 1), row) for row in counts])  # (K, F)
    of_waves = np.take_along_axis(shares / np.maximum(counts, 1), orders, axis=1)
    of_waves /= of_waves.sum(axis=1, keepdims=True)
    remaining = orders[draws].copy()
    is_absent = np.empty((len(draws), n_waves, n_axes), dtype=bool)
    rows = draws[:, None]
    for a in range(n_axes):
        # P(axis a varies, given how many of the axes from a on do)
        present = (1.0 - absent[draws, a])[:, None] * left[rows, a + 1, remaining - 1]
        is_present = rng.random(remaining.shape) * left[rows, a, remaining] < present
        is_present &= remaining > 0
        remaining -= is_present
        is_absent[:, :, a] = ~is_present
    return is_absent, of_waves[draws]


def draw_frequencies(varies: Bools, dof: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Frequencies of waves over the inverse length-scales, (N, F, A), and their weights (N, F).

    varies (N, F, A): the ordered axes along which each wave varies. With the weights, the spectrum
    of the waves is a t distribution with `dof` degrees of freedom along each axis.
    """
    drawn = rng.standard_t(dof, varies.shape)
    n_varying = varies.sum(axis=2)
    is_heavy = (rng.random(n_varying.shape) < HEAVY_SHARE) & (n_varying > 0)
    # One of the varying axes: the first whose count reaches a random number of them
    wanted = np.floor(rng.random(n_varying.shape) * np.maximum(n_varying, 1)) + 1
    chosen = (np.cumsum(varies, axis=2) >= wanted[:, :, None]).argmax(axis=2)[:, :, None]
    cauchy = rng.standard_cauchy(n_varying.shape)[:, :, None]
    own = np.take_along_axis(drawn, chosen, axis=2)
    np.put_along_axis(drawn, chosen, np.where(is_heavy[:, :, None], cauchy, own), axis=2)
    ratios = np.where(varies, _cauchy_over_t(drawn, dof), 0.0).sum(axis=2)
    mean_ratio = np.where(n_varying > 0, ratios / np.maximum(n_varying, 1), 1.0)
    return drawn, 1.0 / (1.0 - HEAVY_SHARE + HEAVY_SHARE * mean_ratio)


def _cauchy_over_t(x: Floats, dof: float) -> Floats:
    """The ratio of the densities of a Cauchy and of a t distribution."""
    log_t = math.lgamma((dof + 1) / 2) - math.lgamma(dof / 2) - 0.5 * math.log(dof * math.pi)
    log_ratio = 0.5 * (dof + 1) * np.log1p(x * x / dof) - np.log1p(x * x) - math.log(math.pi)
    return np.asarray(np.exp(log_ratio - log_t))


def _orders_left(present: Floats) -> Floats:
    """P(j of the axes a, a + 1, … vary), (K, A + 1, A + 1), from the probability of each (K, A)."""
    n_draws, n_axes = present.shape
    left = np.zeros((n_draws, n_axes + 1, n_axes + 1))
    left[:, n_axes, 0] = 1.0
    for a in range(n_axes - 1, -1, -1):
        p = present[:, a, None]
        left[:, a] = (1.0 - p) * left[:, a + 1]
        left[:, a, 1:] += p * left[:, a + 1, :-1]
    return left


def _counts(shares: Floats, n_waves: int) -> Ints:
    """How many waves each order has, (A + 1,); −1 where there are too few waves.

    The constant is a single number, so one wave is enough for it.
    """
    is_used = shares > MIN_SHARE
    if is_used.sum() > n_waves:
        return np.full(shares.size, -1)
    counts = is_used.astype(np.int64)
    weights = np.where(is_used, shares, 0.0) ** FLATNESS
    weights[0] = 0.0
    n_left = n_waves - int(counts.sum())
    if not weights.any():
        weights[0] = 1.0
    exact = n_left * weights / weights.sum()
    counts += np.floor(exact).astype(np.int64)
    order = np.argsort(-(exact - np.floor(exact)), kind="stable")
    counts[order[: n_waves - int(counts.sum())]] += 1
    return counts
