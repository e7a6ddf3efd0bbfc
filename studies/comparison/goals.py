"""How often the default sampler finds the best cell of the paper's grids within the paper's budget, and how near it comes in a box.

Its start design is its own; the budget counts every evaluation, start points included.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from bktf.engine.settings import Strategy
from studies.lines import Job, Line, made_with, rounded
from studies.paper.summaries import lines_of
from studies.paper.tables import markdown
from studies.problems.grid_problems import PROBLEMS

Floats = NDArray[np.float64]
GRIDS = ("branin", "griewank3", "griewank4", "hartmann6")
BOXES = ("branin", "hartmann6")
N_SEEDS = 20


def goal_jobs(n_seeds: int, quick: bool) -> list[Job]:
    """Every grid, its control, and the boxes, seed by seed."""
    names = [f"{name}{control}" for name in GRIDS for control in ("", "-shifted")]
    where = [(name, "grid") for name in names] + [(name, "box") for name in BOXES]
    return [
        {"experiment": "goals", "problem": name, "method": kind, "seed": seed,
         "settings": {"budget": 12 if quick else PROBLEMS[name].n_start + PROBLEMS[name].budget, "strategy": asdict(Strategy())}}
        for seed in range(n_seeds) for name, kind in where
    ]  # fmt: skip


def run_goal(job: Job) -> Line:
    """One study with the default sampler; on a grid it ends where the best cell was found."""
    import optuna
    from threadpoolctl import threadpool_limits

    from bktf.optuna_sampler.sampler import BKTFSampler

    problem, on_grid = PROBLEMS[job["problem"]], job["method"] == "grid"
    space: dict[str, BaseDistribution] = {
        f"x{d}": IntDistribution(0, m - 1) if on_grid else FloatDistribution(problem.low[d], problem.high[d])
        for d, m in enumerate(problem.sizes)
    }
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=BKTFSampler(seed=job["seed"], search_space=space))
    values: list[float] = []
    points: list[list[float]] = []
    began = time.process_time()
    with threadpool_limits(1):
        for _ in range(job["settings"]["budget"]):
            trial = study.ask(space)
            place = np.array([[trial.params[name] for name in space]])
            values.append(float(problem.function(problem.points(place) if on_grid else place)[0]))
            points.append(place[0].tolist())
            study.tell(trial, values[-1])
            if on_grid and is_best(values[-1], job["problem"]):
                break
    cpu = round(time.process_time() - began, 2)
    return dict(job) | {"values": rounded(values), "cpu_seconds": cpu, "points": points} | made_with("optuna")


def is_best(value: float, name: str) -> bool:
    """Whether this is the value of the best cell."""
    problem = PROBLEMS[name]
    return value <= problem.best_grid_value + 1e-9 * problem.value_range


def goals_table(lines: Sequence[Line]) -> str:
    """Hits on grids with the median number of evaluations, distances to the minimum in boxes."""
    rows = []
    for name, kind in dict.fromkeys((job["problem"], job["method"]) for job in goal_jobs(1, quick=False)):
        own = lines_of(lines, name, kind)
        if not own:
            continue
        budget = str(own[0]["settings"]["budget"])
        if kind == "grid":
            hits = [len(line["values"]) for line in own if is_best(line["values"][-1], name)]
            found = f"{len(hits)} of {len(own)}" + (f", median {np.median(hits):.0f}" if hits else "")
        else:
            distance = [min(line["values"]) - PROBLEMS[name].minimum for line in own]
            found = f"median distance {np.median(distance):.2g}, worst {max(distance):.2g} ({len(own)} runs)"
        rows.append([PROBLEMS[name].title, kind, budget, found])
    return markdown(["problem", "space", "evaluations", "found"], rows)
