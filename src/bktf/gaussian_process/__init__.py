"""Infinite rank: a Gaussian process with a product kernel, its values integrated out."""

from bktf.gaussian_process.compiled_process import run_sweeps, write_covariance
from bktf.gaussian_process.conditional_process import (
    ConditionalProcess,
    Descriptors,
    condition_process,
)
from bktf.gaussian_process.covariance import LOG_ODDS_HIGH
from bktf.gaussian_process.elliptical_chain import run_elliptical_chain
from bktf.gaussian_process.log_posterior import Laplace, LogPosterior
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

__all__ = [
    "LOG_ODDS_HIGH",
    "MAX_PROCESS_GRID",
    "START_NOISE_PRECISION",
    "ConditionalProcess",
    "Descriptors",
    "Evidence",
    "Laplace",
    "LogPosterior",
    "ProcessChain",
    "ProcessDraws",
    "ProcessModel",
    "ProcessProblem",
    "condition_process",
    "empty_model",
    "moments_of_every_cell",
    "moments_over_draws",
    "n_logs",
    "pair_separations",
    "process_evidence",
    "run_elliptical_chain",
    "run_process_chain",
    "run_sweeps",
    "start_of_chain",
    "write_covariance",
]
