"""Chains of the Gaussian process: draws of its parameters for a problem."""

from typing import NamedTuple

import numpy as np

from bktf._compiled import Progress, record, run_in_short_calls
from bktf._typing import Floats
from bktf.gaussian_process.compiled_process import run_sweeps
from bktf.gaussian_process.parameter_updates import draw_parameters
from bktf.gaussian_process.process_problem import ProcessProblem

# A chain that starts with less noise than this does not find large noise; from here it finds both.
START_NOISE_PRECISION = 100.0


@record
class ProcessChain(NamedTuple):
    """The draws of one chain after burn-in."""

    logs: Floats  # (K, D + 2) parameters; see `covariance`
    noise_precision: Floats  # (K,)


def start_of_chain(
    problem: ProcessProblem, noise_precision: float | None, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Parameters (D + 2,) from their prior, and the known or default noise precision (1,)."""
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
    """Run one chain from `start`, which is overwritten.

    sweeps: the number of sweeps, and how many of them are burn-in.
    """
    n_sweeps, n_burn_in = sweeps
    logs, noise_precision = start
    chain = ProcessChain(
        np.empty((n_sweeps - n_burn_in, logs.size)), np.empty(n_sweeps - n_burn_in)
    )

    def advance(first: int, count: int) -> None:
        run_sweeps(problem, logs, noise_precision, chain, n_burn_in, first, count, rng)
        progress.report(count)

    # One sweep in the first call: its cost is cubic in n, so it is measured and not estimated.
    run_in_short_calls(n_sweeps, 1, advance, progress.stop)
    return chain
