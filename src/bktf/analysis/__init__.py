"""What a posterior says beyond predictions."""

from bktf.analysis.acquisition_slices import (
    AcquisitionSlice,
    Score,
    acquisition_along,
    average_acquisition,
)
from bktf.analysis.convergence import (
    DEFAULT_CONFIDENCE,
    Convergence,
    StopRule,
    convergence,
    percentage,
)
from bktf.analysis.densities import measures_of
from bktf.analysis.estimates import Estimate
from bktf.analysis.explained import MIN_EXPLAINED, MIN_OBSERVED, explained_part
from bktf.analysis.importance import Importance, Interactions, importance
from bktf.analysis.leave_one_out import LeaveOneOut, leave_one_out
from bktf.analysis.optimum import N_PATHS, Optimum, check_direction, optimum
from bktf.analysis.optimum_place import INACTIVE
from bktf.analysis.slices import Marginal, Slice, marginal_of, slice_along

__all__ = [
    "DEFAULT_CONFIDENCE",
    "INACTIVE",
    "MIN_EXPLAINED",
    "MIN_OBSERVED",
    "N_PATHS",
    "AcquisitionSlice",
    "Convergence",
    "Estimate",
    "Importance",
    "Interactions",
    "LeaveOneOut",
    "Marginal",
    "Optimum",
    "Score",
    "Slice",
    "StopRule",
    "acquisition_along",
    "average_acquisition",
    "check_direction",
    "convergence",
    "explained_part",
    "importance",
    "leave_one_out",
    "marginal_of",
    "measures_of",
    "optimum",
    "percentage",
    "slice_along",
]
