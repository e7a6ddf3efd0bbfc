"""Infinite rank: chains of kernel parameters, and the Gaussian process given all observations."""

import math

import numpy as np

from bktf._compiled import LOG_LENGTHSCALE_HIGH, LOG_LENGTHSCALE_LOW, Progress, announce_compilation
from bktf.axis_kernels import dense
from bktf.gaussian_process import (
    LOG_ODDS_HIGH,
    ProcessChain,
    ProcessDraws,
    ProcessModel,
    ProcessProblem,
    condition_process,
    pair_separations,
    run_process_chain,
    run_sweeps,
    start_of_chain,
)
from bktf.surrogate.model_spec import ModelSpec
from bktf.surrogate.observed_values import Data
from bktf.surrogate.run_chains import ChainCall, RunOptions, run_chains


def fit_process(spec: ModelSpec, data: Data, entropy: int, options: RunOptions) -> ProcessDraws:
    """Draws of the process given the data."""
    problem = make_process_problem(spec, data)
    lengths = spec.lengths
    announce_compilation(run_sweeps)

    def chain(call: ChainCall) -> ProcessChain:
        """One chain, from a draw of the prior."""
        _skip_component_draws(spec, data, call.start_rng)
        start = start_of_chain(problem, data.noise_precision, call.start_rng)
        sweeps = (lengths.n_sweeps, lengths.n_burn_in)
        progress = Progress(call.stop, call.report)
        return run_process_chain(problem, start, sweeps, call.chain_rng, progress)

    chains = run_chains(chain, lengths.n_chains, lengths.n_sweeps, entropy, options)
    logs = np.concatenate([c.logs for c in chains])
    noise_precision = np.concatenate([c.noise_precision for c in chains])
    on_levels = np.array([axis.kernel.on_levels for axis in data.grid])
    scaled = np.stack([axis.scale(data.points[:, d]) for d, axis in enumerate(data.grid)], axis=1)
    residuals = np.repeat(data.values[None], len(logs), axis=0)
    process = condition_process(scaled, on_levels, logs, noise_precision, residuals)
    return ProcessDraws(data.grid, process, entropy)


def make_process_model(spec: ModelSpec, data: Data) -> ProcessModel:
    """The covariance of a process at the observations, and the priors of its parameters."""
    grid, priors, n_dims = data.grid, spec.priors, len(data.grid)
    on_levels = np.array([axis.kernel.on_levels for axis in grid])
    scaled = np.stack([axis.scale(data.points[:, d]) for d, axis in enumerate(grid)], axis=1)
    shift = priors.process_lengthscale_log_mean + 0.5 * math.log(n_dims)
    means = np.where(on_levels, priors.correlation_logit_mean, shift)
    lengthscale_var = priors.process_lengthscale_log_var
    variances = np.where(on_levels, priors.correlation_logit_var, lengthscale_var)
    # The prior is cut at LOG_ODDS_HIGH, so its centre stays below that.
    share = min(priors.process_share_logit_mean + math.log(n_dims), LOG_ODDS_HIGH - 1.0)
    return ProcessModel(
        separations=pair_separations(scaled, on_levels),
        on_levels=on_levels.astype(np.int64),
        log_means=np.append(means, (priors.process_size_log_mean, share)),
        log_vars=np.append(
            variances, (priors.process_size_log_var, priors.process_share_logit_var)
        ),
    )


def make_process_problem(spec: ModelSpec, data: Data) -> ProcessProblem:
    """What the sampler of the Gaussian process works on."""
    return ProcessProblem(
        model=make_process_model(spec, data),
        values=np.ascontiguousarray(data.values),
        noise_shape=float(spec.priors.noise_shape),
        noise_rate=float(spec.priors.process_noise_rate),
        noise_known=int(data.noise_precision is not None),
    )


def _skip_component_draws(spec: ModelSpec, data: Data, rng: np.random.Generator) -> None:
    """Use up the random numbers that a start with components would.

    So a seed gives the same suggestions as in the version before.
    """
    priors = spec.priors
    for axis in data.grid:
        equal = axis.kernel.kind == dense.EQUAL_CORRELATION
        mean = priors.correlation_logit_mean if equal else priors.lengthscale_log_mean
        variance = priors.correlation_logit_var if equal else priors.lengthscale_log_var
        drawn = mean + np.sqrt(variance) * rng.standard_normal()
        while not LOG_LENGTHSCALE_LOW < drawn < LOG_LENGTHSCALE_HIGH:
            drawn = mean + np.sqrt(variance) * rng.standard_normal()
    if data.noise_precision is None:
        rng.standard_gamma(priors.noise_shape)
