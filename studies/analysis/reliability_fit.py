"""A monotone map from stated shares to probabilities, and errors that know of runs."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from studies.problems import Floats

KNOTS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0)  # shares at which the map is stated
MIN_LOOKS = 20  # looks that a level of the map is of, at least


def fit_map(
    looks: Sequence[dict[str, Any]],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Shares and probabilities of the increasing map with the smallest squared error.

    Levels of isotonic regression are joined until each is of MIN_LOOKS looks; the map is stated at
    a few shares.
    """
    shares = np.array([look["share"] for look in looks])
    true = np.array([float(look["true"]) for look in looks])
    order = np.argsort(shares, kind="stable")
    centres, levels = pool_adjacent(shares[order], true[order])
    return KNOTS, tuple(round(float(np.interp(k, centres, levels)), 3) for k in KNOTS)


def pool_adjacent(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The centres and levels of an isotonic regression of y on increasing x."""
    blocks: list[list[float]] = []  # count, sum of x, sum of y
    for value, outcome in zip(x.tolist(), y.tolist(), strict=True):
        blocks.append([1.0, value, outcome])
        while len(blocks) > 1 and (
            blocks[-2][2] * blocks[-1][0] >= blocks[-1][2] * blocks[-2][0]
            or blocks[-2][0] < MIN_LOOKS
        ):
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    counts, sums, outcomes = np.array(blocks).T
    return sums / counts, outcomes / counts


def clustered_error(residuals: Floats, clusters: Sequence[Hashable]) -> float:
    """The standard error of the mean of residuals (n,) that belong together in clusters."""
    totals: dict[Hashable, float] = {}
    for residual, cluster in zip((residuals - residuals.mean()).tolist(), clusters, strict=True):
        totals[cluster] = totals.get(cluster, 0.0) + residual
    return float(np.sqrt(sum(total**2 for total in totals.values())) / len(residuals))
