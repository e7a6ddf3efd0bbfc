"""A complete screen of a reaction, read from a table: finite against infinite rank.

Fifty evaluations, the sampler's start points included. The table is not part of the repository:
`python -m studies.finite_rank --parts screen --screen file.csv`, its last column the yield.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bktf import BKTFSampler
from bktf.engine import make_settings
from studies.finite_rank.rules import REFERENCE, SETTINGS
from studies.lines import Line, RunKey, lines_of
from studies.methods import OptunaMethod
from studies.problems.own_table import read_own_table
from studies.runner import line_of, optimise
from studies.table_writer import markdown

BUDGET = 50
N_SEEDS = 10
METHODS = (
    REFERENCE,
    "alternating, annealed",
    "process",
    "components, gibbs",
    "components",
    "components, short chains",
)
PROBLEM = "screen"
N_BOOTSTRAP = 4000


def screen_runs() -> list[RunKey]:
    """Every method and seed."""
    return [
        {
            "experiment": "screen",
            "problem": PROBLEM,
            "method": method,
            "seed": seed,
            "settings": {"budget": BUDGET},
        }
        for seed in range(N_SEEDS)
        for method in METHODS
    ]


def run_screen(path: Path, key: RunKey) -> Line:
    """The line of one run; it ends where the best yield was found."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    problem = replace(read_own_table(path, None, True, BUDGET), name=PROBLEM)
    settings = make_settings("default", SETTINGS[key["method"]])
    space = dict(problem.space)
    sampler = BKTFSampler.from_settings(settings, seed=key["seed"], search_space=space)
    with threadpool_limits(1):
        run = optimise(
            problem,
            OptunaMethod(space, sampler),
            [],
            BUDGET,
            key["seed"],
            lambda value: value <= problem.minimum,
        )
    return line_of(key, problem, run, ("optuna",)) | {"table": problem.title}


def screen_table(lines: Sequence[Line]) -> str:
    """Mean best yield of each method, and its paired difference from infinite rank."""
    rows = []
    best = {
        method: {x["seed"]: -min(x["values"]) for x in lines_of(lines, PROBLEM, method)}
        for method in METHODS
    }
    rng = np.random.default_rng(0)
    for method, found in best.items():
        if not found:
            continue
        shared = sorted(found.keys() & best["process"].keys())
        difference = np.array([found[s] - best["process"][s] for s in shared])
        cell = ""
        if method != "process" and shared:
            again = rng.integers(0, len(shared), (N_BOOTSTRAP, len(shared)))
            low, high = np.quantile(difference[again].mean(axis=1), [0.025, 0.975])
            cell = f"{difference.mean():+.2f} [{low:+.2f}, {high:+.2f}]"
        values = list(found.values())
        rows.append(
            [
                method,
                f"{np.mean(values):.2f}",
                f"{min(values):.1f}",
                cell,
                str(len(found)),
            ]
        )
    return markdown(["method", "mean best yield", "lowest", "− process", "seeds"], rows)
