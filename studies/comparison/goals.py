"""How often the default sampler finds the best cell of the paper's grids, and how near in a box.

The sampler makes its start design; the budget counts every evaluation, start points included.
"""

from collections.abc import Sequence

import numpy as np

from bktf.engine import EngineSettings
from studies.lines import Line, RunKey, lines_of
from studies.methods import bktf_method
from studies.problems import PAPER_PROBLEMS, Problem, on_cells
from studies.recorded_settings import recorded_settings
from studies.runner import line_of, optimise
from studies.table_writer import markdown

GRIDS = ("branin", "griewank3", "griewank4", "hartmann6", "damavandi", "schaffer")
BOXES = ("branin", "hartmann6")
N_SEEDS = 20
FIRST_SEED = {"grid": 100, "box": 0}  # seeds of grids that no setting was chosen with
QUICK_BUDGET = 12


def goal_runs(n_seeds: int, quick: bool) -> list[RunKey]:
    """Every grid, its control, and the boxes, seed by seed; the method is named by its space."""
    names = [f"{name}{control}" for name in GRIDS for control in ("", "-shifted")]
    spaces = [(name, "grid") for name in names] + [(name, "box") for name in BOXES]
    strategy = recorded_settings(EngineSettings())

    def budget(name: str) -> int:
        problem = PAPER_PROBLEMS[name]
        return QUICK_BUDGET if quick else problem.n_start + problem.budget

    return [
        {
            "experiment": "goals",
            "problem": name,
            "method": space,
            "seed": FIRST_SEED[space] + seed,
            "settings": {"budget": budget(name), "strategy": strategy},
        }
        for seed in range(n_seeds)
        for name, space in spaces
    ]


def run_goal(key: RunKey) -> Line:
    """One study with the default sampler; on a grid it ends where the best cell was found."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    known, seed, budget = PAPER_PROBLEMS[key["problem"]], key["seed"], key["settings"]["budget"]
    on_grid = key["method"] == "grid"
    problem: Problem = known
    if on_grid:
        problem = on_cells(known, name=known.name, minimum=known.best_grid_value, budget=budget)
    with threadpool_limits(1):
        method = bktf_method(problem, seed, key["settings"])
        stop = known.is_best_cell if on_grid else None
        run = optimise(problem, method, [], budget, seed, stop)
    return line_of(key, problem, run, ("optuna",))


def goals_table(lines: Sequence[Line]) -> str:
    """Hits on grids with the median number of evaluations, distances to the minimum in boxes."""
    rows = []
    for name, space in dict.fromkeys((k["problem"], k["method"]) for k in goal_runs(1, False)):
        found = lines_of(lines, name, space)
        if not found:
            continue
        problem, budget = PAPER_PROBLEMS[name], str(found[0]["settings"]["budget"])
        if space == "grid":
            hits = [len(x["values"]) for x in found if problem.is_best_cell(x["values"][-1])]
            text = f"{len(hits)} of {len(found)}"
            text += f", median {np.median(hits):.0f}" if hits else ""
        else:
            distance = [min(line["values"]) - problem.minimum for line in found]
            median, worst = np.median(distance), max(distance)
            text = f"median distance {median:.2g}, worst {worst:.2g} ({len(found)} runs)"
        rows.append([problem.title, space, budget, text])
    return markdown(["problem", "space", "evaluations", "found"], rows)
