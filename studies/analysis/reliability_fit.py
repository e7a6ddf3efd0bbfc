"""A monotone map from shares of functions to probabilities, and errors that know of runs."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from studies.problems import Floats

KNOTS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0)  # shares at which the map is stated
EDGES = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 1.001)  # of bins in which functions count alike
MIN_FUNCTIONS = 3.0  # that a level of the map is of, at least
CONTROL = "-shifted"  # of the name of a problem that is another one with its optimum elsewhere


def fit_map(looks: Sequence[dict[str, Any]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Shares and probabilities of the increasing map with the smallest squared error.

    A user's function is one more function, so every function counts alike: the looks at one (and
    its control) that have one tolerance and shares in one bin weigh 1 together. Levels of the
    weighted isotonic regression are joined until each is of MIN_FUNCTIONS functions. No probability
    exceeds its share, so that a tolerance below all that were measured is never promised.
    """
    shares = np.array([look["share"] for look in looks])
    true = np.array([float(look["true"]) for look in looks])
    cells = [
        (look["problem"].removesuffix(CONTROL), look["tolerance"], int(b))
        for look, b in zip(looks, np.digitize(shares, EDGES), strict=True)
    ]
    counts = Counter(cells)
    weights = np.array([1.0 / counts[cell] for cell in cells])
    n_tolerances = len({look["tolerance"] for look in looks})
    centres, levels = isotonic(shares, true, weights, MIN_FUNCTIONS * n_tolerances)
    return KNOTS, tuple(round(min(float(np.interp(k, centres, levels)), k), 3) for k in KNOTS)


def isotonic(x: Floats, y: Floats, weights: Floats, min_weight: float) -> tuple[Floats, Floats]:
    """Centres and levels of the weighted isotonic regression of y on x; equal x have one level."""
    unique, index = np.unique(x, return_inverse=True)
    total = np.bincount(index, weights)
    outcomes = np.bincount(index, weights * y)
    blocks: list[list[float]] = []  # weight, weighted x, weighted y
    for w, at, outcome in zip(total.tolist(), unique.tolist(), outcomes.tolist(), strict=True):
        blocks.append([w, w * at, outcome])
        while len(blocks) > 1 and (
            blocks[-2][2] * blocks[-1][0] >= blocks[-1][2] * blocks[-2][0]
            or blocks[-2][0] < min_weight
        ):
            _join_last(blocks)
    while len(blocks) > 1 and blocks[-1][0] < min_weight:
        _join_last(blocks)
    sums, places, found = np.array(blocks).T
    return places / sums, found / sums


def _join_last(blocks: list[list[float]]) -> None:
    """Make one block of the last two."""
    last = blocks.pop()
    blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]


def clustered_error(residuals: Floats, clusters: Sequence[Hashable]) -> float:
    """The standard error of the mean of residuals (n,) that belong together in clusters."""
    totals: dict[Hashable, float] = {}
    for residual, cluster in zip((residuals - residuals.mean()).tolist(), clusters, strict=True):
        totals[cluster] = totals.get(cluster, 0.0) + residual
    return float(np.sqrt(sum(total**2 for total in totals.values())) / len(residuals))
