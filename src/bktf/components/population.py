"""Annealed chains: many short ones, whose likelihood is raised to a power that grows to 1.

A chain that starts at a draw of the prior and sees all data at once settles in the first
explanation that it meets. Here the data count little at first, so it first finds the rough shape.
The chains are independent of each other, and so are their explanations. Their average covers what
one long chain does not reach. docs/model_choices.md has the measurements.
"""

from collections.abc import Sequence

import numpy as np

from bktf._compiled import Progress, run_in_short_calls
from bktf._typing import Floats, Ints
from bktf.axis_kernels import Axis
from bktf.components.chain_state import Draws, Problem, State, Work
from bktf.components.chains import (
    FIRST_CALL,
    ChainResult,
    draws_on_axes,
    empty_draws,
    has_steep_cost,
    step_cost,
    steps_per_sweep,
)
from bktf.components.particle_sweeps import sweep_population

FIRST_POWER = 0.01  # of the likelihood, in the first sweep
ANNEALED_SHARE = 0.45  # of the burn-in, during which the power grows to 1


def annealed_powers(n_sweeps: int, n_burn_in: int) -> Floats:
    """The power of the likelihood in every sweep: growing geometrically, then 1."""
    n_annealed = int(ANNEALED_SHARE * n_burn_in)
    powers = np.ones(n_sweeps)
    powers[:n_annealed] = np.geomspace(FIRST_POWER, 1.0, n_annealed, endpoint=False)
    return powers


def stack_states(states: Sequence[State]) -> State:
    """A population with these states as its particles."""
    return State(*(np.stack(arrays) for arrays in zip(*states, strict=True)))


def make_joint_work(problem: Problem) -> Work:
    """Buffers for updates of all components together."""
    n_components, n_dims = problem.active.shape
    n = problem.values.size
    return Work(
        np.empty((n_components, n_dims + 1, n)),
        np.empty((n_components, n)),
        np.empty((n_components, n)),
        np.empty(n),
    )


def run_population(
    problem: Problem,
    axes: tuple[Axis, ...],
    observed: tuple[Ints, ...],  # per axis, the points that were observed
    population: State,
    schedule: tuple[Floats, int],
    rngs: tuple[np.random.Generator, np.random.Generator],
    progress: Progress,
) -> ChainResult:
    """Run the chains of a population, which is overwritten; draw the factors at all axis points.

    schedule: the power of the likelihood in every sweep, and how many sweeps are burn-in. The draws
    are in the order chain after chain. The second random generator is for the points that were not
    observed.
    """
    powers, n_burn_in = schedule
    chain_rng, fill_rng = rngs
    n_draws = population.n_particles * (powers.size - n_burn_in)
    draws = empty_draws(problem, population.factors.shape[3], n_draws)
    is_steep = has_steep_cost(problem, axes)

    run_sweeps(problem, population, schedule, draws, chain_rng, progress, is_steep)
    return draws_on_axes(problem, axes, observed, draws, progress.stop, fill_rng)


def run_sweeps(
    problem: Problem,
    population: State,
    schedule: tuple[Floats, int],
    draws: Draws,
    rng: np.random.Generator,
    progress: Progress,
    is_steep: bool = False,
) -> None:
    """Run the sweeps of every particle in short calls; see `run_population`."""
    powers, n_burn_in = schedule
    work = make_joint_work(problem)
    n_dims = problem.active.shape[1]
    n_steps = steps_per_sweep(problem) + (n_dims if problem.joint.any() else 0)

    def advance(first: int, count: int) -> None:
        sweep_population(problem, population, work, draws, powers, n_burn_in, first, count, rng)
        progress.report((first + count) // n_steps - first // n_steps)

    total = population.n_particles * powers.size * n_steps
    first_count = 1 if is_steep else int(FIRST_CALL / step_cost(problem))
    run_in_short_calls(total, first_count, advance, progress.stop)
