"""Is the stated probability of having converged true? Recorded runs of bktf, looked at on the way.

python -m studies.analysis.stopping [--seeds 3] [--jobs 2] [--tables]

Every recorded run of the comparison is shown to the surrogate as it was after 10, 15, 20, …
evaluations. A line holds, for each, the share of whole functions on which the best tried point is
within one per cent of the range, quantiles of the gap, and the true gap. The map from shares to
probabilities is fitted on the development half alone.
"""

import argparse
import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution

import bktf
from bktf.analysis import explained_part
from bktf.analysis.reliability import PROBABILITIES, SHARES, probability_of_share
from studies.analysis.reliability_fit import clustered_error, fit_map
from studies.comparison.runs import settings_of
from studies.lines import Line, RunKey, key_of, made_with, read_lines, rounded
from studies.pages import ROOT
from studies.problems import COMPARISON_PROBLEMS
from studies.problems.comparison_problems import DEVELOPMENT, TEST, ComparisonProblem
from studies.runner import run_missing
from studies.small_study import write_tables
from studies.table_writer import markdown

RUNS = ROOT / "studies" / "results" / "compare.jsonl"
LINES = ROOT / "studies" / "results" / "stopping.jsonl"
EVERY = 5  # evaluations between two looks
TOLERANCE = 0.01  # of the range: median of random points minus minimum
CONFIDENCE = 0.9
QUANTILES = np.linspace(0.0, 1.0, 33)
STATED = (0.80, 0.97)  # stated probabilities that the goal is about
EDGES = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.9, 1.001)  # of the reliability curve


def stopping_runs(n_seeds: int) -> list[RunKey]:
    """One for each recorded run, seed by seed."""
    return [
        {
            "experiment": "stopping",
            "problem": name,
            "method": "bktf",
            "seed": seed,
            "settings": {"every": EVERY, "tolerance": TOLERANCE},
        }
        for seed in range(n_seeds)
        for name, problem in COMPARISON_PROBLEMS.items()
        if math.isfinite(problem.minimum)
    ]


def recorded_run(problem: ComparisonProblem, seed: int) -> Line:
    """The line of bktf's run of the comparison with today's settings."""
    wanted = key_of(
        {
            "experiment": "compare",
            "problem": problem.name,
            "method": "bktf",
            "seed": seed,
            "settings": settings_of("bktf", problem.name, quick=False),
        }
    )
    found = [line for line in read_lines(RUNS) if key_of(line) == wanted]
    if not found:
        raise LookupError(f"no recorded run of {problem.name}, seed {seed}")
    return found[-1]


def study_of(problem: ComparisonProblem, run: Line, n: int) -> optuna.Study:
    """The first n evaluations of a run as a study."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space, repeats = dict(problem.space), problem.noise_std > 0
    sampler = bktf.BKTFSampler(seed=run["seed"], search_space=space, allow_repeats=repeats)
    study = optuna.create_study(sampler=sampler)
    told = run["observed"] if problem.noise_std > 0 else run["values"]
    for point, value in zip(run["points"][:n], told[:n], strict=True):
        params = {name: _inside(space[name], x) for name, x in zip(space, point, strict=True)}
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=value))
    return study


def _inside(distribution: BaseDistribution, value: Any) -> Any:
    """A recorded value, which was rounded, inside its range."""
    if isinstance(distribution, FloatDistribution):
        return min(max(value, distribution.low), distribution.high)
    return value


def run_stopping(key: RunKey) -> Line:
    """What was stated along one run, and what was true."""
    from threadpoolctl import threadpool_limits

    problem = COMPARISON_PROBLEMS[key["problem"]]
    run, looks = recorded_run(problem, key["seed"]), []
    for n in range(run["n_start"], len(run["values"]) + 1, EVERY):
        with threadpool_limits(1):
            posterior = bktf.analyze(study_of(problem, run, n))
            found = bktf.optimum(posterior)
        gap = problem.values([found.best])[0] - problem.minimum
        looks.append(
            {
                "n": n,
                "share": found.within(TOLERANCE * problem.value_range),
                "gap": gap / problem.value_range,
                "stated": rounded(np.quantile(found.gaps, QUANTILES) / problem.value_range),
                "explained": rounded(explained_part(posterior)),
                "missed": rounded(found.missed / problem.value_range),
                "exact": found.is_exact,
            }
        )
    final = min(run["values"]) - problem.minimum
    return dict(key) | {"looks": rounded_looks(looks), "final": final} | made_with()


def rounded_looks(looks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Looks with ten digits."""
    return [{name: rounded(value) for name, value in look.items()} for look in looks]


# --- tables ------------------------------------------------------------------------------------


def records(lines: Sequence[Line], half: str) -> list[dict[str, Any]]:
    """All looks of a half, each with its run."""
    return [
        look | {"problem": line["problem"], "seed": line["seed"], "true": look["gap"] <= TOLERANCE}
        for line in lines
        if COMPARISON_PROBLEMS[line["problem"]].half == half
        for look in line["looks"]
    ]


def reliability_table(lines: Sequence[Line]) -> str:
    """Stated against true, both halves, before and after the map."""
    rows = []
    for low, high in itertools.pairwise(EDGES):
        row = [f"{100 * low:.0f}–{min(100 * high, 100):.0f} %"]
        for half in (DEVELOPMENT, TEST):
            for stated in (lambda look: look["share"], _probability):
                inside = [r for r in records(lines, half) if low <= stated(r) < high]
                row.append(_share_of(inside, stated))
        rows.append(row)
    head = ["stated", "development: share", "development: mapped", "test: share", "test: mapped"]
    return markdown(head, rows)


def _probability(look: dict[str, Any]) -> float:
    """The calibrated probability of a look."""
    return probability_of_share(look["share"])


def _share_of(looks: Sequence[dict[str, Any]], stated: Any) -> str:
    """Mean stated and share that was true, with the number of looks."""
    if not looks:
        return "–"
    mean = 100 * float(np.mean([stated(look) for look in looks]))
    true = 100 * float(np.mean([look["true"] for look in looks]))
    return f"{mean:.0f} → {true:.0f} ({len(looks)})"


def goals_table(lines: Sequence[Line]) -> str:
    """The numbers of interest, of each half."""
    rows = []
    for half in (DEVELOPMENT, TEST):
        every = records(lines, half)
        inside = [r for r in every if STATED[0] <= _probability(r) <= STATED[1]]
        mean, true, error = _clustered(inside)
        first = first_stops(lines, half)
        n_problems = len({r["problem"] for r in inside})
        rows.append(
            [
                half,
                f"{len(every)}",
                f"{len(inside)} of {n_problems} problems",
                f"{100 * mean:.1f} %",
                f"{100 * true:.1f} % ± {100 * error:.1f}",
                f"{sum(stop['true'] for stop in first)} of {len(first)}",
                _median([stop["saved"] for stop in first], "{:.0f} %", 100),
                _median([stop["paid"] for stop in first], "{:.4f}", 1),
                f"{_covered(every):.0f} %",
            ]
        )
    low, high = STATED
    head = [
        "half",
        "looks",
        f"stated {low:.2f}–{high:.2f}",
        "mean stated",
        "true",
        "first stop true",
        "evaluations saved (median)",
        "regret paid (median, of the range)",
        "gap inside its 90 % interval",
    ]
    return markdown(head, rows)


def first_stops(lines: Sequence[Line], half: str) -> list[dict[str, Any]]:
    """The first look of each run with enough confidence, what it saves and what it costs."""
    found = []
    for line in lines:
        if COMPARISON_PROBLEMS[line["problem"]].half != half:
            continue
        looks = line["looks"]
        stops = [look for look in looks if _probability(look) >= CONFIDENCE]
        if stops:
            first, total = stops[0], looks[-1]["n"]
            found.append(
                {
                    "problem": line["problem"],
                    "true": first["gap"] <= TOLERANCE,
                    "saved": 1.0 - first["n"] / total,
                    "paid": first["gap"] - looks[-1]["gap"],
                }
            )
    return found


def _clustered(looks: Sequence[dict[str, Any]]) -> tuple[float, float, float]:
    """Mean stated probability, share that was true, and the standard error clustered by run."""
    if not looks:
        return math.nan, math.nan, math.nan
    stated = np.array([_probability(look) for look in looks])
    true = np.array([float(look["true"]) for look in looks])
    runs = [(look["problem"], look["seed"]) for look in looks]
    return float(stated.mean()), float(true.mean()), clustered_error(true - stated, runs)


def _covered(looks: Sequence[dict[str, Any]]) -> float:
    """Per cent of looks whose true gap lies between the 5 % and 95 % quantiles as stated."""
    inside = [
        np.interp(0.05, QUANTILES, look["stated"]) - 1e-9
        <= look["gap"]
        <= np.interp(0.95, QUANTILES, look["stated"]) + 1e-9
        for look in looks
    ]
    return 100 * float(np.mean(inside)) if inside else math.nan


def _median(values: Sequence[float], form: str, scale: float) -> str:
    """The median in a format."""
    return form.format(scale * float(np.median(values))) if values else "–"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="replications of each problem")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--tables", action="store_true", help="only tables of what is there")
    given = parser.parse_args()
    if not given.tables:
        run_missing(LINES, stopping_runs(given.seeds), run_stopping, given.jobs)
    lines = read_lines(LINES)
    shares, probabilities = fit_map(records(lines, DEVELOPMENT))
    print("map in use:", SHARES, PROBABILITIES)
    print("map fitted on the development half:", shares, probabilities)
    tables = {"stopping": goals_table(lines), "reliability": reliability_table(lines)}
    return write_tables(tables)


if __name__ == "__main__":
    sys.exit(main())
