"""The search space that trials show: parameters, ranges, and where each parameter is active.

A define-by-run objective never says what its space is. So the structure is learned from finished
trials: a parameter that not all of them have depends on another one, its parent, if the parent's
values tell the trials with it from those without it. A parent is suggested before its children.
docs/spaces.md explains the rules to users.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from bktf.spaces import (
    Activation,
    Condition,
    Parameter,
    Space,
    can_be_modelled,
    only_value,
    parameters_of,
)

MAX_CONDITIONS = 3  # that are learned of one parameter
MAX_PARENT_VALUES = 64  # of a numeric parent
MAX_TRIALS = 1000  # the latest, that conditions are learned from


class KnownSpace(NamedTuple):
    """What is known of a search space."""

    parameters: tuple[Parameter, ...]  # that are modelled, with the conditions they have
    constants: dict[str, Any]  # parameters with a single value
    is_open: bool  # whether some trial had further parameters
    latest: dict[str, BaseDistribution]  # of parameters that may be active, as last seen

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Of the parameters that may be suggested, as they were seen last."""
        return {p.name: self.latest[p.name] for p in self.parameters if p.name in self.latest}

    def asked_for(
        self, distributions: Mapping[str, BaseDistribution], ordinal: Iterable[str]
    ) -> tuple[Parameter, ...]:
        """The parameters of a suggestion: those asked for, and those that are no longer active."""
        known = {p.name: p for p in self.parameters}
        asked = parameters_of(distributions, ordinal)
        found = [known[p.name] if p.distribution == self.latest.get(p.name) else p for p in asked]
        gone = [p for p in self.parameters if p.name not in self.latest]
        return (*found, *gone)


def given_space(space: Space) -> KnownSpace:
    """The space of distributions, and of conditions, that were given ahead."""
    modelled = space.modelled
    inside = {p.name: p.distribution for p in modelled}
    constants = {name: only_value(d) for name, d in space.distributions.items() if d.single()}
    is_open = len(inside) + len(constants) < len(space.distributions)
    return KnownSpace(modelled, constants, is_open, inside)


def learn_space(trials: Iterable[FrozenTrial], ordinal: Iterable[str]) -> KnownSpace:
    """The space that finished trials show.

    The range of a parameter covers all that were seen, so that no trial loses its information;
    suggestions keep to the latest. Where the kind of a parameter has changed, the latest counts.
    """
    seen = trials_with_space(trials)
    if not seen:
        return KnownSpace((), {}, False, {})
    latest = dict(seen[-1].distributions)
    for trial in reversed(seen):
        latest = latest | {k: d for k, d in trial.distributions.items() if k not in latest}
    constants = {name: _latest_value(seen, name) for name, d in latest.items() if d.single()}
    inside = {name: d for name, d in latest.items() if can_be_modelled(d)}
    activations = {}
    for name in inside:
        found = _activations(name, seen[-MAX_TRIALS:], inside, ordinal)
        limits = _limits(seen, name, inside[name])
        if limits is not None:
            found = tuple(
                a._replace(low=limits[0], high=limits[1]) for a in found or (Activation(),)
            )
        if found is not None:
            activations[name] = found
    ranges = {name: _whole_range(seen, name, d) for name, d in inside.items()}
    is_open = any(name not in inside and not d.single() for name, d in latest.items())
    possible = {name: d for name, d in inside.items() if activations.get(name) != ()}
    return KnownSpace(parameters_of(ranges, ordinal, activations), constants, is_open, possible)


def trials_with_space(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """The trials that show the space, by number: finished ones, or failures where there is none."""
    with_space = sorted((t for t in trials if t.distributions), key=lambda t: t.number)
    finished = [t for t in with_space if t.state == TrialState.COMPLETE or t.last_step is not None]
    return finished or [t for t in with_space if t.state == TrialState.FAIL]


def _latest_value(trials: Sequence[FrozenTrial], name: str) -> Any:
    """The value that a parameter had last."""
    return next(t.params[name] for t in reversed(trials) if name in t.params)


def _same_kind(one: BaseDistribution, other: BaseDistribution | None) -> bool:
    """Whether two distributions of a parameter differ in their range at most."""
    same_scale = getattr(one, "log", False) == getattr(other, "log", False)
    return type(one) is type(other) and same_scale


def _whole_range(
    trials: Sequence[FrozenTrial], name: str, latest: BaseDistribution
) -> BaseDistribution:
    """The smallest range that holds all that trials had of a parameter."""
    if isinstance(latest, CategoricalDistribution):
        return latest
    assert isinstance(latest, FloatDistribution | IntDistribution)
    others = [t.distributions.get(name) for t in trials]
    alike = [d for d in others if d is not None and _same_kind(d, latest)]
    low = min(d.low for d in alike)  # type: ignore[attr-defined]
    high = max(d.high for d in alike)  # type: ignore[attr-defined]
    if (low, high) == (latest.low, latest.high):
        return latest
    same_step = all(d.step == latest.step for d in alike)  # type: ignore[attr-defined]
    if isinstance(latest, IntDistribution):
        is_on_steps = same_step and (latest.low - low) % latest.step == 0
        return IntDistribution(int(low), int(high), latest.log, latest.step if is_on_steps else 1)
    return FloatDistribution(low, high, latest.log, latest.step if same_step else None)


def _limits(
    trials: Sequence[FrozenTrial], name: str, latest: BaseDistribution
) -> tuple[float, float] | None:
    """The latest range of a parameter, where earlier ones reached farther."""
    whole = _whole_range(trials, name, latest)
    if whole is latest:
        return None
    return float(latest.low), float(latest.high)  # type: ignore[attr-defined]


# --- where a parameter is active ---------------------------------------------------------------


def _activations(
    name: str,
    trials: Sequence[FrozenTrial],
    latest: Mapping[str, BaseDistribution],
    ordinal: Iterable[str],
) -> tuple[Activation, ...] | None:
    """Where a parameter is active: None where all trials have it, () where it was given up."""
    having = [name in t.params for t in trials]
    if all(having):
        return None
    if not any(having):
        return ()
    # A parent is suggested before its child, in every trial that has the child.
    before = [list(t.params)[: list(t.params).index(name)] for t in trials if name in t.params]
    earlier = [q for q in before[-1] if q in latest and all(q in names for names in before)]
    conditions: list[Condition] = []
    left = list(zip(trials, having, strict=True))
    for _ in range(MAX_CONDITIONS):
        found = _best_condition(earlier, left, latest, ordinal)
        if found is None:
            break
        conditions.append(found.condition)
        left = [(t, has) for t, has in left if found.holds(t)]
        if all(has for _, has in left):
            return (Activation(tuple(conditions)),)
    # Values do not tell, so time may: a parameter was added, or taken out.
    still_left = [has for _, has in left]
    first, last = still_left.index(True), len(still_left) - 1 - still_left[::-1].index(True)
    if all(still_left[first:]):
        return (Activation(tuple(conditions)),)
    if all(still_left[first : last + 1]) and last < len(still_left) - 1:
        return ()
    return (Activation(tuple(conditions)),)  # active where it may be


class _Found(NamedTuple):
    """A condition on one parent, and how well it tells trials apart."""

    condition: Condition
    parameter: Parameter
    n_excluded: int  # trials without the child that it excludes
    is_complete: bool  # whether those are all

    def holds(self, trial: FrozenTrial) -> bool:
        """Whether the parent has such a value in a trial."""
        value = _coordinate(self.parameter, trial)
        return value is not None and self.condition.holds(value)


def _best_condition(
    parents: Sequence[str],
    trials: Sequence[tuple[FrozenTrial, bool]],
    latest: Mapping[str, BaseDistribution],
    ordinal: Iterable[str],
) -> _Found | None:
    """The condition on one parent that excludes most trials without the child, and none with it.

    Of several the parent that was suggested first; a category before a number.
    """
    best: _Found | None = None
    n_without = sum(not has for _, has in trials)
    for category_first in (True, False):
        for name in parents:
            is_category = isinstance(latest[name], CategoricalDistribution)
            if is_category is not category_first:
                continue
            (parameter,) = parameters_of({name: latest[name]}, ordinal)
            condition = _separating(parameter, trials)
            if condition is None:
                continue
            probe = _Found(condition, parameter, 0, False)
            n_excluded = sum(not has and not probe.holds(t) for t, has in trials)
            found = probe._replace(n_excluded=n_excluded, is_complete=n_excluded == n_without)
            if n_excluded and (best is None or n_excluded > best.n_excluded):
                best = found
    return best


def _coordinate(parameter: Parameter, trial: FrozenTrial) -> float | None:
    """The coordinate of a parameter in a trial; None where it has none."""
    if parameter.name not in trial.params:
        return None
    return parameter.coordinate(trial.params[parameter.name])


def _separating(
    parameter: Parameter, trials: Sequence[tuple[FrozenTrial, bool]]
) -> Condition | None:
    """The condition on a parent that holds in all trials with the child and in few others."""
    pairs = [(_coordinate(parameter, t), has) for t, has in trials]
    with_child = {x for x, has in pairs if has and x is not None}
    without = {x for x, has in pairs if not has and x is not None}
    if not with_child:
        return None
    if parameter.is_unordered:
        return Condition(parameter.name, frozenset(with_child))
    if parameter.n_values > MAX_PARENT_VALUES:
        # A number with so many values is a parent only in that the child is there where it is.
        return Condition(parameter.name) if not without else None
    low, high = min(with_child), max(with_child)
    below = [x for x in without if x < low]
    above = [x for x in without if x > high]
    return Condition(
        parameter.name,
        None,
        0.5 * (low + max(below)) if below else -math.inf,
        0.5 * (high + min(above)) if above else math.inf,
    )


# --- in words ----------------------------------------------------------------------------------


def describe_conditions(parameters: Sequence[Parameter]) -> list[str]:
    """What was learned, a sentence for each set of conditions: "C appears where kind = svm"."""
    by_name = {p.name: p for p in parameters}
    groups: dict[str, list[str]] = {}
    for p in parameters:
        if p.activations is None:
            continue
        if p.activations == ():
            groups.setdefault("no longer", []).append(p.name)
            continue
        places = [_words(a, by_name) for a in p.activations]
        if all(places):
            groups.setdefault(" or ".join(places), []).append(p.name)
    sentences = []
    for place, names in groups.items():
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        verb = "appears" if len(names) == 1 else "appear"
        is_gone = place == "no longer"
        sentences.append(f"{listed} {verb} {place if is_gone else f'where {place}'}")
    return sentences


def _words(activation: Activation, by_name: Mapping[str, Parameter]) -> str:
    """The conditions of an activation, as users would write them."""
    texts = []
    for c in activation.conditions:
        parent = by_name[c.parent]
        if c.coordinates is not None:
            values = [str(parent.value(x)) for x in sorted(c.coordinates)]
            texts.append(f"{c.parent} = {' or '.join(values)}")
            continue
        inside = [x for x in parent.ends_or_values().tolist() if c.low <= x <= c.high]
        if not inside or (c.low == -math.inf and c.high == math.inf):
            texts.append(f"{c.parent} appears")
        elif c.high == math.inf:
            texts.append(f"{c.parent} ≥ {parent.value(inside[0])}")
        elif c.low == -math.inf:
            texts.append(f"{c.parent} ≤ {parent.value(inside[-1])}")
        else:
            first, last = (parent.value(x) for x in (inside[0], inside[-1]))
            texts.append(f"{c.parent} is from {first} to {last}")
    return " and ".join(texts)
