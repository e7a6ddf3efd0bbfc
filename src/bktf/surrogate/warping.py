"""Output warping: values on a scale that is linear near the best and logarithmic far from it.

What matters is how good points differ; untreated, one terrible value takes up the whole scale of the z-scores. With s the lower quartile of
the distances to the best (their smallest positive value where that is more),

    distance  →  s·log(1 + distance / s)        and anything better than the best is left as it is

The slope at the best is 1, so the map is smooth, an expected improvement over the best keeps its units, and everything can be mapped back.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Warp:
    """The map for one set of values."""

    best: float
    scale: float  # s; infinity: no change
    maximize: bool

    @classmethod
    def of(cls, y: Floats, maximize: bool) -> "Warp":
        """The map that suits these values; none where they are all the same."""
        best = float(y.max() if maximize else y.min())
        half_distance = np.abs(y / 2 - best / 2)  # halves throughout, so that values at both ends of double precision have a distance
        positive = half_distance[half_distance > 0]
        if positive.size == 0:
            return cls(best, np.inf, maximize)
        return cls(best, 2.0 * max(float(np.quantile(half_distance, 0.25)), float(positive.min())), maximize)

    def _worse(self, y: Floats) -> Floats:
        """Half of the distance by which values are worse than the best, 0 where they are better."""
        return np.maximum(self.best / 2 - y / 2 if self.maximize else y / 2 - self.best / 2, 0.0)

    def forward(self, y: Floats) -> Floats:
        """Warped values."""
        if not np.isfinite(self.scale):
            return y
        worse, shrunk = self._worse(y), -self.scale / 2 * self.log_slope(y)
        largest = np.finfo(float).max / 2
        warped = 2.0 * np.clip(self.best / 2 - shrunk if self.maximize else self.best / 2 + shrunk, -largest, largest)
        return np.asarray(np.where(worse > 0, warped, y))

    def inverse(self, warped: Floats) -> Floats:
        """Values whose warped ones these are."""
        if not np.isfinite(self.scale):
            return warped
        worse = self._worse(warped)
        with np.errstate(over="ignore"):
            grown = self.scale * np.expm1(worse / (self.scale / 2))
        return np.asarray(np.where(worse > 0, self.best - grown if self.maximize else self.best + grown, warped))

    def log_slope(self, y: Floats) -> Floats:
        """Logarithm of the map's slope: what a log density of warped values gains as one of values."""
        if not np.isfinite(self.scale):
            return np.zeros_like(y)
        log_scale = np.log(self.scale / 2)
        with np.errstate(divide="ignore"):
            return np.asarray(log_scale - np.logaddexp(log_scale, np.log(self._worse(y))))
