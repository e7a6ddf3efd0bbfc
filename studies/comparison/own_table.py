"""The methods on a user's own table: python -m studies.comparison --table file.csv."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from studies.comparison.rankings import SHARES, compare_pair, incumbents
from studies.comparison.runs import (
    N_SEEDS,
    N_SEEDS_OF,
    QUICK_BUDGET,
    RECORDED,
    run_on,
    strategy_settings,
)
from studies.comparison.tables import reference_of
from studies.lines import Line, RunKey, lines_of
from studies.methods import COMPARISON_METHODS
from studies.problems import ComparisonProblem
from studies.problems.comparison_problems import in_half
from studies.problems.own_table import OWN, read_own_table
from studies.table_writer import markdown


@dataclass(frozen=True)
class OwnTable:
    """What a user says of a table."""

    path: Path
    target: str | None = None  # column; None: the last one
    is_maximized: bool = False

    def problem(self, quick: bool) -> ComparisonProblem:
        """The problem of the table; it belongs to no half."""
        budget = QUICK_BUDGET if quick else None
        found = read_own_table(self.path, self.target, self.is_maximized, budget)
        return in_half(found, OWN, OWN)


def own_runs(
    problem: ComparisonProblem, methods: Sequence[str], n_seeds: int | None, quick: bool
) -> list[RunKey]:
    """All runs, seed by seed."""
    usual = 1 if quick else N_SEEDS
    return [
        {
            "experiment": "own-table",
            "problem": problem.name,
            "method": method,
            "seed": seed,
            "settings": {
                "budget": problem.budget,
                "n_start": problem.n_start,
                "table": problem.title,
            }
            | strategy_settings(method),
        }
        for seed in range(n_seeds or usual)
        for method in methods
        if method not in RECORDED and (n_seeds or seed < N_SEEDS_OF.get(method, usual))
    ]


def run_own(problem: ComparisonProblem, key: RunKey) -> Line:
    """The line of one run."""
    return run_on(problem, COMPARISON_METHODS[key["method"]], key)


def own_table(
    lines: Sequence[Line], problem: ComparisonProblem, methods: Sequence[str], is_maximized: bool
) -> str:
    """Mean best value of each method at shares of the budget, and paired differences of regret."""
    reference, sign = reference_of(methods), -1.0 if is_maximized else 1.0
    rows = []
    for method in methods:
        runs = [
            incumbents(line)[line["n_start"] - 1 :]
            for line in lines_of(lines, problem.name, method)
        ]
        if not runs:
            continue
        steps = [round(share * (len(runs[0]) - 1)) for share in (0.0, *SHARES)]
        means = sign * np.mean([run[steps] for run in runs], axis=0)
        pair = None if method == reference else compare_pair(lines, [problem], reference, method)
        cells = [""] * len(SHARES) if pair is None else pair.cells
        title = COMPARISON_METHODS[method].title
        rows.append([title, *(f"{mean:.5g}" for mean in means), *cells, str(len(runs))])
    rows.sort(key=lambda row: sign * float(row[len(SHARES) + 1]))
    name = COMPARISON_METHODS[reference].title
    head = ["method", "start", *(f"{share:.0%}" for share in SHARES)]
    return markdown([*head, *(f"{name} − it at {share:.0%}" for share in SHARES), "seeds"], rows)
