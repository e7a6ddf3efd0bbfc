"""What users write as a search space, as Optuna's distributions."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from bktf.spaces.parameters import is_number


@dataclass(frozen=True)
class Choices:
    """A category: its values, and whether their order means something. See `bktf.choices`."""

    values: tuple[Any, ...]
    ordered: bool


def choices(*values: Any, ordered: bool = False) -> Choices:
    """A parameter that takes one of these values (strings, numbers, booleans or None).

    With ordered=True neighbouring values are taken to behave alike, as in
    choices("low", "medium", "high", ordered=True).
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
    return Choices(tuple(values), bool(ordered))


WANTED_SPACE = 'space must be a dictionary like {"x": (0.0, 1.0)} with at least one parameter'
WANTED_TUPLE = "a tuple must be (low, high), two finite numbers with low ≤ high"
WANTED_LIST = "a list must hold finite numbers, in order"
WANTED_ENTRY = "(low, high), a range, a list of numbers, bktf.choices(…) or an Optuna distribution"


class Space(NamedTuple):
    """Optuna distributions by name, and which categorical ones are ordered."""

    distributions: dict[str, BaseDistribution]
    ordinal: frozenset[str]


def read_space(space: Mapping[str, Any]) -> Space:
    """A search space from what users write; see `bktf.minimize`."""
    given: object = space
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"{WANTED_SPACE}; got {space!r}")
    distributions: dict[str, BaseDistribution] = {}
    ordinal = set()
    for name, entry in space.items():
        if not isinstance(name, str):
            raise ValueError(f"names in a space must be strings; got {name!r}")
        distributions[name], ordered = _read_entry(name, entry)
        if ordered:
            ordinal.add(name)
    return Space(distributions, frozenset(ordinal))


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
