"""From recorded lines to figures: errors, evaluations to the optimum, quartile curves, performance profiles. No runs are made here."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf.experiments.lines import Line
from bktf.experiments.problems import Problem
from bktf.experiments.published import BUDGET_OF_FAILURE

Floats = NDArray[np.float64]
EXACT = 1e-9  # of the range: the value is that of the best cell
TOLERANCE = 1e-2  # of the range, for the rule that continuous methods can meet


class Quartiles(NamedTuple):
    """Median and quartiles over replications, one entry per query."""

    lower: Floats
    median: Floats
    upper: Floats


class Profile(NamedTuple):
    """A Dolan–Moré curve: the share of experiments solved within a factor of the best method, and the area under it."""

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

    exact: a value equal to the best cell's, which a continuous method does not meet. Otherwise a value at most one per cent of the range
    above it, labelled as ours wherever it is shown.
    """
    away = np.array(line["values"][line["n_start"] :]) - problem.best_grid_value
    found = np.abs(away) <= EXACT * problem.value_range if exact else away <= TOLERANCE * problem.value_range
    return int(found.argmax()) + 1 if found.any() else None


def profiles(
    lines: Sequence[Line], problems: Sequence[Problem], methods: Sequence[str], exact: bool, n_max: int | None = None
) -> dict[str, Profile]:
    """The curve of every method over its replications of all problems given.

    An experiment is one replication of one problem. A method that fails it counts as its budget plus 100 evaluations, against the fewest
    that a method needed; where all fail, nobody has solved it at any factor (the rule by its letter would call everybody best). The area is
    the plain sum over ρ = 1 … N_max + 1. Paper: appendix on performance profiles.
    """
    ratios: dict[str, list[float]] = {method: [] for method in methods}
    for problem in problems:
        found = [(line, queries_to_hit(line, problem, exact)) for m in methods for line in lines_of(lines, problem.name, m)]
        for seed in {line["seed"] for line, _ in found}:
            here = [(line, queries) for line, queries in found if line["seed"] == seed]
            fewest = min((queries for _, queries in here if queries is not None), default=0)
            for line, queries in here:
                cost = len(line["values"]) - line["n_start"] + BUDGET_OF_FAILURE if queries is None else queries
                ratios[line["method"]].append(cost / fewest if fewest else np.inf)
    factors = np.arange(1, (n_max or max(problem.budget for problem in problems)) + 2)
    shares = {m: np.array([np.mean(np.array(r) <= f) if r else np.nan for f in factors]) for m, r in ratios.items()}
    return {m: Profile(factors, s, float(s.sum())) for m, s in shares.items()}


def methods_in(lines: Sequence[Line], order: Mapping[str, object]) -> list[str]:
    """The methods that have lines, in the usual order."""
    have = {line["method"] for line in lines}
    return [method for method in order if method in have]
