"""Candidate lists: the rows of a table are all that may be tried.

Numeric columns are ordered axes over the range of their values, other columns are categories. What
a user writes of a column, as in the dictionary of `bktf.minimize`, replaces that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from bktf._typing import Floats
from bktf.spaces.branches import deactivate, has_conditions, is_active_at
from bktf.spaces.conditions import INACTIVE
from bktf.spaces.parameters import Parameter, is_number, values_at
from bktf.spaces.user_space import Space, read_space
from bktf.spaces.user_tables import UserTable, check_complete, read_table

CANDIDATES = "candidates"


@dataclass(frozen=True, eq=False)
class CandidateList:
    """All points that may be tried: those of the rows of a table."""

    parameters: tuple[Parameter, ...]
    points: Floats  # (N, D) coordinates
    labels: tuple[Any, ...]  # of the rows
    is_list = True  # the acquisition compares these points and searches nothing else

    def __call__(self, point: Floats) -> bool:
        """Whether a point (D,) is that of a row."""
        return tuple(point.tolist()) in self._index

    @cached_property
    def _index(self) -> dict[tuple[float, ...], int]:
        """The row of each point."""
        return {tuple(row): i for i, row in enumerate(self.points.tolist())}

    def row(self, point: Floats) -> int:
        """The row of a point (D,)."""
        return self._index[tuple(point.tolist())]

    def restricted(self, allows: Callable[[dict[str, Any]], bool]) -> "CandidateList":
        """The candidates whose values a function allows."""
        kept = [i for i, x in enumerate(self.points) if allows(values_at(self.parameters, x))]
        return replace(self, points=self.points[kept], labels=tuple(self.labels[i] for i in kept))


@dataclass(frozen=True, eq=False)
class Pool:
    """A table of candidates, and the space that its columns span."""

    table: UserTable
    space: Space

    @cached_property
    def candidates(self) -> CandidateList:
        """The rows as points of the parameters that vary."""
        parameters = self.space.modelled
        points = table_points(self.table, parameters, self.space)
        _check_active(self.table, points, parameters)
        _check_mixtures(self.table, self.space)
        _check_different(self.table, points, parameters)
        return CandidateList(parameters, points, tuple(self.table.labels))


def read_pool(candidates: object, described: object = None, more: Sequence[UserTable] = ()) -> Pool:
    """The candidates of a table.

    Args:
        candidates: the table.
        described: what the user writes of its columns, as a space; the others are left out then.
        more: further tables with the same columns, whose values must be in the space, too.
    """
    table = candidates if isinstance(candidates, UserTable) else read_table(candidates, CANDIDATES)
    if not table.n_rows:
        raise ValueError(f"{table.name} has no rows; it must have at least one")
    if not table.columns:
        raise ValueError(f"{table.name} has no columns; it must have at least one")
    if described is None:
        check_complete(table, list(table.columns))
        space = read_space(column_distributions([table, *more]))
    else:
        space = described if isinstance(described, Space) else read_space(described)  # type: ignore[arg-type]
        for name in space.distributions:
            if name not in table.columns:
                known = ", ".join(map(repr, table.columns))
                raise ValueError(f"{table.name} has no column {name!r}; it has {known}")
    if not space.modelled:
        few = "has a single row" if table.n_rows == 1 else "has rows that are all equal"
        raise ValueError(f"{table.name} {few}, so there is nothing to choose")
    return Pool(table, space)


def column_distributions(tables: Sequence[UserTable]) -> dict[str, BaseDistribution]:
    """The distribution of each column of the first table, over the values of all tables."""
    found: dict[str, BaseDistribution] = {}
    for name in tables[0].columns:
        values = [v for t in tables for v in t.columns.get(name, ()) if v is not None]
        if all(isinstance(v, int) and not isinstance(v, bool) for v in values):
            found[name] = IntDistribution(min(values), max(values))
        elif all(is_number(v) for v in values):
            found[name] = FloatDistribution(float(min(values)), float(max(values)))
        else:
            _check_levels(tables[0], name)
            found[name] = CategoricalDistribution(list(dict.fromkeys(values)))
    return found


def _check_levels(table: UserTable, name: str) -> None:
    """Refuse a cell that is neither a number nor a level of a category."""
    for i, value in enumerate(table.columns[name]):
        is_infinite = isinstance(value, float) and not is_number(value)
        if is_infinite or not isinstance(value, str | bool | int | float):
            raise ValueError(
                f"{table.place(i, name)}: must be a number, a text or a truth; got {value!r}"
            )


def table_points(table: UserTable, parameters: Sequence[Parameter], space: Space) -> Floats:
    """The coordinates (N, D) of the rows; a row outside the space is refused."""
    constants = {n: d for n, d in space.distributions.items() if d.single()}
    for name, distribution in constants.items():
        for i, value in enumerate(table.columns[name]):
            if value is not None and not distribution._contains(_internal(distribution, value)):
                raise ValueError(_outside(table, i, name, distribution))
    columns = [_coordinates(table, p) for p in parameters]
    return np.array(columns, dtype=float).reshape(len(parameters), table.n_rows).T.copy()


def _coordinates(table: UserTable, p: Parameter) -> list[float]:
    """The coordinates of a column; INACTIVE where a conditional parameter is empty."""
    d, values = p.distribution, table.columns[p.name]
    if isinstance(d, FloatDistribution) and d.step is None and all(map(is_number, values)):
        numbers = np.array(values, dtype=float)  # of many rows, one by one takes seconds
        if d.low <= numbers.min() and numbers.max() <= d.high:
            return list(numbers.tolist())
    found: dict[Any, float | None] = {}  # of values that were met
    coordinates = []
    for i, value in enumerate(values):
        if value is None and p.activations is None:
            check_complete(table, [p.name])
        key = (type(value), value)
        if key not in found:
            found[key] = INACTIVE if value is None else p.coordinate(value)
        coordinate = found[key]
        if coordinate is None:
            raise ValueError(_outside(table, i, p.name, p.distribution))
        coordinates.append(coordinate)
    return coordinates


def _internal(distribution: BaseDistribution, value: Any) -> float:
    """A value in Optuna's internal form; NaN where it is none of the distribution."""
    try:
        return float(distribution.to_internal_repr(value))
    except (ValueError, TypeError):
        return float("nan")


def _outside(table: UserTable, row: int, name: str, distribution: BaseDistribution) -> str:
    """What is said of a cell outside the space."""
    return (
        f"{table.place(row, name)}: {table.columns[name][row]!r} is outside the space, "
        f"{distribution}. Correct the row, or the space"
    )


def _check_different(table: UserTable, points: Floats, parameters: Sequence[Parameter]) -> None:
    """Refuse two equal rows."""
    first: dict[tuple[float, ...], int] = {}
    for i, row in enumerate(points.tolist()):
        j = first.setdefault(tuple(row), i)
        if j != i:
            names = ", ".join(p.name for p in parameters)
            raise ValueError(
                f"{table.name}: rows {table.labels[j]!r} and {table.labels[i]!r} are equal in "
                f"{names}. Leave one of them out, or add a column that tells them apart"
            )


def _check_active(table: UserTable, points: Floats, parameters: Sequence[Parameter]) -> None:
    """Refuse a value where a parameter is inactive, and none where it is active."""
    for i, point in enumerate(points if has_conditions(parameters) else points[:0]):
        active = deactivate(parameters, point)
        for p, given, wanted in zip(parameters, point, active, strict=True):
            is_missing = given == INACTIVE and is_active_at(p, parameters, active.tolist())
            if is_missing or given != wanted:
                problem = "is empty" if is_missing else "must be empty"
                raise ValueError(f"{table.place(i, p.name)}: {problem}, by its conditions")


def _check_mixtures(table: UserTable, space: Space) -> None:
    """Refuse a row whose amounts do not sum to their total."""
    for m in space.mixtures:
        for i, row in enumerate(table.rows(m.names)):
            if not m.holds(row):
                total = sum(float(v or 0.0) for v in row.values())
                raise ValueError(
                    f"{table.name}, row {table.labels[i]!r}: {', '.join(m.names)} must sum to "
                    f"{m.total:g}, at most {m.max_nonzero} of them above zero; they are "
                    f"{list(row.values())}, in sum {total:g}"
                )


def check_enqueued(pool: Pool, kept: Mapping[str, Any]) -> None:
    """Refuse values that a trial was enqueued with and that no row has."""
    named = {name: value for name, value in kept.items() if name in pool.table.columns}
    columns = [pool.table.columns[name] for name in named]
    rows = zip(*columns, strict=True) if columns else [()]
    if not any(row == tuple(named.values()) for row in rows):
        raise ValueError(
            f"the trial was enqueued with {named}, which no row of the candidates has. Enqueue "
            "values of one row"
        )


def row_of_values(pool: Pool, values: Mapping[str, Any]) -> int:
    """The row with these values; those of inactive parameters are missing."""
    listed = pool.candidates
    point = [
        p.coordinate(values[p.name]) if p.name in values else INACTIVE for p in listed.parameters
    ]
    return listed.row(np.array(point, dtype=float))


def row_values(pool: Pool, row: int) -> dict[str, Any]:
    """The values of a row by the names of the space, those that are there."""
    values: Mapping[str, list[Any]] = pool.table.columns
    named = {name: values[name][row] for name in pool.space.distributions}
    return {name: value for name, value in named.items() if value is not None}
