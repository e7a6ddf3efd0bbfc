"""Where a parameter is active, learned from which trials have it.

First one set of conditions is looked for that all trials with the parameter meet and no other: each
condition excludes as many trials without it as it can. Where there is none, time may tell that the
parameter was added. Then several sets are looked for, each met by some trials with the parameter
and by none without it. Last, time may tell that it was taken out. What was learned agrees with
every trial, or with all since some time; otherwise the parameter is `Unexplained`.
"""

import math
from collections.abc import Mapping, Sequence

from optuna.trial import FrozenTrial

from bktf.spaces import Activation, Condition, Parameter

MAX_CONDITIONS = 3  # of one activation
MAX_ACTIVATIONS = 4
MAX_PARENT_VALUES = 64  # of a number that may be a parent whatever the number of trials
MAX_CHANCE = 0.01  # that trials with the parameter are in an interval of one with more values
MIN_SINCE = 3  # trials after which a parameter counts as added, or as taken out

Labelled = Sequence[tuple[FrozenTrial, bool]]  # trials, and whether they have the parameter


class Unexplained(Exception):
    """Neither values nor time tell where a parameter is active."""


def find_activations(
    name: str, trials: Sequence[FrozenTrial], plain: Mapping[str, Parameter]
) -> tuple[Activation, ...] | None:
    """Where a parameter is active: None where all trials have it, () where it was taken out.

    plain: all parameters, by name.
    """
    labelled = [(t, name in t.params) for t in trials]
    if all(has for _, has in labelled):
        return None
    if not any(has for _, has in labelled):
        return ()
    together = _conjunction(name, labelled, plain)
    if together is not None:
        return (together,)
    having = [has for _, has in labelled]
    first, last = having.index(True), len(having) - 1 - having[::-1].index(True)
    if all(having[first:]) and len(having) - first >= MIN_SINCE:
        return (Activation(),)
    several = _alternatives(name, labelled, plain)
    if several is not None:
        return several
    if all(having[first:]):
        return (Activation(),)
    if len(having) - 1 - last >= MIN_SINCE and all(having[first : last + 1]):
        return ()
    raise Unexplained(name)


def parents_before(
    name: str, having: Sequence[FrozenTrial], plain: Mapping[str, Parameter]
) -> list[str]:
    """Parameters that are suggested before another one in all trials that have it.

    Categories come first, then numbers, each in the order in which they are suggested.
    """
    before = [list(t.params)[: list(t.params).index(name)] for t in having]
    found = [q for q in before[-1] if q in plain and all(q in names for names in before)]
    return sorted(found, key=lambda q: not plain[q].is_unordered)


def _conjunction(
    name: str, labelled: Labelled, plain: Mapping[str, Parameter]
) -> Activation | None:
    """Conditions that all trials with the parameter meet together, and no other."""
    conditions: list[Condition] = []
    left = list(labelled)
    for _ in range(MAX_CONDITIONS):
        best, n_best = None, 0
        for parent in parents_before(name, [t for t, has in left if has], plain):
            condition = _necessary(plain[parent], left)
            if condition is None:
                continue
            n_excluded = sum(not has and not _holds(condition, plain, t) for t, has in left)
            if n_excluded > n_best:
                best, n_best = condition, n_excluded
        if best is None:
            return None
        conditions.append(best)
        left = [(t, has) for t, has in left if _holds(best, plain, t)]
        if all(has for _, has in left):
            return Activation(tuple(conditions))
    return None


def _alternatives(
    name: str, labelled: Labelled, plain: Mapping[str, Parameter]
) -> tuple[Activation, ...] | None:
    """Sets of conditions, each met only by trials with the parameter, that cover all of these."""
    found: list[Activation] = []
    without = [(t, False) for t, has in labelled if not has]
    left = [t for t, has in labelled if has]
    while left and len(found) < MAX_ACTIVATIONS:
        best, n_best = None, 0
        parents = dict.fromkeys(q for t in left for q in parents_before(name, [t], plain))
        for parent in sorted(parents, key=lambda q: not plain[q].is_unordered):
            condition = _sufficient(plain[parent], [*without, *((t, True) for t in left)])
            if condition is None:
                continue
            n_covered = sum(_holds(condition, plain, t) for t in left)
            if n_covered > n_best:
                best, n_best = Activation((condition,)), n_covered
        if best is None:
            rest = _conjunction(name, [*without, *((t, True) for t in left)], plain)
            return None if rest is None else (*found, rest)
        found.append(best)
        (condition,) = best.conditions
        left = [t for t in left if not _holds(condition, plain, t)]
    return tuple(found) if not left else None


def _coordinate(parameter: Parameter, trial: FrozenTrial) -> float | None:
    """The coordinate of a parameter in a trial; None where it has none."""
    if parameter.name not in trial.params:
        return None
    return parameter.coordinate(trial.params[parameter.name])


def _holds(condition: Condition, plain: Mapping[str, Parameter], trial: FrozenTrial) -> bool:
    """Whether a condition holds in a trial."""
    coordinate = _coordinate(plain[condition.parent], trial)
    return coordinate is not None and condition.holds(coordinate)


def _sides(parameter: Parameter, labelled: Labelled) -> tuple[list[float], list[float]]:
    """The coordinates of a parent in trials with the child, and in those without it."""
    pairs = [(_coordinate(parameter, t), has) for t, has in labelled]
    with_child = sorted({x for x, has in pairs if has and x is not None})
    without = sorted({x for x, has in pairs if not has and x is not None})
    return with_child, without


def _may_be_number(parameter: Parameter, with_child: list[float], without: list[float]) -> bool:
    """Whether a number may be a parent: with many values few trials may differ by chance.

    Of n values k in random places are neighbours with the probability (n − k + 1) / C(n, k).
    """
    if parameter.n_values <= MAX_PARENT_VALUES or not without:
        return True
    k, n = len(with_child), len(with_child) + len(without)
    return n - k + 1 <= MAX_CHANCE * math.comb(n, k)


def _between(with_child: list[float], without: list[float]) -> tuple[float, float]:
    """The interval around some coordinates, half-way to the nearest others outside."""
    low, high = with_child[0], with_child[-1]
    below = [x for x in without if x < low]
    above = [x for x in without if x > high]
    return (
        0.5 * (low + below[-1]) if below else -math.inf,
        0.5 * (high + above[0]) if above else math.inf,
    )


def _necessary(parameter: Parameter, labelled: Labelled) -> Condition | None:
    """The narrowest condition on a parent that holds in all trials with the child."""
    with_child, without = _sides(parameter, labelled)
    if not with_child:
        return None
    if parameter.is_unordered:
        return Condition(parameter.name, frozenset(with_child))
    if not _may_be_number(parameter, with_child, without):
        return None
    return Condition(parameter.name, None, *_between(with_child, without))


def _sufficient(parameter: Parameter, labelled: Labelled) -> Condition | None:
    """The widest condition on a parent that holds in no trial without the child."""
    with_child, without = _sides(parameter, labelled)
    if parameter.is_unordered:
        pure = frozenset(with_child) - frozenset(without)
        return Condition(parameter.name, pure) if pure else None
    # With many values some runs of them are met by chance.
    if not with_child or parameter.n_values > MAX_PARENT_VALUES:
        return None
    # Runs of values with the child that no value without it interrupts; the longest one
    runs: list[list[float]] = []
    for x in with_child:
        if x in without:
            continue
        is_cut = not runs or any(runs[-1][-1] < y < x for y in without)
        runs = [*runs, [x]] if is_cut else [*runs[:-1], [*runs[-1], x]]
    if not runs:
        return None
    longest = max(runs, key=len)
    return Condition(parameter.name, None, *_between(longest, without))
