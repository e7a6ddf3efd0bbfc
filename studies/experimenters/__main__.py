"""What experimenters have: makes the runs that are missing, then the tables.

python -m studies.experimenters [--parts earlier beliefs] [--seeds 5] [--tables]
python -m studies.experimenters --parts screen --screen reactions.csv

The part "screen" needs the table of a reaction screen (categories and a column "yield"); it is
given as a grid and as a list of its rows.
"""

import argparse
import csv
import math
import sys
import time
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna

import bktf
from bktf.spaces import MixtureSpace, read_space
from bktf.spaces.mixtures import Blends
from studies.comparison.rankings import SHARES, compare_pair, incumbents
from studies.experimenters.problems import COMPONENTS, PROBLEMS, ExperimenterProblem, Params
from studies.lines import Line, RunKey, lines_of, made_with, read_lines, rounded
from studies.pages import ROOT
from studies.problems.problem import sample
from studies.runner import run_missing
from studies.small_study import write_tables
from studies.table_writer import markdown

LINES = ROOT / "studies" / "results" / "experimenters.jsonl"
PARTS = ("earlier", "beliefs", "descriptors", "mixtures", "ranks", "screen")
PAIRS = (
    ("earlier", "earlier", "fresh"),
    ("earlier", "unrelated", "fresh"),
    ("beliefs", "right", "plain"),
    ("beliefs", "wrong", "plain"),
    ("descriptors", "descriptors", "plain"),
    ("descriptors", "shuffled", "plain"),
    ("mixtures", "bktf", "local"),
    ("mixtures", "bktf", "random"),
)
EARLY = 10  # evaluations after which regrets are compared, too
N_RANKED, N_SCREEN = 25, 10  # data sets of blends; seeds of the screen
N_SCREEN_TRIALS = 50


def all_runs(parts: Sequence[str], max_seeds: int | None) -> list[RunKey]:
    """Every method of every problem of some parts, seed by seed."""
    found = [
        _key(problem.part, problem.name, method, seed, problem.budget + problem.n_start)
        for problem in PROBLEMS.values()
        if problem.part in parts
        for seed in range(min(problem.n_seeds, max_seeds or problem.n_seeds))
        for method in problem.methods
    ]
    if "ranks" in parts:
        found += [_key("ranks", "blends4", "bktf", seed, 1) for seed in range(N_RANKED)]
    if "screen" in parts:
        found += [
            _key("screen", "reactions", method, seed, N_SCREEN_TRIALS)
            for seed in range(N_SCREEN)
            for method in ("grid", "list")
        ]
    return found


def _key(part: str, problem: str, method: str, seed: int, trials: int) -> RunKey:
    return {
        "experiment": f"experimenters-{part}",
        "problem": problem,
        "method": method,
        "seed": seed,
        "settings": {"trials": trials},
    }


def run_one(screen: Path | None, key: RunKey) -> Line:
    """The line of one run."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with threadpool_limits(1):
        if key["experiment"] == "experimenters-ranks":
            return {**key, "rank": _rank_of_choice(key["seed"]), **made_with("optuna")}
        began = time.process_time()
        if key["experiment"] == "experimenters-screen":
            assert screen is not None
            points, values = _run_screen(screen, key)
        else:
            points, values = _run_problem(PROBLEMS[key["problem"]], key)
        seconds = time.process_time() - began
    return {
        **key,
        "n_start": 1,
        "values": rounded(values),
        "n_repeats": sum(p in points[:i] for i, p in enumerate(points)),
        "cpu_seconds": {"total": round(seconds, 3)},
        **made_with("optuna"),
    }


def _run_problem(problem: ExperimenterProblem, key: RunKey) -> tuple[list[Params], list[float]]:
    """Points and values of one method."""
    method, seed, n = key["method"], key["seed"], key["settings"]["trials"]
    if method in ("random", "local"):
        points = _simple_points(problem, method, seed, n)
        return points, [problem.fn(point) for point in points]
    given = dict(problem.given(method, seed))
    space = given.pop("space", problem.user_space)
    result = bktf.minimize(problem.fn, space, n, seed=seed, show_progress_bar=False, **given)
    trials = result.study.trials
    return [dict(t.params) for t in trials], [float(t.value or math.nan) for t in trials]


def _simple_points(problem: ExperimenterProblem, method: str, seed: int, n: int) -> list[Params]:
    """Random points; "local": half of them neighbours of the best blend so far."""
    rng = np.random.default_rng([seed, 17])
    if problem.part != "mixtures":
        return [sample(problem.space, rng) for _ in range(n)]
    blends = Blends(problem.user_space[0], np.full(len(COMPONENTS), math.nan))
    points: list[Params] = []
    for i in range(n):
        amounts = blends.random(rng)
        if method == "local" and i >= n // 4 and i % 2:
            best = min(points, key=problem.fn)
            at = np.array([best[name] for name in COMPONENTS])
            amounts = blends.moved(at, 0.1, rng)
        assert amounts is not None
        points.append(dict(zip(COMPONENTS, amounts.tolist(), strict=True)))
    return points


def _rank_of_choice(seed: int) -> int:
    """The rank, by expected improvement, of a suggestion among all blends in steps of 5 %."""
    space = read_space([bktf.mixture("a", "b", "c", "d", total=100, step=5)])
    allowed = MixtureSpace.of(space)
    assert allowed.points is not None
    rng = np.random.default_rng([seed, 19])
    X = allowed.points[rng.choice(len(allowed.points), int(rng.integers(10, 40)), replace=False)]
    best, turn = rng.dirichlet(np.ones(4)) * 100, rng.normal(size=(4, 4)) * 0.3 + np.eye(4)
    z = (X - best) @ turn / 30
    y = -(z**2).sum(axis=1) + 0.3 * np.sin(3 * z).sum(axis=1)
    axes = [np.arange(0.0, 101.0, 5.0)] * 4
    posterior = bktf.fit(axes, X, y, rank=math.inf, seed=seed)
    chosen = bktf.acquisition.choose(posterior, feasible=allowed, exclude=X).point
    left = allowed.points[~(allowed.points[:, None] == X).all(axis=2).any(axis=1)]
    gains = posterior.expected_improvement(left)
    return 1 + int((gains > gains[(left == chosen).all(axis=1)][0]).sum())


def _reactions(path: Path) -> tuple[list[dict[str, Any]], list[float]]:
    with path.open(encoding="utf-8") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    yields = [float(row.pop("yield")) for row in rows]
    return rows, yields


def _run_screen(path: Path, key: RunKey) -> tuple[list[Params], list[float]]:
    """The screen as a grid of its categories, or as a list of its rows; minus the yield."""
    rows, yields = _reactions(path)
    table = {tuple(row.values()): -value for row, value in zip(rows, yields, strict=True)}
    names = list(rows[0])

    def fn(p: Params) -> float:
        return table[tuple(p[name] for name in names)]

    choices = {name: list(dict.fromkeys(row[name] for row in rows)) for name in names}
    given: dict[str, Any] = {"candidates": rows}
    if key["method"] == "grid":
        given = {"space": {name: bktf.choices(*values) for name, values in choices.items()}}
    n = key["settings"]["trials"]
    result = bktf.minimize(fn, n_trials=n, seed=key["seed"], show_progress_bar=False, **given)
    trials = result.study.trials
    return [dict(t.params) for t in trials], [float(t.value or 0.0) for t in trials]


# --- tables ----------------------------------------------------------------------------------


def regret_table(lines: Sequence[Line]) -> str:
    """Mean and median regret of each method after ten evaluations and at the end."""
    rows = []
    for problem in PROBLEMS.values():
        for method in problem.methods:
            found = lines_of(lines, problem.name, method)
            if not found:
                continue
            after = np.array([incumbents(line) for line in found]) - problem.minimum
            early, last = after[:, EARLY - 1], after[:, -1]
            cells = [f"{v:.3g}" for x in (early, last) for v in (x.mean(), np.median(x))]
            cost = np.mean([x["cpu_seconds"]["total"] / len(x["values"]) for x in found])
            rows.append(
                [problem.part, problem.name, method, *cells, f"{cost:.2g}", str(len(found))]
            )
    header = ["part", "problem", "method", "mean after 10", "median", "mean at the end", "median"]
    return markdown([*header, "CPU s", "seeds"], rows)


def paired_table(lines: Sequence[Line]) -> str:
    """Differences in units of random search's regret at the end."""
    rows = []
    for part, first, second in PAIRS:
        problems = [p for p in PROBLEMS.values() if p.part == part]
        known = [p for p in problems if lines_of(lines, p.name, first)]
        pair = compare_pair(lines, known, first, second) if known else None
        if pair is not None:
            seeds = " to ".join(map(str, sorted(set(pair.n_seeds))))
            rows.append([part, f"{first} − {second}", *pair.cells, seeds])
    return markdown(["part", "difference", *(f"{s:.0%}" for s in SHARES), "seeds"], rows)


def other_table(lines: Sequence[Line]) -> str:
    """Ranks of suggested blends, and the screen as a grid and as a list."""
    ranks = [line["rank"] for line in lines if line["experiment"] == "experimenters-ranks"]
    rows = []
    if ranks:
        rows.append(["rank of a suggested blend among 1,771", f"median {np.median(ranks):g}",
                     f"largest {max(ranks)}", str(len(ranks))])  # fmt: skip
    for method in ("grid", "list"):
        found = lines_of(lines, "reactions", method)
        if found:
            best = [-min(line["values"]) for line in found]
            mean, low = f"mean best yield {np.mean(best):.2f}", f"smallest {min(best):.2f}"
            rows.append([f"reaction screen as a {method}", mean, low, str(len(best))])
    return markdown(["what", "", "", "runs"], rows)


def belief_table(lines: Sequence[Line]) -> str:
    """Median evaluations until the final median of plain runs is reached."""
    rows = []
    for problem in PROBLEMS.values():
        plain = lines_of(lines, problem.name, "plain")
        if problem.part != "beliefs" or not plain:
            continue
        goal = float(np.median([incumbents(line)[-1] for line in plain]))
        cells = []
        for method in ("plain", "right", "wrong"):
            after = [incumbents(line) for line in lines_of(lines, problem.name, method)]
            slack = 1e-9 * problem.spread
            needed = [int((a <= goal + slack).argmax()) + 1 if a[-1] <= goal + slack else math.inf
                      for a in after]  # fmt: skip
            median = float(np.median(needed)) if needed else math.nan
            cells.append(f"{median:g}" if math.isfinite(median) else f"more than {len(after[0])}")
        rows.append([problem.name, *cells])
    return markdown(
        ["evaluations to the plain runs' final median", "plain", "right", "wrong"], rows
    )


def tables(lines: Sequence[Line]) -> dict[str, str]:
    """The tables by name."""
    return {
        "experimenters": regret_table(lines),
        "experimenters_paired": paired_table(lines),
        "experimenters_other": other_table(lines),
        "experimenters_beliefs": belief_table(lines),
    }


def main() -> int:
    """Make the runs that are missing and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = [part for part in PARTS if part != "screen"]
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=default)
    parser.add_argument("--seeds", type=int, help="at most so many of each problem")
    parser.add_argument("--screen", type=Path, help="the table of the part screen")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--tables", action="store_true", help="only tables of what is there")
    asked = parser.parse_args()
    if "screen" in asked.parts and asked.screen is None and not asked.tables:
        parser.error("the part screen needs --screen FILE")
    if not asked.tables:
        runs = all_runs(asked.parts, asked.seeds)
        run_missing(LINES, runs, partial(run_one, asked.screen), asked.jobs)
    return write_tables(tables(read_lines(LINES)))


if __name__ == "__main__":
    sys.exit(main())
