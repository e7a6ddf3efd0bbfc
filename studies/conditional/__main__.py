"""Conditional spaces: makes the runs that are missing, then the tables.

python -m studies.conditional [--half development test] [--methods bktf tpe] [--seeds 10] [--tables]
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optuna

from bktf import BKTFSampler
from studies.comparison.rankings import SHARES, compare_pair, rankings, regrets
from studies.conditional.problems import N_START, N_TRIALS, PROBLEMS
from studies.lines import Line, RunKey, lines_of, made_with, read_lines, rounded
from studies.pages import ROOT, TABLES
from studies.problems import DEVELOPMENT, TEST
from studies.runner import run_missing
from studies.table_writer import markdown

LINES = ROOT / "studies" / "results" / "conditional.jsonl"
N_SEEDS = 10
REFERENCE = "bktf"
SAMPLERS: dict[str, Callable[[int], Any]] = {
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
    "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "tpe-group": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True),
    "gp": lambda seed: optuna.samplers.GPSampler(seed=seed),
    REFERENCE: lambda seed: BKTFSampler(seed=seed, warn_independent_sampling=False),
}


def conditional_runs(halves: Sequence[str], methods: Sequence[str], n_seeds: int) -> list[RunKey]:
    """Every method on every problem, seed by seed."""
    return [
        {
            "experiment": "conditional",
            "problem": problem.name,
            "method": method,
            "seed": seed,
            "settings": {"trials": N_TRIALS},
        }
        for seed in range(n_seeds)
        for problem in PROBLEMS.values()
        if problem.half in halves
        for method in methods
    ]


def run_conditional(key: RunKey) -> Line:
    """The line of one study."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem = PROBLEMS[key["problem"]]
    with threadpool_limits(1):
        study = optuna.create_study(sampler=SAMPLERS[key["method"]](key["seed"]))
        began = time.process_time()
        study.optimize(problem.objective, n_trials=key["settings"]["trials"])
        seconds = time.process_time() - began
    values = [float(t.value) for t in study.trials if t.value is not None]
    points = [dict(t.params) for t in study.trials if t.value is not None]
    return {
        **key,
        "n_start": N_START,
        "points": points,
        "values": rounded(values),
        "n_repeats": sum(p in points[:i] for i, p in enumerate(points)),
        "cpu_seconds": {"total": round(seconds, 3)},
        **made_with("optuna"),
    }


def conditional_table(lines: Sequence[Line]) -> str:
    """Mean regret of each method on each problem, and its rank by half."""
    rows = []
    for half in (DEVELOPMENT, TEST):
        problems = [p for p in PROBLEMS.values() if p.half == half]
        methods = [m for m in SAMPLERS if all(lines_of(lines, p.name, m) for p in problems)]
        ranks = rankings(lines, problems, methods) if "random" in methods else {}
        for method, ranking in sorted(ranks.items(), key=lambda item: item[1].rank):
            cells = [
                np.mean([regrets(x, p)[-1] for x in lines_of(lines, p.name, method)])
                for p in problems
            ]
            shown = ", ".join(
                f"{p.name} {cell:.2g}" for p, cell in zip(problems, cells, strict=True)
            )
            repeats = f"{100 * ranking.repeats:.1f} %"
            cost = f"{ranking.cpu_seconds:.2g}"
            rows.append(
                [half, method, f"{ranking.rank:.2f}", shown, repeats, cost, str(ranking.n_seeds)]
            )
    header = ["half", "method", "mean rank", "mean regret after 60 trials", "repeats", "CPU s"]
    return markdown([*header, "seeds"], rows)


def paired_table(lines: Sequence[Line]) -> str:
    """Differences of bktf from every other method, in units of random search's regret."""
    rows = []
    for half in (DEVELOPMENT, TEST):
        problems = [p for p in PROBLEMS.values() if p.half == half]
        for method in SAMPLERS:
            pair = None
            if method != REFERENCE:
                pair = compare_pair(lines, problems, REFERENCE, method)
            if pair is not None:
                seeds = " to ".join(map(str, sorted(set(pair.n_seeds))))
                rows.append([half, f"{REFERENCE} − {method}", *pair.cells, seeds])
    return markdown(["half", "difference", *(f"{s:.0%}" for s in SHARES), "seeds"], rows)


def tables(lines: Sequence[Line]) -> dict[str, str]:
    """The tables by name."""
    return {"conditional": conditional_table(lines), "conditional_paired": paired_table(lines)}


def main() -> int:
    """Make the runs that are missing and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    both = [DEVELOPMENT, TEST]
    parser.add_argument("--half", nargs="+", choices=both, default=both)
    parser.add_argument("--methods", nargs="+", choices=list(SAMPLERS), default=list(SAMPLERS))
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--tables", action="store_true", help="only write tables of what is there")
    asked = parser.parse_args()
    if not asked.tables:
        runs = conditional_runs(asked.half, asked.methods, asked.seeds)
        run_missing(LINES, runs, run_conditional, asked.jobs)
    for name, text in tables(read_lines(LINES)).items():
        print(f"{name}\n\n{text}\n")
        (TABLES / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
