"""What the surrogate knows of a study: posteriors, importance, the optimum, and when to stop.

Every function takes a posterior, a `Result`, or any Optuna study, whoever sampled it.
"""

from bktf.study_analysis.importance_evaluator import BKTFImportanceEvaluator
from bktf.study_analysis.questions import (
    acquisition_along,
    average_acquisition,
    convergence,
    importance,
    leave_one_out,
    marginal_of,
    optimum,
    slice_along,
)
from bktf.study_analysis.sources import analyze
from bktf.study_analysis.stop_when_converged import StopWhenConverged

__all__ = [
    "BKTFImportanceEvaluator",
    "StopWhenConverged",
    "acquisition_along",
    "analyze",
    "average_acquisition",
    "convergence",
    "importance",
    "leave_one_out",
    "marginal_of",
    "optimum",
    "slice_along",
]
