"""Branches: parts of a search space in each of which the same parameters are active."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bktf._typing import Bools, Floats
from bktf.spaces.conditions import ALWAYS, INACTIVE, Activation, Condition
from bktf.spaces.parameters import Parameter

MAX_BRANCHES = 512  # of a space, that are listed


class Branch(NamedTuple):
    """A part of a space in which the same parameters are active."""

    active: Bools  # (D,)
    # By axis, the coordinates that it may take; of a continuous one the two ends
    within: Mapping[int, Floats]


def activation_at(parameter: Parameter, coordinates: Mapping[str, float]) -> Activation | None:
    """The first activation that holds, given the coordinates of the parents; None: inactive."""
    if parameter.activations is None:
        return ALWAYS
    for activation in parameter.activations:
        if all(c.holds(coordinates.get(c.parent, INACTIVE)) for c in activation.conditions):
            return activation
    return None


def parents_first(parameters: Sequence[Parameter]) -> list[int]:
    """An order in which every parameter comes after those that its conditions name.

    Raises ValueError where there is none, because conditions form a cycle.
    """
    index = {p.name: d for d, p in enumerate(parameters)}
    order: list[int] = []
    left = list(range(len(parameters)))
    while left:
        ready = [
            d for d in left if all(index.get(name) not in left for name in parameters[d].parents)
        ]
        if not ready:
            names = ", ".join(repr(parameters[d].name) for d in left)
            raise ValueError(
                f"conditions must not form a cycle; each of {names} depends on another of them"
            )
        order += ready
        left = [d for d in left if d not in ready]
    return order


def deactivate(parameters: Sequence[Parameter], point: Floats) -> Floats:
    """The point (D,) with the coordinates of all inactive parameters at infinity."""
    if not has_conditions(parameters):
        return point
    known: dict[str, float] = {}
    result = point.copy()
    for d in parents_first(parameters):
        if activation_at(parameters[d], known) is None:
            result[d] = INACTIVE
        known[parameters[d].name] = float(result[d])
    return result


def point_at(
    parameters: Sequence[Parameter], units: Floats, fixed: Mapping[int, float]
) -> tuple[float, ...]:
    """The point at shares (D,) in [0, 1) of the parameters' values; fixed coordinates stay.

    Parameters that are not active there have the coordinate infinity.
    """
    known: dict[str, float] = {}
    point = [INACTIVE] * len(parameters)
    in_order = parents_first(parameters) if has_conditions(parameters) else range(len(parameters))
    for d in in_order:
        p = parameters[d]
        activation = activation_at(p, known)
        if activation is not None:
            inside = p.limited(activation.low, activation.high)
            point[d] = fixed[d] if d in fixed else inside.from_unit(float(units[d]))
        known[p.name] = point[d]
    return tuple(point)


def is_active_at(
    parameter: Parameter, parameters: Sequence[Parameter], point: Sequence[float]
) -> bool:
    """Whether a parameter is active, by its conditions, at a point (D,)."""
    known = {p.name: float(x) for p, x in zip(parameters, point, strict=True)}
    return activation_at(parameter, known) is not None


def has_conditions(parameters: Sequence[Parameter]) -> bool:
    """Whether some parameter may be inactive."""
    return any(p.activations is not None for p in parameters)


def find_branches(parameters: Sequence[Parameter]) -> tuple[Branch, ...] | None:
    """All branches of a space; None where there are more than MAX_BRANCHES."""
    return _find_branches(tuple(parameters))


@lru_cache(maxsize=16)  # a suggestion asks several times
def _find_branches(parameters: tuple[Parameter, ...]) -> tuple[Branch, ...] | None:
    found = tuple(itertools.islice(_branches(parameters), MAX_BRANCHES + 1))
    return None if len(found) > MAX_BRANCHES else found


def division_ends(parameters: Sequence[Parameter], d: int) -> Floats:
    """The ends of the parts into which branches divide a continuous parameter."""
    if not has_conditions(parameters) or not parameters[d].is_divisible:
        return np.empty(0)
    parts = [b.within[d] for b in find_branches(parameters) or () if d in b.within]
    return np.unique(np.concatenate(parts)) if parts else np.empty(0)


def branch_of(parameters: Sequence[Parameter], point: Floats) -> Branch:
    """The branch of a point (D,) whose inactive coordinates are infinite.

    Parents keep the values that they have there.
    """
    named = {name for p in parameters for name in p.parents}
    known = {p.name: float(x) for p, x in zip(parameters, point, strict=True)}
    within: dict[int, Floats] = {}
    for d, p in enumerate(parameters):
        activation = activation_at(p, known)
        if point[d] == INACTIVE or activation is None:
            continue
        limits = point[d : d + 1] if p.name in named else _limited(p, activation)
        if limits is not None:
            within[d] = limits
    return Branch(point != INACTIVE, within)


def n_points(parameters: Sequence[Parameter]) -> float:
    """How many different points a space has; infinity where one parameter is continuous.

    Where there are too many branches to be listed, an upper bound.
    """
    branches = find_branches(parameters) if has_conditions(parameters) else None
    if branches is None:
        return math.prod(p.n_values for p in parameters)
    return sum(points_in(parameters, branch) for branch in branches)


def points_in(parameters: Sequence[Parameter], branch: Branch) -> float:
    """How many different points a branch has."""
    return math.prod(
        float(branch.within[d].size) if d in branch.within and not p.is_divisible else p.n_values
        for d, p in enumerate(parameters)
        if branch.active[d]
    )


def values_in(
    parameters: Sequence[Parameter], branch: Branch, fixed: Mapping[int, float]
) -> list[Floats]:
    """The coordinates that each parameter may take in a branch of a finite space.

    Fixed coordinates stay; where a branch has none that is fixed, nothing is left of an axis.
    """
    values = []
    for d, p in enumerate(parameters):
        inside = np.array([INACTIVE])
        if branch.active[d]:
            inside = branch.within.get(d, p.axis(np.zeros(0), np.zeros(0)).active)
        if branch.active[d] and d in fixed:
            agrees = d not in branch.within or fixed[d] in inside
            inside = np.array([fixed[d]]) if agrees else inside[:0]
        values.append(inside)
    return values


def _branches(parameters: Sequence[Parameter]) -> Iterator[Branch]:
    """The branches, one after another."""
    order = parents_first(parameters)
    conditions = [c for p in parameters for a in p.activations or () for c in a.conditions]
    cells = {
        d: _cells(p, [c for c in conditions if c.parent == p.name])
        for d, p in enumerate(parameters)
        if any(c.parent == p.name for c in conditions)
    }

    def extend(
        position: int, known: dict[str, float], within: dict[int, Floats]
    ) -> Iterator[Branch]:
        """Branches given the parameters before this position of the order."""
        if position == len(order):
            active = np.array([known[p.name] != INACTIVE for p in parameters])
            yield Branch(active, within)
            return
        d = order[position]
        parameter = parameters[d]
        activation = activation_at(parameter, known)
        if activation is None:
            yield from extend(position + 1, {**known, parameter.name: INACTIVE}, within)
            return
        if d not in cells:
            limits = _limited(parameter, activation)
            more = within if limits is None else {**within, d: limits}
            yield from extend(position + 1, {**known, parameter.name: math.nan}, more)
            return
        for cell in cells[d]:
            inside = _inside(parameter, cell, activation)
            if inside.size:
                named = {**known, parameter.name: float(inside[0])}
                yield from extend(position + 1, named, {**within, d: inside})

    yield from extend(0, {}, {})


def _limited(parameter: Parameter, activation: Activation) -> Floats | None:
    """The coordinates that an activation leaves of a parameter; None where it leaves all."""
    if activation.low == -math.inf and activation.high == math.inf:
        return None
    return _inside(parameter, parameter.ends_or_values(), activation)


def _inside(parameter: Parameter, cell: Floats, activation: Activation) -> Floats:
    """The part of a cell inside the range of an activation."""
    if parameter.is_divisible:
        low, high = max(cell[0], activation.low), min(cell[-1], activation.high)
        return np.array([low, high]) if low <= high else np.empty(0)
    return cell[(cell >= activation.low) & (cell <= activation.high)]


def _cells(parameter: Parameter, conditions: Sequence[Condition]) -> list[Floats]:
    """The values of a parent, divided so that its conditions hold on all of a cell or on none.

    A cell is an array of coordinates; of a continuous parameter its two ends.
    """
    values = parameter.ends_or_values()
    if not parameter.is_divisible:
        signs = [tuple(c.holds(float(x)) for c in conditions) for x in values]
        return [values[[sign == wanted for sign in signs]] for wanted in dict.fromkeys(signs)]
    low, high = float(values[0]), float(values[-1])
    starts = {low}  # of the cells
    for c in conditions:
        ranges = [(c.low, c.high)] if c.coordinates is None else [(x, x) for x in c.coordinates]
        for first, last in ranges:
            starts |= {first, parameter.next_above(last)}
    inside = sorted(x for x in starts if low <= x <= high)
    ends = [parameter.next_below(x) for x in inside[1:]] + [high]
    return [np.array([a, b]) for a, b in zip(inside, ends, strict=True) if a <= b]
