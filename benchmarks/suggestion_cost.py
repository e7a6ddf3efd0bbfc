"""CPU seconds of one suggestion against the number of trials: a table of docs/performance.md.

Each measurement is a line of benchmarks/results/suggestion_cost.jsonl. A run appends lines of the
current code; the table shows the latest lines of each method. Optuna's GPSampler is measured where
torch is installed.

    python -m benchmarks.suggestion_cost            measure (about a minute), then write the table
    python -m benchmarks.suggestion_cost --tables   write the table of what is recorded
"""

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import BaseSampler, GPSampler

import bktf
from bktf.test_functions import hartmann6
from studies.lines import Line, append_line, made_with, read_lines
from studies.table_writer import markdown

ROOT = Path(__file__).parents[1]
LINES = ROOT / "benchmarks" / "results" / "suggestion_cost.jsonl"
TABLE = ROOT / "studies" / "results" / "tables" / "suggestion_cost.md"
N_DIMS = 6
N_TRIALS = (50, 100, 200, 299)
N_SEEDS = 3
SPACE: dict[str, BaseDistribution] = {f"x{d}": FloatDistribution(0.0, 1.0) for d in range(N_DIMS)}
SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "bktf": lambda seed: bktf.BKTFSampler(seed=seed),
    "Optuna GP": lambda seed: GPSampler(seed=seed, n_startup_trials=1),
}


def measure(method: str, n_trials: int, seed: int) -> float:
    """CPU seconds of one suggestion after random trials of Hartmann's function."""
    X = np.random.default_rng(seed).random((n_trials, N_DIMS))
    study = optuna.create_study(sampler=SAMPLERS[method](seed))
    for x, value in zip(X.tolist(), hartmann6(X).tolist(), strict=True):
        study.add_trial(
            optuna.create_trial(
                params=dict(zip(SPACE, x, strict=True)), distributions=SPACE, value=value
            )
        )
    began = time.process_time()
    study.ask(SPACE)
    return time.process_time() - began


def latest(lines: Sequence[Line], method: str, n_trials: int) -> list[float]:
    """The CPU seconds of the last run of the benchmark: one line for each seed."""
    found = {
        line["seed"]: line["cpu_seconds"]
        for line in lines
        if (line["method"], line["n_trials"]) == (method, n_trials)
    }
    return list(found.values())


def cost_table(lines: Sequence[Line]) -> str:
    """Median over seeds, with the smallest and the largest."""
    rows = []
    for method in SAMPLERS:
        measured = [latest(lines, method, n) for n in N_TRIALS]
        if any(measured):
            rows.append(
                [
                    method,
                    *(
                        f"{np.median(m):.2f} ({min(m):.2f} to {max(m):.2f})" if m else "–"
                        for m in measured
                    ),
                ]
            )
    return markdown(["CPU seconds of one suggestion", *(f"{n} trials" for n in N_TRIALS)], rows)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tables", action="store_true", help="write the table of what is recorded, measure nothing"
    )
    only_tables = parser.parse_args().tables
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    has_torch = importlib.util.find_spec("torch") is not None
    methods = [] if only_tables else [m for m in SAMPLERS if m == "bktf" or has_torch]
    for method in methods:
        measure(method, N_TRIALS[0], 0)  # compiles, or loads compiled code
        for n_trials in N_TRIALS:
            for seed in range(N_SEEDS):
                line = {
                    "method": method,
                    "n_trials": n_trials,
                    "seed": seed,
                    "cpu_seconds": round(measure(method, n_trials, seed), 3),
                }
                append_line(LINES, line | made_with("optuna", "torch"))
    table = cost_table(read_lines(LINES))
    TABLE.write_text(table + "\n", encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
