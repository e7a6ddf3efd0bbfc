"""What a posterior says beyond predictions."""

from bktf.analysis.convergence import Convergence, StopRule, convergence, percentage
from bktf.analysis.estimates import Estimate
from bktf.analysis.leave_one_out import LeaveOneOut, leave_one_out
from bktf.analysis.optimum import N_PATHS, Optimum, check_direction, optimum

__all__ = [
    "N_PATHS",
    "Convergence",
    "Estimate",
    "LeaveOneOut",
    "Optimum",
    "StopRule",
    "check_direction",
    "convergence",
    "leave_one_out",
    "optimum",
    "percentage",
]
