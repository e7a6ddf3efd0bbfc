"""Values so much worse than all others that no smooth function explains them.

Such values are accidents, and penalties for what may not be tried. One of them takes up the whole
scale of the z-scores, and as noise it hides everything else. A value is an outlier where both hold:

    gap         its distance to the best is more than GAP times that of the next better value, and
                at most MAX_SHARE of the values are as bad
    steepness   from every usual point, near or far, it rises more than STEEPNESS times as steeply
                as any two usual points differ

A large value that belongs to a steep function fails the second condition and stays: it is
information. An outlier counts as a failed trial: its neighbourhood becomes less attractive, and an
accident costs no more than a NaN would have.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

GAP = 50.0
MAX_SHARE = 0.25  # of all values: a plateau of bad ones is a part of the function
STEEPNESS = 20.0
MIN_USUAL = 5  # values that must remain for comparison
MIN_DISTANCE = 0.02  # of an axis: between nearer points noise alone looks steep
MAX_COMPARED = 1000  # usual points, the latest, that are compared with each other


def find_outliers(coordinates: Floats, on_levels: Flags, values: Floats) -> Flags:
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


def _slopes(X: Floats, heights: Floats, X2: Floats, heights2: Floats, on_levels: Flags) -> Floats:
    """Differences of heights over distances, (n, n2); different levels have the distance 1."""
    square = np.zeros((len(X), len(X2)))
    for d, is_level in enumerate(on_levels):
        distance = np.abs(X[:, None, d] - X2[:, d])
        square += (distance > 0) if is_level else distance**2
    rise = np.abs(heights[:, None] - heights2)
    return np.asarray(rise / np.maximum(np.sqrt(square), MIN_DISTANCE))
