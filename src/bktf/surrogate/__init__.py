"""The surrogate: what the model is, its priors, fit and posterior."""

from bktf.surrogate.averaging import usual_measure
from bktf.surrogate.fit_process import ProcessStart, uses_mode
from bktf.surrogate.fitting import (
    add_descriptors,
    around_mean,
    fit,
    fit_mode,
    fit_model,
    fold_descriptors,
    in_context,
    move_to_mode,
)
from bktf.surrogate.meaning import Direction, Meaning
from bktf.surrogate.model_spec import ChainLengths, ModelSpec, check_rank, make_axes
from bktf.surrogate.observed_values import Warp
from bktf.surrogate.posterior import GridMoments, Posterior
from bktf.surrogate.priors import Priors
from bktf.surrogate.rank_draws import RankDraws
from bktf.surrogate.rank_posterior import RankPosterior, load
from bktf.surrogate.run_chains import RunOptions
from bktf.surrogate.sample_paths import SamplePaths

__all__ = [
    "ChainLengths",
    "Direction",
    "GridMoments",
    "Meaning",
    "ModelSpec",
    "Posterior",
    "Priors",
    "ProcessStart",
    "RankDraws",
    "RankPosterior",
    "RunOptions",
    "SamplePaths",
    "Warp",
    "add_descriptors",
    "around_mean",
    "check_rank",
    "fit",
    "fit_mode",
    "fit_model",
    "fold_descriptors",
    "in_context",
    "load",
    "make_axes",
    "move_to_mode",
    "uses_mode",
    "usual_measure",
]
