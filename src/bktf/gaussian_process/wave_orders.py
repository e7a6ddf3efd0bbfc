"""On which axes each random wave varies: drawn order by order, where the order counts axes.

The kernel is Π_d (a_d + (1 − a_d)·M_d), with a_d the probability that a wave does not vary along
axis d. Often a_d is near 1. Then nearly all waves of independent draws are constant or vary along
one axis, and few vary along two. But data determine constants and main effects first, so what
remains unknown is interactions, carried by rare large waves. So each order has waves of its own,
more than its share of the variance, and their variance is smaller by as much. Mean and covariance
are the same for every division, and f at a point stays exactly normal.
"""

import numpy as np

from bktf._typing import Bools, Floats, Ints

MIN_SHARE = 1e-12  # of the prior variance; an order with less is left out
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
