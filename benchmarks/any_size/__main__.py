"""Studies of any size: every run is a line of benchmarks/results/any_size.jsonl.

Runs that are recorded are not made again.

python -m benchmarks.any_size                      make what is missing (hours), then the tables
python -m benchmarks.any_size after                only the suggestions after long histories
python -m benchmarks.any_size budgets --problems camel2 --methods bktf tpe --seeds 2
python -m benchmarks.any_size --tables             the tables of what is recorded
"""

import argparse
import functools
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import optuna
from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler, RandomSampler, TPESampler

import bktf
from benchmarks.any_size import problems
from benchmarks.any_size.tables import AFTER_METHODS, LINES, tables
from benchmarks.hard_use.problems import HardProblem
from benchmarks.hard_use.studies import run_trials
from studies.lines import Line, RunKey, key_of, made_with, read_lines, rounded
from studies.runner import run_missing

TABLES = Path(__file__).parents[2] / "studies" / "results" / "tables"
SAMPLERS: dict[str, Callable[[int, HardProblem], BaseSampler]] = {
    "random": lambda seed, _: RandomSampler(seed=seed),
    "tpe": lambda seed, _: TPESampler(seed=seed),
    "bktf": lambda seed, problem: bktf.BKTFSampler(seed=seed, search_space=problem.space),
    "gp": lambda seed, _: GPSampler(seed=seed),
    "cmaes": lambda seed, _: CmaEsSampler(seed=seed),
}


def after_runs() -> list[RunKey]:
    """Every method after every history."""
    seeds = range(problems.FIRST_SEED, problems.FIRST_SEED + problems.AFTER_SEEDS)
    return [
        {"experiment": "after", "problem": p, "method": m, "seed": s, "settings": {"history": n}}
        for n in problems.HISTORIES
        for s in seeds
        for p in problems.AFTER
        for m in AFTER_METHODS
    ]


def budget_runs() -> list[RunKey]:
    """Every method on every problem; Optuna's GP only up to as many trials as it can do."""
    runs: list[RunKey] = []
    for name, (_, n_trials, n_seeds) in problems.BUDGETS.items():
        for method in SAMPLERS:
            n = min(n_trials, problems.MAX_GP_TRIALS) if method == "gp" else n_trials
            for seed in range(problems.FIRST_SEED, problems.FIRST_SEED + n_seeds):
                run = {"experiment": "budgets", "problem": name, "method": method, "seed": seed}
                runs.append({**run, "settings": {"n_trials": n}})
    return runs


@functools.lru_cache(maxsize=1)  # the methods of one history follow each other
def history_of(name: str, n: int, seed: int) -> optuna.Study:
    """A study of so many trials of TPE."""
    problem = problems.AFTER[name]
    history = optuna.create_study(sampler=TPESampler(seed=seed))
    run_trials(history, problem, n, lambda params, _: problem.function(params))
    return history


def run_after(key: RunKey) -> Line:
    """The next trials after a history made by TPE; random points are 500."""
    problem, seed, n = problems.AFTER[key["problem"]], key["seed"], key["settings"]["history"]
    history = history_of(key["problem"], n, seed)
    study = optuna.create_study(sampler=SAMPLERS[key["method"]](seed, problem))
    study.add_trials(history.trials)
    n_next = 500 if key["method"] == "random" else problems.N_NEXT
    points, values = run_trials(study, problem, n_next, lambda params, _: problem.function(params))
    found: Line = {"values": rounded(values), "best_before": rounded(history.best_value)}
    if key["method"] != "random":
        found["points"] = [rounded(p) if _is_numeric(p) else p for p in points]
    return {**key, **found, **made_with("optuna")}


def _is_numeric(point: Sequence[object]) -> bool:
    return all(isinstance(x, int | float) and not isinstance(x, bool) for x in point)


def run_budget(key: RunKey) -> Line:
    """One study from nothing."""
    problem = problems.BUDGETS[key["problem"]][0]
    study = optuna.create_study(sampler=SAMPLERS[key["method"]](key["seed"], problem))
    n_trials = key["settings"]["n_trials"]
    points, values = run_trials(
        study, problem, n_trials, lambda params, _: problem.function(params)
    )
    found: Line = {"values": rounded(values)}
    if key["method"] != "random":
        found["points"] = [[round(float(x), 5) for x in point] for point in points]
    return {**key, **found, **made_with("optuna", "torch", "cmaes")}


def main() -> None:
    """Make the runs that are missing and write the tables."""
    work: dict[str, tuple[Callable[[], list[RunKey]], Callable[[RunKey], Line]]] = {
        "after": (after_runs, run_after),
        "budgets": (budget_runs, run_budget),
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("studies", nargs="*", help=f"of {', '.join(work)}; by default all")
    add("--problems", nargs="+", help="only these")
    add("--methods", nargs="+", help="only these")
    add("--seeds", type=int, help="only the first so many")
    add("--jobs", type=int, default=2, help="runs at a time")
    add("--lines", type=Path, default=LINES, help="file of the lines")
    add("--tables", action="store_true", help="write the tables of what is recorded, run nothing")
    asked = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    for study in [] if asked.tables else asked.studies or list(work):
        if study not in work:
            parser.error(f"a study must be one of {', '.join(work)}; got {study!r}")
        runs, run = work[study]
        keys = [
            key
            for key in runs()
            if (not asked.methods or key["method"] in asked.methods)
            and (not asked.problems or key["problem"] in asked.problems)
            and (not asked.seeds or key["seed"] < problems.FIRST_SEED + asked.seeds)
        ]
        run_missing(asked.lines, keys, run, asked.jobs)
    lines = list({key_of(line): line for line in read_lines(asked.lines)}.values())
    for name, table in tables(lines).items():
        print(f"\n{name}\n\n{table}")
        if asked.lines == LINES:
            (TABLES / f"any_size_{name}.md").write_text(table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
