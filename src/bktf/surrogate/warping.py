"""Output warping: values on a scale that is linear near the best and logarithmic far from it.

What matters is how good points differ. Untreated, one terrible value takes up the whole scale of
the z-scores. Larger is better. With s the lower quartile of the distances to the best value (or
their smallest positive value, where that is larger),

    distance  →  s·log(1 + distance / s)

and values better than the best are left as they are. The slope at the best is 1, so the map is
smooth, an expected improvement over the best keeps its units, and the map has an inverse.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Warp:
    """The map for one set of values; larger is better."""

    best: float
    scale: float  # s; infinity: no change

    @classmethod
    def of(cls, y: Floats) -> "Warp":
        """The map that suits these values; no change where they are all the same."""
        best = float(y.max())
        # Halves, so that values at both ends of double precision have a distance.
        half_distance = best / 2 - y / 2
        positive = half_distance[half_distance > 0]
        if positive.size == 0:
            return cls(best, np.inf)
        quartile = float(np.quantile(half_distance, 0.25))
        return cls(best, 2.0 * max(quartile, float(positive.min())))

    def _half_distance(self, y: Floats) -> Floats:
        """Half of the distance by which values are worse than the best, 0 where they are better."""
        return np.maximum(self.best / 2 - y / 2, 0.0)

    def forward(self, y: Floats) -> Floats:
        """Warped values."""
        if not np.isfinite(self.scale):
            return y
        half_distance = -self.scale / 2 * self.log_slope(y)
        largest = np.finfo(float).max / 2
        warped = 2.0 * np.clip(self.best / 2 - half_distance, -largest, largest)
        return np.asarray(np.where(self._half_distance(y) > 0, warped, y))

    def inverse(self, warped: Floats) -> Floats:
        """Values whose warped ones these are."""
        if not np.isfinite(self.scale):
            return warped
        half_distance = self._half_distance(warped)
        with np.errstate(over="ignore"):
            distance = self.scale * np.expm1(half_distance / (self.scale / 2))
        return np.asarray(np.where(half_distance > 0, self.best - distance, warped))

    def log_slope(self, y: Floats) -> Floats:
        """Logarithm of the map's slope: a log density of warped values plus it is one of values."""
        if not np.isfinite(self.scale):
            return np.zeros_like(y)
        log_scale = np.log(self.scale / 2)
        with np.errstate(divide="ignore"):
            return np.asarray(log_scale - np.logaddexp(log_scale, np.log(self._half_distance(y))))
