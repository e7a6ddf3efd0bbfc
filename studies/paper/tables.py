"""The tables of `bktf reproduce` as Markdown, from recorded lines only, the paper's figures in rows of their own."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.lines import Line
from studies.methods.paper_methods import METHODS
from studies.paper import published
from studies.paper.runs import LENGTHSCALE_MEANS, NOISE_RATES, NOISE_SHAPES, VARIANTS, VARIED
from studies.paper.summaries import common_seeds, lines_of, methods_in, profiles, queries_to_hit
from studies.problems.grid_problems import CONTROLS, INTRO, INTRO_CONTROL, PAPER, PROBLEMS, Problem
from studies.problems.tuning import TASKS

Floats = NDArray[np.float64]
NONE = "–"
PAPER_RULE = "the paper's rule"
OUR_RULE = "our rule"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first column to the left, the others to the right."""
    line = "| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|"
    return "\n".join([line, *("| " + " | ".join(row) + " |" for row in rows)])


def _with_paper(
    problems: Sequence[Problem], methods: Sequence[str], ours: Callable[[Problem, str], str], paper: Callable[[str, str], str] | None
) -> str:
    """One row per problem, the paper's row under it where it has one."""
    rows = []
    for problem in problems:
        rows.append([problem.title, *(ours(problem, m) for m in methods)])
        if paper is not None and set(published.FUNCTIONS.get(problem.name, {})) & set(methods):
            rows.append(
                ["*the paper's*", *(f"*{paper(problem.name, m)}*" if m in published.FUNCTIONS[problem.name] else "" for m in methods)]
            )
    return markdown(["", *(METHODS[m].title for m in methods)], rows)


def _mean_std(values: Floats, digits: int, n_usual: int) -> str:
    """Mean ± standard deviation, with the number of runs where it is not the usual one."""
    if len(values) == 0:
        return NONE
    shown = f"{_fixed(np.mean(values), digits)} ± {np.std(values):.{digits}f}"
    return shown if len(values) == n_usual else f"{shown} ({_runs(len(values))})"


def _runs(n: int) -> str:
    return f"{n} run" if n == 1 else f"{n} runs"


def _fixed(value: float | np.floating[Any], digits: int) -> str:
    """A number with so many decimals and no minus sign before zeros."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def _final(lines: Sequence[Line]) -> Floats:
    """The best value of every run."""
    return np.array([min(line["values"]) for line in lines])


def _n_usual(lines: Sequence[Line]) -> int:
    return len({line["seed"] for line in lines})


def errors(lines: Sequence[Line], against_grid: bool) -> str:
    """Best value found minus the best cell's (below zero: better than every cell) or minus the true minimum."""
    usual = _n_usual(lines)

    def ours(problem: Problem, method: str) -> str:
        found = lines_of(lines, problem.name, method)
        target = problem.best_grid_value if against_grid else problem.minimum
        return _mean_std(_final(found) - target, 3, usual)

    def paper(problem: str, method: str) -> str:
        mean, std, _ = published.FUNCTIONS[problem][method]
        return f"{mean:.2f} ± {std:.2f}"

    return _with_paper([*PAPER, *CONTROLS], methods_in(lines, METHODS), ours, paper if against_grid else None)


def evaluations(lines: Sequence[Line]) -> str:
    """Runs that hit the best cell exactly, and the median number of queries of those that did."""
    return _with_paper([*PAPER, *CONTROLS], methods_in(lines, METHODS), lambda p, m: _hits(lines_of(lines, p.name, m), p), None)


def _hits(lines: Sequence[Line], problem: Problem) -> str:
    """How many runs hit the best cell exactly, and the median of their queries."""
    hits = [h for h in (queries_to_hit(line, problem, True) for line in lines) if h is not None]
    return NONE if not lines else f"{len(hits)} of {len(lines)}" + (f" in {np.median(hits):.0f}" if hits else "")


def cpu(lines: Sequence[Line]) -> str:
    """CPU seconds of one suggestion, mean over the run, median over replications."""

    def ours(problem: Problem, method: str) -> str:
        found = lines_of(lines, problem.name, method)
        each = [line["cpu_seconds"]["total"] / (len(line["values"]) - line["n_start"]) for line in found]
        return f"{np.median(each):.3g}" if each else NONE

    return _with_paper(PAPER, methods_in(lines, METHODS), ours, None)


def areas(lines: Sequence[Line], exact: bool, methods: Sequence[str], with_paper: bool) -> str:
    """Areas under the performance profiles of each function, of all six, and of their controls, among these methods, by two rules.

    The rules differ where no method finds the optimum of a run: by the letter of the paper's rule all methods are then best, by ours
    none is. Where every run is solved by some method there is one row for both. The paper's figures stand under the row of its rule.
    """
    rows = []
    for title, problems in [*((p.title, [p]) for p in (*PAPER, *CONTROLS)), ("**all six**", PAPER), ("**all six, shifted**", CONTROLS)]:
        by_rule = [profiles(lines, problems, methods, exact, paper_rule) for paper_rule in (True, False)]
        paper_area, our_area = ({m: profile.area for m, profile in found.items()} for found in by_rule)
        same = paper_area == our_area or any(map(math.isnan, paper_area.values()))
        title += _shared_runs(lines, problems, methods)
        rows.append([f"{title}, {'both rules' if same else PAPER_RULE}", *(_number(paper_area[m]) for m in methods)])
        name = problems[0].name if len(problems) == 1 else ""
        printed = {m: v[2] for m, v in published.FUNCTIONS[name].items()} if name in published.FUNCTIONS else {}
        printed = published.OVERALL_AREA if problems is PAPER else printed
        if with_paper and printed:
            rows.append(["*printed in the paper*", *(f"*{printed[m]:.1f}*" if m in printed else "" for m in methods)])
        if not same:
            rows.append([f"{title}, {OUR_RULE}", *(_number(our_area[m]) for m in methods)])
    return markdown(["", *(METHODS[m].title for m in methods)], rows)


def _shared_runs(lines: Sequence[Line], problems: Sequence[Problem], methods: Sequence[str]) -> str:
    """How many runs of each problem all methods have, where it is not the usual number."""
    n_runs = sorted({len(common_seeds(lines, p, methods)) for p in problems})
    if n_runs == [_n_usual(lines)]:
        return ""
    return f" ({_runs(n_runs[0])})" if len(n_runs) == 1 else f" ({n_runs[0]} to {_runs(n_runs[-1])} each)"


def _number(value: float) -> str:
    return NONE if math.isnan(value) else f"{value:.1f}"


def intro(lines: Sequence[Line]) -> str:
    """The introductory function: how far below the best cell's value (maximised as in the paper) the runs ended, and hits."""
    methods, usual = methods_in(lines, METHODS), _n_usual(lines)
    rows = []
    for problem in (INTRO, INTRO_CONTROL):
        for title, cell in (("distance to the best cell", False), ("runs that hit it, in queries", True)):
            row = [f"{problem.title}: {title}"]
            for method in methods:
                found = lines_of(lines, problem.name, method)
                row.append(_hits(found, problem) if cell else _mean_std(_final(found) - problem.best_grid_value, 3, usual))
            rows.append(row)
    return markdown(["", *(METHODS[m].title for m in methods)], rows)


def hyperpriors(lines: Sequence[Line]) -> str:
    """Branin with other priors: runs that hit the best cell, in how many queries, and the mean distance to its value at the end."""
    methods, problem, tables = methods_in(lines, METHODS), PROBLEMS["branin"], []

    def cell(method: str, priors: dict[str, float]) -> str:
        found = [
            line
            for line in lines_of(lines, "branin", method)
            if all(math.isclose(line["settings"]["priors"][name], value, rel_tol=1e-9) for name, value in priors.items())
        ]
        return f"{_hits(found, problem)}; {_fixed(np.mean(_final(found) - problem.best_grid_value), 2)}" if found else NONE

    for method in methods:
        usual = {"noise_shape": 1.0, "noise_rate": 0.01}
        row = [cell(method, usual | {"lengthscale_log_mean": math.log(mean)}) for mean in LENGTHSCALE_MEANS]
        tables.append(markdown([METHODS[method].title, *(f"exp μ = {mean:g}" for mean in LENGTHSCALE_MEANS)], [["", *row]]))
        rows = [
            [
                f"a₀ = {a:g}",
                *(cell(method, {"noise_shape": a, "noise_rate": b, "lengthscale_log_mean": math.log(0.5)}) for b in NOISE_RATES),
            ]
            for a in NOISE_SHAPES
        ]
        tables.append(markdown([METHODS[method].title, *(f"b₀ = {b:g}" for b in NOISE_RATES)], rows))
    return "\n\n".join(tables)


def variants(lines: Sequence[Line]) -> str:
    """Runs of the paper's method that hit the best cell, in how many queries, for settings that the paper leaves open."""
    rows = []
    for name in VARIANTS:
        found = [line for line in lines if line["variant"] == name]
        rows.append([name, *(_hits(lines_of(found, problem, "bktf-max"), PROBLEMS[problem]) for problem in VARIED)])
    return markdown(["", *(PROBLEMS[problem].title for problem in VARIED)], rows)


def tuning(lines: Sequence[Line]) -> str:
    """Final accuracy in per cent (digits; larger is better) and mean squared error (Boston; smaller is better)."""
    methods, usual, rows = methods_in(lines, METHODS), _n_usual(lines), []
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
            rows.append(["*the paper's*", *(f"*{paper[m][0]:.2f} ± {paper[m][1]:.2f}*" if m in paper else "" for m in methods)])
    return markdown(["", *(METHODS[m].title for m in methods)], rows)
