"""`when` and `[[mixtures]]` in the space file, and the space that they make."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution

from bktf.lab.lab_space import LabError, as_text
from bktf.lab.toml_entries import check_names, read_number
from bktf.spaces import Choices, Mixture, Space, activation_at, mixture, read_space, when

ENDS = {"at_least", "at_most"}


def read_conditions(entry: dict[str, Any], where: str) -> dict[str, Any]:
    """What `when` of a parameter says, as `bktf.when` takes it; empty where it says nothing."""
    if "when" not in entry:
        return {}
    given = entry["when"]
    wanted = (
        f'{where} when must be a table like {{catalyst = "Pd"}} or {{layers = {{at_least = 2}}}}'
    )
    if not isinstance(given, dict) or not given:
        raise LabError(f"{wanted}; got {given!r}")
    found = {}
    for name, condition in given.items():
        if isinstance(condition, dict):
            place = f"{where} when, {name}:"
            check_names(condition, ENDS, place)
            if not condition:
                raise LabError(f"{place} needs at_least or at_most")
            low = (
                read_number(condition, "at_least", place) if "at_least" in condition else -math.inf
            )
            high = read_number(condition, "at_most", place) if "at_most" in condition else math.inf
            found[name] = (low, high)
        else:
            found[name] = condition
    return found


def make_space(
    distributions: Mapping[str, BaseDistribution],
    ordinal: set[str],
    conditions: Mapping[str, Mapping[str, Any]],
    mixtures: Sequence[Mixture] = (),
) -> Space:
    """The space with its conditions and mixtures; a LabError where they make no sense."""
    parts: list[Any] = list(mixtures)
    mixed = {name for m in mixtures for name in m.names}
    for name, distribution in distributions.items():
        if name in mixed:
            if conditions.get(name):
                raise LabError(f"[parameters.{name}] is an amount of a mixture, so it has no when")
            continue
        entry: object = distribution
        if isinstance(distribution, CategoricalDistribution):
            entry = Choices(tuple(distribution.choices), name in ordinal)
        part = {name: entry}
        parts.append(when(conditions[name], part) if conditions.get(name) else part)
    try:
        space = read_space(parts)
    except ValueError as error:
        raise LabError(str(error)) from None
    # In the order of the file, which is that of the columns.
    order = [*distributions, *(name for name in space.distributions if name not in distributions)]
    return space._replace(distributions={name: space.distributions[name] for name in order})


def read_mixture(entry: Any, number: int, tables: Mapping[str, Any]) -> Mixture:
    """One of [[mixtures]]; its components may have tables of their own with low and high."""
    where = f"[[mixtures]] number {number + 1}"
    if not isinstance(entry, dict):
        raise LabError(f"{where} must be a table with parameters and a total; got {entry!r}")
    check_names(entry, {"parameters", "total", "step", "max_nonzero"}, where)
    names = entry.get("parameters")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise LabError(f"{where} parameters must be a list of names; got {names!r}")
    step = read_number(entry, "step", where) if "step" in entry else None
    total = read_number(entry, "total", where)
    bounds = {}
    for name in names:
        table = tables.get(name)
        if not isinstance(table, dict):
            continue
        place = f"[parameters.{name}]"
        check_names(table, {"type", "low", "high", "unit"}, f"{place}, an amount of a mixture,")
        if table.get("type", "float") != "float":
            raise LabError(f'{place} is an amount of a mixture, so its type must be "float"')
        bounds[name] = (read_number(table, "low", place), read_number(table, "high", place))
    try:
        return mixture(
            *names,
            total=total,
            bounds=bounds,
            step=step,
            max_nonzero=entry.get("max_nonzero"),
        )
    except ValueError as error:
        raise LabError(f"{where}: {error}") from None


def check_active(space: Space, params: dict[str, Any], where: str) -> None:
    """Refuse a row with a value where a parameter is inactive, or without one where it is not."""
    known: dict[str, float] = {}
    in_order = space.parents_first()
    for p in in_order:
        is_active = activation_at(p, known) is not None
        if p.name in params:
            known[p.name] = p.coordinate(params[p.name]) or 0.0
        if is_active == (p.name in params):
            continue
        parents = ", ".join(
            f"{name} = {as_text(params[name])}" if name in params else f"{name} is empty"
            for name in sorted(p.parents)
        )
        place = f"{where}, column {p.name!r}"
        if is_active:
            raise LabError(f"{place}: is empty; with {parents} it needs a value")
        raise LabError(f"{place}: must be empty, because with {parents} it does not exist")
