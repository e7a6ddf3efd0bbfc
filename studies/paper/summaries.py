"""From recorded lines to figures: errors, queries to the optimum, quartiles, performance profiles.

No runs are made here.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.lines import Line, lines_of
from studies.paper.published import BUDGET_OF_FAILURE
from studies.problems import Floats, PaperProblem

EXACT = 1e-9  # of the range: the value is that of the best cell
TOLERANCE = 1e-2  # of the range, for the rule that continuous methods can meet


class Quartiles(NamedTuple):
    """Median and quartiles over replications, one entry per query."""

    lower: Floats
    median: Floats
    upper: Floats


class Profile(NamedTuple):
    """A Dolan–Moré curve: shares of runs in which a method is within a factor of the best one."""

    factors: NDArray[np.int64]  # 1 … N_max + 1
    shares: Floats
    area: float  # under the curve


def best_so_far(lines: Sequence[Line]) -> Floats:
    """The best value after the start and after each query, (runs, N + 1)."""
    curves = [np.minimum.accumulate(line["values"])[line["n_start"] - 1 :] for line in lines]
    return np.stack(curves)


def quartiles(curves: Floats) -> Quartiles:
    """Over the first axis."""
    return Quartiles(*np.quantile(curves, [0.25, 0.5, 0.75], axis=0))


def queries_to_hit(line: Line, problem: PaperProblem, exact: bool) -> int | None:
    """Queries until the optimum is found, or None.

    exact: a value equal to the best cell's, met by continuous methods only by chance. Otherwise a
    value at most one per cent of the range above it, a definition of ours, labelled wherever it is
    shown.
    """
    above = np.array(line["values"][line["n_start"] :]) - problem.best_grid_value
    span = problem.value_range
    found = np.abs(above) <= EXACT * span if exact else above <= TOLERANCE * span
    return int(found.argmax()) + 1 if found.any() else None


def common_seeds(lines: Sequence[Line], problem: PaperProblem, methods: Sequence[str]) -> list[int]:
    """The seeds that all methods have run the problem with."""
    seeds = [{line["seed"] for line in lines_of(lines, problem.name, m)} for m in methods]
    return sorted(set.intersection(*seeds))


def profiles(
    lines: Sequence[Line],
    problems: Sequence[PaperProblem],
    methods: Sequence[str],
    exact: bool,
    paper_rule: bool,
) -> dict[str, Profile]:
    """The curve of every method over the replications that all have; problems weigh the same.

    An experiment is one replication of one problem. A method that fails it counts as its budget
    plus 100 evaluations. Ratios are to the fewest evaluations that a method needed, so they depend
    on the methods given. Where all methods fail, the paper's rule taken literally gives each the
    ratio 1, as if all were best. Without `paper_rule` none is within any factor. The area is the
    plain sum over ρ = 1 … N_max + 1. Paper: appendix on performance profiles. Differs: D14.
    """
    factors = np.arange(1, max(problem.budget for problem in problems) + 2)
    shares: dict[str, list[Floats]] = {method: [] for method in methods}
    for problem in problems:
        ratios = _ratios(lines, problem, methods, exact, paper_rule)
        for i, method in enumerate(methods):
            within = (ratios[:, i, None] <= factors).mean(axis=0) if len(ratios) else None
            shares[method].append(np.full(factors.size, np.nan) if within is None else within)
    curves = {m: np.mean(s, axis=0) for m, s in shares.items()}
    return {m: Profile(factors, curve, float(curve.sum())) for m, curve in curves.items()}


def _ratios(
    lines: Sequence[Line],
    problem: PaperProblem,
    methods: Sequence[str],
    exact: bool,
    paper_rule: bool,
) -> Floats:
    """Evaluations over those of the best method, (seeds, methods)."""
    seeds = common_seeds(lines, problem, methods)
    found = {
        m: {
            line["seed"]: queries_to_hit(line, problem, exact)
            for line in lines_of(lines, problem.name, m)
        }
        for m in methods
    }
    runs = [line for line in lines if line["problem"] == problem.name]
    n_queries = max((len(line["values"]) - line["n_start"] for line in runs), default=0)
    hits = np.array([[found[m][s] or np.inf for m in methods] for s in seeds], dtype=float)
    hits = hits.reshape(len(seeds), len(methods))
    evaluations = np.minimum(hits, n_queries + BUDGET_OF_FAILURE)
    ratios = evaluations / evaluations.min(axis=1, keepdims=True, initial=np.inf)
    if not paper_rule:
        ratios[np.isinf(hits).all(axis=1)] = np.inf
    return np.asarray(ratios)


def methods_in(lines: Sequence[Line], order: Mapping[str, object]) -> list[str]:
    """The methods that have lines, in the usual order."""
    recorded = {line["method"] for line in lines}
    return [method for method in order if method in recorded]
