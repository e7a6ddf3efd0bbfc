"""The tables of the studies of any size."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.any_size import problems
from studies.comparison.rankings import SHARES, PairedComparison, compare_pair
from studies.lines import Line, read_lines
from studies.problems import COMPARISON_PROBLEMS, DEVELOPMENT, TEST, ComparisonProblem
from studies.table_writer import markdown

LINES = Path(__file__).parents[1] / "results" / "any_size.jsonl"
DEVELOPMENT_LINES = LINES.with_name("any_size_development.jsonl")
COMPARE = Path(__file__).parents[2] / "studies" / "results" / "compare.jsonl"
BEFORE, AFTERWARDS = "bktf before", "bktf after"  # methods of the lines of the development half
AFTER_METHODS = ("random", "tpe", "bktf")
BUDGET_METHODS = ("random", "tpe", "bktf", "gp", "cmaes")


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
        for method in BUDGET_METHODS:
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


def paired_table(lines: Sequence[Line]) -> str:
    """Bktf's regret minus a peer's, in units of random search's at the end, by budget.

    A pair is compared over as many trials as both have, because Optuna's GP stops early.
    """
    groups: dict[str, list[str]] = {}
    for name, (problem, n_trials, _) in problems.BUDGETS.items():
        dims = "50 dimensions, " if len(problem.space) == 50 else ""
        groups.setdefault(f"{dims}{n_trials:,} trials", []).append(name)
    rows = []
    for title, names in groups.items():
        for peer in ("tpe", "gp", "cmaes"):
            found = _paired(lines, names, peer)
            if found is not None:
                seeds = "–".join(map(str, sorted(set(found.n_seeds))))
                rows.append([title, peer, seeds, *found.cells])
    return markdown(["budget", "peer", "seeds", *(f"{share:.0%}" for share in SHARES)], rows)


def _paired(lines: Sequence[Line], names: Sequence[str], peer: str) -> PairedComparison | None:
    """Bktf against a peer on some problems, over the trials that both have."""
    known, cut = [], []
    for name in names:
        of_problem = [x for x in lines if x["experiment"] == "budgets" and x["problem"] == name]
        here = [x for x in of_problem if x["method"] in ("random", "bktf", peer)]
        n = min((len(x["values"]) for x in here), default=0)
        cut += [{**x, "values": x["values"][:n], "n_start": 1} for x in here]
        problem = problems.BUDGETS[name][0]
        known.append(
            ComparisonProblem(
                name=name,
                space=problem.space,
                function=problem.function,
                minimum=problem.minimum,
                budget=n,
                half=TEST,
                group="budgets",
            )
        )
    return compare_pair(cut, known, "bktf", peer)


def development_table() -> str:
    """Regret on the development half of the comparison, before and after, paired."""
    development = [p for p in COMPARISON_PROBLEMS.values() if p.half == DEVELOPMENT]
    random = [x for x in read_lines(COMPARE) if x["method"] == "random"]
    lines = [*read_lines(DEVELOPMENT_LINES), *random]
    found = compare_pair(lines, development, AFTERWARDS, BEFORE)
    rows = []
    if found is not None:
        numbers = zip(SHARES, found.first, found.second, found.cells, strict=True)
        for share, after, before, cell in numbers:
            rows.append([f"{share:.0%}", f"{after:.3f}", f"{before:.3f}", cell])
    return markdown(["share of the budget", "after", "before", "difference"], rows)


def tables(lines: Sequence[Line]) -> dict[str, str]:
    """All tables of what is recorded, by name."""
    return {
        "after": after_table(lines),
        "budgets": budget_table(lines),
        "paired": paired_table(lines),
        "development": development_table(),
    }
