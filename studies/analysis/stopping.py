"""Is the stated probability of having converged true? Recorded runs of bktf, looked at on the way.

python -m studies.analysis.stopping [--seeds 3] [--jobs 2] [--tables]

Every recorded run of the comparison is shown to the surrogate as it was after 10, 15, 20, …
evaluations. A line holds, for each, the share of whole functions on which the best tried point is
within one per cent of the range, quantiles of the gap, and the true gap. The map from shares to
probabilities is fitted on the development half alone, at three tolerances.
"""

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution

import bktf
from bktf.analysis import DEFAULT_CONFIDENCE, MIN_EXPLAINED, explained_part
from bktf.analysis.reliability import PROBABILITIES, SHARES, probability_of_share
from studies.analysis.reliability_fit import EDGES, clustered_error, fit_map
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
TOLERANCES = (0.01, 0.03, 0.1)  # that the map is fitted at: a user's may be any
QUANTILES = np.linspace(0.0, 1.0, 33)
STATED = (0.80, 0.97)  # stated probabilities that the goal is about


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


def records(
    lines: Sequence[Line], half: str, tolerances: Sequence[float] = (TOLERANCE,)
) -> list[dict[str, Any]]:
    """All looks of a half at some tolerances, those where the model explains enough."""
    return [
        {
            "problem": line["problem"],
            "run": (line["problem"], line["seed"]),
            "tolerance": tolerance,
            "share": share_within(look, tolerance),
            "true": look["gap"] <= tolerance,
            "look": look,
        }
        for line in lines
        if COMPARISON_PROBLEMS[line["problem"]].half == half
        for look in line["looks"]
        if look["explained"] >= MIN_EXPLAINED
        for tolerance in tolerances
    ]


def share_within(look: Mapping[str, Any], tolerance: float) -> float:
    """The share of functions whose gap is within a tolerance; from quantiles, but for the first."""
    if tolerance == TOLERANCE:
        return float(look["share"])
    return float(np.interp(tolerance, look["stated"], QUANTILES))


class Statement(NamedTuple):
    """A way to state a probability, and the confidence at which it would stop."""

    title: str
    of_share: Callable[[float], float]
    confidence: float


STATEMENTS = (
    Statement("share of functions", float, 0.9),
    Statement("mapped", probability_of_share, DEFAULT_CONFIDENCE),
)


def reliability_table(lines: Sequence[Line]) -> str:
    """Stated against true at three tolerances, both halves, before and after the map."""
    rows = []
    for low, high in itertools.pairwise(EDGES):
        row = [f"{100 * low:.0f}–{min(100 * high, 100):.0f} %"]
        for half in (DEVELOPMENT, TEST):
            every = records(lines, half, TOLERANCES)
            for statement in STATEMENTS:
                inside = [r for r in every if low <= statement.of_share(r["share"]) < high]
                row.append(_share_of(inside, statement))
        rows.append(row)
    head = ["stated", *(f"{half}: {s.title}" for half in (DEVELOPMENT, TEST) for s in STATEMENTS)]
    return markdown(head, rows)


def _share_of(looks: Sequence[dict[str, Any]], statement: Statement) -> str:
    """Mean stated and share that was true, with the number of looks and of problems."""
    if not looks:
        return "–"
    mean = 100 * float(np.mean([statement.of_share(look["share"]) for look in looks]))
    true = 100 * float(np.mean([look["true"] for look in looks]))
    return f"{mean:.0f} → {true:.0f} ({len(looks)}; {len({r['problem'] for r in looks})})"


def goals_table(lines: Sequence[Line]) -> str:
    """The numbers of interest, of each half and each way to state a probability."""
    rows = []
    for half in (DEVELOPMENT, TEST):
        every = records(lines, half)
        for statement in STATEMENTS:
            inside = [r for r in every if STATED[0] <= statement.of_share(r["share"]) <= STATED[1]]
            mean, true, error = _clustered(inside, statement)
            first = first_stops(lines, half, statement)
            rows.append(
                [
                    f"{half}, {statement.title}",
                    f"{len(inside)} of {len({r['problem'] for r in inside})} problems",
                    _percent(mean),
                    f"{_percent(true)} ± {100 * error:.1f}",
                    f"{statement.confidence:g}",
                    _stops(first),
                    _median([stop["saved"] for stop in first], "{:.0f} %", 100),
                    _median([stop["paid"] for stop in first], "{:.4f}", 1),
                ]
            )
    low, high = STATED
    head = [
        "half, statement",
        f"looks that state {low:.2f}–{high:.2f}",
        "mean stated",
        "true",
        "stops at",
        "first stop true",
        "evaluations saved (median)",
        "regret paid (median, of the range)",
    ]
    return markdown(head, rows)


def first_stops(lines: Sequence[Line], half: str, statement: Statement) -> list[dict[str, Any]]:
    """The first look of each run with enough confidence, what it saves and what it costs."""
    found = []
    for line in lines:
        stops = [
            r["look"]
            for r in records([line], half)
            if statement.of_share(r["share"]) >= statement.confidence
        ]
        if stops:
            first, last = stops[0], line["looks"][-1]
            found.append(
                {
                    "problem": line["problem"],
                    "true": first["gap"] <= TOLERANCE,
                    "saved": 1.0 - first["n"] / last["n"],
                    "paid": first["gap"] - last["gap"],
                }
            )
    return found


def _stops(first: Sequence[dict[str, Any]]) -> str:
    """How many first stops were right."""
    n_problems = len({stop["problem"] for stop in first})
    return f"{sum(stop['true'] for stop in first)} of {len(first)}; {n_problems} problems"


def _clustered(looks: Sequence[dict[str, Any]], statement: Statement) -> tuple[float, float, float]:
    """Mean stated probability, share that was true, and the standard error clustered by run."""
    if not looks:
        return math.nan, math.nan, math.nan
    stated = np.array([statement.of_share(look["share"]) for look in looks])
    true = np.array([float(look["true"]) for look in looks])
    error = clustered_error(true - stated, [look["run"] for look in looks])
    return float(stated.mean()), float(true.mean()), error


def search_table(lines: Sequence[Line]) -> str:
    """What searches of maxima missed, and whether intervals of the gap hold the true one."""
    rows = []
    for half in (DEVELOPMENT, TEST):
        looks = [record["look"] for record in records(lines, half)]
        exact = [look for look in looks if look["exact"]]
        missed = [look["missed"] for look in looks if not look["exact"]]
        within = [look["stated"][1] - 1e-9 <= look["gap"] <= look["stated"][-2] for look in looks]
        rows.append(
            [
                half,
                f"{len(looks)}",
                f"{len(exact)}",
                f"{np.mean(missed):.4f}",
                f"{np.quantile(missed, 0.9):.4f}",
                _percent(float(np.mean(within))),
            ]
        )
    head = [
        "half",
        "looks",
        "with exact maxima",
        "missed (mean, of the range)",
        "missed (90 % quantile)",
        "true gap between the 3 % and 97 % quantiles",
    ]
    return markdown(head, rows)


def tables(lines: Sequence[Line]) -> dict[str, str]:
    """All tables."""
    return {
        "stopping": goals_table(lines),
        "stopping_reliability": reliability_table(lines),
        "stopping_search": search_table(lines),
    }


def _percent(share: float) -> str:
    """A share in per cent."""
    return "–" if math.isnan(share) else f"{100 * share:.1f} %"


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
    shares, probabilities = fit_map(records(lines, DEVELOPMENT, TOLERANCES))
    print("map in use:", SHARES, PROBABILITIES)
    print("map fitted on the development half:", shares, probabilities)
    return write_tables(tables(lines))


if __name__ == "__main__":
    sys.exit(main())
