"""Which observations the surrogate sees: outliers count as failed, and a process sees a subset.

An outlier is so much worse than all other values that no smooth function explains it. It is an
accident, or a penalty for what may not be tried. One of them takes up the whole scale of the
z-scores, and as noise it hides everything else. A value is an outlier where both hold:

    gap         its distance to the best is more than GAP times that of the next better value, and
                at most MAX_SHARE of the values are as bad
    steepness   from every usual point, near or far, it rises more than STEEPNESS times as steeply
                as any two usual points differ

A large value of a steep function fails the second condition and stays: it is information. An
outlier counts as a failed trial, so its neighbourhood becomes less attractive, and an accident
costs no more than a NaN would have.

Of more observations than its cubic cost allows, a Gaussian process sees

    the best        where the optimum is looked for
    the latest      what the search learned last
    the nearest     to the incumbents, so that the model is exact there
    the rest        far from each other, so that no region looks unexplored

docs/model_choices.md has the shares and what they cost.
"""

import numpy as np

from bktf._typing import Bools, Floats, Ints

GAP = 50.0
MAX_SHARE = 0.25  # of all values: a plateau of bad ones is a part of the function
STEEPNESS = 20.0
MIN_USUAL = 5  # values that must remain for comparison
MIN_DISTANCE = 0.02  # of an axis: between nearer points noise alone looks steep
MAX_COMPARED = 1000  # usual points, the latest, that are compared with each other

BEST_SHARE, LATEST_SHARE, NEAREST_SHARE = 0.4, 0.15, 0.2  # of the subset; the rest fills the space
N_INCUMBENTS = 4  # best observations whose neighbours are kept


def find_outliers(coordinates: Floats, on_levels: Bools, values: Floats) -> Bools:
    """Which values (n,) are outliers; larger is better.

    coordinates (n, D) are scaled to [0, 1]; a level is its index.
    """
    n = len(values)
    # Halves, so that values at both ends of double precision have a distance.
    half_distance = values.max() / 2 - values / 2
    ordered = np.sort(half_distance)
    first = max(MIN_USUAL, n - int(MAX_SHARE * n))  # rank of the best value that may be an outlier
    if n <= first:
        return np.zeros(n, dtype=bool)
    jumps = np.flatnonzero(ordered[first:] / GAP > ordered[first - 1 : -1])
    if not jumps.size or ordered[first + jumps[0] - 1] == 0:
        return np.zeros(n, dtype=bool)
    suspect = half_distance >= ordered[first + jumps[0]]
    usual = np.flatnonzero(~suspect)[-MAX_COMPARED:]
    base = coordinates[usual], half_distance[usual]
    steepest = _slopes(*base, *base, on_levels).max()
    rises = _slopes(coordinates[suspect], half_distance[suspect], *base, on_levels).min(axis=1)
    found = np.zeros(n, dtype=bool)
    found[np.flatnonzero(suspect)] = rises / STEEPNESS > steepest
    return found


def _slopes(X: Floats, heights: Floats, X2: Floats, heights2: Floats, on_levels: Bools) -> Floats:
    """Differences of heights over distances, (n, n2); different levels have the distance 1."""
    square = np.zeros((len(X), len(X2)))
    for d, is_level in enumerate(on_levels):
        distance = np.abs(X[:, None, d] - X2[:, d])
        square += (distance > 0) if is_level else distance**2
    rise = np.abs(heights[:, None] - heights2)
    return np.asarray(rise / np.maximum(np.sqrt(square), MIN_DISTANCE))


def choose_subset(coordinates: Floats, on_levels: Bools, values: Floats, size: int) -> Ints:
    """Indices (size,) of the observations to keep, in their order; all where there are no more.

    coordinates (n, D) are scaled to [0, 1], in the order of the trials; values (n,): larger is
    better.
    """
    n = len(values)
    if n <= size:
        return np.arange(n)

    def distances_from(indices: list[int]) -> Floats:
        """The distance (n,) of each observation to the nearest of these."""
        distances = [_distances(coordinates, on_levels, i) for i in indices]
        return np.asarray(np.min(distances, axis=0))

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


def _distances(coordinates: Floats, on_levels: Bools, i: int) -> Floats:
    """Euclidean distances (n,) to observation i; two different levels have the distance 1."""
    difference = np.abs(coordinates - coordinates[i])
    along_axes = np.where(on_levels, difference > 0, difference)
    return np.asarray(np.sqrt((along_axes**2).sum(axis=1)))
