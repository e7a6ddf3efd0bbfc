"""CPU seconds of one suggestion in a tree of parameters, and in a flat space with as many.

The tree has a category of five choices, each with four parameters of its own; the flat space has
the same 21 parameters without conditions. The history is random trials. Each cell is a line of
benchmarks/results/tree_cost.jsonl; the table shows the latest line of each cell.

    python -m benchmarks.tree_cost             measure, then write the table
    python -m benchmarks.tree_cost --tables    write the table of what is recorded
"""

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna

import bktf
from studies.lines import Line, append_line, made_with, read_lines
from studies.pages import TABLES
from studies.table_writer import markdown

LINES = Path(__file__).parents[1] / "benchmarks" / "results" / "tree_cost.jsonl"
SIZES = (25, 60, 120, 250)
N_BRANCHES, N_OWN = 5, 4
N_ASKED = 5  # suggestions in a row
SPACES = ("tree", "flat")


def suggest(trial: Any, space: str) -> float:
    """The parameters of one branch, or of all, and a smooth function of the branch's."""
    branch = trial.suggest_categorical("branch", [f"b{i}" for i in range(N_BRANCHES)])
    total = 0.0
    for i in range(N_BRANCHES):
        is_active = branch == f"b{i}"
        if space == "flat" or is_active:
            own = [trial.suggest_float(f"x{i}{j}", 0.0, 1.0) for j in range(N_OWN)]
            if is_active:
                total = 0.1 * i + sum((x - 0.2 * j) ** 2 for j, x in enumerate(own))
    return total


def measure(space: str, n_trials: int) -> list[float]:
    """CPU seconds of a few suggestions in a row after random trials."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=n_trials))
    study.optimize(lambda trial: suggest(trial, space), n_trials=n_trials)
    study.sampler = bktf.BKTFSampler(seed=0)
    seconds = []
    for _ in range(N_ASKED):
        began = time.process_time()
        trial = study.ask()
        value = suggest(trial, space)
        seconds.append(time.process_time() - began)
        study.tell(trial, value)
    return seconds


def tree_cost_table(lines: Sequence[Line]) -> str:
    """Median CPU seconds in both spaces, and their ratio."""
    costs = {
        (line["space"], line["n_trials"]): float(np.median(line["cpu_seconds"])) for line in lines
    }
    rows = []
    for n in SIZES:
        tree, flat = (costs[space, n] for space in SPACES)
        rows.append([str(n), f"{tree:.3f}", f"{flat:.3f}", f"{tree / flat:.2f}"])
    return markdown(["trials", "tree of 5 × 4", "flat, 21 parameters", "ratio"], rows)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", action="store_true", help="only the table of what is recorded")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    if not options.tables:
        for n in (25, 250):  # compiles, or loads compiled code
            measure("tree", n)
        for n in SIZES:
            for space in SPACES:
                seconds = measure(space, n)
                print(space, n, [round(s, 3) for s in seconds], flush=True)
                line = {"space": space, "n_trials": n, "cpu_seconds": seconds}
                append_line(LINES, line | made_with("optuna"))
    table = tree_cost_table(read_lines(LINES))
    (TABLES / "tree_cost.md").write_text(table + "\n", encoding="utf-8")
    print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
