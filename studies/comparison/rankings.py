"""From lines to standings: regrets normalised by random search, and methods compared in pairs on the seeds that both have.

Methods differ in their number of seeds, and seeds differ in their start points. So each comparison of two methods, ranks included, uses
only the seeds that both have on a problem. No runs are made here.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.lines import Line
from studies.paper.summaries import lines_of
from studies.problems.comparison_problems import Contest

Floats = NDArray[np.float64]
SHARES = (0.25, 0.5, 1.0)  # of the budget at which regrets are compared
N_BOOTSTRAP = 4000
MIN_SEEDS = 3  # that both methods must have on a contest before it can be won
LEVEL = 0.03  # the largest mean difference that is called level
MAX_HALF_WIDTH = 0.15  # of an interval that holds 0: a wider one decides nothing
CLOSE = 0.01  # of the range, for "evaluations to within one per cent"
LEAST = 0.01  # of the range: a smaller regret of random search counts as this, or an easy problem would outweigh all others


def incumbents(line: Line) -> Floats:
    """The true value of the point that looked best so far, after each evaluation."""
    values, observed = np.array(line["values"]), np.array(line.get("observed", line["values"]))
    best = np.minimum.accumulate(observed)
    places = np.maximum.accumulate(np.where(observed == best, np.arange(best.size), 0))
    return np.asarray(values[places])


def regrets(line: Line, contest: Contest) -> Floats:
    """Simple regret after each share of the budget, (3,)."""
    after = incumbents(line)[line["n_start"] - 1 :] - contest.minimum
    steps = [round(share * (after.size - 1)) for share in SHARES]
    return np.maximum(after[steps], 0.0)


def evaluations_to_close(line: Line, contest: Contest) -> float:
    """Evaluations after the start until the incumbent is within one per cent of the range; infinity where it never is."""
    close = incumbents(line)[line["n_start"] :] - contest.minimum <= CLOSE * contest.value_range
    return float(close.argmax() + 1) if close.any() else np.inf


def unit(lines: Sequence[Line], contest: Contest) -> float:
    """The median final regret of random search on the contest, or one per cent of the range where that is more."""
    final = [regrets(line, contest)[-1] for line in lines_of(lines, contest.name, "random")]
    return max(float(np.median(final)), LEAST * contest.value_range)


def normalised(lines: Sequence[Line], contest: Contest, method: str) -> dict[int, Floats]:
    """By seed, the regrets divided by the unit of the contest."""
    own = lines_of(lines, contest.name, method)
    one = unit(lines, contest) if own else math.nan
    return {line["seed"]: regrets(line, contest) / one for line in own}


def shared_seeds(lines: Sequence[Line], contest: Contest, *methods: str) -> list[int]:
    """The seeds that all of these methods have on the contest."""
    return sorted(set.intersection(*({line["seed"] for line in lines_of(lines, contest.name, m)} for m in methods)))


class Standing(NamedTuple):
    """One method over a set of contests."""

    rank: float  # mean over contests, at the full budget
    repeats: float  # share of suggestions that repeat a point
    cpu_seconds: float  # of one suggestion, mean over contests
    n_seeds: int  # the fewest of any contest
    n_contests: int  # that all methods have lines for


def standings(lines: Sequence[Line], contests: Sequence[Contest], methods: Sequence[str]) -> dict[str, Standing]:
    """All methods over the contests that all of them have lines for."""
    shared = [c for c in contests if all(lines_of(lines, c.name, m) for m in (*methods, "random"))]
    if not shared:
        return {}
    ranks = np.array([_ranks([normalised(lines, c, m) for m in methods]) for c in shared])  # (contests, methods)
    found = {}
    for i, method in enumerate(methods):
        runs = [lines_of(lines, c.name, method) for c in shared]
        asked = [[len(x["values"]) - x["n_start"] for x in own] for own in runs]
        repeats = sum(x["n_repeats"] for own in runs for x in own) / sum(map(sum, asked))
        cpu = np.mean(
            [np.mean([x["cpu_seconds"]["total"] / n for x, n in zip(own, ns, strict=True)]) for own, ns in zip(runs, asked, strict=True)]
        )
        found[method] = Standing(float(ranks[:, i].mean()), float(repeats), float(cpu), min(map(len, runs)), len(shared))
    return found


def _ranks(regret: Sequence[Mapping[int, Floats]]) -> Floats:
    """The rank of each method on one contest, from its regrets by seed: 1 + the number of methods that are better.

    Each pair is compared by the mean regret at the full budget over the seeds that both have. A tie counts half.
    """
    ranks = np.ones(len(regret))
    for i, j in itertools.permutations(range(len(regret)), 2):
        seeds = regret[i].keys() & regret[j].keys()
        mine, other = (np.mean([own[s][-1] for s in sorted(seeds)]) if seeds else 0.0 for own in (regret[i], regret[j]))
        ranks[i] += 1.0 if other < mine else 0.5 if other == mine else 0.0
    return ranks


class Close(NamedTuple):
    """How often a method comes within one per cent of the range."""

    share: float  # of the contests, those where the median run does
    evaluations: float  # that the median run needs there, median over those contests; NaN where there is none


class Duel(NamedTuple):
    """One method against another on the seeds that both have. Arrays have one entry for each share of the budget.

    Regrets are means over contests of means over seeds. Intervals are a 95 % bootstrap over contests, then over seeds.
    """

    n_seeds: tuple[int, int]  # the fewest and the most that both have on a contest
    first: Floats  # (3,) regret of the first method
    second: Floats  # (3,) of the second
    low: Floats  # (3,) of the difference
    high: Floats  # (3,)
    wins: int  # contests that the first method wins, at the full budget, of those with seeds enough
    ties: int
    losses: int
    close: tuple[Close, Close]

    @property
    def difference(self) -> Floats:
        """Below zero where the first method is better."""
        return self.first - self.second

    @property
    def verdicts(self) -> list[str]:
        """For each share of the budget, what the interval says of the first method."""
        return [verdict(d, low, high) for d, low, high in zip(self.difference, self.low, self.high, strict=True)]


def verdict(difference: float, low: float, high: float) -> str:
    """What an interval of the difference says of the first method; below zero it is better.

    An interval that holds 0 is level where it is narrow enough and its mean is at most 0.03; otherwise nothing is decided.
    """
    if high < 0:
        return "ahead"
    if low > 0:
        return "behind"
    return "level" if high - low <= 2 * MAX_HALF_WIDTH and difference <= LEVEL else "not decided"


def duel(lines: Sequence[Line], contests: Sequence[Contest], first: str, second: str) -> Duel | None:
    """Compare two methods on the seeds that both have on each contest; None where there are no such seeds."""
    rng = np.random.default_rng(0)
    pairs: list[tuple[Floats, Floats]] = []  # for each contest the regrets of both, (seeds, 3)
    to_close: list[tuple[float, float]] = []  # for each contest the evaluations of both to within one per cent
    won: list[int] = []
    for contest in contests:
        own, other = normalised(lines, contest, first), normalised(lines, contest, second)
        seeds = sorted(own.keys() & other.keys())
        if not seeds:
            continue
        one, two = (np.array([regret[s] for s in seeds]) for regret in (own, other))
        pairs.append((one, two))
        medians = [
            float(np.median([evaluations_to_close(x, contest) for x in lines_of(lines, contest.name, m) if x["seed"] in seeds]))
            for m in (first, second)
        ]
        to_close.append((medians[0], medians[1]))
        if len(seeds) >= MIN_SEEDS:
            low, high = _interval([one - two], rng)
            won.append(int(high[-1] < 0) - int(low[-1] > 0))
    if not pairs:
        return None
    low, high = _interval([one - two for one, two in pairs], rng)
    return Duel(
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


def _close(evaluations: Sequence[float]) -> Close:
    """From the evaluations of the median run on each contest, infinity where it never comes close."""
    reached = np.array([n for n in evaluations if math.isfinite(n)])
    return Close(reached.size / len(evaluations), float(np.median(reached)) if reached.size else math.nan)


def _interval(differences: Sequence[Floats], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The central 95 % of the means of resamples, over contests, then over the seeds (rows) of each contest chosen."""
    n_contests, sizes = len(differences), np.array([len(d) for d in differences])
    padded = np.zeros((n_contests, sizes.max(), differences[0].shape[1]))
    for row, own in zip(padded, differences, strict=True):
        row[: len(own)] = own
    contests = rng.integers(0, n_contests, (N_BOOTSTRAP, n_contests))
    total = np.zeros((N_BOOTSTRAP, padded.shape[2]))
    for chosen in contests.T:  # one contest of every resample at a time, which bounds the memory
        seeds = rng.integers(0, sizes[chosen][:, None], (N_BOOTSTRAP, sizes.max()))
        counted = np.arange(sizes.max()) < sizes[chosen][:, None]
        total += (padded[chosen[:, None], seeds] * counted[:, :, None]).sum(axis=1) / sizes[chosen][:, None]
    low, high = np.quantile(total / n_contests, [0.025, 0.975], axis=0)
    return low, high
