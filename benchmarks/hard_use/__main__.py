"""Studies of hard use: every run is a line of benchmarks/results/hard_use.jsonl.

Runs that are recorded are not made again.

python -m benchmarks.hard_use                       make what is missing, then print the tables
python -m benchmarks.hard_use long noise            only these studies
python -m benchmarks.hard_use categories --table F  a complete screen of unordered factors, its last
column the result
python -m benchmarks.hard_use --tables              print the tables of what is recorded
"""

import argparse
import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import optuna

from benchmarks.hard_use import problems, studies
from studies.comparison.rankings import SHARES, compare_pair, verdict
from studies.lines import Line, RunKey, key_of, read_lines
from studies.problems import COMPARISON_PROBLEMS, DEVELOPMENT
from studies.runner import run_missing

LINES = Path(__file__).parents[1] / "results" / "hard_use.jsonl"
NOISE_START = LINES.with_name("noise_start.jsonl")
COMPARE = Path(__file__).parents[2] / "studies" / "results" / "compare.jsonl"
NOISY_START, SMALL_START = (
    f"chains start at a noise precision of {precision}" for precision in ("100", "3e4")
)
TABLES = Path(__file__).parents[2] / "studies" / "results" / "tables"
RECORDED = "bktf-before"  # lines of the version before; no more of them can be made


def _runs(
    experiment: str,
    cases: Sequence[tuple[str, Mapping[str, object]]],
    methods: Sequence[str],
    n_seeds: int,
) -> list[RunKey]:
    """The runs of an experiment: every seed, case and method."""
    runs = itertools.product(range(n_seeds), cases, methods)
    return [
        {"experiment": experiment, "problem": name, "method": m, "seed": s, "settings": settings}
        for s, (name, settings), m in runs
    ]


def runs_of(study: str) -> list[RunKey]:
    """All runs of a study."""
    if study == "long":
        cases = [(name, {"history": n}) for name in problems.LONG for n in problems.HISTORIES]
        return _runs(study, cases, ("random", RECORDED, "bktf"), problems.LONG_SEEDS)
    if study == "pruned":
        scales = [
            ("bowl", {"scale": scale, "pruner": "median"})
            for scale in problems.PRUNED_SCALES.values()
        ]
        return _runs(
            study,
            [*scales, ("bowl", {"scale": 1.0, "pruner": "none"})],
            ("tpe", RECORDED, "bktf"),
            problems.PRUNED_SEEDS,
        )
    if study == "outliers":
        return _runs(
            study,
            [("bowl", {"size": size}) for size in problems.OUTLIER_SIZES],
            ("random", RECORDED, "bktf"),
            problems.OUTLIER_SEEDS,
        )
    if study == "noise":
        methods = ("random", "tpe", RECORDED, "bktf", "bktf-repeats")
        return _runs(study, [(name, {}) for name in problems.NOISY], methods, problems.NOISY_SEEDS)
    return _runs(
        study, [("screen", {})], ("tpe", RECORDED, "bktf", "bktf-process"), problems.CATEGORY_SEEDS
    )


def long_table(lines: Sequence[Line]) -> str:
    """Median regret of the next suggestions, relative to that of random points."""
    rows = [
        "| space | trials before | bktf before | bktf | highest seed |",
        "|---|---|---|---|---|",
    ]
    for name, problem in problems.LONG.items():
        for n in problems.HISTORIES:
            here = [
                x
                for x in lines
                if x["experiment"] == "long"
                and x["problem"] == name
                and x["settings"]["history"] == n
            ]
            medians = {
                m: [np.median(x["values"]) - problem.minimum for x in here if x["method"] == m]
                for m in ("random", RECORDED, "bktf")
            }
            if not medians["random"]:
                continue
            unit = np.mean(medians["random"])
            shown = [
                f"{np.median(medians[m]) / unit:.3f}" if medians[m] else "–"
                for m in (RECORDED, "bktf")
            ]
            worst = f"{max(medians['bktf']) / unit:.3f}" if medians["bktf"] else "–"
            rows.append(f"| {name} | {n} | {' | '.join(shown)} | {worst} |")
    return "\n".join(rows)


def plain_table(study: str, number: str, lines: Sequence[Line], by: str | None) -> str:
    """Median (smallest to largest) of a number, by method and by setting or problem."""
    here = [x for x in lines if x["experiment"] == study and number in x]
    cases = list(dict.fromkeys(str(x["settings"] if by is None else x[by]) for x in here))
    rows = [f"| {number} | " + " | ".join(cases) + " |", "|---" * (len(cases) + 1) + "|"]
    for method in dict.fromkeys(x["method"] for x in here):
        row = []
        for case in cases:
            found = [
                x[number]
                for x in here
                if x["method"] == method and str(x["settings"] if by is None else x[by]) == case
            ]
            row.append(
                f"{np.median(found):.3g} ({min(found):.2g} to {max(found):.2g}), {len(found)}"
                if found
                else "–"
            )
        rows.append(f"| {method} | " + " | ".join(row) + " |")
    return "\n".join(rows)


def start_table() -> str:
    """Regret on the development half with two start values of the noise.

    Chains of a process start with noise of a tenth of the spread, or with small noise.
    """
    development = [p for p in COMPARISON_PROBLEMS.values() if p.half == DEVELOPMENT]
    lines = [*read_lines(NOISE_START), *(x for x in read_lines(COMPARE) if x["method"] == "random")]
    found = compare_pair(lines, development, NOISY_START, SMALL_START)
    assert found is not None
    rows = [
        "| share of the budget | a tenth of the spread | small | difference | |",
        "|---|---|---|---|---|",
    ]
    for share, one, two, low, high in zip(
        SHARES, found.first, found.second, found.low, found.high, strict=True
    ):
        difference = float(one - two)
        interval = f"{difference:+.3f} [{low:+.3f}, {high:+.3f}]"
        outcome = verdict(difference, float(low), float(high))
        rows.append(f"| {share:.0%} | {one:.3f} | {two:.3f} | {interval} | {outcome} |")
    return "\n".join(rows)


def tables(lines: Sequence[Line]) -> dict[str, str]:
    """All tables of what is recorded, by name."""
    return {
        "long": long_table(lines),
        "pruned": plain_table("pruned", "best", lines, None),
        "pruned_trials": plain_table("pruned", "pruned_of_last_20", lines, None),
        "outliers": plain_table("outliers", "best", lines, None),
        "noise_observed": plain_table("noise", "at_best_observed", lines, "problem"),
        "noise_expected": plain_table("noise", "at_best_expected", lines, "problem"),
        "categories": plain_table("categories", "best", lines, "problem"),
        "noise_start": start_table(),
    }


def main() -> None:
    """Make the runs that are missing and print the tables."""
    work: dict[str, Callable[[RunKey], Line]] = {
        "long": studies.run_long,
        "pruned": studies.run_pruned,
        "outliers": studies.run_outliers,
        "noise": studies.run_noise,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "studies", nargs="*", help=f"of {', '.join(work)}, categories; by default all but the last"
    )
    parser.add_argument("--table", type=Path, help="CSV file for categories")
    parser.add_argument("--methods", nargs="+", help="only these")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--lines", type=Path, default=LINES, help="file of the lines")
    parser.add_argument(
        "--tables", action="store_true", help="print the tables of what is recorded, run nothing"
    )
    asked = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if asked.table is not None:
        work["categories"] = partial(studies.run_categories, table=asked.table)
    for study in [] if asked.tables else asked.studies or list(work):
        if study not in work:
            parser.error(
                f"a study must be one of {', '.join(work)} (categories with --table); got {study!r}"
            )
        keys = [
            key
            for key in runs_of(study)
            if key["method"]
            in (asked.methods or ("random", "tpe", "bktf", "bktf-repeats", "bktf-process"))
        ]
        run_missing(asked.lines, keys, work[study], asked.jobs)
    for name, table in tables(
        list({key_of(line): line for line in read_lines(asked.lines)}.values())
    ).items():
        print(f"\n{name}\n\n{table}")
        if asked.lines == LINES:
            (TABLES / f"hard_use_{name}.md").write_text(table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
