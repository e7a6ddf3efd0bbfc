"""From recorded lines to figures: errors, evaluations to the optimum, quartile curves, performance profiles. No runs are made here."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.lines import Line
from studies.paper.published import BUDGET_OF_FAILURE
from studies.problems.grid_problems import Problem

Floats = NDArray[np.float64]
EXACT = 1e-9  # of the range: the value is that of the best cell
TOLERANCE = 1e-2  # of the range, for the rule that continuous methods can meet


class Quartiles(NamedTuple):
    """Median and quartiles over replications, one entry per query."""

    lower: Floats
    median: Floats
    upper: Floats


class Profile(NamedTuple):
    """A Dolan–Moré curve: the share of experiments in which a method is within a factor of the best one, and the area under it."""

    factors: NDArray[np.int64]  # 1 … N_max + 1
    shares: Floats
    area: float


def lines_of(lines: Sequence[Line], problem: str, method: str) -> list[Line]:
    """The replications of one method on one problem, by seed."""
    return sorted((x for x in lines if x["problem"] == problem and x["method"] == method), key=lambda line: line["seed"])


def best_so_far(lines: Sequence[Line]) -> Floats:
    """The best value after the start and after each query, (runs, N + 1)."""
    return np.stack([np.minimum.accumulate(line["values"])[line["n_start"] - 1 :] for line in lines])


def quartiles(curves: Floats) -> Quartiles:
    """Over the first axis."""
    return Quartiles(*np.quantile(curves, [0.25, 0.5, 0.75], axis=0))


def queries_to_hit(line: Line, problem: Problem, exact: bool) -> int | None:
    """Queries until the optimum is found, or None.

    exact: a value equal to the best cell's, met by continuous methods only by chance. Otherwise a value at most one per cent of the range
    above it, a definition of ours, labelled wherever it is shown.
    """
    away = np.array(line["values"][line["n_start"] :]) - problem.best_grid_value
    found = np.abs(away) <= EXACT * problem.value_range if exact else away <= TOLERANCE * problem.value_range
    return int(found.argmax()) + 1 if found.any() else None


def common_seeds(lines: Sequence[Line], problem: Problem, methods: Sequence[str]) -> list[int]:
    """The seeds that all methods have run the problem with."""
    return sorted(set.intersection(*({line["seed"] for line in lines_of(lines, problem.name, m)} for m in methods)))


def profiles(
    lines: Sequence[Line], problems: Sequence[Problem], methods: Sequence[str], exact: bool, paper_rule: bool
) -> dict[str, Profile]:
    """The curve of every method over the replications that all methods have, every problem weighing the same.

    An experiment is one replication of one problem. A method that fails it counts as its budget plus 100 evaluations, against the
    fewest that a method needed, so ratios depend on the methods given. Where all methods fail, the ratio is 1 for each of them by the
    letter of the paper's rule, as if all were best; without `paper_rule` none is within any factor. The area is the plain sum over
    ρ = 1 … N_max + 1. Paper: appendix on performance profiles. Differs: D14.
    """
    factors = np.arange(1, max(problem.budget for problem in problems) + 2)
    shares: dict[str, list[Floats]] = {method: [] for method in methods}
    for problem in problems:
        seeds = common_seeds(lines, problem, methods)
        found = {m: {x["seed"]: queries_to_hit(x, problem, exact) for x in lines_of(lines, problem.name, m)} for m in methods}
        n_queries = max((len(x["values"]) - x["n_start"] for x in lines if x["problem"] == problem.name), default=0)
        hits = np.array([[found[m][s] or np.inf for m in methods] for s in seeds], dtype=float).reshape(len(seeds), len(methods))
        evaluations = np.minimum(hits, n_queries + BUDGET_OF_FAILURE)
        ratios = evaluations / evaluations.min(axis=1, keepdims=True, initial=np.inf)
        if not paper_rule:
            ratios[np.isinf(hits).all(axis=1)] = np.inf
        for i, method in enumerate(methods):
            shares[method].append((ratios[:, i, None] <= factors).mean(axis=0) if seeds else np.full(factors.size, np.nan))
    curves = {m: np.mean(s, axis=0) for m, s in shares.items()}
    return {m: Profile(factors, curve, float(curve.sum())) for m, curve in curves.items()}


def methods_in(lines: Sequence[Line], order: Mapping[str, object]) -> list[str]:
    """The methods that have lines, in the usual order."""
    have = {line["method"] for line in lines}
    return [method for method in order if method in have]
