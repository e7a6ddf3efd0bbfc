"""The kernel of one axis: from what users write to the number that compiled code uses."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bktf._typing import Floats
from bktf.axis_kernels import dense
from bktf.axis_kernels.categorical import MAX_LEVELS
from bktf.axis_kernels.factor_updates import MATERN12, MATERN32, MATERN52

MATRIX_TOLERANCE = 1e-8  # of a given covariance matrix, as a share of its largest variance

KINDS = {
    "matern12": MATERN12,
    "matern32": MATERN32,
    "matern52": MATERN52,
    "squared_exponential": dense.SQUARED_EXPONENTIAL,
    "periodic": dense.PERIODIC,
    "categorical": dense.EQUAL_CORRELATION,
    "wishart": dense.FULL_COVARIANCE,
}


@dataclass(frozen=True)
class Periodic:
    """A periodic kernel with this period, in the units of the axis."""

    period: float

    def __post_init__(self) -> None:
        if not isinstance(self.period, int | float | np.number) or not (
            math.isfinite(self.period) and self.period > 0
        ):
            raise ValueError(
                f"the period must be a positive number in the axis's own units; got {self.period!r}"
            )


@dataclass(frozen=True, eq=False)
class AxisKernel:
    """The kernel of one axis: its kind, and its period or covariance matrix if it has one."""

    kind: int
    period: float | None = None  # in the units of the axis; None: the length of the axis
    covariance: Floats | None = None  # (m, m)

    @property
    def has_lengthscale(self) -> bool:
        """Whether a length-scale is learned (for equal correlation, the odds)."""
        return self.kind not in (dense.GIVEN, dense.FULL_COVARIANCE)

    @property
    def on_levels(self) -> bool:
        """Whether the points are levels: without distances and without values between them."""
        return self.kind >= dense.GIVEN

    @property
    def is_dense(self) -> bool:
        """Whether its operations are those of `dense`."""
        return self.kind > MATERN52 and self.kind != dense.EQUAL_CORRELATION

    def same_as(self, other: "AxisKernel") -> bool:
        """Whether two axes have the same kernel."""
        if self.covariance is None or other.covariance is None:
            return self.covariance is other.covariance and (self.kind, self.period) == (
                other.kind,
                other.period,
            )
        return np.array_equal(self.covariance, other.covariance)


Kernel: TypeAlias = str | Periodic | AxisKernel | ArrayLike


def resolve_kernel(kernel: Kernel | None, d: int, n_points: int, default: str) -> AxisKernel:
    """The kernel of axis d from what the user gave; None means the default."""
    if kernel is None:
        return AxisKernel(KINDS[default])
    if isinstance(kernel, AxisKernel):
        return kernel
    if isinstance(kernel, Periodic):
        return AxisKernel(dense.PERIODIC, period=float(kernel.period))
    if isinstance(kernel, str):
        if kernel not in KINDS:
            known = ", ".join(repr(name) for name in KINDS)
            raise ValueError(
                f"kernel must be one of {known}, bktf.Periodic(period) or a covariance matrix; "
                f"got {kernel!r}"
            )
        if kernel == "wishart" and n_points > MAX_LEVELS:
            raise ValueError(
                f'the kernel "wishart" takes at most {MAX_LEVELS} levels; axis {d} has {n_points}. '
                'Use "categorical", equal correlation'
            )
        return AxisKernel(KINDS[kernel])
    try:
        matrix = np.array(kernel, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"the kernel of axis {d} must be a name, bktf.Periodic(period) or a matrix; "
            f"got {kernel!r}"
        ) from None
    if matrix.shape != (n_points, n_points):
        raise ValueError(
            f"the covariance matrix of axis {d} must be {n_points} by {n_points}, "
            f"one row per axis point; got shape {matrix.shape}"
        )
    if not np.all(np.isfinite(matrix)):
        raise ValueError(
            f"the covariance matrix of axis {d} must be finite; it has NaN or infinite entries"
        )
    scale = np.abs(np.diag(matrix)).max()
    if np.abs(matrix - matrix.T).max() > MATRIX_TOLERANCE * scale:
        raise ValueError(
            f"the covariance matrix of axis {d} must be symmetric; "
            "got one that differs from its transpose"
        )
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if scale == 0:
        raise ValueError(
            f"the covariance matrix of axis {d} must have a positive diagonal; it is zero"
        )
    if lowest < -MATRIX_TOLERANCE * scale:
        raise ValueError(
            f"the covariance matrix of axis {d} must be positive semi-definite; "
            f"its lowest eigenvalue is {lowest:.3g}"
        )
    return AxisKernel(dense.GIVEN, covariance=0.5 * (matrix + matrix.T))


def resolve_kernels(
    kernel: Kernel | Sequence[Kernel | None] | None, sizes: Sequence[int], default: str = "matern32"
) -> tuple[AxisKernel, ...]:
    """One kernel per axis, from one kernel for all axes or a list with one per axis."""
    if isinstance(kernel, list | tuple):
        if len(kernel) != len(sizes):
            raise ValueError(
                f"a list of kernels must have one entry per axis, {len(sizes)}; got {len(kernel)} "
                "(a covariance matrix for a single axis goes into such a list as an array)"
            )
        return tuple(resolve_kernel(k, d, sizes[d], default) for d, k in enumerate(kernel))
    return tuple(resolve_kernel(kernel, d, size, default) for d, size in enumerate(sizes))  # type: ignore[arg-type]
