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

import numpy as np
import optuna
from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler, RandomSampler, TPESampler

import bktf
from benchmarks.any_size import problems
from benchmarks.hard_use.problems import HardProblem
from benchmarks.hard_use.studies import run_trials
from studies.comparison.rankings import compare_pair, verdict
from studies.lines import Line, RunKey, key_of, made_with, read_lines, rounded
from studies.problems import COMPARISON_PROBLEMS, DEVELOPMENT
from studies.runner import run_missing
from studies.table_writer import markdown

LINES = Path(__file__).parents[1] / "results" / "any_size.jsonl"
DEVELOPMENT_LINES = LINES.with_name("any_size_development.jsonl")
COMPARE = Path(__file__).parents[2] / "studies" / "results" / "compare.jsonl"
BEFORE, AFTERWARDS = "bktf before", "bktf after"  # methods of the lines of the development half
TABLES = Path(__file__).parents[2] / "studies" / "results" / "tables"
SAMPLERS: dict[str, Callable[[int, HardProblem], BaseSampler]] = {
    "random": lambda seed, _: RandomSampler(seed=seed),
    "tpe": lambda seed, _: TPESampler(seed=seed),
    "bktf": lambda seed, problem: bktf.BKTFSampler(seed=seed, search_space=problem.space),
    "gp": lambda seed, _: GPSampler(seed=seed),
    "cmaes": lambda seed, _: CmaEsSampler(seed=seed),
}
AFTER_METHODS = ("random", "tpe", "bktf")
SHARES = (0.25, 0.5, 1.0)


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


def after_table(lines: Sequence[Line]) -> str:
    """Best value of the next trials, and their median above the minimum over random's."""
    rows = []
    for name, problem in problems.AFTER.items():
        for n in problems.HISTORIES:
            here = [
                x
                for x in lines
                if x["experiment"] == "after"
                and x["problem"] == name
                and x["settings"]["history"] == n
            ]
            by = {m: [x for x in here if x["method"] == m] for m in AFTER_METHODS}
            if not all(by.values()):
                continue
            unit = np.mean([np.median(x["values"]) for x in by["random"]]) - problem.minimum
            row = [name, str(n), f"{np.median([x['best_before'] for x in by['tpe']]):.3g}"]
            for m in ("tpe", "bktf"):
                best = [min(x["values"]) for x in by[m]]
                row.append(f"{np.median(best):.3g} ({min(best):.2g} to {max(best):.2g})")
            for m in ("tpe", "bktf"):
                medians = [(np.median(x["values"]) - problem.minimum) / unit for x in by[m]]
                row.append(f"{np.median(medians):.3f} (to {max(medians):.3f})")
            rows.append(row)
    head = ["function", "trials before", "best before", "best of 20: TPE", "best of 20: bktf"]
    return markdown([*head, "median / random's: TPE", "median / random's: bktf"], rows)


def budget_table(lines: Sequence[Line]) -> str:
    """Geometric mean of the regret at shares of the budget, by method."""
    rows = []
    for name, (problem, n_trials, _) in problems.BUDGETS.items():
        here = [x for x in lines if x["experiment"] == "budgets" and x["problem"] == name]
        for method in SAMPLERS:
            mine = [x for x in here if x["method"] == method]
            if not mine:
                continue
            cells = []
            for share in SHARES:
                n = round(share * n_trials)
                reached = [min(x["values"][:n]) for x in mine if len(x["values"]) >= n]
                regrets = np.maximum(np.array(reached) - problem.minimum, 1e-9)
                cells.append(f"{np.exp(np.log(regrets).mean()):.3g}" if reached else "–")
            rows.append([name, str(n_trials), method, *cells, str(len(mine))])
    head = ["function", "trials", "method", *(f"{share:.0%}" for share in SHARES), "seeds"]
    return markdown(head, rows)


def development_table() -> str:
    """Regret on the development half of the comparison, before and after, paired."""
    development = [p for p in COMPARISON_PROBLEMS.values() if p.half == DEVELOPMENT]
    random = [x for x in read_lines(COMPARE) if x["method"] == "random"]
    lines = [*read_lines(DEVELOPMENT_LINES), *random]
    found = compare_pair(lines, development, AFTERWARDS, BEFORE)
    rows = []
    if found is not None:
        numbers = zip(SHARES, found.first, found.second, found.low, found.high, strict=True)
        for share, after, before, low, high in numbers:
            difference = float(after - before)
            interval = f"{difference:+.3f} [{low:+.3f}, {high:+.3f}]"
            outcome = verdict(difference, float(low), float(high))
            rows.append([f"{share:.0%}", f"{after:.3f}", f"{before:.3f}", interval, outcome])
    return markdown(["share of the budget", "after", "before", "difference", ""], rows)


def tables(lines: Sequence[Line]) -> dict[str, str]:
    """All tables of what is recorded, by name."""
    return {
        "after": after_table(lines),
        "budgets": budget_table(lines),
        "development": development_table(),
    }


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
