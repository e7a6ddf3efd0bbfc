"""Which compiled operations an axis has: those of its kernel.

Matérn kernels are Markov chains, levels with equal correlation have closed formulas, and all other
kernels use dense matrices.
"""

from typing import Any, NamedTuple

import numpy as np

from bktf._typing import Ints
from bktf.axis_kernels import between_points, dense, factor_updates
from bktf.axis_kernels.factor_updates import MATERN32, MATERN52


def state_size(kind: int) -> int:
    """The number of values in the state of a factor of this kind at each axis point."""
    return kind if kind <= MATERN52 else 1


class AxisOperations(NamedTuple):
    """Updates of a length-scale and its factors, as pointers that do not depend on the kernel.

    Each takes the arguments of `factor_updates`, writes a joint draw of the factors' states into
    out (q, m, ≥ state size), and returns the length-scale. An update that a problem does not need
    is an empty function, so that the real one need not be compiled.
    """

    matern32: Any  # one factor at a time
    markov: Any  # any Matérn, any number of factors
    dense: Any  # any covariance, any number of factors
    categorical: Any  # equal correlation, one factor at a time
    together: Any  # Matérn 3/2, several factors given their length-scales
    covariance: Any  # writes a draw of the covariance between levels given their factors


def axis_operations(kinds: Ints, shared: bool, joint: bool = False) -> AxisOperations:
    """The operations for axes of these kinds, with shared length-scales or one per component.

    joint: whether factors with length-scales of their own are also drawn together.
    """
    matern = kinds <= MATERN52
    default = kinds == MATERN32
    equal = kinds == dense.EQUAL_CORRELATION
    needs_markov = np.any(matern & ~default) or (shared and np.any(default))
    needs_dense = np.any(~matern & ~equal) or (shared and np.any(equal))
    needs_block = joint and np.any(default)
    none, no_covariance = factor_updates.no_update, factor_updates.no_covariance
    has_full = np.any(kinds == dense.FULL_COVARIANCE)
    return AxisOperations(
        factor_updates.update_matern32() if np.any(default) else none(),
        factor_updates.update_markov() if needs_markov else none(),
        factor_updates.update_dense() if needs_dense else none(),
        factor_updates.update_categorical() if np.any(equal) else none(),
        factor_updates.draw_together() if needs_block else factor_updates.draw_none(),
        factor_updates.draw_covariance() if has_full else no_covariance(),
    )


class Between(NamedTuple):
    """A factor at new points given its states at known ones, as pointers; see `between_points`."""

    draw: Any  # writes a joint draw
    moments: Any  # writes the mean and variance at each point


def between(kind: int) -> Between:
    """The operations between known points for an axis of this kind."""
    if kind == MATERN32:
        return Between(between_points.draw_matern32(), between_points.moments_matern32())
    if kind <= MATERN52:
        return Between(between_points.draw_markov(), between_points.moments_markov())
    if kind == dense.EQUAL_CORRELATION:
        return Between(between_points.draw_categorical(), between_points.moments_categorical())
    return Between(between_points.draw_dense(), between_points.moments_dense())
