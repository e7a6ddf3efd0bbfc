"""Compiled loops over a population: many states of the Gibbs sampler in one record of arrays.

A population is a `State` whose arrays have a leading axis, one entry for each particle. A particle
is a `State` of views into it, so the updates of `gibbs` serve as they are.
"""

from bktf._compiled import compiled, compiled_part
from bktf.components.chain_state import State
from bktf.components.gibbs import record, refresh, take_step
from bktf.components.joint_updates import take_joint_step


@compiled_part
def particle(population, i):
    """The state of particle i; writing to it writes to the population."""
    return State(
        population.lengthscales[i],
        population.covariances[i],
        population.factors[i],
        population.weights[i],
        population.weight_vars[i],
        population.shrinkage[i],
        population.offsets[i],
        population.noise_precision[i],
        population.power[i],
        population.products[i],
        population.residual[i],
        population.process_values[i],
        population.process_logs[i],
    )


@compiled
def sweep_population(problem, population, work, draws, powers, n_burn_in, first, count, rng):
    """Do `count` steps from step number `first` on, one particle after another.

    Every particle does powers.size sweeps, each with the likelihood raised to its power; the first
    one begins by computing products and residual. Sweeps after burn-in are stored in draws. A sweep
    updates one factor after another with its length-scale, as the Gibbs sampler does, and then all
    factors of an axis together. Each of these updates is a step.
    """
    n_components, n_dims = problem.active.shape
    n_single = (1 if problem.shared else n_components) * n_dims + 1
    n_steps = n_single + (n_dims if problem.joint.any() else 0)
    n_kept = powers.size - n_burn_in
    for number in range(first, first + count):
        position = number % n_steps
        i, sweep = number // n_steps // powers.size, number // n_steps % powers.size
        state = particle(population, i)
        if position == 0:
            if sweep == 0:
                refresh(problem, state)
            state.noise_precision[0] *= powers[sweep] / state.power[0]
            state.power[0] = powers[sweep]
        if position < n_single:
            take_step(problem, state, work, position, rng)
        else:
            take_joint_step(problem, state, work, position - n_single, rng)
        if position == n_steps - 1 and sweep >= n_burn_in:
            record(state, draws, i * n_kept + sweep - n_burn_in)
