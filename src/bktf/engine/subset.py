"""Which observations a Gaussian process sees when there are more than its cubic cost allows.

    the best        where the optimum is looked for
    the latest      what the search learned last
    the nearest     to the incumbents, so that the model is exact there
    the rest        far from each other, so that no region looks unexplored

docs/model_choices.md has the shares and what they cost.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

BEST_SHARE, LATEST_SHARE, NEAREST_SHARE = 0.4, 0.15, 0.2  # of the subset; the rest fills the space
N_INCUMBENTS = 4  # best observations whose neighbours are kept


def choose_subset(coordinates: Floats, on_levels: Flags, values: Floats, size: int) -> Ints:
    """Indices (size,) of the observations to keep, in their order; all where there are no more.

    coordinates (n, D) are scaled to [0, 1], in the order of the trials; values (n,): larger is
    better.
    """
    n = len(values)
    if n <= size:
        return np.arange(n)

    def distances_from(indices: list[int]) -> Floats:
        """The distance (n,) of each observation to the nearest of some."""
        each = [_distances(coordinates, on_levels, i) for i in indices]
        return np.asarray(np.min(each, axis=0))

    best_first = np.argsort(-values, kind="stable")
    kept = np.zeros(n, dtype=bool)
    kept[best_first[: round(BEST_SHARE * size)]] = True
    kept[n - round(LATEST_SHARE * size) :] = True
    to_incumbents = distances_from(best_first[:N_INCUMBENTS].tolist())
    near_first = np.argsort(np.where(kept, np.inf, to_incumbents), kind="stable")
    kept[near_first[: round(NEAREST_SHARE * size)]] = True
    to_kept = distances_from(np.flatnonzero(kept).tolist())
    while kept.sum() < size:  # ends: each round keeps one more of n > size
        farthest = int(np.argmax(np.where(kept, -1.0, to_kept)))
        kept[farthest] = True
        to_kept = np.minimum(to_kept, _distances(coordinates, on_levels, farthest))
    return np.flatnonzero(kept)


def _distances(coordinates: Floats, on_levels: Flags, i: int) -> Floats:
    """Euclidean distances (n,) to observation i; two different levels have the distance 1."""
    difference = np.abs(coordinates - coordinates[i])
    along_axes = np.where(on_levels, difference > 0, difference)
    return np.asarray(np.sqrt((along_axes**2).sum(axis=1)))
