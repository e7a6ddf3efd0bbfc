"""Chains: from a problem to kept draws on whole axes, in short calls so that Ctrl-C is heard."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf.axis_kernels import operations as processes
from bktf.axis_kernels.axes import Axis
from bktf.axis_kernels.gaps import plan_between
from bktf.components import gibbs
from bktf.components.chain_state import Draws, Problem, State, Work
from bktf.gaussian_process.covariance import n_logs

Floats = NDArray[np.float64]

PACE = 0.05  # seconds a compiled call should take: a quarter of what Ctrl-C may wait
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
    local_logs: Floats  # (K, D + 2)


def paced(total: int, guess: int, advance: Callable[[int, int], None], stop: threading.Event) -> None:
    """Call advance(done, count) until `total` is done, with counts that take about PACE seconds each."""
    done, count = 0, max(1, guess)
    while done < total:
        if stop.is_set():
            raise KeyboardInterrupt
        now = min(count, total - done)
        began = time.perf_counter()
        advance(done, now)
        elapsed = max(time.perf_counter() - began, 1e-6)
        done += now
        count = max(1, min(int(now * PACE / elapsed), 4 * now))


def matrix_of(axis: Axis) -> Floats:
    """The covariance given for an axis, or a stand-in that no kernel reads."""
    return NO_MATRIX if axis.kernel.covariance is None else axis.kernel.covariance


def states_between(
    axis: Axis,
    lengthscales: Floats,
    offsets: Floats,
    coords: Floats,
    states: Floats,
    new_coords: Floats,
    stop: threading.Event,
    rng: np.random.Generator,
) -> Floats:
    """A joint draw of the states (K, R, u, S) at new scaled coordinates given states (K, R, m, S) at coords; both increase.

    A length-scale of NaN on an axis that learns one marks an inactive component; 0 marks a kernel without one. offsets (K, R): what the
    factors vary around.
    """
    states = around_offsets(states, offsets)
    n_draws, n_components, _, size = states.shape
    out = np.zeros((n_draws, n_components, new_coords.size, size))
    if new_coords.size == 0:
        return out
    kind = axis.kernel.kind
    draw = processes.between(kind).draw
    plan = plan_between(coords, new_coords, joint=True)

    def advance(first: int, count: int) -> None:
        processes.draw_all_between(
            draw, kind, axis.period, matrix_of(axis), lengthscales, coords, states, new_coords, *plan, out, first, first + count, rng
        )

    paced(n_draws, first_guess(axis, n_components, coords.size + new_coords.size), advance, stop)
    out[..., 0] += offsets[:, :, None]
    return out


def around_offsets(states: Floats, offsets: Floats) -> Floats:
    """States (K, R, m, S) of factors without their offsets (K, R)."""
    if not offsets.any():
        return states
    centred = states.copy()
    centred[..., 0] -= offsets[:, :, None]
    return centred


def moments_between(
    axis: Axis, lengthscales: Floats, offsets: Floats, coords: Floats, states: Floats, new_coords: Floats
) -> tuple[Floats, Floats]:
    """Mean and variance (K, R, u) of the factors at each new scaled coordinate given states (K, R, m, S) at coords."""
    states = around_offsets(states, offsets)
    n_draws, n_components = states.shape[:2]
    means, variances = np.empty((2, n_draws, n_components, new_coords.size))
    kind = axis.kernel.kind
    moments = processes.between(kind).moments
    plan = plan_between(coords, new_coords, joint=False)

    def advance(first: int, count: int) -> None:
        processes.all_moments_between(
            moments, kind, axis.period, matrix_of(axis), lengthscales, coords, states, new_coords, *plan, means, variances,
            first, first + count,
        )  # fmt: skip

    paced(n_draws, first_guess(axis, n_components, coords.size + new_coords.size), advance, threading.Event())
    means += offsets[:, :, None]
    return means, variances


def first_guess(axis: Axis, n_components: int, n_points: int) -> int:
    """Draws whose factors on one axis the first call should take."""
    return 1 if axis.kernel.is_dense else int(FIRST_CALL / (max(n_components, 1) * n_points * PER_POINT))


def run_chain(
    problem: Problem,
    axes: tuple[Axis, ...],
    observed: tuple[NDArray[np.int64], ...],  # per axis, the points that were observed
    state: State,
    n_sweeps: int,
    n_burn_in: int,
    chain_rng: np.random.Generator,
    fill_rng: np.random.Generator,
    stop: threading.Event,
    report: Callable[[int], None],
) -> ChainResult:
    """Run one chain from `state` (overwritten) and fill the axes of its kept draws.

    Filling has a stream of its own, so a finer axis does not change where the chain goes.
    """
    n_components, n_dims = problem.active.shape
    n, n_coords, n_kept = problem.values.size, problem.coords.size, n_sweeps - n_burn_in
    block = max(n_components, 1) if problem.shared else 1
    work = Work(np.empty((block, n_dims + 1, n)), np.empty((block, n)), np.empty((block, n)), np.empty(n))
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
        report((step + count) // per_sweep - step // per_sweep)

    cost = block * (n * PER_OBSERVATION + n_coords / n_dims * PER_POINT)
    dense = any(axis.kernel.is_dense for axis in axes)  # costs that grow faster than linearly are found out by trying
    paced(n_sweeps * per_sweep, 1 if dense or problem.local.present else int(FIRST_CALL / cost), advance, stop)

    states = []
    for d, axis in enumerate(axes):
        scaled = axis.scale(axis.points)
        size = processes.state_size(axis.kernel.kind)
        seen = draws.factors[:, :, problem.starts[d] : problem.starts[d + 1], :size]
        if observed[d].size == axis.size:
            states.append(np.ascontiguousarray(seen))
            continue
        unseen = np.setdiff1d(np.arange(axis.size), observed[d])
        whole = np.empty((n_kept, n_components, axis.size, size))
        whole[:, :, observed[d]] = seen
        ls = np.ascontiguousarray(draws.lengthscales[:, :, d])
        known = np.ascontiguousarray(seen)
        offsets = draws.offsets[:, :, d]
        whole[:, :, unseen] = states_between(axis, ls, offsets, scaled[observed[d]], known, scaled[unseen], stop, fill_rng)
        states.append(whole)
    return ChainResult(
        draws.lengthscales, tuple(states), draws.weights, draws.weight_vars, draws.offsets, draws.noise_precision, draws.local_logs
    )
