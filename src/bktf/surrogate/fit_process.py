"""Infinite rank: chains of kernel parameters, and the Gaussian process given all observations."""

import math
from typing import NamedTuple

import numpy as np

from bktf._compiled import LOG_LENGTHSCALE_HIGH, LOG_LENGTHSCALE_LOW, Progress, announce_compilation
from bktf._typing import Floats
from bktf.axis_kernels import dense
from bktf.gaussian_process import (
    LOG_ODDS_HIGH,
    START_NOISE_PRECISION,
    Evidence,
    Laplace,
    LogPosterior,
    ProcessChain,
    ProcessDraws,
    ProcessModel,
    ProcessProblem,
    condition_process,
    pair_separations,
    process_evidence,
    run_elliptical_chain,
    run_process_chain,
    run_sweeps,
    start_of_chain,
    write_covariance,
)
from bktf.surrogate.model_spec import ModelSpec
from bktf.surrogate.observed_values import Data
from bktf.surrogate.run_chains import ChainCall, RunOptions, run_chains

# (D + 3)·n³ up to which slice updates are used: 64 observations in six dimensions
MAX_SLICE_WORK = 9 * 64**3
MAX_TWO_MODES = 150  # observations up to which a second mode is looked for
MAX_LOSS = 8.0  # nats below the first mode beyond which a second one has no share of the chains
SAME_MODE = 0.3  # standard deviations of the prior; modes that are nearer are one


class ProcessStart(NamedTuple):
    """Parameters of a process from which the search for their mode starts."""

    logs: Floats  # (D + 2,) see `gaussian_process.covariance`
    noise_precision: float

    @classmethod
    def of(cls, draws: ProcessDraws) -> "ProcessStart":
        """The mean of the logarithms of the parameters over draws, without those of a context."""
        process = draws.process
        log_precision = float(np.log(process.noise_precision).mean())
        logs = np.concatenate((process.axis_logs, process.logs[:, -2:]), axis=1)
        return cls(logs.mean(axis=0), math.exp(log_precision))


def fit_process(
    spec: ModelSpec, data: Data, entropy: int, start: ProcessStart | None, options: RunOptions
) -> ProcessDraws:
    """Draws of the process given the data.

    Few observations: chains of slice updates, one parameter at a time, from draws of the prior.
    Otherwise: chains that move all parameters at once around their mode; `start` is where the
    search for the mode starts.
    """
    problem = make_process_problem(spec, data)
    lengths = spec.lengths
    sweeps = (lengths.n_sweeps, lengths.n_burn_in)
    is_around_mode = uses_mode(len(data.grid), len(data.values))
    announce_compilation(write_covariance if is_around_mode else run_sweeps)
    modes = _laplace_of_chains(problem, data, start, lengths.n_chains) if is_around_mode else []

    def chain(call: ChainCall) -> ProcessChain:
        """One chain."""
        progress = Progress(call.stop, call.report)
        if modes:
            own = _density(problem, data)  # its buffers are not for several threads
            return run_elliptical_chain(own, modes[call.number], sweeps, call.chain_rng, progress)
        _skip_component_draws(spec, data, call.start_rng)
        first = start_of_chain(problem, data.noise_precision, call.start_rng)
        return run_process_chain(problem, first, sweeps, call.chain_rng, progress)

    chains = run_chains(
        chain, lengths.n_chains, lengths.n_chains * lengths.n_sweeps, entropy, options
    )
    logs = np.concatenate([c.logs for c in chains])
    noise_precision = np.concatenate([c.noise_precision for c in chains])
    return condition_draws(data, logs, noise_precision, entropy)


def _laplace_of_chains(
    problem: ProcessProblem, data: Data, start: ProcessStart | None, n_chains: int
) -> list[Laplace]:
    """The mode around which each chain moves.

    With few observations noise and a rough function may explain the data alike. Then there are two
    modes, and chains are divided between them by their posterior masses.
    """
    found = _modes(_density(problem, data), data, start)
    return [found[i] for i in divide_chains([f.log_mass for f in found], n_chains)]


def _modes(density: LogPosterior, data: Data, start: ProcessStart | None) -> list[Laplace]:
    """One mode of the posterior, or two where the other explanation of the data is near it."""
    found = [density.laplace(_find_mode(density, start))]
    if data.noise_precision is None and len(data.values) <= MAX_TWO_MODES:
        mode = found[0].mode
        other = density.find_mode(density.other_start(mode))
        is_other = np.abs(other - mode).max() > SAME_MODE
        if is_other and density.value(other) > density.value(mode) - MAX_LOSS:
            found.append(density.laplace(other))
    return found


def evidence_of_process(spec: ModelSpec, data: Data, rng: np.random.Generator) -> Evidence:
    """The log evidence of infinite rank, and its standard error."""
    density = _density(make_process_problem(spec, data), data)
    return process_evidence(density, _modes(density, data, None), rng)


def divide_chains(log_masses: list[float], n_chains: int) -> list[int]:
    """The mode of each chain, in proportion to the modes' masses as far as that is possible."""
    masses = np.exp(np.array(log_masses) - max(log_masses))
    ends = np.cumsum(masses) / masses.sum()
    positions = (np.arange(n_chains) + 0.5) / n_chains
    return [int(i) for i in np.minimum(np.searchsorted(ends, positions), len(log_masses) - 1)]


def fit_process_mode(spec: ModelSpec, data: Data, start: ProcessStart | None) -> ProcessDraws:
    """The process with the most probable parameters, as a single draw."""
    density = _density(make_process_problem(spec, data), data)
    logs, log_precision = density.parameters(_find_mode(density, start))
    return condition_draws(data, logs[None], np.exp([log_precision]), 0)


def uses_mode(n_dims: int, n: int) -> bool:
    """Whether chains move around the mode: a slice update of each parameter would cost more."""
    return (n_dims + 3) * n**3 > MAX_SLICE_WORK


def _density(problem: ProcessProblem, data: Data) -> LogPosterior:
    """The posterior density of the parameters."""
    known = data.noise_precision
    return LogPosterior.of(problem, START_NOISE_PRECISION if known is None else known)


def _find_mode(density: LogPosterior, start: ProcessStart | None) -> Floats:
    """The mode nearest to a start, by default the centre of the prior with moderate noise."""
    x = np.zeros(len(density.bounds))
    if start is not None:
        x = density.point(start.logs, start.noise_precision)
    return density.find_mode(np.clip(x, *density.bounds.T))


def condition_draws(
    data: Data, logs: Floats, noise_precision: Floats, entropy: int
) -> ProcessDraws:
    """The process of these draws given all observations."""
    on_levels = np.array([axis.kernel.on_levels for axis in data.grid])
    scaled = np.stack([axis.scale(data.points[:, d]) for d, axis in enumerate(data.grid)], axis=1)
    residuals = np.repeat(data.values[None], len(logs), axis=0)
    process = condition_process(scaled, on_levels, logs, noise_precision, residuals)
    return ProcessDraws(data.grid, process, entropy)


def make_process_model(spec: ModelSpec, data: Data) -> ProcessModel:
    """The covariance of a process at the observations, and the priors of its parameters."""
    grid, priors = data.grid, spec.priors
    # Distances are along active parameters only, so the others do not count.
    n_dims = max(int(np.isfinite(data.points).sum(axis=1).max()), 1)
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
