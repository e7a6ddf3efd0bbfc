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

from bktf.optuna_sampler.learned_conditions import (
    Unexplained,
    find_activations,
    parents_before,
)
from bktf.spaces import (
    Activation,
    Condition,
    Parameter,
    Space,
    can_be_modelled,
    is_multiple,
    only_value,
    parameters_of,
)

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
        for name, distribution in trial.distributions.items():
            latest.setdefault(name, distribution)
    constants = {name: _latest_value(seen, name) for name, d in latest.items() if d.single()}
    inside = {name: d for name, d in latest.items() if can_be_modelled(d)}
    plain = {p.name: p for p in parameters_of(inside, ordinal)}
    activations, unexplained = {}, set()
    for name in inside:
        try:
            found = find_activations(name, seen[-MAX_TRIALS:], plain)
        except Unexplained:
            unexplained.add(name)
            continue
        if found != ():
            found = _with_ranges(name, seen, plain, found)
        if found is not None:
            activations[name] = found
    modelled = {name: d for name, d in inside.items() if name not in unexplained}
    ranges = {name: _whole_range(seen, name, d) for name, d in modelled.items()}
    is_open = any(name not in modelled and not d.single() for name, d in latest.items())
    possible = {name: d for name, d in modelled.items() if activations.get(name) != ()}
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
    """The smallest range that holds all that trials had of a parameter.

    It is the latest where steps have changed: no other range has all of their values.
    """
    if isinstance(latest, CategoricalDistribution):
        return latest
    assert isinstance(latest, FloatDistribution | IntDistribution)
    others = [t.distributions.get(name) for t in trials]
    alike = [d for d in others if d is not None and _same_kind(d, latest)]
    low = min(d.low for d in alike)  # type: ignore[attr-defined]
    high = max(d.high for d in alike)  # type: ignore[attr-defined]
    if (low, high) == (latest.low, latest.high):
        return latest
    step = latest.step
    if any(d.step != step for d in alike) or not all(  # type: ignore[attr-defined]
        step is None or is_multiple(d.low - low, step)  # type: ignore[attr-defined]
        for d in alike
    ):
        return latest
    if isinstance(latest, IntDistribution):
        return IntDistribution(int(low), int(high), latest.log, latest.step)
    return FloatDistribution(low, high, latest.log, latest.step)


def _with_ranges(
    name: str,
    trials: Sequence[FrozenTrial],
    plain: Mapping[str, Parameter],
    found: tuple[Activation, ...] | None,
) -> tuple[Activation, ...] | None:
    """Activations with the ranges that suggestions keep to, where ranges have differed.

    Where a category before the parameter tells the ranges apart, each of its choices has its own;
    otherwise the latest holds everywhere.
    """
    latest = plain[name].distribution
    having = [t for t in trials if name in t.params and _same_kind(t.distributions[name], latest)]
    if all(t.distributions[name] == latest for t in having):
        return found
    by_parent = _ranges_by_choice(name, having, plain)
    activations = found or (Activation(),)
    if by_parent is None:
        if _whole_range(trials, name, latest) is latest:
            return found
        low, high = _ends(latest)
        return tuple(a._replace(low=low, high=high) for a in activations)
    parent, ranges = by_parent
    return tuple(
        Activation((*a.conditions, Condition(parent, frozenset(choices))), *ends)
        for a in activations
        for ends, choices in ranges.items()
    )


def _ranges_by_choice(
    name: str, having: Sequence[FrozenTrial], plain: Mapping[str, Parameter]
) -> tuple[str, dict[tuple[float, float], set[float]]] | None:
    """A category whose choices have one range of a parameter each, and the choices by range."""
    if isinstance(plain[name].distribution, CategoricalDistribution):
        return None
    for parent in parents_before(name, having, plain):
        if not plain[parent].is_unordered:
            continue
        by_choice: dict[float, set[tuple[float, float]]] = {}
        for t in having:
            choice = plain[parent].coordinate(t.params[parent])
            if choice is not None:
                by_choice.setdefault(choice, set()).add(_ends(t.distributions[name]))
        ranges: dict[tuple[float, float], set[float]] = {}
        for choice, found in by_choice.items():
            ranges.setdefault(min(found), set()).add(choice)
        if len(ranges) > 1 and all(len(found) == 1 for found in by_choice.values()):
            return parent, ranges
    return None


def _ends(distribution: BaseDistribution) -> tuple[float, float]:
    """The range of a numeric distribution."""
    return float(distribution.low), float(distribution.high)  # type: ignore[attr-defined]


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
        parent = by_name.get(c.parent)
        if parent is None:  # taken out by a sampler around this one
            continue
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
