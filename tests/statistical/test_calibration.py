"""Simulation-based calibration: the truth's rank among posterior draws is uniform.

Chains that start from the prior show it where they mix; chains that start from the truth show it
whether they mix or not.
"""

import math
import threading
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from prior_preservation import apply
from scipy import stats

from bktf._compiled.numba_options import compiled as compiled
from bktf._compiled.paced_calls import Progress
from bktf.axis_kernels.axes import Axis
from bktf.axis_kernels.kernel_spec import resolve_kernels
from bktf.components import gibbs
from bktf.components.chain_state import Problem, State, Work
from bktf.components.chains import KnownFactors, run_chain, states_between
from bktf.components.population import make_joint_work
from bktf.surrogate.fit_components import make_component_problem, new_state
from bktf.surrogate.model_spec import ModelSpec
from bktf.surrogate.observed_values import Data
from bktf.surrogate.priors import Priors
from seeds import seeded

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_REPLICATES = 250
N_BINS = 10
THIN = 15
LEVEL = 2e-6  # of 39 p-values in this file: one is below it by chance with a probability of 8e-5
PRIORS = Priors(
    noise_shape=4.0, noise_rate=2.0
)  # noise about as large as the signal, so that chains mix


@pytest.mark.parametrize(
    ("kernel", "shared"), [("matern32", False), ("matern52", True), ("squared_exponential", False)]
)
def test_f_at_observed_and_unobserved_points_is_calibrated(kernel: str, shared: bool) -> None:
    rng = np.random.default_rng(seeded(20))
    n_sweeps, n_burn_in = 1990, 500
    points = [np.array([0.0, 0.15, 0.4, 0.7, 1.0]), np.array([0.0, 0.35, 0.6, 1.0])]
    axes = tuple(Axis(p, k) for p, k in zip(points, resolve_kernels(kernel, [5, 4]), strict=True))
    spec = ModelSpec(rank=2, priors=PRIORS, shared_lengthscales=shared)
    whole = np.array([[points[0][i], points[1][j]] for i in range(5) for j in range(4)])
    seen = np.array(
        [0, 1, 4, 9, 13, 16]
    )  # leaves axis points 0.6 and 1.0 of the second axis unobserved
    asked = np.array([9, 0, 11, 19])  # two observed cells, two that need the fill
    truth_problem, _ = make_component_problem(spec, Data(axes, whole, np.zeros(len(whole)), None))
    problem, observed = make_component_problem(
        spec, Data(axes, whole[seen], np.zeros(len(seen)), None)
    )
    truth, state = new_state(truth_problem), new_state(problem)
    progress = Progress(threading.Event(), lambda _: None)
    ranks = np.empty((N_REPLICATES, len(asked)), dtype=int)
    for k in range(N_REPLICATES):
        gibbs.draw_prior(truth_problem, truth, rng)
        gibbs.refresh(truth_problem, truth)
        f = -truth.residual
        problem.values[:] = f[seen] + rng.standard_normal(len(seen)) / math.sqrt(
            truth.noise_precision[0]
        )
        gibbs.draw_prior(problem, state, rng)
        chain = run_chain(
            problem, axes, observed, state, (n_sweeps, n_burn_in), (rng, rng), progress
        )
        i, j = asked // 4, asked % 4
        draws = np.einsum(
            "kr,krn->kn", chain.weights, chain.states[0][:, :, i, 0] * chain.states[1][:, :, j, 0]
        )
        ranks[k] = np.sum(draws[::THIN] < f[asked], axis=0)
    n_draws = (n_sweeps - n_burn_in + THIN - 1) // THIN  # 100: ranks 0 … 100
    for column in ranks.T:
        counts = np.histogram(column, bins=np.linspace(-0.5, n_draws + 0.5, N_BINS + 1))[0]
        assert stats.chisquare(counts).pvalue > LEVEL


# --- chains that start from the truth
# ----------------------------------------------------------------------------------

N_TRUTHS = 1000
N_CHAINS = 9  # ranks 0 … 9
DOUBLE_SWEEPS = 5  # back to the common start, and forth again
WEIGHTS, NOISE, AXES, TWO_SWEEPS = 2, 1, 0, 3  # numbers of updates in `apply`


class Side(NamedTuple):
    """A problem with its state and the memory its updates need."""

    problem: Problem
    state: State
    work: Work


class Ends(NamedTuple):
    """Where the N·C chains ended, chain after chain, and the N truths that they started from."""

    lengthscales: Floats  # (N·C, R, D)
    factors: Floats  # (N·C, R, M, S)
    weights: Floats  # (N·C, R)
    noise_precision: Floats  # (N·C,)
    squares: Floats  # (N·C,) sum of squared residuals
    true_f: Floats  # (N, cells) on the whole grid
    true_parameters: (
        Floats  # (N, 4) noise precision, sum of squared residuals, a length-scale, a weight
    )


@compiled
def copy_state(source: State, target: State) -> None:
    """Write parameters and factors of a state into another of the same sizes."""
    target.lengthscales[:] = source.lengthscales
    target.factors[:] = source.factors
    target.weights[:] = source.weights
    target.noise_precision[:] = source.noise_precision


@compiled
def copy_mirrored(source: Problem, here: State, target: Problem, there: State) -> None:
    """Write a state into one of the problem with components and axes in reverse order."""
    n_components, n_dims = source.active.shape
    there.noise_precision[0] = here.noise_precision[0]
    for c in range(n_components):
        r = n_components - 1 - c
        there.weights[r] = here.weights[c]
        for d in range(n_dims):
            e = n_dims - 1 - d
            there.lengthscales[r, e] = here.lengthscales[c, d]
            for j in range(source.starts[d + 1] - source.starts[d]):
                there.factors[r, target.starts[e] + j] = here.factors[c, source.starts[d] + j]


@compiled
def run_from_truths(
    whole: Side,
    seen: Ints,
    places: Ints,
    data: Side,
    hub: State,
    mirror: Side,
    ends: Ends,
    rng: np.random.Generator,
) -> None:
    """Fill `ends`: truth and data from the model, sweeps backward in time to a hub, and from there chains forward.

    seen: cells of the whole grid that are observed; places: their coordinates among those of the
        whole grid.
    """
    truth, state = whole.state, data.state
    n_chains = len(ends.weights) // len(ends.true_f)
    for k in range(len(ends.true_f)):
        gibbs.draw_prior(whole.problem, truth, rng)
        gibbs.refresh(whole.problem, truth)
        squares = 0.0
        for i in range(seen.size):
            error = rng.standard_normal() / math.sqrt(truth.noise_precision[0])
            data.problem.values[i] = error - truth.residual[seen[i]]
            squares += error * error
        ends.true_f[k] = -truth.residual
        ends.true_parameters[k, 0] = truth.noise_precision[0]
        ends.true_parameters[k, 1] = squares
        ends.true_parameters[k, 2] = truth.lengthscales[0, 0]
        ends.true_parameters[k, 3] = truth.weights[0]
        state.lengthscales[:] = truth.lengthscales
        state.weights[:] = truth.weights
        state.noise_precision[:] = truth.noise_precision
        for c in range(state.weights.size):
            for j in range(places.size):
                state.factors[c, j] = truth.factors[c, places[j]]
        mirror.problem.values[:] = data.problem.values
        copy_mirrored(data.problem, state, mirror.problem, mirror.state)
        gibbs.refresh(mirror.problem, mirror.state)
        for _ in range(2 * DOUBLE_SWEEPS):
            apply(WEIGHTS, mirror.problem, mirror.state, mirror.work, rng)
            apply(NOISE, mirror.problem, mirror.state, mirror.work, rng)
            apply(AXES, mirror.problem, mirror.state, mirror.work, rng)
        copy_mirrored(mirror.problem, mirror.state, data.problem, hub)
        for chain in range(n_chains):
            copy_state(hub, state)
            gibbs.refresh(data.problem, state)
            for _ in range(DOUBLE_SWEEPS):
                apply(TWO_SWEEPS, data.problem, state, data.work, rng)
            end = k * n_chains + chain
            ends.lengthscales[end] = state.lengthscales
            ends.factors[end] = state.factors
            ends.weights[end] = state.weights
            ends.noise_precision[end] = state.noise_precision[0]
            ends.squares[end] = np.sum(state.residual**2)


def side_of(axes: tuple[Axis, ...], X: Floats, shared: bool) -> tuple[Side, tuple[Ints, ...]]:
    """A problem of two components with the default prior, and which points of each axis it observes."""
    problem, observed = make_component_problem(
        ModelSpec(rank=2, shared_lengthscales=shared), Data(axes, X, np.zeros(len(X)), None)
    )
    return Side(problem, new_state(problem), make_joint_work(problem)), observed


def summaries_of(f: Floats) -> Floats:
    """F at the first four cells, and how far the third is from the mean of its neighbours, the last two."""
    return np.column_stack((f[:, :4], np.abs(f[:, 2] - 0.5 * (f[:, 4] + f[:, 5]))))


@pytest.mark.parametrize(
    ("kernel", "shared"), [("matern32", False), ("matern52", True), ("squared_exponential", False)]
)
def test_at_the_default_prior_the_truth_is_one_of_the_draws_of_chains_that_start_from_it(
    kernel: str, shared: bool
) -> None:
    """Ranks of the truth among nine states that share a hub with it are exactly uniform.

    Under the default prior the noise is a tenth of the signal and chains hardly move between
    explanations of the data, so draws of a chain from elsewhere say nothing about the truth's rank.
    But the truth θ is itself a draw from the posterior given its data. Going backward in time from
    θ leads to a hub, and forward from the hub, as many sweeps, to a new state; given hub and data,
    θ and nine such states are independent draws from one distribution. So they are exchangeable,
    and the rank of the truth among them is uniform, for any function of the state, for any number
    of sweeps, mixed or not (Besag and Clifford 1989, Generalized Monte Carlo significance tests).
    Ranks along one chain that starts at the truth would not be uniform: later states are draws from
    the posterior, too, but exchangeable with the truth neither together nor, as a sweep is not
    reversible, one by one.

    Each update is reversible, so time runs backward where they are applied in reverse order:
    weights, noise, and then the axes of a problem whose components and axes are in reverse order.
    Coordinates that were not observed are drawn with the truth on the whole grid, and by the fill
    given each end of a chain.
    """
    points = [np.array([0.0, 0.15, 0.4, 0.7, 1.0]), np.array([0.0, 0.35, 0.6, 1.0])]
    axes = tuple(Axis(p, k) for p, k in zip(points, resolve_kernels(kernel, [5, 4]), strict=True))
    X = np.array([[points[0][i], points[1][j]] for i in range(5) for j in range(4)])
    seen = np.array(
        [0, 1, 6, 12, 14, 17]
    )  # leaves axis point 0.4 of the first and 1.0 of the second axis unobserved
    asked = np.array(
        [0, 6, 9, 19, 5, 13]
    )  # two observed cells, two that need the fill, and the neighbours of the third
    whole, _ = side_of(axes, X, shared)
    data, observed = side_of(axes, X[seen], shared)
    mirror, _ = side_of(axes[::-1], X[seen, ::-1], shared)
    places = np.concatenate([whole.problem.starts[d] + observed[d] for d in range(2)])
    n_ends = N_TRUTHS * N_CHAINS
    ends = Ends(
        np.empty((n_ends, 2, 2)), np.empty((n_ends, *data.state.factors.shape)), np.empty((n_ends, 2)), np.empty(n_ends), np.empty(n_ends),
        np.empty((N_TRUTHS, len(X))), np.empty((N_TRUTHS, 4)),
    )  # fmt: skip
    rng = np.random.default_rng(seeded(21))
    run_from_truths(whole, seen, places, data, new_state(data.problem), mirror, ends, rng)

    tables = []
    for d, axis in enumerate(axes):
        known = np.ascontiguousarray(
            ends.factors[:, :, data.problem.starts[d] : data.problem.starts[d + 1]]
        )
        unseen = np.setdiff1d(np.arange(axis.size), observed[d])
        table = np.empty((n_ends, 2, axis.size))
        table[:, :, observed[d]] = known[..., 0]
        ls, scaled = np.ascontiguousarray(ends.lengthscales[:, :, d]), axis.scale(axis.points)
        factors = KnownFactors(axis, ls, np.zeros((n_ends, 2)), scaled[observed[d]], known)
        filled = states_between(factors, scaled[unseen], threading.Event(), rng)
        table[:, :, unseen] = filled[..., 0]
        tables.append(table)
    f = np.einsum(
        "kr,krn->kn", ends.weights, tables[0][:, :, asked // 4] * tables[1][:, :, asked % 4]
    )
    parameters = np.stack(
        [ends.noise_precision, ends.squares, ends.lengthscales[:, 0, 0], ends.weights[:, 0]], axis=1
    )
    drawn = np.concatenate((summaries_of(f), parameters), axis=1).reshape(N_TRUTHS, N_CHAINS, -1)
    true = np.concatenate((summaries_of(ends.true_f[:, asked]), ends.true_parameters), axis=1)
    ranks = np.sum(drawn < true[:, None], axis=1)
    p = [
        float(stats.chisquare(np.bincount(column, minlength=N_CHAINS + 1)).pvalue)
        for column in ranks.T
    ]
    names = [
        "f[0]",
        "f[6]",
        "f[9], unseen",
        "f[19], unseen",
        "bend",
        "noise precision",
        "squares",
        "length-scale",
        "weight",
    ]
    worst = int(np.argmin(p))
    assert p[worst] > LEVEL, f"rank of {names[worst]}: p = {p[worst]:.1e}, all: {p}"
