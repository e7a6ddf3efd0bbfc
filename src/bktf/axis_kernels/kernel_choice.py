"""The kernel of one axis: what users write, resolved to the kind that compiled code knows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bktf.axis_kernels import categorical as levels
from bktf.axis_kernels import dense
from bktf.axis_kernels import operations as processes

Floats = NDArray[np.float64]

KINDS = {
    "matern12": processes.MATERN12,
    "matern32": processes.MATERN32,
    "matern52": processes.MATERN52,
    "squared_exponential": dense.SQUARED_EXPONENTIAL,
    "periodic": dense.PERIODIC,
    "categorical": dense.EQUAL_CORRELATION,
    "wishart": dense.FULL_COVARIANCE,
}


@dataclass(frozen=True)
class Periodic:
    """A periodic kernel with this period, in the axis's own units."""

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
    """The kernel of one axis, resolved: its number in `processes`, a period or a matrix where it has one."""

    kind: int
    period: float | None = None  # in the axis's own units; None: the length of the axis
    covariance: Floats | None = None  # (m, m)

    @property
    def has_lengthscale(self) -> bool:
        """Whether there is a length-scale (for equal correlation, odds) to learn."""
        return self.kind not in (dense.GIVEN, dense.FULL_COVARIANCE)

    @property
    def on_levels(self) -> bool:
        """Whether the axis points are all there is: nothing lies between them, and their distances mean nothing."""
        return self.kind >= dense.GIVEN

    @property
    def is_dense(self) -> bool:
        """Whether it takes the dense path."""
        return self.kind > processes.MATERN52 and self.kind != dense.EQUAL_CORRELATION

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
    """Make sense of what the user gave as the kernel of axis d; None means the default."""
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
                f"kernel must be one of {known}, bktf.Periodic(period) or a covariance matrix; got {kernel!r}"
            )
        if kernel == "wishart" and n_points > levels.MAX_LEVELS:
            raise ValueError(
                f'the kernel "wishart" takes at most {levels.MAX_LEVELS} levels; axis {d} has {n_points}. '
                'Use "categorical", equal correlation'
            )
        return AxisKernel(KINDS[kernel])
    try:
        matrix = np.array(kernel, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"the kernel of axis {d} must be a name, bktf.Periodic(period) or a matrix; got {kernel!r}"
        ) from None
    if matrix.shape != (n_points, n_points):
        raise ValueError(
            f"the covariance matrix of axis {d} must be {n_points} by {n_points}, one row per axis point; got shape {matrix.shape}"
        )
    if not np.all(np.isfinite(matrix)):
        raise ValueError(
            f"the covariance matrix of axis {d} must be finite; it has NaN or infinite entries"
        )
    scale = np.abs(np.diag(matrix)).max()
    if np.abs(matrix - matrix.T).max() > 1e-8 * scale:
        raise ValueError(
            f"the covariance matrix of axis {d} must be symmetric; got one that differs from its transpose"
        )
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if scale == 0:
        raise ValueError(
            f"the covariance matrix of axis {d} must have a positive diagonal; it is zero"
        )
    if lowest < -1e-8 * scale:
        raise ValueError(
            f"the covariance matrix of axis {d} must be positive semi-definite; its lowest eigenvalue is {lowest:.3g}"
        )
    return AxisKernel(dense.GIVEN, covariance=0.5 * (matrix + matrix.T))


def resolve_kernels(
    kernel: Kernel | Sequence[Kernel | None] | None, sizes: Sequence[int], default: str = "matern32"
) -> tuple[AxisKernel, ...]:
    """One kernel per axis, from one for all or a list with one for each."""
    if isinstance(kernel, list | tuple):
        if len(kernel) != len(sizes):
            raise ValueError(
                f"a list of kernels must have one entry per axis, {len(sizes)}; got {len(kernel)} "
                "(a covariance matrix for a single axis goes into such a list as an array)"
            )
        return tuple(resolve_kernel(k, d, sizes[d], default) for d, k in enumerate(kernel))
    return tuple(resolve_kernel(kernel, d, size, default) for d, size in enumerate(sizes))  # type: ignore[arg-type]
