"""The tables of the paper's experiments, from recorded lines only.

The paper's figures are in separate rows.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from studies.lines import Line, lines_of
from studies.methods import PAPER_METHODS
from studies.paper import published
from studies.paper.runs import (
    LENGTHSCALE_MEANS,
    NOISE_RATES,
    NOISE_SHAPES,
    OPEN_SETTINGS,
    OPEN_SETTINGS_PROBLEMS,
)
from studies.paper.summaries import common_seeds, methods_in, profiles, queries_to_hit
from studies.problems import (
    CONTROLS,
    INTRO,
    INTRO_CONTROL,
    PAPER,
    PAPER_PROBLEMS,
    TASKS,
    Floats,
    PaperProblem,
)
from studies.table_writer import markdown

NONE = "–"
PAPER_RULE = "the paper's rule"
OUR_RULE = "our rule"


def _methods_in(lines: Sequence[Line]) -> list[str]:
    """The methods that have lines."""
    return methods_in(lines, PAPER_METHODS)


def _head(methods: Sequence[str]) -> list[str]:
    """The titles of the columns, the first being that of the rows."""
    return ["", *(PAPER_METHODS[m].title for m in methods)]


def _with_paper(
    problems: Sequence[PaperProblem],
    methods: Sequence[str],
    ours: Callable[[PaperProblem, str], str],
    paper: Callable[[str, str], str] | None,
) -> str:
    """One row per problem, the paper's row under it where it has one."""
    rows = []
    for problem in problems:
        rows.append([problem.title, *(ours(problem, m) for m in methods)])
        if paper is not None and set(published.FUNCTIONS.get(problem.name, {})) & set(methods):
            rows.append(
                [
                    "*the paper's*",
                    *(
                        f"*{paper(problem.name, m)}*"
                        if m in published.FUNCTIONS[problem.name]
                        else ""
                        for m in methods
                    ),
                ]
            )
    return markdown(_head(methods), rows)


def _mean_std(values: Floats, digits: int, n_usual: int) -> str:
    """Mean ± standard deviation, with the number of runs where it is not the usual one."""
    if len(values) == 0:
        return NONE
    shown = f"{_fixed(np.mean(values), digits)} ± {np.std(values):.{digits}f}"
    return shown if len(values) == n_usual else f"{shown} ({_runs(len(values))})"


def _runs(n: int) -> str:
    """A number of runs in words."""
    return f"{n} run" if n == 1 else f"{n} runs"


def _fixed(value: float | np.floating[Any], digits: int) -> str:
    """A number with `digits` decimals and no minus sign before zeros."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def _final(lines: Sequence[Line]) -> Floats:
    """The best value of every run."""
    return np.array([min(line["values"]) for line in lines])


def _n_usual(lines: Sequence[Line]) -> int:
    """The number of runs that most cells have."""
    return len({line["seed"] for line in lines})


def errors(lines: Sequence[Line], against_grid: bool) -> str:
    """Best value found minus the best cell's, or minus the true minimum.

    A value below zero is better than every cell.
    """
    usual = _n_usual(lines)

    def ours(problem: PaperProblem, method: str) -> str:
        found = lines_of(lines, problem.name, method)
        target = problem.best_grid_value if against_grid else problem.minimum
        return _mean_std(_final(found) - target, 3, usual)

    def paper(problem: str, method: str) -> str:
        mean, std, _ = published.FUNCTIONS[problem][method]
        return f"{mean:.2f} ± {std:.2f}"

    return _with_paper(
        [*PAPER, *CONTROLS], _methods_in(lines), ours, paper if against_grid else None
    )


def evaluations(lines: Sequence[Line]) -> str:
    """Runs that hit the best cell exactly, and the median number of queries of those that did."""
    return _with_paper(
        [*PAPER, *CONTROLS],
        _methods_in(lines),
        lambda p, m: _hits(lines_of(lines, p.name, m), p),
        None,
    )


def _hits(lines: Sequence[Line], problem: PaperProblem) -> str:
    """How many runs hit the best cell exactly, and the median of their queries."""
    hits = [h for h in (queries_to_hit(line, problem, True) for line in lines) if h is not None]
    return (
        NONE
        if not lines
        else f"{len(hits)} of {len(lines)}" + (f" in {np.median(hits):.0f}" if hits else "")
    )


def cpu(lines: Sequence[Line]) -> str:
    """CPU seconds of one suggestion, mean over the run, median over replications."""

    def ours(problem: PaperProblem, method: str) -> str:
        """Of the recorded runs of a method."""
        seconds = [
            line["cpu_seconds"]["total"] / (len(line["values"]) - line["n_start"])
            for line in lines_of(lines, problem.name, method)
        ]
        return f"{np.median(seconds):.3g}" if seconds else NONE

    return _with_paper(PAPER, _methods_in(lines), ours, None)


def areas(lines: Sequence[Line], exact: bool, methods: Sequence[str], with_paper: bool) -> str:
    """Areas under the performance profiles of each function, of all six, and of their controls.

    The two rules differ where no method finds the optimum of a run. By the paper's rule, taken
    literally, all methods are then best; by ours none is. Where every run is solved by some method
    there is one row for both. The paper's figures are below the row of its rule.
    """
    rows = []
    for title, problems in [
        *((p.title, [p]) for p in (*PAPER, *CONTROLS)),
        ("**all six**", PAPER),
        ("**all six, shifted**", CONTROLS),
    ]:
        paper_area, our_area = (
            {m: profile.area for m, profile in profiles(lines, problems, methods, exact, r).items()}
            for r in (True, False)
        )
        same = paper_area == our_area or any(map(math.isnan, paper_area.values()))
        label = title + _shared_runs(lines, problems, methods)
        areas_by_paper = [_number(paper_area[m]) for m in methods]
        rows.append([f"{label}, {'both rules' if same else PAPER_RULE}", *areas_by_paper])
        printed = _printed_areas(problems) if with_paper else {}
        if printed:
            figures = [f"*{printed[m]:.1f}*" if m in printed else "" for m in methods]
            rows.append(["*printed in the paper*", *figures])
        if not same:
            rows.append([f"{label}, {OUR_RULE}", *(_number(our_area[m]) for m in methods)])
    return markdown(_head(methods), rows)


def _printed_areas(problems: Sequence[PaperProblem]) -> dict[str, float]:
    """The paper's areas of a function or of all six, by method; none where it prints none."""
    if problems is PAPER:
        return published.OVERALL_AREA
    figures = published.FUNCTIONS.get(problems[0].name, {}) if len(problems) == 1 else {}
    return {method: area for method, (_, _, area) in figures.items()}


def _shared_runs(
    lines: Sequence[Line], problems: Sequence[PaperProblem], methods: Sequence[str]
) -> str:
    """How many runs of each problem all methods have, where it is not the usual number."""
    n_runs = sorted({len(common_seeds(lines, p, methods)) for p in problems})
    if n_runs == [_n_usual(lines)]:
        return ""
    return (
        f" ({_runs(n_runs[0])})"
        if len(n_runs) == 1
        else f" ({n_runs[0]} to {_runs(n_runs[-1])} each)"
    )


def _number(value: float) -> str:
    """A number with one decimal, or a dash."""
    return NONE if math.isnan(value) else f"{value:.1f}"


def intro(lines: Sequence[Line]) -> str:
    """The introductory function: how far below the best cell the runs ended, and hits.

    It is maximised, as in the paper.
    """
    methods, usual = _methods_in(lines), _n_usual(lines)
    rows = []
    for problem in (INTRO, INTRO_CONTROL):
        for title, cell in (
            ("distance to the best cell", False),
            ("runs that hit it, in queries", True),
        ):
            row = [f"{problem.title}: {title}"]
            for method in methods:
                found = lines_of(lines, problem.name, method)
                row.append(
                    _hits(found, problem)
                    if cell
                    else _mean_std(_final(found) - problem.best_grid_value, 3, usual)
                )
            rows.append(row)
    return markdown(_head(methods), rows)


def hyperpriors(lines: Sequence[Line]) -> str:
    """Branin with other priors: hits of the best cell, queries, mean distance at the end."""
    methods, problem, tables = _methods_in(lines), PAPER_PROBLEMS["branin"], []

    def cell(method: str, priors: dict[str, float]) -> str:
        found = [
            line
            for line in lines_of(lines, "branin", method)
            if all(
                math.isclose(line["settings"]["priors"][name], value, rel_tol=1e-9)
                for name, value in priors.items()
            )
        ]
        if not found:
            return NONE
        distance = np.mean(_final(found) - problem.best_grid_value)
        return f"{_hits(found, problem)}; {_fixed(distance, 2)}"

    for method in methods:
        usual = {"noise_shape": 1.0, "noise_rate": 0.01}
        row = [
            cell(method, usual | {"lengthscale_log_mean": math.log(mean)})
            for mean in LENGTHSCALE_MEANS
        ]
        tables.append(
            markdown(
                [PAPER_METHODS[method].title, *(f"exp μ = {mean:g}" for mean in LENGTHSCALE_MEANS)],
                [["", *row]],
            )
        )
        rows = [
            [
                f"a₀ = {a:g}",
                *(
                    cell(
                        method,
                        {"noise_shape": a, "noise_rate": b, "lengthscale_log_mean": math.log(0.5)},
                    )
                    for b in NOISE_RATES
                ),
            ]
            for a in NOISE_SHAPES
        ]
        tables.append(
            markdown([PAPER_METHODS[method].title, *(f"b₀ = {b:g}" for b in NOISE_RATES)], rows)
        )
    return "\n\n".join(tables)


def open_settings(lines: Sequence[Line]) -> str:
    """Hits of the paper's method, in how many queries, for settings that the paper leaves open."""
    rows = []
    for name in OPEN_SETTINGS:
        found = [line for line in lines if line["variant"] == name]
        hits = [
            _hits(lines_of(found, problem, "bktf-max"), PAPER_PROBLEMS[problem])
            for problem in OPEN_SETTINGS_PROBLEMS
        ]
        rows.append([name, *hits])
    titles = [PAPER_PROBLEMS[problem].title for problem in OPEN_SETTINGS_PROBLEMS]
    return markdown(["", *titles], rows)


def tuning(lines: Sequence[Line]) -> str:
    """Final accuracy in per cent (digits) and mean squared error (Boston)."""
    methods, usual, rows = _methods_in(lines), _n_usual(lines), []
    for task in TASKS.values():
        if not any(line["problem"] == task.name for line in lines):
            continue
        row = [task.title]
        for method in methods:
            found = lines_of(lines, task.name, method)
            best = _final(found)
            row.append(_mean_std(100 * (1 - best) if task.is_classifier else best, 2, usual))
        rows.append(row)
        if set(published.TUNING.get(task.name, {})) & set(methods):
            paper = published.TUNING[task.name]
            rows.append(
                [
                    "*the paper's*",
                    *(
                        f"*{paper[m][0]:.2f} ± {paper[m][1]:.2f}*" if m in paper else ""
                        for m in methods
                    ),
                ]
            )
    return markdown(_head(methods), rows)
