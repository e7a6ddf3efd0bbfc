"""One replication: start points, then one query after the other, timed."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.lines import Job, Line, made_with, rounded
from studies.methods.paper_methods import METHODS, Chooser
from studies.problems.grid_problems import PROBLEMS, start_points

Floats = NDArray[np.float64]


class Run(NamedTuple):
    """All points and values in order, the start first, and CPU seconds of each choice."""

    X: Floats
    y: Floats
    cpu_seconds: list[float]


def optimise(evaluate: Callable[[Floats], tuple[Floats, float]], chooser: Chooser, X: Floats, y: Floats, n_queries: int) -> Run:
    """Ask and evaluate `n_queries` times; `evaluate` gives the point that was really tried and its value."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    spent = []
    with threadpool_limits(1):  # one core for each run: CPU seconds that can be compared
        for _ in range(n_queries):
            began = time.process_time()
            asked = chooser(X, y)
            spent.append(time.process_time() - began)
            point, value = evaluate(asked)
            X, y = np.concatenate((X, point[None])), np.append(y, value)
    return Run(X, y, spent)


def chooser_for(job: Job, grid: Any) -> Chooser:
    """The chooser that a job names, with its settings."""
    settings = {name: value for name, value in job["settings"].items() if name != "budget"}
    return METHODS[job["method"]].make(grid, job["seed"], settings)


def as_line(job: Job, n_start: int, run: Run, packages: tuple[str, ...] = ()) -> Line:
    """What is recorded of a run; packages are those of the objective."""
    cpu = {"total": round(sum(run.cpu_seconds), 3), "median": round(float(np.median(run.cpu_seconds)), 4)}
    found = {"n_start": n_start, "points": rounded(run.X), "values": rounded(run.y), "cpu_seconds": cpu}
    return dict(job) | found | made_with(*METHODS[job["method"]].packages, *packages)


def run_on_function(job: Job, chooser: Chooser | None = None) -> Run:
    """Optimise a test function once as the job says, with a chooser of one's own where its memory is wanted afterwards."""
    problem = PROBLEMS[job["problem"]]
    chooser = chooser or chooser_for(job, problem)
    X = start_points(problem, job["seed"])

    def evaluate(point: Floats) -> tuple[Floats, float]:
        return point, float(problem.function(point[None])[0])

    return optimise(evaluate, chooser, X, problem.function(X), job["settings"]["budget"])


def run_job(job: Job) -> Line:
    """The line of a run on a test function."""
    return as_line(job, PROBLEMS[job["problem"]].n_start, run_on_function(job))
