"""Observed values: the one standardisation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Standardisation:
    """z = (y − mean) / scale."""

    mean: float
    scale: float

    @classmethod
    def of(cls, y: Floats) -> "Standardisation":
        """Mean and standard deviation of y, computed so that values near 1e±300 neither overflow nor vanish."""
        if y.min() == y.max():
            return cls(float(y[0]), 1.0)
        _, exponent = np.frexp(np.abs(y).max())
        unit = float(
            np.ldexp(1.0, max(int(exponent) - 1, -1022))
        )  # a power of two, so that dividing by it rounds nothing
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
        raise ValueError(
            f"y must have shape ({n_points},), one value per row of X; got {values.shape}"
        )
    if values.size == 0:
        raise ValueError("fit needs at least one observation; got none")
    if not np.all(np.isfinite(values)):
        i = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"y must be finite; y[{i}] is {values[i]}. Leave failed evaluations out")
    return values
