"""From lines to standings: regrets normalised by random search, ranks, wins and losses with intervals. No runs are made here."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf.experiments.arena import Contest
from bktf.experiments.lines import Line
from bktf.experiments.summaries import lines_of

Floats = NDArray[np.float64]
SHARES = (0.25, 0.5, 1.0)  # of the budget at which regrets are compared
N_BOOTSTRAP = 4000
LEAST_SEEDS = 3  # that both methods must have on a contest before it can be won
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


class Standing(NamedTuple):
    """One method over a set of contests; regrets are means over contests of means over seeds, one for each share of the budget."""

    regret: Floats  # (3,)
    rank: float  # mean over contests, at the full budget
    close: float  # share of contests where the median run comes within one per cent of the range
    evaluations: float  # that it needs there, median over those contests; NaN where there is none
    repeats: float  # share of suggestions that repeat a point
    cpu_seconds: float  # of one suggestion, mean over contests
    n_seeds: int  # the least of any contest
    n_contests: int  # that all methods have lines for


def standings(lines: Sequence[Line], contests: Sequence[Contest], methods: Sequence[str]) -> dict[str, Standing]:
    """All methods over the contests that all of them have lines for."""
    shared = [c for c in contests if all(lines_of(lines, c.name, m) for m in (*methods, "random"))]
    if not shared:
        return {}
    table = {m: np.array([np.mean(list(normalised(lines, c, m).values()), axis=0) for c in shared]) for m in methods}
    final = np.array([table[m][:, -1] for m in methods])  # (methods, contests)
    ranks = np.array([_ranks(column) for column in final.T]).T
    found = {}
    for i, method in enumerate(methods):
        runs = [lines_of(lines, c.name, method) for c in shared]
        close = np.array([np.median([evaluations_to_close(x, c) for x in own]) for own, c in zip(runs, shared, strict=True)])
        reached = np.isfinite(close)
        asked = [[len(x["values"]) - x["n_start"] for x in own] for own in runs]
        repeats = sum(x["n_repeats"] for own in runs for x in own) / sum(map(sum, asked))
        cpu = np.mean(
            [np.mean([x["cpu_seconds"]["total"] / n for x, n in zip(own, ns, strict=True)]) for own, ns in zip(runs, asked, strict=True)]
        )
        found[method] = Standing(
            table[method].mean(axis=0),
            float(ranks[i].mean()),
            float(reached.mean()),
            float(np.median(close[reached])) if reached.any() else math.nan,
            float(repeats),
            float(cpu),
            min(map(len, runs)),
            len(shared),
        )
    return found


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, ties sharing their mean."""
    return np.array([(values < v).sum() + ((values == v).sum() + 1) / 2 for v in values])


class Duel(NamedTuple):
    """One method against another: contests won, tied and lost (of those with seeds enough), mean difference of normalised regrets."""

    wins: int
    ties: int
    losses: int
    difference: float  # below zero: the first is better
    low: float
    high: float


def duel(lines: Sequence[Line], contests: Sequence[Contest], first: str, second: str) -> Duel | None:
    """Paired bootstrap at the full budget, over seeds within a contest and over contests for the mean; seeds both have."""
    rng = np.random.default_rng(0)
    wins = ties = losses = 0
    means = []
    for contest in contests:
        a, b = normalised(lines, contest, first), normalised(lines, contest, second)
        seeds = sorted(a.keys() & b.keys())
        if not seeds:
            continue
        differences = np.array([a[s][-1] - b[s][-1] for s in seeds])
        means.append(float(differences.mean()))
        if len(seeds) < LEAST_SEEDS:
            continue
        low, high = _interval(differences, rng)
        if high < 0:
            wins += 1
        elif low > 0:
            losses += 1
        else:
            ties += 1
    if not means:
        return None
    low, high = _interval(np.array(means), rng)
    return Duel(wins, ties, losses, float(np.mean(means)), low, high)


def _interval(values: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """The central 95 % of the means of resamples."""
    means = values[rng.integers(0, values.size, (N_BOOTSTRAP, values.size))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
