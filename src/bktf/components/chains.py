"""Chains: from a problem to kept draws on whole axes, in short calls so that Ctrl-C is noticed."""

import threading
from typing import NamedTuple

import numpy as np

from bktf._compiled import Progress, run_in_short_calls
from bktf._typing import Floats, Ints
from bktf.axis_kernels import Axis, between_points, operations, plan_between
from bktf.components import gibbs
from bktf.components.chain_state import Draws, Problem, State, Work
from bktf.gaussian_process import n_logs

FIRST_CALL = 0.02  # seconds the first call should take by the rough costs below
PER_OBSERVATION = 1e-8  # seconds a step spends on an observation
PER_POINT = 3e-7  # seconds a step, or a fill, spends on an axis point
NO_MATRIX: Floats = np.zeros((1, 1))


class ChainResult(NamedTuple):
    """The kept draws of one chain."""

    lengthscales: Floats  # (K, R, D), NaN where a component is not active or the axis has none
    states: tuple[Floats, ...]  # per axis (K, R, m_d, state size)
    weights: Floats  # (K, R)
    weight_vars: Floats  # (K, R)
    offsets: Floats  # (K, R, D)
    noise_precision: Floats  # (K,)
    process_logs: Floats  # (K, D + 2)


def matrix_of(axis: Axis) -> Floats:
    """The covariance given for an axis, or a stand-in that no kernel reads."""
    return NO_MATRIX if axis.kernel.covariance is None else axis.kernel.covariance


class KnownFactors(NamedTuple):
    """The factors of one axis where they are known."""

    axis: Axis
    lengthscales: Floats  # (K, R); NaN marks an inactive component, 0 a kernel without one
    offsets: Floats  # (K, R) what the factors vary around
    coords: Floats  # (m,) scaled, increasing
    states: Floats  # (K, R, m, S) factor and scaled derivatives


def states_between(
    known: KnownFactors, new_coords: Floats, stop: threading.Event, rng: np.random.Generator
) -> Floats:
    """A joint draw of the states (K, R, u, S) at new scaled coordinates, which increase."""
    axis, coords = known.axis, known.coords
    states = around_offsets(known.states, known.offsets)
    n_draws, n_components, _, size = states.shape
    out = np.zeros((n_draws, n_components, new_coords.size, size))
    if new_coords.size == 0:
        return out
    kind = axis.kernel.kind
    draw = operations.between(kind).draw
    plan = plan_between(coords, new_coords, joint=True)

    def advance(first: int, count: int) -> None:
        between_points.draw_all_between(
            draw, kind, axis.period, matrix_of(axis), known.lengthscales, coords, states, new_coords, *plan, out, first,
            first + count, rng,
        )  # fmt: skip

    run_in_short_calls(
        n_draws, first_guess(axis, n_components, coords.size + new_coords.size), advance, stop
    )
    out[..., 0] += known.offsets[:, :, None]
    return out


def around_offsets(states: Floats, offsets: Floats) -> Floats:
    """States (K, R, m, S) of factors without their offsets (K, R)."""
    if not offsets.any():
        return states
    centred = states.copy()
    centred[..., 0] -= offsets[:, :, None]
    return centred


def moments_between(known: KnownFactors, new_coords: Floats) -> tuple[Floats, Floats]:
    """Mean and variance (K, R, u) of the factors at each new scaled coordinate."""
    axis, coords = known.axis, known.coords
    states = around_offsets(known.states, known.offsets)
    n_draws, n_components = states.shape[:2]
    means, variances = np.empty((2, n_draws, n_components, new_coords.size))
    kind = axis.kernel.kind
    moments = operations.between(kind).moments
    plan = plan_between(coords, new_coords, joint=False)

    def advance(first: int, count: int) -> None:
        between_points.all_moments_between(
            moments, kind, axis.period, matrix_of(axis), known.lengthscales, coords, states, new_coords, *plan, means,
            variances, first, first + count,
        )  # fmt: skip

    guess = first_guess(axis, n_components, coords.size + new_coords.size)
    run_in_short_calls(n_draws, guess, advance, threading.Event())
    means += known.offsets[:, :, None]
    return means, variances


def first_guess(axis: Axis, n_components: int, n_points: int) -> int:
    """Draws whose factors on one axis the first call should take."""
    return (
        1
        if axis.kernel.is_dense
        else int(FIRST_CALL / (max(n_components, 1) * n_points * PER_POINT))
    )


def run_chain(
    problem: Problem,
    axes: tuple[Axis, ...],
    observed: tuple[Ints, ...],  # per axis, the points that were observed
    state: State,
    sweeps: tuple[int, int],
    rngs: tuple[np.random.Generator, np.random.Generator],
    progress: Progress,
) -> ChainResult:
    """Run one chain from `state` (overwritten) and fill the axes of its kept draws.

    Sweeps are their number and how many of them to drop. The second of the random generators is for
    filling, so a finer axis does not change where the chain goes.
    """
    n_sweeps, n_burn_in = sweeps
    chain_rng, fill_rng = rngs
    n_components, n_dims = problem.active.shape
    n, n_coords, n_kept = problem.values.size, problem.coords.size, n_sweeps - n_burn_in
    block = n_components if problem.shared else 1
    work = Work(
        np.empty((block, n_dims + 1, n)), np.empty((block, n)), np.empty((block, n)), np.empty(n)
    )
    draws = Draws(
        np.empty((n_kept, n_components, n_dims)),
        np.empty((n_kept, n_components, n_coords, state.factors.shape[2])),
        np.empty((n_kept, n_components)),
        np.empty((n_kept, n_components)),
        np.empty((n_kept, n_components, n_dims)),
        np.empty(n_kept),
        np.empty((n_kept, n_logs(n_dims))),
    )
    per_sweep = gibbs.steps_per_sweep(problem)

    def advance(step: int, count: int) -> None:
        gibbs.run(problem, state, work, draws, n_burn_in, per_sweep, step, count, chain_rng)
        progress.report((step + count) // per_sweep - step // per_sweep)

    cost = block * (n * PER_OBSERVATION + n_coords / n_dims * PER_POINT)
    has_process = problem.process.log_means.size > 0
    dense = any(
        axis.kernel.is_dense for axis in axes
    )  # costs that grow faster than linearly are found out by trying
    run_in_short_calls(
        n_sweeps * per_sweep,
        1 if dense or has_process else int(FIRST_CALL / cost),
        advance,
        progress.stop,
    )

    states = []
    for d, axis in enumerate(axes):
        scaled = axis.scale(axis.points)
        size = operations.state_size(axis.kernel.kind)
        seen = draws.factors[:, :, problem.starts[d] : problem.starts[d + 1], :size]
        if observed[d].size == axis.size:
            states.append(np.ascontiguousarray(seen))
            continue
        unseen = np.setdiff1d(np.arange(axis.size), observed[d])
        whole = np.empty((n_kept, n_components, axis.size, size))
        whole[:, :, observed[d]] = seen
        lengthscales = np.ascontiguousarray(draws.lengthscales[:, :, d])
        known = KnownFactors(
            axis,
            lengthscales,
            draws.offsets[:, :, d],
            scaled[observed[d]],
            np.ascontiguousarray(seen),
        )
        whole[:, :, unseen] = states_between(known, scaled[unseen], progress.stop, fill_rng)
        states.append(whole)
    return ChainResult(
        draws.lengthscales,
        tuple(states),
        draws.weights,
        draws.weight_vars,
        draws.offsets,
        draws.noise_precision,
        draws.process_logs,
    )
