"""Tempered sequential Monte Carlo: a population from the prior to the posterior, and the evidence.

The likelihood is raised to a power that grows from 0 to 1 in steps so small that the particles'
weights stay nearly equal. Where they no longer are, particles are drawn anew in proportion to them;
between steps each is moved by a sweep. The mean weights multiply to the evidence (Del Moral, Doucet
and Jasra 2006, JRSS B 68, 411–436).
"""

import math
from typing import NamedTuple

import numpy as np

from bktf._compiled import Progress
from bktf._typing import Floats, Ints
from bktf.components.chain_state import Draws, Problem, State
from bktf.components.chains import empty_draws
from bktf.components.gibbs import refresh
from bktf.components.population import run_sweeps

STEP_EFFICIENCY = 0.9  # effective share of the particles after a step, relative to before it
RESAMPLE_BELOW = 0.5  # effective share of the particles
N_HALVINGS = 60  # of the interval in which the next power is looked for
SMALLEST_STEP = 1e-13  # of the power
SETTLE_SWEEPS = 3  # at power 1, after the last resampling; the last one is kept


class Tempered(NamedTuple):
    """Equally weighted draws of the posterior, one for each particle, and the log evidence."""

    draws: Draws
    log_evidence: float


def temper(
    problem: Problem,
    population: State,
    sweeps_per_step: int,
    rng: np.random.Generator,
    progress: Progress,
) -> Tempered:
    """Move a population, drawn from the prior, to the posterior; it is overwritten.

    Sweeps between steps are worth more than particles: a population that lags behind the power
    loses its evidence, however large it is.
    """
    n, n_particles = problem.values.size, population.n_particles
    nothing = empty_draws(problem, population.factors.shape[3], 0)
    for i in range(n_particles):
        refresh(problem, State(*(array[i] for array in population)))
    power, log_evidence = 0.0, 0.0
    logs = np.zeros(n_particles)  # of the weights
    precision = population.noise_precision[:, 0].copy()
    residuals = population.residual
    while power < 1.0:
        log_likelihood = 0.5 * (
            n * np.log(precision / (2.0 * math.pi))
            - precision * np.einsum("in,in->i", residuals, residuals)
        )
        weights = normalised(logs)
        following = next_power(log_likelihood, weights, power)
        gained = (following - power) * log_likelihood
        log_evidence += float(gained.max() + np.log(weights @ np.exp(gained - gained.max())))
        logs, power = logs + gained, following
        weights = normalised(logs)
        if 1.0 / (weights @ weights) < RESAMPLE_BELOW * n_particles or power == 1.0:
            chosen = systematic(weights, rng)
            for array in population:
                array[:] = array[chosen]
            precision, logs = precision[chosen], np.zeros(n_particles)
        population.power[:] = power
        population.noise_precision[:, 0] = power * precision
        if power < 1.0:
            schedule = np.full(sweeps_per_step, power), sweeps_per_step
            run_sweeps(problem, population, schedule, nothing, rng, progress)
            precision = population.noise_precision[:, 0] / power
    draws = empty_draws(problem, population.factors.shape[3], n_particles)
    schedule = np.ones(SETTLE_SWEEPS), SETTLE_SWEEPS - 1
    run_sweeps(problem, population, schedule, draws, rng, progress)
    return Tempered(draws, log_evidence)


def normalised(logs: Floats) -> Floats:
    """Weights (N,) with sum 1 from their logarithms."""
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def next_power(log_likelihood: Floats, weights: Floats, power: float) -> float:
    """The largest next power after which the weights are still nearly as equal as before."""
    relative = log_likelihood - log_likelihood.max()

    def efficiency(step: float) -> float:
        factor = np.exp(step * relative)
        return float((weights @ factor) ** 2 / (weights @ factor**2))

    if efficiency(1.0 - power) >= STEP_EFFICIENCY:
        return 1.0
    low, high = math.log(SMALLEST_STEP), math.log(1.0 - power)
    for _ in range(N_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if efficiency(math.exp(middle)) >= STEP_EFFICIENCY else (low, middle)
        )
    return min(power + math.exp(low), 1.0)


def systematic(weights: Floats, rng: np.random.Generator) -> Ints:
    """Indices (N,) of particles in proportion to their weights, by evenly spaced positions."""
    ends = np.cumsum(weights)
    positions = (np.arange(weights.size) + rng.random()) / weights.size
    chosen = np.searchsorted(ends / ends[-1], positions, side="right")
    return np.minimum(chosen, weights.size - 1)
