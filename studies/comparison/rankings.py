"""From lines to rankings: regrets normalised by random search, methods compared in pairs.

Methods differ in their number of seeds, and seeds differ in their start points. So each comparison
of two methods, ranks included, uses only the seeds that both have on a problem. No runs are made
here.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from studies.lines import Line, lines_of
from studies.problems import ComparisonProblem, Floats

SHARES = (0.25, 0.5, 1.0)  # of the budget at which regrets are compared
N_BOOTSTRAP = 4000
MIN_SEEDS = 3  # that both methods must have on a problem before it can be won
LEVEL = 0.03  # the largest mean difference that is called level
MAX_HALF_WIDTH = 0.15  # of an interval that holds 0: a wider one decides nothing
CLOSE = 0.01  # of the range, for "evaluations to within one per cent"
# Of the range: a smaller regret of random search counts as this, or an easy problem would
# outweigh all others.
MIN_UNIT = 0.01


def incumbents(line: Line) -> Floats:
    """The true value of the point that looked best so far, after each evaluation."""
    values, observed = np.array(line["values"]), np.array(line.get("observed", line["values"]))
    best = np.minimum.accumulate(observed)
    indices = np.maximum.accumulate(np.where(observed == best, np.arange(best.size), 0))
    return np.asarray(values[indices])


def regrets(line: Line, problem: ComparisonProblem) -> Floats:
    """Simple regret after each share of the budget, (3,)."""
    after = incumbents(line)[line["n_start"] - 1 :] - problem.minimum
    steps = [round(share * (after.size - 1)) for share in SHARES]
    return np.maximum(after[steps], 0.0)


def evaluations_to_close(line: Line, problem: ComparisonProblem) -> float:
    """Evaluations after the start until the incumbent is within one per cent of the range.

    Infinity where it never is.
    """
    close = incumbents(line)[line["n_start"] :] - problem.minimum <= CLOSE * problem.value_range
    return float(close.argmax() + 1) if close.any() else np.inf


def regret_unit(lines: Sequence[Line], problem: ComparisonProblem) -> float:
    """The median final regret of random search, or one per cent of the range where that is more."""
    final = [regrets(line, problem)[-1] for line in lines_of(lines, problem.name, "random")]
    return max(float(np.median(final)), MIN_UNIT * problem.value_range)


def normalised(lines: Sequence[Line], problem: ComparisonProblem, method: str) -> dict[int, Floats]:
    """By seed, the regrets divided by the unit of the problem."""
    found = lines_of(lines, problem.name, method)
    unit = regret_unit(lines, problem) if found else math.nan
    return {line["seed"]: regrets(line, problem) / unit for line in found}


def shared_seeds(lines: Sequence[Line], problem: ComparisonProblem, *methods: str) -> list[int]:
    """The seeds that all of these methods have on the problem."""
    seeds = [{line["seed"] for line in lines_of(lines, problem.name, m)} for m in methods]
    return sorted(set.intersection(*seeds))


class Ranking(NamedTuple):
    """One method over a set of problems."""

    rank: float  # mean over problems, at the full budget
    repeats: float  # share of suggestions that repeat a point
    cpu_seconds: float  # of one suggestion, mean over problems
    n_seeds: int  # the fewest of any problem
    n_problems: int  # that all methods have lines for


def rankings(
    lines: Sequence[Line], problems: Sequence[ComparisonProblem], methods: Sequence[str]
) -> dict[str, Ranking]:
    """All methods over the problems that all of them have lines for."""
    shared = [p for p in problems if all(lines_of(lines, p.name, m) for m in (*methods, "random"))]
    if not shared:
        return {}
    by_problem = [_ranks([normalised(lines, p, m) for m in methods]) for p in shared]
    ranks = np.mean(by_problem, axis=0)  # (methods,)
    found = {}
    for rank, method in zip(ranks, methods, strict=True):
        runs = [lines_of(lines, p.name, method) for p in shared]
        n_queries = sum(_n_queries(line) for group in runs for line in group)
        n_repeats = sum(line["n_repeats"] for group in runs for line in group)
        spent = [[x["cpu_seconds"]["total"] / _n_queries(x) for x in group] for group in runs]
        cpu_seconds = float(np.mean([np.mean(group) for group in spent]))
        n_seeds = min(map(len, runs))
        found[method] = Ranking(
            float(rank), n_repeats / n_queries, cpu_seconds, n_seeds, len(shared)
        )
    return found


def _n_queries(line: Line) -> int:
    """Evaluations after the start."""
    return len(line["values"]) - int(line["n_start"])


def _ranks(regret: Sequence[Mapping[int, Floats]]) -> Floats:
    """The rank of each method on one problem: 1 + the number of methods that are better.

    From its regrets by seed. Each pair is compared by the mean regret at the full budget over the
    seeds that both have. A tie counts half.
    """
    ranks = np.ones(len(regret))
    for i, j in itertools.permutations(range(len(regret)), 2):
        seeds = regret[i].keys() & regret[j].keys()
        one, two = (
            np.mean([by_seed[s][-1] for s in sorted(seeds)]) if seeds else 0.0
            for by_seed in (regret[i], regret[j])
        )
        ranks[i] += 1.0 if two < one else 0.5 if two == one else 0.0
    return ranks


class Close(NamedTuple):
    """How often a method comes within one per cent of the range."""

    share: float  # of the problems, those where the median run does
    evaluations: float  # of the median run there, median over those problems; NaN where none


class PairedComparison(NamedTuple):
    """One method against another on the seeds that both have.

    Arrays have one entry for each share of the budget. Regrets are means over problems of means
    over seeds. Intervals are a 95 % bootstrap over problems, then over seeds.
    """

    n_seeds: tuple[int, int]  # the fewest and the most that both have on a problem
    first: Floats  # (3,) regret of the first method
    second: Floats  # (3,) of the second
    low: Floats  # (3,) of the difference
    high: Floats  # (3,)
    wins: int  # problems that the first method wins, at the full budget, of those with seeds enough
    ties: int
    losses: int
    close: tuple[Close, Close]

    @property
    def difference(self) -> Floats:
        """Below zero where the first method is better."""
        return self.first - self.second

    @property
    def cells(self) -> list[str]:
        """For each share of the budget, the difference with its interval, and the verdict."""
        numbers = zip(self.difference, self.low, self.high, self.verdicts, strict=True)
        return [f"{d:+.3f} [{low:+.3f}, {high:+.3f}] {word}" for d, low, high, word in numbers]

    @property
    def verdicts(self) -> list[str]:
        """For each share of the budget, what the interval says of the first method."""
        return [
            verdict(d, low, high)
            for d, low, high in zip(self.difference, self.low, self.high, strict=True)
        ]


def verdict(difference: float, low: float, high: float) -> str:
    """What an interval of the difference says of the first method; below zero it is better.

    An interval that holds 0 is level where it is narrow enough and its mean is at most 0.03;
    otherwise nothing is decided.
    """
    if high < 0:
        return "ahead"
    if low > 0:
        return "behind"
    return "level" if high - low <= 2 * MAX_HALF_WIDTH and difference <= LEVEL else "not decided"


def compare_pair(
    lines: Sequence[Line], problems: Sequence[ComparisonProblem], first: str, second: str
) -> PairedComparison | None:
    """Compare two methods on the seeds that both have on a problem; None where there are none."""
    rng = np.random.default_rng(0)
    pairs: list[tuple[Floats, Floats]] = []  # for each problem the regrets of both, (seeds, 3)
    to_close: list[tuple[float, float]] = []  # for each problem the evaluations of both
    won: list[int] = []
    for problem in problems:
        by_seed = [normalised(lines, problem, m) for m in (first, second)]
        seeds = sorted(by_seed[0].keys() & by_seed[1].keys())
        if not seeds:
            continue
        one, two = (np.array([regret[s] for s in seeds]) for regret in by_seed)
        pairs.append((one, two))
        reached = [_median_to_close(lines, problem, m, seeds) for m in (first, second)]
        to_close.append((reached[0], reached[1]))
        if len(seeds) >= MIN_SEEDS:
            low, high = _interval([one - two], rng)
            won.append(int(high[-1] < 0) - int(low[-1] > 0))
    if not pairs:
        return None
    low, high = _interval([one - two for one, two in pairs], rng)
    return PairedComparison(
        (min(len(one) for one, _ in pairs), max(len(one) for one, _ in pairs)),
        np.mean([one.mean(axis=0) for one, _ in pairs], axis=0),
        np.mean([two.mean(axis=0) for _, two in pairs], axis=0),
        low,
        high,
        won.count(1),
        won.count(0),
        won.count(-1),
        (_close([one for one, _ in to_close]), _close([two for _, two in to_close])),
    )


def _median_to_close(
    lines: Sequence[Line], problem: ComparisonProblem, method: str, seeds: Sequence[int]
) -> float:
    """Evaluations of the median run with these seeds to within one per cent of the range."""
    runs = [line for line in lines_of(lines, problem.name, method) if line["seed"] in seeds]
    return float(np.median([evaluations_to_close(line, problem) for line in runs]))


def _close(evaluations: Sequence[float]) -> Close:
    """From the evaluations of the median run on each problem, infinity where it is never close."""
    reached = np.array([n for n in evaluations if math.isfinite(n)])
    median = float(np.median(reached)) if reached.size else math.nan
    return Close(reached.size / len(evaluations), median)


def _interval(differences: Sequence[Floats], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The central 95 % of the means of resamples over problems, then over seeds (rows) of each."""
    n_problems, sizes = len(differences), np.array([len(d) for d in differences])
    padded = np.zeros((n_problems, sizes.max(), differences[0].shape[1]))
    for row, difference in zip(padded, differences, strict=True):
        row[: len(difference)] = difference
    problems = rng.integers(0, n_problems, (N_BOOTSTRAP, n_problems))
    total = np.zeros((N_BOOTSTRAP, padded.shape[2]))
    for chosen in problems.T:  # one problem of every resample at a time, which bounds the memory
        seeds = rng.integers(0, sizes[chosen][:, None], (N_BOOTSTRAP, sizes.max()))
        n_seeds = sizes[chosen][:, None]
        counted = np.arange(sizes.max()) < n_seeds
        total += (padded[chosen[:, None], seeds] * counted[:, :, None]).sum(axis=1) / n_seeds
    low, high = np.quantile(total / n_problems, [0.025, 0.975], axis=0)
    return low, high
