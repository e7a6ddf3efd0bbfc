"""Infinite rank: chains of the parameters of a Gaussian process, and the process given all observations."""

import numpy as np

from bktf._compiled import LOG_LENGTHSCALE_HIGH, LOG_LENGTHSCALE_LOW, Progress, announce_compilation
from bktf.axis_kernels import dense
from bktf.gaussian_process import (
    ProcessChain,
    ProcessDraws,
    condition_process,
    run_process_chain,
    run_sweeps,
    start_of_chain,
)
from bktf.surrogate.model_spec import ModelSpec
from bktf.surrogate.problems import Data, make_process_problem
from bktf.surrogate.run_chains import ChainCall, RunOptions, run_chains


def fit_process(spec: ModelSpec, data: Data, entropy: int, options: RunOptions) -> ProcessDraws:
    """Draws of the process given the data."""
    problem = make_process_problem(spec, data)
    lengths = spec.lengths
    announce_compilation(run_sweeps)

    def chain(call: ChainCall) -> ProcessChain:
        _skip_component_draws(spec, data, call.start_rng)
        start = start_of_chain(problem, data.noise_precision, call.start_rng)
        sweeps = (lengths.n_sweeps, lengths.n_burn_in)
        return run_process_chain(problem, start, sweeps, call.chain_rng, Progress(call.stop, call.report))

    chains = run_chains(chain, lengths.n_chains, lengths.n_sweeps, entropy, options)
    logs = np.concatenate([c.logs for c in chains])
    noise_precision = np.concatenate([c.noise_precision for c in chains])
    on_levels = np.array([axis.kernel.on_levels for axis in data.grid])
    scaled = np.stack([axis.scale(data.points[:, d]) for d, axis in enumerate(data.grid)], axis=1)
    residuals = np.repeat(data.values[None], len(logs), axis=0)
    process = condition_process(scaled, on_levels, logs, noise_precision, residuals)
    return ProcessDraws(data.grid, process, entropy)


def _skip_component_draws(spec: ModelSpec, data: Data, rng: np.random.Generator) -> None:
    """Use up the random numbers that a start with components would, so that seeds keep their suggestions."""
    priors = spec.priors
    for axis in data.grid:
        equal = axis.kernel.kind == dense.EQUAL_CORRELATION
        mean = priors.correlation_logit_mean if equal else priors.lengthscale_log_mean
        variance = priors.correlation_logit_var if equal else priors.lengthscale_log_var
        while not LOG_LENGTHSCALE_LOW < mean + np.sqrt(variance) * rng.standard_normal() < LOG_LENGTHSCALE_HIGH:
            pass
    if data.noise_precision is None:
        rng.standard_gamma(priors.noise_shape)
