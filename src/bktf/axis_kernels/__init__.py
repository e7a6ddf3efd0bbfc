"""Covariance along one axis: Matérn kernels as Markov chains, dense kernels, categories."""

from bktf.axis_kernels import categorical, dense, operations
from bktf.axis_kernels.axes import SAME_POINT, Axis, check_axes, check_grid_size, check_log, check_points
from bktf.axis_kernels.categorical import EXTRA, MAX_LEVELS
from bktf.axis_kernels.gaps import plan_between, steps_along
from bktf.axis_kernels.kernel_choice import KINDS, AxisKernel, Kernel, Periodic, resolve_kernels
from bktf.axis_kernels.operations import MATERN52, AxisOperations, axis_operations, update_factors

__all__ = [
    "EXTRA",
    "KINDS",
    "MATERN52",
    "MAX_LEVELS",
    "SAME_POINT",
    "Axis",
    "AxisKernel",
    "AxisOperations",
    "Kernel",
    "Periodic",
    "axis_operations",
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
