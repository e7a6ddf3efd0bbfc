"""Bayesian optimisation of expensive functions with Bayesian kernelized tensor factorization."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bktf import acquisition
from bktf._version import __version__
from bktf.analysis import LeaveOneOut
from bktf.axis_kernels import Periodic
from bktf.surrogate import (
    GridMoments,
    Posterior,
    Priors,
    RankPosterior,
    SamplePaths,
    fit,
    load,
)

if TYPE_CHECKING:
    from bktf.optimize import Result, maximize, minimize, suggest_from
    from bktf.optuna_sampler import BKTFSampler, earlier
    from bktf.spaces import choices, mixture, when
    from bktf.study_analysis import (
        BKTFImportanceEvaluator,
        StopWhenConverged,
        acquisition_along,
        analyze,
        average_acquisition,
        convergence,
        importance,
        leave_one_out,
        marginal_of,
        optimum,
        slice_along,
    )

# What needs Optuna, whose import takes half a second: loaded on first use.
_ON_DEMAND = {
    "BKTFImportanceEvaluator": "study_analysis",
    "BKTFSampler": "optuna_sampler",
    "Result": "optimize",
    "StopWhenConverged": "study_analysis",
    "acquisition_along": "study_analysis",
    "analyze": "study_analysis",
    "average_acquisition": "study_analysis",
    "choices": "spaces",
    "convergence": "study_analysis",
    "earlier": "optuna_sampler",
    "importance": "study_analysis",
    "leave_one_out": "study_analysis",
    "marginal_of": "study_analysis",
    "maximize": "optimize",
    "minimize": "optimize",
    "mixture": "spaces",
    "optimum": "study_analysis",
    "slice_along": "study_analysis",
    "suggest_from": "optimize",
    "when": "spaces",
}


def __getattr__(name: str) -> Any:
    """Load what needs Optuna."""
    if name not in _ON_DEMAND:
        raise AttributeError(f"module 'bktf' has no attribute {name!r}")
    return getattr(import_module(f"bktf.{_ON_DEMAND[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_DEMAND})


__all__ = [
    "BKTFImportanceEvaluator", "BKTFSampler", "GridMoments", "LeaveOneOut", "Periodic",
    "Posterior", "Priors", "RankPosterior", "Result", "SamplePaths", "StopWhenConverged",
    "__version__", "acquisition", "acquisition_along", "analyze", "average_acquisition",
    "choices", "convergence", "earlier", "fit", "importance", "leave_one_out", "load",
    "marginal_of", "maximize", "minimize", "mixture", "optimum", "slice_along", "suggest_from",
    "when",
]  # fmt: skip
