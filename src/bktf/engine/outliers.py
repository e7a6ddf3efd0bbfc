"""Values so much worse than all others that no smooth function explains them: flukes, and penalties for what may not be tried.

One such value takes up the whole scale of the z-scores, and as noise it hides everything else. A value is set aside where both hold:

    gap         its distance to the best is more than GAP times that of the next better value, and at most MAX_SHARE are as bad
    steepness   from the nearest usual point it rises more than STEEPNESS times as steeply as any two usual points differ

A large value that belongs to a steep function fails the second condition and stays: it is information. What is set aside counts as a
failed trial: its neighbourhood becomes less attractive, and a fluke costs no more than a NaN would have.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

GAP = 50.0
MAX_SHARE = 0.25  # of all values: a plateau of bad ones is a part of the function
STEEPNESS = 20.0
MIN_USUAL = 5  # values that must be left to judge by
MIN_DISTANCE = 0.02  # of an axis: between nearer points noise alone looks steep
MAX_COMPARED = 1000  # usual points, the latest, that are compared with each other


def find_outliers(coordinates: Floats, on_levels: Flags, values: Floats) -> Flags:
    """Which values (n,) to set aside, larger being better; coordinates (n, D) are scaled to [0, 1], levels by their indices."""
    n = len(values)
    half = values.max() / 2 - values / 2  # halves, so that values at both ends of double precision have a distance
    ordered = np.sort(half)
    first = max(MIN_USUAL, n - int(MAX_SHARE * n))  # of those that may be set aside
    jumps = np.flatnonzero(ordered[first:] / GAP > ordered[first - 1 : -1]) if n > first else np.empty(0, dtype=np.int64)
    if not jumps.size or ordered[first + jumps[0] - 1] == 0:
        return np.zeros(n, dtype=bool)
    suspect = half >= ordered[first + jumps[0]]
    usual = np.flatnonzero(~suspect)[-MAX_COMPARED:]
    steepest = _slopes(coordinates[usual], half[usual], coordinates[usual], half[usual], on_levels).max()
    rises = _slopes(coordinates[suspect], half[suspect], coordinates[usual], half[usual], on_levels).min(axis=1)
    found = np.zeros(n, dtype=bool)
    found[np.flatnonzero(suspect)] = rises / STEEPNESS > steepest
    return found


def _slopes(X: Floats, heights: Floats, X2: Floats, heights2: Floats, on_levels: Flags) -> Floats:
    """Differences of heights over distances, (n, n2); different levels are 1 apart."""
    square = np.zeros((len(X), len(X2)))
    for d, levels in enumerate(on_levels):
        apart = np.abs(X[:, None, d] - X2[:, d])
        square += (apart > 0) if levels else apart**2
    return np.asarray(np.abs(heights[:, None] - heights2) / np.maximum(np.sqrt(square), MIN_DISTANCE))
