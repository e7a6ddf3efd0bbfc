"""What a posterior says beyond predictions."""

from bktf.analysis.convergence import Convergence, StopRule, convergence, percentage
from bktf.analysis.densities import measures_of
from bktf.analysis.estimates import Estimate
from bktf.analysis.importance import Importance, Interactions, importance
from bktf.analysis.leave_one_out import LeaveOneOut, leave_one_out
from bktf.analysis.optimum import N_PATHS, Optimum, check_direction, optimum

__all__ = [
    "N_PATHS",
    "Convergence",
    "Estimate",
    "Importance",
    "Interactions",
    "LeaveOneOut",
    "Optimum",
    "StopRule",
    "check_direction",
    "convergence",
    "importance",
    "leave_one_out",
    "measures_of",
    "optimum",
    "percentage",
]
