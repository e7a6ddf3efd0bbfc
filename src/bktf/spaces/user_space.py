"""What users write as a search space, as Optuna's distributions."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from bktf.spaces.branches import activation_at, find_branches, parents_first
from bktf.spaces.conditions import ALWAYS, Activation, Condition
from bktf.spaces.descriptors import scaled_descriptors
from bktf.spaces.mixtures import Mixture
from bktf.spaces.parameters import (
    Parameter,
    can_be_modelled,
    is_multiple,
    is_number,
    only_value,
    parameters_of,
)


@dataclass(frozen=True)
class Choices:
    """A category: its values, and whether their order means something. See `bktf.choices`."""

    values: tuple[Any, ...]
    ordered: bool
    descriptors: tuple[tuple[float, ...], ...] | None = None  # by value, scaled to [0, 1]


def choices(*values: Any, ordered: bool = False, descriptors: object = None) -> Choices:
    """A parameter that takes one of these values (strings, numbers, booleans or None).

    With ordered=True neighbouring values are taken to behave alike, as in
    choices("low", "medium", "high", ordered=True).

    Descriptors are numbers that describe each value: values with similar numbers are taken to
    behave alike as far as the data agree, so that values that nobody has tried are predicted. They
    are a dictionary from values to lists, or dictionaries, of numbers, or a pandas data frame whose
    index has the values.
    """
    if len(values) == 1 and isinstance(values[0], list | tuple | set | frozenset | range):
        given = type(values[0]).__name__
        raise ValueError(f'write the values themselves, as in choices("a", "b"); got one {given}')
    if not values:
        raise ValueError("choices needs at least one value; got none")
    for i, value in enumerate(values):
        if not (value is None or isinstance(value, bool | int | float | str)):
            raise ValueError(f"choices must be strings, numbers, booleans or None; got {value!r}")
        for other in values[:i]:
            if value == other:
                pair = f"{other!r} and {value!r}"
                raise ValueError(f"choices must differ; got {pair}, which count as equal")
    if descriptors is None:
        return Choices(tuple(values), bool(ordered))
    if ordered:
        raise ValueError("descriptors are for categories without an order; leave ordered out")
    return Choices(tuple(values), False, scaled_descriptors(values, descriptors, "descriptors"))


@dataclass(frozen=True)
class When:
    """Parameters of one branch of a space. See `bktf.when`."""

    conditions: Mapping[str, Any]
    parts: tuple[Any, ...]  # dictionaries of parameters, and further branches


def when(conditions: Mapping[str, Any], *parts: Any, **parameters: Any) -> When:
    """Parameters that exist only where others have certain values.

    For the list that a space may be, as in
    [{"kind": choices("svm", "net")}, when({"kind": "svm"}, C=(0.1, 10.0))].

    Args:
        conditions: by the name of another parameter a value, a list of values, or (low, high) for
            a number between them. All must hold.
        parts: dictionaries of parameters, for names that are no identifiers, and further branches
            inside this one, made with `when`.
        parameters: by name, as in the dictionary of `bktf.minimize`.
    """
    if not isinstance(conditions, Mapping) or not conditions:
        raise ValueError(
            'when needs conditions, as in when({"kind": "svm"}, C=(0.1, 10.0)); '
            f"got {conditions!r}"
        )
    for part in parts:
        if not isinstance(part, Mapping | When):
            raise ValueError(
                "the parts of when must be dictionaries of parameters or further when(…); "
                f"got {part!r}"
            )
    given = (*parts, parameters) if parameters else parts
    if not given:
        raise ValueError(f"when({conditions!r}) has no parameters; name at least one")
    return When(conditions, given)


WANTED_SPACE = (
    'space must be a dictionary like {"x": (0.0, 1.0)} with at least one parameter, or a list of '
    "such dictionaries, bktf.when(…) and bktf.mixture(…)"
)
WANTED_TUPLE = "a tuple must be (low, high), two finite numbers with low ≤ high"
WANTED_LIST = "a list must hold finite numbers, in order"
WANTED_ENTRY = "(low, high), a range, a list of numbers, bktf.choices(…) or an Optuna distribution"


class Space(NamedTuple):
    """Optuna distributions by name, which categories are ordered, and which are conditional."""

    distributions: dict[str, BaseDistribution]
    ordinal: frozenset[str]
    activations: Mapping[str, tuple[Activation, ...]] = {}
    mixtures: tuple[Mixture, ...] = ()
    descriptors: Mapping[str, tuple[tuple[float, ...], ...]] = {}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters, those with a single value included."""
        found = self.distributions, self.ordinal, self.activations, self.descriptors
        return parameters_of(*found)

    def parents_first(self) -> list[Parameter]:
        """All parameters in an order in which each comes after those that it depends on."""
        parameters = self.parameters
        return [parameters[d] for d in parents_first(parameters)]

    def with_constants(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of active parameters, and of those with a single value that are active there."""
        known: dict[str, float] = {}
        found: dict[str, Any] = {}
        for p in self.parents_first():
            if p.name in values:
                found[p.name] = values[p.name]
            elif p.distribution.single() and activation_at(p, known) is not None:
                found[p.name] = only_value(p.distribution)
            if p.name in found:
                known[p.name] = p.coordinate(found[p.name]) or 0.0
        return {name: found[name] for name in self.distributions if name in found}

    @property
    def modelled(self) -> tuple[Parameter, ...]:
        """The parameters that can be modelled, with conditions on these only."""
        inside = {name: d for name, d in self.distributions.items() if can_be_modelled(d)}
        others = {p.name: p for p in self.parameters if p.name not in inside}
        activations = {
            name: tuple(b for a in found for b in _without(others, a))
            for name, found in self.activations.items()
            if name in inside
        }
        return parameters_of(inside, self.ordinal, activations, self.descriptors)


def _without(others: Mapping[str, Parameter], activation: Activation) -> list[Activation]:
    """The same activation without conditions on parameters with a single value.

    Such a condition is replaced by those of the parameter itself, which may be several.
    """
    for c in activation.conditions:
        if c.parent in others:
            rest = tuple(other for other in activation.conditions if other is not c)
            parent = others[c.parent]
            if not c.holds(parent.coordinate(only_value(parent.distribution)) or 0.0):
                return []
            inherited = [a.conditions for a in parent.activations or (ALWAYS,)]
            merged = [tuple(dict.fromkeys((*rest, *more))) for more in inherited]
            replaced = [activation._replace(conditions=conditions) for conditions in merged]
            return [b for a in replaced for b in _without(others, a)]
    return [activation]


class _Entry(NamedTuple):
    """One place in a space where a parameter is written."""

    distribution: BaseDistribution
    is_ordered: bool
    conditions: tuple[tuple[str, Any], ...]  # name and what was written of it
    descriptors: tuple[tuple[float, ...], ...] | None = None


def read_space(space: Mapping[str, Any] | Sequence[Any]) -> Space:
    """A search space from what users write; see `bktf.minimize`."""
    given: object = space
    parts: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
    mixtures = tuple(part for part in parts if isinstance(part, Mixture))
    parts = [part.distributions if isinstance(part, Mixture) else part for part in parts]
    if (
        not parts
        or not all(isinstance(part, Mapping | When) for part in parts)
        or (isinstance(given, Mapping) and not given)
    ):
        raise ValueError(f"{WANTED_SPACE}; got {space!r}")
    entries: dict[str, list[_Entry]] = {}
    for part in parts:
        _collect(part, (), entries)
    if not entries:
        raise ValueError(f"{WANTED_SPACE}; got {space!r}")
    distributions, ordinal = {}, set()
    for name, found in entries.items():
        distributions[name] = _joined(name, found)
        if found[0].is_ordered:
            ordinal.add(name)
    plain = {p.name: p for p in parameters_of(distributions, ordinal)}
    activations = {
        name: tuple(_activation(name, entry, plain) for entry in found)
        for name, found in entries.items()
        if any(entry.conditions for entry in found)
    }
    descriptors = {
        name: found[0].descriptors
        for name, found in entries.items()
        if found[0].descriptors is not None
    }
    read = Space(distributions, frozenset(ordinal), activations, mixtures, descriptors)
    _check_reached(read)
    return read


def _check_reached(space: Space) -> None:
    """Refuse a cycle of conditions, and a parameter that is active nowhere."""
    parents_first(space.parameters)
    branches = find_branches(space.parameters) if space.activations else None
    for d, name in enumerate(space.distributions):
        if branches is not None and not any(branch.active[d] for branch in branches):
            raise ValueError(
                f"{name!r} is active nowhere: its conditions never hold together. Correct them, or "
                "leave it out"
            )


def _collect(
    part: Mapping[str, Any] | When,
    conditions: tuple[tuple[str, Any], ...],
    entries: dict[str, list[_Entry]],
) -> None:
    """Add the parameters of a part of a space to the entries."""
    if isinstance(part, When):
        for inner in part.parts:
            _collect(inner, (*conditions, *part.conditions.items()), entries)
        return
    for name, entry in part.items():
        if not isinstance(name, str):
            raise ValueError(f"names in a space must be strings; got {name!r}")
        distribution, is_ordered = _read_entry(name, entry)
        described = entry.descriptors if isinstance(entry, Choices) else None
        found = _Entry(distribution, is_ordered, conditions, described)
        entries.setdefault(name, []).append(found)


def _joined(name: str, entries: Sequence[_Entry]) -> BaseDistribution:
    """The distribution of a parameter that may be written in several branches."""
    conditions = [repr(sorted(map(repr, entry.conditions))) for entry in entries]
    if len(set(conditions)) < len(entries) or (len(entries) > 1 and repr([]) in conditions):
        raise ValueError(
            f"{name!r} is there twice without conditions that tell the two apart. Write it once, "
            "or give each a condition of its own"
        )
    first = entries[0].distribution
    scales = {
        (type(e.distribution), getattr(e.distribution, "log", None), e.is_ordered) for e in entries
    }
    choices_of = {repr(getattr(e.distribution, "choices", None)) for e in entries}
    steps = {getattr(e.distribution, "step", None) for e in entries}
    if len(scales) > 1 or len(choices_of) > 1 or len(steps) > 1:
        raise ValueError(
            f"{name!r} must be of the same kind in all branches (whole numbers, numbers, the same "
            f"choices, the same scale and step); got {[e.distribution for e in entries]}. Use two "
            "names"
        )
    if isinstance(first, CategoricalDistribution) or len(entries) == 1:
        return first
    low = min(e.distribution.low for e in entries)  # type: ignore[attr-defined]
    step = first.step  # type: ignore[attr-defined]
    lows = [e.distribution.low for e in entries]  # type: ignore[attr-defined]
    if step is not None and not all(is_multiple(x - low, step) for x in lows):
        raise ValueError(
            f"{name!r} has steps of {step} from {' and from '.join(map(str, lows))} in different "
            "branches, which do not meet. Use two names"
        )
    high = max(e.distribution.high for e in entries)  # type: ignore[attr-defined]
    if isinstance(first, IntDistribution):
        return IntDistribution(low, high, first.log, first.step)
    assert isinstance(first, FloatDistribution)
    return FloatDistribution(low, high, first.log, first.step)


def _activation(name: str, entry: _Entry, plain: Mapping[str, Parameter]) -> Activation:
    """The conditions of one entry in coordinates, and its range."""
    conditions = tuple(_condition(name, parent, c, plain) for parent, c in entry.conditions)
    if isinstance(entry.distribution, CategoricalDistribution):
        return Activation(conditions)
    low, high = entry.distribution.low, entry.distribution.high  # type: ignore[attr-defined]
    whole = plain[name].distribution
    if (low, high) == (whole.low, whole.high):  # type: ignore[attr-defined]
        return Activation(conditions)
    return Activation(conditions, float(low), float(high))


def _condition(
    name: str, parent_name: str, wanted: object, plain: Mapping[str, Parameter]
) -> Condition:
    """One condition of a parameter, from what the user wrote."""
    place = f"the condition of {name!r} on {parent_name!r}"
    if parent_name not in plain:
        known = ", ".join(map(repr, plain))
        raise ValueError(f"{place} names no parameter; the space has {known}")
    if parent_name == name:
        raise ValueError(f"{place} must name another parameter")
    parent = plain[parent_name]
    is_numeric = parent.has_numeric_coordinates and not any(
        isinstance(choice, bool) for choice in getattr(parent.distribution, "choices", ())
    )
    if isinstance(wanted, tuple):
        if len(wanted) != 2 or not all(_is_end(v) for v in wanted) or not wanted[0] <= wanted[1]:
            raise ValueError(f"{place}: {WANTED_TUPLE}; got {wanted!r}. For values write a list")
        if not is_numeric:
            raise ValueError(f"{place} must be a value or a list of values; got {wanted!r}")
        low, high = float(wanted[0]), float(wanted[1])
        ends = parent.ends_or_values()
        if not np.any((ends >= low) & (ends <= high)) and not (ends[0] <= low <= high <= ends[-1]):
            raise ValueError(f"{place}: no value of {parent_name!r} lies in {wanted!r}")
        return Condition(parent_name, None, low, high)
    values = wanted if isinstance(wanted, list) else [wanted]
    is_category = isinstance(parent.distribution, CategoricalDistribution)
    coordinates = [parent.coordinate(v) if is_category or is_number(v) else None for v in values]
    wrong = [v for v, x in zip(values, coordinates, strict=True) if x is None]
    if wrong or not values:
        raise ValueError(
            f"{place} must be a value of it, as {parent.distribution}; got {wrong or wanted!r}"
        )
    return Condition(parent_name, frozenset(x for x in coordinates if x is not None))


def _is_end(value: object) -> bool:
    """Whether a value may be an end of a range: a number, or infinity."""
    return is_number(value) or (isinstance(value, float) and math.isinf(value))


def _read_entry(name: str, entry: object) -> tuple[BaseDistribution, bool]:
    """The distribution of one parameter, and whether it is an ordered category."""
    if isinstance(entry, BaseDistribution):
        return entry, False
    if isinstance(entry, Choices):
        return CategoricalDistribution(entry.values), entry.ordered
    if isinstance(entry, range):
        if len(entry) == 0:
            raise ValueError(f"the range of {name!r} must hold a value; got {entry!r}")
        low, high = min(entry), max(entry)
        return IntDistribution(low, high, step=abs(entry.step) if len(entry) > 1 else 1), False
    if isinstance(entry, tuple):
        if len(entry) != 2 or not all(is_number(v) for v in entry) or not entry[0] <= entry[1]:
            instead = "For a category write bktf.choices(…), for a list of values [ … ]"
            raise ValueError(f"{name!r}: {WANTED_TUPLE}; got {entry!r}. {instead}")
        if all(isinstance(v, int | np.integer) for v in entry):
            return IntDistribution(int(entry[0]), int(entry[1])), False
        return FloatDistribution(float(entry[0]), float(entry[1])), False
    if isinstance(entry, list | np.ndarray):
        values = entry.tolist() if isinstance(entry, np.ndarray) else entry
        if not values or not all(is_number(v) for v in values):
            instead = "For a category write bktf.choices(…)"
            raise ValueError(f"{name!r}: {WANTED_LIST}; got {entry!r}. {instead}")
        if any(a >= b for a, b in itertools.pairwise(values)):
            raise ValueError(f"{name!r}: a list of values must increase; got {entry!r}")
        scalars = [v.item() if isinstance(v, np.generic) else v for v in values]
        return CategoricalDistribution(scalars), True
    raise ValueError(f"{name!r} must be {WANTED_ENTRY}; got {entry!r}")
