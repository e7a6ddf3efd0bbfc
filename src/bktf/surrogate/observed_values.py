"""Observed values as the samplers see them: checked, standardised, perhaps warped."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bktf._typing import Floats
from bktf.axis_kernels import Axis


class Data(NamedTuple):
    """Observations as a sampler sees them."""

    grid: tuple[Axis, ...]  # every observed coordinate is a point of its axis
    points: Floats  # (n, D) in the units of the axes
    values: Floats  # (n,) standardised
    noise_precision: float | None  # in the model's units, where the noise is known


@dataclass(frozen=True)
class Standardisation:
    """z = (y − mean) / scale."""

    mean: float
    scale: float

    @classmethod
    def of(cls, y: Floats) -> "Standardisation":
        """Mean and standard deviation of y; values near 1e±300 neither overflow nor vanish."""
        if y.min() == y.max():
            return cls(float(y[0]), 1.0)
        _, exponent = np.frexp(np.abs(y).max())
        # A power of two, so that dividing by it rounds nothing.
        unit = float(np.ldexp(1.0, max(int(exponent) - 1, -1022)))
        relative = y / unit
        return cls(float(relative.mean()) * unit, float(relative.std()) * unit or 1.0)

    def to_model(self, y: Floats) -> Floats:
        """Values in the model's units."""
        with np.errstate(over="ignore"):
            centred = y - self.mean
        if np.all(np.isfinite(centred)):
            return np.asarray(centred / self.scale)
        return np.asarray(y / self.scale - self.mean / self.scale)

    def to_user(self, f: Floats) -> Floats:
        """Values in the user's units."""
        return np.asarray(self.mean + self.scale * f)


@dataclass(frozen=True)
class Warp:
    """A scale that is linear near the best value and logarithmic far from it; larger is better.

    What matters is how good points differ. Untreated, one terrible value takes up the whole scale
    of the z-scores. With s the lower quartile of the distances to the best value (or their smallest
    positive value, where that is larger),

        distance  →  s·log(1 + distance / s)

    and values better than the best are left as they are. The slope at the best is 1. So the map is
    smooth, has an inverse, and an expected improvement over the best keeps its units.
    """

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
        """The values that `forward` maps to these."""
        if not np.isfinite(self.scale):
            return warped
        half_distance = self._half_distance(warped)
        with np.errstate(over="ignore"):
            distance = self.scale * np.expm1(half_distance / (self.scale / 2))
        return np.asarray(np.where(half_distance > 0, self.best - distance, warped))

    def log_slope(self, y: Floats) -> Floats:
        """Logarithm of the slope of `forward`.

        Added to a log density of warped values it gives the log density of the plain values.
        """
        if not np.isfinite(self.scale):
            return np.zeros_like(y)
        log_scale = np.log(self.scale / 2)
        with np.errstate(divide="ignore"):
            return np.asarray(log_scale - np.logaddexp(log_scale, np.log(self._half_distance(y))))


def check_values(y: ArrayLike, n_points: int) -> Floats:
    """Y as an (n,) array of finite numbers, one per point."""
    if np.ma.isMaskedArray(y):
        y = np.ma.asarray(y, dtype=float).filled(np.nan)
    if np.iscomplexobj(y):
        raise ValueError("y must be real numbers; got complex ones")
    try:
        values = np.array(y, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"y must be an array of numbers; got {type(y).__name__}") from None
    if values.ndim != 1 or values.size != n_points:
        wanted = f"y must have shape ({n_points},), one value per row of X"
        raise ValueError(f"{wanted}; got {values.shape}")
    if values.size == 0:
        raise ValueError("fit needs at least one observation; got none")
    if not np.all(np.isfinite(values)):
        i = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"y must be finite; y[{i}] is {values[i]}. Leave failed evaluations out")
    return values
