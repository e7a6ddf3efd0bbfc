"""Chains: from a problem to draws on all axis points, in short calls so that Ctrl-C works."""

import threading
from typing import NamedTuple

import numpy as np

from bktf._compiled import Progress, run_in_short_calls
from bktf._typing import Floats, Ints
from bktf.axis_kernels import Axis, between_points, operations, plan_between
from bktf.components import gibbs
from bktf.components.chain_state import Draws, Problem, State, Work
from bktf.gaussian_process import n_logs

FIRST_CALL = 0.02  # seconds that the first call should take, by the rough costs below
PER_OBSERVATION = 1e-8  # seconds of a step per observation
PER_POINT = 3e-7  # seconds of a step, or of a draw at new points, per axis point
NO_MATRIX: Floats = np.zeros((1, 1))


class ChainResult(NamedTuple):
    """The draws of one chain after burn-in."""

    lengthscales: Floats  # (K, R, D), NaN where a component is not active or the axis has none
    states: tuple[Floats, ...]  # per axis (K, R, m_d, state size)
    weights: Floats  # (K, R)
    weight_vars: Floats  # (K, R)
    offsets: Floats  # (K, R, D)
    noise_precision: Floats  # (K,)
    process_logs: Floats  # (K, D + 2)


def matrix_of(axis: Axis) -> Floats:
    """The covariance given for an axis, or a placeholder that no kernel reads."""
    return NO_MATRIX if axis.kernel.covariance is None else axis.kernel.covariance


class KnownFactors(NamedTuple):
    """The factors of one axis at known coordinates."""

    axis: Axis
    lengthscales: Floats  # (K, R); NaN: inactive component, 0: kernel without one
    offsets: Floats  # (K, R) prior means of the factors
    coords: Floats  # (m,) scaled, increasing
    states: Floats  # (K, R, m, S) factor and scaled derivatives


def states_between(
    known: KnownFactors, new_coords: Floats, stop: threading.Event, rng: np.random.Generator
) -> Floats:
    """A joint draw of the states (K, R, u, S) at new scaled coordinates, which increase."""
    axis, coords = known.axis, known.coords
    states = without_offsets(known.states, known.offsets)
    n_draws, n_components, _, size = states.shape
    out = np.zeros((n_draws, n_components, new_coords.size, size))
    if new_coords.size == 0:
        return out
    kind = axis.kernel.kind
    draw = operations.between(kind).draw
    plan = plan_between(coords, new_coords, joint=True)

    def advance(first: int, count: int) -> None:
        between_points.draw_all_between(
            draw, kind, axis.period, matrix_of(axis), known.lengthscales, coords, states,
            new_coords, *plan, out, first, first + count, rng,
        )  # fmt: skip

    run_in_short_calls(
        n_draws, first_call_size(axis, n_components, coords.size + new_coords.size), advance, stop
    )
    out[..., 0] += known.offsets[:, :, None]
    return out


def without_offsets(states: Floats, offsets: Floats) -> Floats:
    """States (K, R, m, S) of factors without their offsets (K, R)."""
    if not offsets.any():
        return states
    centred = states.copy()
    centred[..., 0] -= offsets[:, :, None]
    return centred


def moments_between(known: KnownFactors, new_coords: Floats) -> tuple[Floats, Floats]:
    """Mean and variance (K, R, u) of the factors at each new scaled coordinate."""
    axis, coords = known.axis, known.coords
    states = without_offsets(known.states, known.offsets)
    n_draws, n_components = states.shape[:2]
    means, variances = np.empty((2, n_draws, n_components, new_coords.size))
    kind = axis.kernel.kind
    moments = operations.between(kind).moments
    plan = plan_between(coords, new_coords, joint=False)

    def advance(first: int, count: int) -> None:
        between_points.all_moments_between(
            moments, kind, axis.period, matrix_of(axis), known.lengthscales, coords, states,
            new_coords, *plan, means, variances, first, first + count,
        )  # fmt: skip

    first_size = first_call_size(axis, n_components, coords.size + new_coords.size)
    run_in_short_calls(n_draws, first_size, advance, threading.Event())
    means += known.offsets[:, :, None]
    return means, variances


def first_call_size(axis: Axis, n_components: int, n_points: int) -> int:
    """The number of draws in the first call for the factors of one axis."""
    return (
        1
        if axis.kernel.is_dense
        else int(FIRST_CALL / (max(n_components, 1) * n_points * PER_POINT))
    )


def steps_per_sweep(problem: Problem) -> int:
    """One step for each block and axis, and one for noise, weights and covariances together."""
    n_components, n_dims = problem.active.shape
    return int((1 if problem.shared else n_components) * n_dims + 1)


def empty_draws(problem: Problem, state_size: int, n_draws: int) -> Draws:
    """Arrays for this many draws."""
    n_components, n_dims = problem.active.shape
    return Draws(
        np.empty((n_draws, n_components, n_dims)),
        np.empty((n_draws, n_components, problem.coords.size, state_size)),
        np.empty((n_draws, n_components)),
        np.empty((n_draws, n_components)),
        np.empty((n_draws, n_components, n_dims)),
        np.empty(n_draws),
        np.empty((n_draws, n_logs(n_dims))),
    )


def step_cost(problem: Problem) -> float:
    """Seconds of a step, roughly."""
    n_components, n_dims = problem.active.shape
    block = n_components if problem.shared else 1
    n, n_coords = problem.values.size, problem.coords.size
    return float(block * (n * PER_OBSERVATION + n_coords / n_dims * PER_POINT))


def has_steep_cost(problem: Problem, axes: tuple[Axis, ...]) -> bool:
    """Whether some cost grows faster than linearly, so that it is measured from a first step."""
    has_process = problem.process.log_means.size > 0
    return has_process or any(axis.kernel.is_dense for axis in axes)


def run_chain(
    problem: Problem,
    axes: tuple[Axis, ...],
    observed: tuple[Ints, ...],  # per axis, the points that were observed
    state: State,
    sweeps: tuple[int, int],
    rngs: tuple[np.random.Generator, np.random.Generator],
    progress: Progress,
) -> ChainResult:
    """Run one chain from `state`, which is overwritten, and draw the factors at all axis points.

    sweeps: the number of sweeps, and how many of them are burn-in. The second random generator is
    for the points that were not observed, so that a finer axis does not change the chain.
    """
    n_sweeps, n_burn_in = sweeps
    chain_rng, fill_rng = rngs
    n_components, n_dims = problem.active.shape
    n, n_kept = problem.values.size, n_sweeps - n_burn_in
    block = n_components if problem.shared else 1
    work = Work(
        np.empty((block, n_dims + 1, n)), np.empty((block, n)), np.empty((block, n)), np.empty(n)
    )
    draws = empty_draws(problem, state.factors.shape[2], n_kept)
    per_sweep = steps_per_sweep(problem)

    def advance(step: int, count: int) -> None:
        gibbs.run(problem, state, work, draws, n_burn_in, per_sweep, step, count, chain_rng)
        progress.report((step + count) // per_sweep - step // per_sweep)

    first = 1 if has_steep_cost(problem, axes) else int(FIRST_CALL / step_cost(problem))
    run_in_short_calls(n_sweeps * per_sweep, first, advance, progress.stop)
    return draws_on_axes(problem, axes, observed, draws, progress.stop, fill_rng)


def draws_on_axes(
    problem: Problem,
    axes: tuple[Axis, ...],
    observed: tuple[Ints, ...],
    draws: Draws,
    stop: threading.Event,
    fill_rng: np.random.Generator,
) -> ChainResult:
    """Draws at observed coordinates, with the factors drawn at all other axis points."""
    n_kept, n_components = draws.weights.shape
    states = []
    for d, axis in enumerate(axes):
        scaled = axis.scale(axis.points)
        size = operations.state_size(axis.kernel.kind)
        observed_states = draws.factors[:, :, problem.starts[d] : problem.starts[d + 1], :size]
        if observed[d].size == axis.size:
            states.append(np.ascontiguousarray(observed_states))
            continue
        new = np.setdiff1d(np.arange(axis.size), observed[d])
        all_states = np.empty((n_kept, n_components, axis.size, size))
        all_states[:, :, observed[d]] = observed_states
        lengthscales = np.ascontiguousarray(draws.lengthscales[:, :, d])
        known = KnownFactors(
            axis,
            lengthscales,
            draws.offsets[:, :, d],
            scaled[observed[d]],
            np.ascontiguousarray(observed_states),
        )
        all_states[:, :, new] = states_between(known, scaled[new], stop, fill_rng)
        states.append(all_states)
    return ChainResult(
        draws.lengthscales,
        tuple(states),
        draws.weights,
        draws.weight_vars,
        draws.offsets,
        draws.noise_precision,
        draws.process_logs,
    )
