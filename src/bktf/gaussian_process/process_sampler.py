"""Chains of the Gaussian process: from a problem to kept draws of its parameters."""

from typing import NamedTuple

import numpy as np

from bktf._compiled import Progress, compiled, record, run_in_short_calls
from bktf._typing import Floats
from bktf.gaussian_process.parameter_updates import draw_parameters, update_parameters
from bktf.gaussian_process.process_model import ProcessProblem

START_NOISE_PRECISION = (
    100.0  # from smaller noise a chain does not find large noise; from here, both
)


@record
class ProcessChain(NamedTuple):
    """The kept draws of one chain."""

    logs: Floats  # (K, D + 2) parameters; see `covariance`
    noise_precision: Floats  # (K,)


@compiled
def run_sweeps(problem, logs, noise_precision, kept, n_burn_in, first, count, rng):
    """Do `count` sweeps from sweep number `first`; write each one after burn-in into kept.

    Overwrites logs (D + 2,) and noise_precision (1,).
    """
    model = problem.model
    for sweep in range(first, first + count):
        update_parameters(
            model.separations, model.on_levels, model.log_means, model.log_vars, problem.noise_shape, problem.noise_rate,
            problem.noise_known, problem.values, logs, noise_precision, rng,
        )  # fmt: skip
        k = sweep - n_burn_in
        if k >= 0:
            kept.noise_precision[k] = noise_precision[0]
            for p in range(logs.size):
                kept.logs[k, p] = logs[p]


def start_of_chain(
    problem: ProcessProblem, noise_precision: float | None, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Parameters (D + 2,) from their prior, and the noise precision (1,): known, or a moderate one."""
    logs = np.empty(problem.model.log_means.size)
    draw_parameters(
        problem.model.on_levels.size, problem.model.log_means, problem.model.log_vars, logs, rng
    )
    return logs, np.array([START_NOISE_PRECISION if noise_precision is None else noise_precision])


def run_process_chain(
    problem: ProcessProblem,
    start: tuple[Floats, Floats],
    sweeps: tuple[int, int],
    rng: np.random.Generator,
    progress: Progress,
) -> ProcessChain:
    """Run one chain from `start` (overwritten).

    Sweeps are their number and how many of them to drop.
    """
    n_sweeps, n_burn_in = sweeps
    logs, noise_precision = start
    kept = ProcessChain(np.empty((n_sweeps - n_burn_in, logs.size)), np.empty(n_sweeps - n_burn_in))

    def advance(first: int, count: int) -> None:
        run_sweeps(problem, logs, noise_precision, kept, n_burn_in, first, count, rng)
        progress.report(count)

    run_in_short_calls(
        n_sweeps, 1, advance, progress.stop
    )  # the cost is cubic in n, so it is found out by trying
    return kept
