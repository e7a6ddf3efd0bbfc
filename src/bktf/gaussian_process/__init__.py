"""Infinite rank: a Gaussian process with a product kernel, its values integrated out."""

from bktf.gaussian_process.averaged_process import averaged_moments
from bktf.gaussian_process.compiled_process import run_sweeps, write_covariance
from bktf.gaussian_process.conditional_process import (
    ConditionalProcess,
    Descriptors,
    condition_process,
)
from bktf.gaussian_process.covariance import LOG_ODDS_HIGH
from bktf.gaussian_process.elliptical_chain import run_elliptical_chain
from bktf.gaussian_process.local_paths import LocalPath, local_path
from bktf.gaussian_process.log_posterior import Laplace, LogPosterior
from bktf.gaussian_process.path_ascent import climb_path, path_values_and_gradients
from bktf.gaussian_process.process_draws import MAX_GRID as MAX_PROCESS_GRID
from bktf.gaussian_process.process_draws import (
    ProcessDraws,
    moments_of_every_cell,
    moments_over_draws,
)
from bktf.gaussian_process.process_evidence import Evidence, process_evidence
from bktf.gaussian_process.process_problem import (
    ProcessModel,
    ProcessProblem,
    empty_model,
    n_logs,
    pair_separations,
)
from bktf.gaussian_process.process_sampler import (
    START_NOISE_PRECISION,
    ProcessChain,
    run_process_chain,
    start_of_chain,
)
from bktf.gaussian_process.sample_paths import (
    N_FEATURES,
    ProcessPaths,
    ProcessTerms,
    draw_process_paths,
    mean_path,
)

__all__ = [
    "LOG_ODDS_HIGH",
    "MAX_PROCESS_GRID",
    "N_FEATURES",
    "START_NOISE_PRECISION",
    "ConditionalProcess",
    "Descriptors",
    "Evidence",
    "Laplace",
    "LocalPath",
    "LogPosterior",
    "ProcessChain",
    "ProcessDraws",
    "ProcessModel",
    "ProcessPaths",
    "ProcessProblem",
    "ProcessTerms",
    "averaged_moments",
    "climb_path",
    "condition_process",
    "draw_process_paths",
    "empty_model",
    "local_path",
    "mean_path",
    "moments_of_every_cell",
    "moments_over_draws",
    "n_logs",
    "pair_separations",
    "path_values_and_gradients",
    "process_evidence",
    "run_elliptical_chain",
    "run_process_chain",
    "run_sweeps",
    "start_of_chain",
    "write_covariance",
]
