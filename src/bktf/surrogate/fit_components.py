"""Finite rank: Gibbs chains of weights and factors, from the prior or from an earlier fit."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bktf._compiled import LOG_LENGTHSCALE_HIGH, LOG_LENGTHSCALE_LOW, Progress, announce_compilation
from bktf._typing import Floats, Ints
from bktf.axis_kernels import MATERN32, Axis, axis_operations, dense, operations, steps_along
from bktf.components import (
    ChainResult,
    ComponentDraws,
    KnownFactors,
    Problem,
    ResidualDraws,
    State,
    annealed_powers,
    gibbs,
    noise_operations,
    run_chain,
    run_population,
    stack_states,
    states_between,
    sweep_population,
)
from bktf.gaussian_process import (
    START_NOISE_PRECISION,
    ConditionalProcess,
    ProcessDraws,
    condition_process,
    empty_model,
    n_logs,
)
from bktf.surrogate.fit_process import make_process_model
from bktf.surrogate.model_spec import ModelSpec, active_dimensions
from bktf.surrogate.observed_values import Data
from bktf.surrogate.run_chains import ChainCall, RunOptions, run_chains

LENGTHSCALE_RANGE = (np.exp(LOG_LENGTHSCALE_LOW), np.exp(LOG_LENGTHSCALE_HIGH))
# A warm start whose units of y differ by more than this begins with new weights and noise.
UNITS_RANGE = (1e-8, 1e8)
MAX_JOINT = 8  # components whose factors are drawn together: the cost is cubic in their number
GROUP = 8  # annealed chains that share a thread and its random numbers


class ComponentProblem(NamedTuple):
    """What the Gibbs sampler works on, and the observed points of each axis."""

    problem: Problem
    observed: tuple[Ints, ...]  # indices among the points of each axis


class WarmStart(NamedTuple):
    """Where the chains of an earlier fit ended."""

    draws: ComponentDraws
    process: ConditionalProcess | None  # of the residual process, where there was one
    n_chains: int
    n_kept: int  # draws of each chain
    log10_ratio: float  # logarithm of the earlier scale of y over that of this fit


def fit_components(
    spec: ModelSpec, data: Data, entropy: int, warm: WarmStart | None, options: RunOptions
) -> ComponentDraws | ResidualDraws:
    """Draws of weights and factors, and of the residual process where there is one."""
    made = make_component_problem(spec, data)
    lengths = spec.lengths
    if warm is not None:
        _check_same_model(warm.draws, data.grid, made)
    is_annealed = spec.inference == "annealed"
    announce_compilation(sweep_population if is_annealed else gibbs.run)

    def start(call: ChainCall, number: int) -> State:
        """The state in which a chain begins: a draw of the prior, or where an earlier fit ended."""
        state = state_from_prior(made.problem, data, call.start_rng)
        if spec.residual_process and data.noise_precision is None:
            state.noise_precision[0] = START_NOISE_PRECISION
        if warm is not None:
            _resume(warm, made, data.grid, state, call, number)
        return state

    def chain(call: ChainCall) -> ChainResult:
        """One chain."""
        sweeps, rngs = (lengths.n_sweeps, lengths.n_burn_in), (call.chain_rng, call.fill_rng)
        progress, state = Progress(call.stop, call.report), start(call, call.number)
        return run_chain(made.problem, data.grid, made.observed, state, sweeps, rngs, progress)

    def chains(call: ChainCall) -> ChainResult:
        """The chains of one group."""
        first = call.number * GROUP
        numbers = range(first, min(first + GROUP, lengths.n_chains))
        population = stack_states([start(call, number) for number in numbers])
        powers = annealed_powers(lengths.n_sweeps, lengths.n_burn_in)
        if warm is not None:
            powers[:] = 1.0
        schedule, rngs = (powers, lengths.n_burn_in), (call.chain_rng, call.fill_rng)
        progress = Progress(call.stop, call.report)
        return run_population(
            made.problem, data.grid, made.observed, population, schedule, rngs, progress
        )

    n_calls = -(-lengths.n_chains // GROUP) if is_annealed else lengths.n_chains
    n_reports = lengths.n_chains * lengths.n_sweeps
    results = run_chains(chains if is_annealed else chain, n_calls, n_reports, entropy, options)
    draws = join_chains(spec, data, made, results, entropy)
    if not spec.residual_process:
        return draws
    logs = np.concatenate([r.process_logs for r in results])
    return add_residual_process(draws, logs, data.points, data.values)


def join_chains(
    spec: ModelSpec,
    data: Data,
    made: ComponentProblem,
    results: list[ChainResult],
    entropy: int,
) -> ComponentDraws:
    """The draws of all chains, one after another."""
    _check_finite(spec, results)
    lengthscales = np.concatenate([r.lengthscales for r in results])
    return ComponentDraws(
        axes=data.grid,
        active=made.problem.active,
        lengthscales=np.where(made.problem.learned, lengthscales, np.nan),
        states=tuple(np.concatenate([r.states[d] for r in results]) for d in range(len(data.grid))),
        weights=np.concatenate([r.weights for r in results]),
        noise_precision=np.concatenate([r.noise_precision for r in results]),
        weight_vars=np.concatenate([r.weight_vars for r in results]),
        offsets=np.concatenate([r.offsets for r in results]),
        shared_lengthscales=spec.shared_lengthscales,
        seed=entropy,
    )


def add_residual_process(
    draws: ComponentDraws, logs: Floats, points: Floats, values: Floats
) -> ResidualDraws:
    """Components with the process of their residuals.

    Residuals are of standardised values (n,) at points (n, D), within each draw.
    """
    explained = np.einsum("kr,krn->kn", draws.weights, draws.products_at(points))
    on_levels = np.array([axis.kernel.on_levels for axis in draws.axes])
    scaled = np.stack([axis.scale(points[:, d]) for d, axis in enumerate(draws.axes)], axis=1)
    process = condition_process(scaled, on_levels, logs, draws.noise_precision, values - explained)
    return ResidualDraws(draws, ProcessDraws(draws.axes, process, draws.seed))


def make_component_problem(spec: ModelSpec, data: Data) -> ComponentProblem:
    """The data as the Gibbs sampler takes them, and the observed points of each axis."""
    grid, points, priors = data.grid, data.points, spec.priors
    active = active_dimensions(spec, len(grid))
    observed, cells, coords = [], [], []
    for d, axis in enumerate(grid):
        seen, index = np.unique(axis.locate(points[:, d]), return_inverse=True)
        if axis.kernel.kind == dense.FULL_COVARIANCE:
            # All levels, because the covariance is of all of them.
            seen, index = np.arange(axis.size), axis.locate(points[:, d])
        observed.append(seen)
        cells.append(index)
        coords.append(axis.scale(axis.points)[seen])
    full = np.array([axis.kernel.kind == dense.FULL_COVARIANCE for axis in grid])
    has_matrix = np.array([axis.kernel.covariance is not None for axis in grid]) | full
    matrix_index = np.maximum(np.cumsum(has_matrix) - 1, 0).astype(np.int64)
    largest = max((axis.size for d, axis in enumerate(grid) if has_matrix[d]), default=1)
    covariances = np.zeros((max(int(has_matrix.sum()), 1), largest, largest))
    for d, axis in enumerate(grid):
        if axis.kernel.covariance is not None:
            covariances[matrix_index[d], : axis.size, : axis.size] = axis.kernel.covariance
    learned = np.array([axis.kernel.has_lengthscale for axis in grid])
    equal = np.array([axis.kernel.kind == dense.EQUAL_CORRELATION for axis in grid])
    log_means = np.where(equal, priors.correlation_logit_mean, priors.lengthscale_log_mean)
    log_vars = np.where(equal, priors.correlation_logit_var, priors.lengthscale_log_var)
    kinds = np.array([axis.kernel.kind for axis in grid], dtype=np.int64)
    n_active = active.sum(axis=0)
    joint = (kinds == MATERN32) & (n_active > 1) & (n_active <= MAX_JOINT)
    joint &= spec.inference == "annealed" and not spec.shared_lengthscales
    steps = [steps_along(c) for c in coords]
    problem = Problem(
        values=np.ascontiguousarray(data.values),
        cells=np.array(cells, dtype=np.uint32),
        coords=np.concatenate(coords),
        starts=_starts([c.size for c in coords]),
        steps=np.concatenate([s.gap_of for s in steps]),
        gaps=np.concatenate([s.values for s in steps]),
        gap_starts=_starts([s.values.size for s in steps]),
        kinds=kinds,
        periods=np.array([axis.period for axis in grid]),
        covariances=covariances,
        covariance_index=matrix_index,
        operations=axis_operations(kinds, spec.shared_lengthscales, bool(joint.any())),
        joint=joint,
        learned=learned,
        full=full,
        active=active,
        shared=bool(spec.shared_lengthscales),
        log_means=log_means.astype(float),
        log_vars=log_vars.astype(float),
        noise_shape=float(priors.noise_shape),
        noise_rate=float(priors.process_noise_rate if spec.residual_process else priors.noise_rate),
        noise_known=data.noise_precision is not None,
        weight_var=float(priors.weight_var),
        size_log_mean=float(priors.process_size_log_mean),
        size_log_var=float(priors.process_size_log_var) if spec.comparable else 0.0,
        n_sized=int(active.any(axis=1).sum()),
        shrunk=(active.sum(axis=1) > min(1, len(grid) - 1)) & bool(spec.adapt_rank),
        shrinkage_first=float(priors.shrinkage_first),
        shrinkage_rest=float(priors.shrinkage_rest),
        offset=~full & bool(spec.offsets),
        offset_mean=float(priors.offset_mean),
        offset_var=float(priors.offset_var),
        process=make_process_model(spec, data) if spec.residual_process else empty_model(len(grid)),
        noise_operations=noise_operations(spec.residual_process),
    )
    return ComponentProblem(problem, tuple(observed))


def _starts(sizes: Sequence[int]) -> Ints:
    """Where each of several concatenated arrays begins, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def new_state(problem: Problem) -> State:
    """An empty state of the right sizes."""
    n_components, n_dims = problem.active.shape
    size = max(operations.state_size(int(kind)) for kind in problem.kinds)
    n = problem.values.size
    return State(
        lengthscales=np.zeros((n_components, n_dims)),
        covariances=problem.covariances.copy(),
        factors=np.zeros((n_components, problem.coords.size, size)),
        weights=np.zeros(n_components),
        weight_vars=np.full(n_components, problem.weight_var),
        shrinkage=np.ones(n_components),
        offsets=np.zeros((n_components, n_dims)),
        noise_precision=np.ones(1),
        power=np.ones(1),
        products=np.zeros((n_components, n)),
        residual=np.zeros(n),
        process_values=np.zeros(n),
        process_logs=np.zeros(n_logs(n_dims)),
    )


def state_from_prior(problem: Problem, data: Data, rng: np.random.Generator) -> State:
    """A draw of the prior, without its products and residual."""
    state = new_state(problem)
    if data.noise_precision is not None:
        state.noise_precision[0] = data.noise_precision
    gibbs.draw_prior(problem, state, rng)
    return state


def _check_finite(spec: ModelSpec, results: list[ChainResult]) -> None:
    """Refuse draws that overflowed."""
    sums: list[float] = []
    with np.errstate(over="ignore", invalid="ignore"):
        for r in results:
            products = r.weights * r.states[0][:, :, 0, 0]
            arrays = (r.weights, r.noise_precision, r.process_logs, *r.states, products)
            sums += [array.sum() for array in arrays]
    if not np.all(np.isfinite(sums)):
        priors = spec.priors
        raise ArithmeticError(
            "the draws overflowed double precision; use priors and a given covariance with values "
            f"nearer to 1 (weight_var={priors.weight_var:g}, noise_rate={priors.noise_rate:g}, "
            f"noise_std={spec.noise_std})"
        )


def _check_same_model(warm: ComponentDraws, grid: tuple[Axis, ...], made: ComponentProblem) -> None:
    """Refuse a warm start from a posterior of another model."""
    wanted = "warm_start must come from a fit with the same"
    same = np.array_equal(warm.active, made.problem.active) and len(warm.axes) == len(grid)
    pairs = list(zip(warm.axes, grid, strict=False))  # lengths are compared above
    if not same or not all(old.kernel.same_as(new.kernel) for old, new in pairs):
        raise ValueError(f"{wanted} dimensions, components and kernels; this one differs")
    for d, (old, new) in enumerate(pairs):
        other_levels = new.kernel.on_levels and not np.array_equal(old.points, new.points)
        if old.log != new.log or other_levels:
            raise ValueError(f"{wanted} levels and scale on axis {d}; this one differs")


def _resume(
    warm: WarmStart,
    made: ComponentProblem,
    grid: tuple[Axis, ...],
    state: State,
    call: ChainCall,
    number: int,
) -> None:
    """Write the last draw of an earlier chain into `state`, in the units of this fit.

    At coordinates that the earlier fit did not have, factors are drawn given those it had.
    """
    problem, draws = made.problem, warm.draws
    k = (number % warm.n_chains) * warm.n_kept + warm.n_kept - 1
    if np.log10(UNITS_RANGE[0]) < warm.log10_ratio < np.log10(UNITS_RANGE[1]):
        ratio = 10.0**warm.log10_ratio
        state.weights[:] = draws.weights[k] * ratio
        if not problem.noise_known:
            state.noise_precision[0] = draws.noise_precision[k] / ratio**2
    if problem.process.log_means.size and warm.process is not None:
        logs = warm.process.logs[k]
        known = np.isfinite(logs)  # files of format 1 have no constant share
        state.process_logs[known] = logs[known]
    for d, axis in enumerate(grid):
        old = draws.axes[d]
        states = draws.states[d][k : k + 1]
        lengthscales = draws.axis_lengthscales(d)[k : k + 1]
        if problem.learned[d] and not axis.kernel.on_levels:
            lengthscales = np.clip(lengthscales * (old.length / axis.length), *LENGTHSCALE_RANGE)
        if problem.shared and problem.active[:, d].any():
            # The earlier fit may have had one length-scale for each component.
            lengthscales = np.where(np.isnan(lengthscales), np.nan, np.nanmean(lengthscales))
        state.lengthscales[:, d] = lengthscales[0]
        state.offsets[:, d] = draws.offsets[k, :, d] if problem.offset[d] else 0.0
        wanted = axis.points[made.observed[d]]
        index = old.locate(wanted)
        size = states.shape[3]
        current = np.empty((1, len(problem.active), wanted.size, size))
        current[:, :, index >= 0] = states[:, :, index[index >= 0]]
        offsets = draws.offsets[k : k + 1, :, d]
        known_factors = KnownFactors(axis, lengthscales, offsets, axis.scale(old.points), states)
        new = axis.scale(wanted[index < 0])
        current[:, :, index < 0] = states_between(known_factors, new, call.stop, call.start_rng)
        state.factors[:, problem.starts[d] : problem.starts[d + 1], :size] = current[0]
    gibbs.update_covariances(problem, state, False, call.start_rng)
