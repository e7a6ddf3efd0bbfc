"""The tables of the comparison, from recorded lines only."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from studies.comparison.calibration import LEVELS
from studies.comparison.rankings import SHARES, PairedComparison, compare_pair, normalised, rankings
from studies.comparison.runs import has_runs
from studies.lines import Line, lines_of
from studies.methods import COMPARISON_METHODS
from studies.problems import ComparisonProblem
from studies.table_writer import markdown

KINDS = ("continuous", "grid", "mixed", "table")


def reference_of(methods: Sequence[str]) -> str:
    """The method that all others are compared with."""
    return "bktf" if "bktf" in methods else "random"


def _complete(
    lines: Sequence[Line], problems: Sequence[ComparisonProblem], methods: Sequence[str], kind: str
) -> tuple[list[str], list[str]]:
    """The methods that have lines of every problem, and words about those that do not."""
    counts = {m: sum(bool(lines_of(lines, p.name, m)) for p in problems) for m in methods}
    missing = [
        f"{COMPARISON_METHODS[m].title} ({kind}: {counts[m]} of {len(problems)})"
        for m in methods
        if counts[m] < len(problems) and has_runs(m, kind)
    ]
    return [m for m in methods if counts[m] == len(problems)], missing


def seed_range(counts: Sequence[int]) -> str:
    """The least and the largest number of seeds."""
    return " to ".join(map(str, sorted({min(counts), max(counts)})))


def _signed(value: float | np.floating[Any]) -> str:
    """A difference with three decimals and its sign, zero without one."""
    text = f"{value:+.3f}"
    return text if float(text) else "0.000"


def _note(missing: Sequence[str]) -> str:
    """Who lacks runs, below a table."""
    return f"\n\nRuns of some problems are still missing: {', '.join(missing)}." if missing else ""


def _pair_cells(pair: PairedComparison | None) -> list[str]:
    """Wins, ties and losses of the first method, then how often each comes within one per cent."""
    if pair is None:
        return [""] * 3
    n_decided = pair.wins + pair.ties + pair.losses
    counts = f"{pair.wins} / {pair.ties} / {pair.losses}" if n_decided else "–"
    close = [f"{x.share:.0%} in {x.evaluations:.0f}" if x.share else "0%" for x in pair.close]
    return [counts, *reversed(close)]


def rankings_table(
    lines: Sequence[Line], problems: Sequence[ComparisonProblem], methods: Sequence[str]
) -> str:
    """One row per kind of problem and method: rank, problems won against it, cost.

    Methods that lack runs of a kind are named below.
    """
    reference, rows, missing = reference_of(methods), [], []
    for kind in (*KINDS, "all"):
        of_kind = [p for p in problems if kind in ("all", p.kind)]
        complete, incomplete = _complete(lines, of_kind, methods, kind)
        missing += incomplete
        found = rankings(lines, of_kind, complete)
        for method in sorted(found, key=lambda m: found[m].rank):
            ranking, pair = found[method], None
            if method != reference and reference in found:
                pair = compare_pair(lines, of_kind, reference, method)
            rows.append(
                [
                    f"{kind} ({ranking.n_problems})",
                    COMPARISON_METHODS[method].title,
                    f"{ranking.rank:.2f}",
                    *_pair_cells(pair),
                    f"{ranking.repeats:.1%}",
                    f"{ranking.cpu_seconds:.2g}",
                    str(ranking.n_seeds),
                ]
            )
    title = COMPARISON_METHODS[reference].title
    head = [
        "problems",
        "method",
        "mean rank",
        f"{title} wins / ties / losses",
        "it within 1 %",
        f"{title} there",
        "repeats",
        "CPU s",
        "seeds",
    ]
    return markdown(head, rows) + _note(missing)


def differences_table(
    lines: Sequence[Line], problems: Sequence[ComparisonProblem], methods: Sequence[str]
) -> str:
    """One row per kind of problem and method: regrets, and the difference to the reference.

    Both are of the seeds that both methods have, at shares of the budget.
    """
    reference, rows, missing = reference_of(methods), [], []
    for kind in (*KINDS, "all"):
        of_kind = [p for p in problems if kind in ("all", p.kind)]
        complete, incomplete = _complete(lines, of_kind, methods, kind)
        missing += incomplete
        others = [m for m in complete if m != reference and reference in complete]
        found = {m: compare_pair(lines, of_kind, reference, m) for m in others}
        pairs = {m: pair for m, pair in found.items() if pair is not None}
        for method in sorted(pairs, key=lambda m: -pairs[m].difference[-1]):
            pair = pairs[method]
            seeds = seed_range(pair.n_seeds)
            row = [f"{kind} ({len(of_kind)})", COMPARISON_METHODS[method].title, seeds]
            for it, own, cell in zip(pair.second, pair.first, pair.cells, strict=True):
                row += [f"{it:.2f} / {own:.2f}", cell]
            rows.append(row)
    title = COMPARISON_METHODS[reference].title
    shares = [
        text
        for share in SHARES
        for text in (f"{share:.0%}: it / {title}", f"{title} − it at {share:.0%}")
    ]
    return markdown(["problems", "method", "shared seeds", *shares], rows) + _note(missing)


def problem_table(
    lines: Sequence[Line], problems: Sequence[ComparisonProblem], methods: Sequence[str]
) -> str:
    """Mean regret of the reference, and its mean difference to each other method.

    Differences are on the seeds that both have; those above zero are in bold.
    """
    reference = reference_of(methods)
    others = [m for m in methods if m != reference]
    rows = []
    for problem in problems:
        if not all(lines_of(lines, problem.name, m) for m in ("random", reference)):
            continue
        first = normalised(lines, problem, reference)
        mean = np.mean([r[-1] for r in first.values()])
        row = [problem.name, problem.kind, str(problem.n_dims), f"{mean:.3f}"]
        for method in others:
            second = normalised(lines, problem, method)
            seeds = sorted(first.keys() & second.keys())
            differences = [first[s][-1] - second[s][-1] for s in seeds]
            shown = _signed(np.mean(differences)) if differences else "–"
            row.append(f"**{shown}**" if differences and float(shown) > 0 else shown)
        rows.append(row)
    titles = [f"− {COMPARISON_METHODS[m].title}" for m in others]
    return markdown(["problem", "kind", "D", COMPARISON_METHODS[reference].title, *titles], rows)


def calibration_table(
    lines: Sequence[Line], problems: Sequence[ComparisonProblem], models: Sequence[str]
) -> str:
    """Coverage of central intervals and CRPS, mean over seeds."""
    rows = []
    for problem in problems:
        found = {m: lines_of(lines, problem.name, m) for m in models}
        if not any(found.values()):
            continue
        row = [problem.name]
        for model in models:
            fits = found[model]
            if not fits:
                row += ["–"] * (len(LEVELS) + 1)
                continue
            row += [f"{c:.2f}" for c in np.mean([line["coverage"] for line in fits], axis=0)]
            row.append(f"{np.mean([line['crps'] for line in fits]):.3f}")
        rows.append(row)
    head = [
        f"{COMPARISON_METHODS[m].title}: {what}"
        for m in models
        for what in (*(f"{p:.0%}" for p in LEVELS), "CRPS")
    ]
    return markdown(["problem", *head], rows)
