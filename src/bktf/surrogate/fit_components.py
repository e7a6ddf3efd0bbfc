"""Finite rank: Gibbs chains of weights and factors, from the prior or from where an earlier fit ended."""

from typing import NamedTuple

import numpy as np

from bktf._compiled import LOG_LENGTHSCALE_HIGH, LOG_LENGTHSCALE_LOW, Progress, announce_compilation
from bktf._typing import Floats
from bktf.axis_kernels import Axis
from bktf.components import (
    ChainResult,
    ComponentDraws,
    KnownFactors,
    ResidualDraws,
    State,
    gibbs,
    run_chain,
    states_between,
)
from bktf.gaussian_process import START_NOISE_PRECISION, ConditionalProcess, ProcessDraws, condition_process
from bktf.surrogate.model_spec import ModelSpec
from bktf.surrogate.problems import ComponentProblem, Data, make_component_problem, new_state
from bktf.surrogate.run_chains import ChainCall, RunOptions, run_chains

LENGTHSCALE_RANGE = (np.exp(LOG_LENGTHSCALE_LOW), np.exp(LOG_LENGTHSCALE_HIGH))
UNITS_RANGE = (1e-8, 1e8)  # a warm start whose units of y differ by more begins with fresh weights and noise


class WarmStart(NamedTuple):
    """Where the chains of an earlier fit ended."""

    draws: ComponentDraws
    process: ConditionalProcess | None  # of the residual process, where there was one
    n_chains: int
    n_kept: int  # draws of each chain
    log10_ratio: float  # of the units of y: the earlier scale over today's, as a logarithm


def fit_components(
    spec: ModelSpec, data: Data, entropy: int, warm: WarmStart | None, options: RunOptions
) -> ComponentDraws | ResidualDraws:
    """Draws of weights and factors, and of the residual process where there is one."""
    made = make_component_problem(spec, data)
    lengths = spec.lengths
    if warm is not None:
        _check_same_model(warm.draws, data.grid, made)
    announce_compilation(gibbs.run)

    def chain(call: ChainCall) -> ChainResult:
        state = new_state(made.problem)
        if data.noise_precision is not None:
            state.noise_precision[0] = data.noise_precision
        gibbs.draw_prior(made.problem, state, call.start_rng)
        if spec.residual_process and data.noise_precision is None:
            state.noise_precision[0] = START_NOISE_PRECISION
        if warm is not None:
            _resume(warm, made, data.grid, state, call)
        sweeps, rngs = (lengths.n_sweeps, lengths.n_burn_in), (call.chain_rng, call.fill_rng)
        progress = Progress(call.stop, call.report)
        return run_chain(made.problem, data.grid, made.observed, state, sweeps, rngs, progress)

    results = run_chains(chain, lengths.n_chains, lengths.n_sweeps, entropy, options)
    _check_finite(spec, results)
    draws = ComponentDraws(
        axes=data.grid,
        active=made.problem.active,
        lengthscales=np.where(made.problem.learned, np.concatenate([r.lengthscales for r in results]), np.nan),
        states=tuple(np.concatenate([r.states[d] for r in results]) for d in range(len(data.grid))),
        weights=np.concatenate([r.weights for r in results]),
        noise_precision=np.concatenate([r.noise_precision for r in results]),
        weight_vars=np.concatenate([r.weight_vars for r in results]),
        offsets=np.concatenate([r.offsets for r in results]),
        shared_lengthscales=spec.shared_lengthscales,
        seed=entropy,
    )
    if not spec.residual_process:
        return draws
    return add_residual_process(draws, np.concatenate([r.process_logs for r in results]), data.points, data.values)


def add_residual_process(draws: ComponentDraws, logs: Floats, points: Floats, values: Floats) -> ResidualDraws:
    """Components with the process of what each draw leaves over of standardised values (n,) at points (n, D)."""
    explained = np.einsum("kr,krn->kn", draws.weights, draws.products_at(points))
    on_levels = np.array([axis.kernel.on_levels for axis in draws.axes])
    scaled = np.stack([axis.scale(points[:, d]) for d, axis in enumerate(draws.axes)], axis=1)
    process = condition_process(scaled, on_levels, logs, draws.noise_precision, values - explained)
    return ResidualDraws(draws, ProcessDraws(draws.axes, process, draws.seed))


def _check_finite(spec: ModelSpec, results: list[ChainResult]) -> None:
    """Refuse draws that overflowed."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = [
            a.sum() for r in results for a in (r.weights, r.noise_precision, r.process_logs, *r.states, r.weights * r.states[0][:, :, 0, 0])
        ]
    if not np.all(np.isfinite(sums)):
        raise ArithmeticError(
            "the draws overflowed double precision; use priors and a given covariance with values nearer to 1 "
            f"(weight_var={spec.priors.weight_var:g}, noise_rate={spec.priors.noise_rate:g}, noise_std={spec.noise_std})"
        )


def _check_same_model(warm: ComponentDraws, grid: tuple[Axis, ...], made: ComponentProblem) -> None:
    """Refuse a warm start from a posterior of another model."""
    same = np.array_equal(warm.active, made.problem.active) and len(warm.axes) == len(grid)
    if not same or not all(a.kernel.same_as(b.kernel) for a, b in zip(warm.axes, grid, strict=True)):
        raise ValueError("warm_start must come from a fit with the same dimensions, components and kernels; this one differs")
    for d, (old, new) in enumerate(zip(warm.axes, grid, strict=True)):
        if old.log != new.log or (new.kernel.on_levels and not np.array_equal(old.points, new.points)):
            raise ValueError(f"warm_start must come from a fit with the same levels and scale on axis {d}; this one differs")


def _resume(warm: WarmStart, made: ComponentProblem, grid: tuple[Axis, ...], state: State, call: ChainCall) -> None:
    """Write the last draw of a chain into state: in today's units, drawn at today's new coordinates."""
    problem, draws = made.problem, warm.draws
    k = (call.number % warm.n_chains) * warm.n_kept + warm.n_kept - 1
    if np.log10(UNITS_RANGE[0]) < warm.log10_ratio < np.log10(UNITS_RANGE[1]):
        ratio = 10.0**warm.log10_ratio
        state.weights[:] = draws.weights[k] * ratio
        if not problem.noise_known:
            state.noise_precision[0] = draws.noise_precision[k] / ratio**2
    if problem.process.log_means.size and warm.process is not None:
        logs = warm.process.logs[k]
        known = np.isfinite(logs)  # a file from before the constant share knows nothing of it
        state.process_logs[known] = logs[known]
    for d, axis in enumerate(grid):
        old = draws.axes[d]
        states = draws.states[d][k : k + 1]
        lengthscales = draws.axis_lengthscales(d)[k : k + 1]
        if problem.learned[d] and not axis.kernel.on_levels:
            lengthscales = np.clip(lengthscales * (old.length / axis.length), *LENGTHSCALE_RANGE)
        if problem.shared and problem.active[:, d].any():  # a fit with one length-scale each may warm one that shares them
            lengthscales = np.where(np.isnan(lengthscales), np.nan, np.nanmean(lengthscales))
        state.lengthscales[:, d] = lengthscales[0]
        state.offsets[:, d] = draws.offsets[k, :, d] if problem.offset[d] else 0.0
        wanted = axis.points[made.observed[d]]
        index = old.locate(wanted)
        size = states.shape[3]
        current = np.empty((1, len(problem.active), wanted.size, size))
        current[:, :, index >= 0] = states[:, :, index[index >= 0]]
        known_factors = KnownFactors(axis, lengthscales, draws.offsets[k : k + 1, :, d], axis.scale(old.points), states)
        new = axis.scale(wanted[index < 0])
        current[:, :, index < 0] = states_between(known_factors, new, call.stop, call.start_rng)
        state.factors[:, problem.starts[d] : problem.starts[d + 1], :size] = current[0]
    gibbs.update_covariances(problem, state, False, call.start_rng)
