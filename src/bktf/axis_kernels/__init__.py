"""Covariance along one axis: Matérn kernels as Markov chains, dense kernels, categories."""

from bktf.axis_kernels import between_points, categorical, dense, operations
from bktf.axis_kernels.axes import (
    SAME_POINT,
    Axis,
    check_axes,
    check_grid_size,
    check_log,
    check_points,
)
from bktf.axis_kernels.categorical import EXTRA_DOF, MAX_LEVELS
from bktf.axis_kernels.factor_updates import MATERN32, MATERN52, update_factors
from bktf.axis_kernels.gaps import plan_between, steps_along
from bktf.axis_kernels.kernel_spec import KINDS, AxisKernel, Kernel, Periodic, resolve_kernels
from bktf.axis_kernels.operations import AxisOperations, axis_operations

__all__ = [
    "EXTRA_DOF",
    "KINDS",
    "MATERN32",
    "MATERN52",
    "MAX_LEVELS",
    "SAME_POINT",
    "Axis",
    "AxisKernel",
    "AxisOperations",
    "Kernel",
    "Periodic",
    "axis_operations",
    "between_points",
    "categorical",
    "check_axes",
    "check_grid_size",
    "check_log",
    "check_points",
    "dense",
    "operations",
    "plan_between",
    "resolve_kernels",
    "steps_along",
    "update_factors",
]
