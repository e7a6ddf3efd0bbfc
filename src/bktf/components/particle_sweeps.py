"""Compiled loops over a population: many states of the Gibbs sampler in one record of arrays.

A population is a `State` whose arrays have a leading axis, one entry for each particle. A particle
is a `State` of views into it, so the updates of `gibbs` serve as they are.
"""

from bktf._compiled import compiled, compiled_part
from bktf.components.chain_state import State
from bktf.components.gibbs import record, refresh, take_step
from bktf.components.joint_updates import sweep_jointly


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
    """Do `count` sweeps from sweep number `first` on, one particle after another.

    Every particle does powers.size sweeps, each with the likelihood raised to its power; the first
    one begins by computing products and residual. Sweeps after burn-in are stored in draws. A sweep
    updates one factor after another with its length-scale, as the Gibbs sampler does, and then all
    factors of an axis together.
    """
    n_components, n_dims = problem.active.shape
    n_steps = (1 if problem.shared else n_components) * n_dims + 1
    is_joint = problem.joint.any()
    n_kept = powers.size - n_burn_in
    for number in range(first, first + count):
        i, sweep = number // powers.size, number % powers.size
        state = particle(population, i)
        if sweep == 0:
            refresh(problem, state)
        state.noise_precision[0] *= powers[sweep] / state.power[0]
        state.power[0] = powers[sweep]
        for position in range(n_steps):
            take_step(problem, state, work, position, rng)
        if is_joint:
            sweep_jointly(problem, state, work, rng)
        if sweep >= n_burn_in:
            record(state, draws, i * n_kept + sweep - n_burn_in)
