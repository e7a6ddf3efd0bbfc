"""Tables that users give: columns of values by name, and the labels of the rows.

A table is a pandas data frame (pandas is not needed for the others), a dictionary of columns, or a
list of dictionaries. Errors name the table, the row and the column.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bktf.spaces.parameters import is_number

WANTED_TABLE = "a pandas data frame, a dictionary of columns, or a list of dictionaries"


class UserTable(NamedTuple):
    """Columns of equal length; None where a cell is missing."""

    name: str  # what errors call it
    columns: dict[str, list[Any]]
    labels: list[Any]  # of the rows

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.labels)

    def place(self, row: int, column: str) -> str:
        """What errors call a cell."""
        return f"{self.name}, row {self.labels[row]!r}, column {column!r}"

    def rows(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """The rows as dictionaries of these columns."""
        return [{name: self.columns[name][i] for name in names} for i in range(self.n_rows)]


def read_table(table: object, name: str, *, has_labels: bool = True) -> UserTable:
    """A table from what a user gave, refused where it is none.

    Without labels its rows are numbered, so that those of a data frame may repeat.
    """
    if hasattr(table, "columns") and hasattr(table, "index") and hasattr(table, "loc"):
        columns, labels = _of_frame(table, name, has_labels)
    elif isinstance(table, Mapping):
        for key, values in table.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise ValueError(f"{name}: the column {key!r} must be a list; got {values!r}")
        # Arrays become lists of Python numbers, many times faster than one by one.
        columns = {
            _column_name(key, name): values.tolist()
            if isinstance(values, np.ndarray)
            else list(values)
            for key, values in table.items()
        }
        sizes = {key: len(values) for key, values in columns.items()}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"{name}: columns must be equally long; got {sizes}")
        labels = list(range(next(iter(sizes.values()), 0)))
    elif isinstance(table, Sequence) and not isinstance(table, str | bytes):
        wrong = [row for row in table if not isinstance(row, Mapping)]
        if wrong:
            raise ValueError(f"{name} must be {WANTED_TABLE}; got a list with {wrong[0]!r}")
        names = dict.fromkeys(_column_name(key, name) for row in table for key in row)
        columns = {key: [row.get(key) for row in table] for key in names}
        labels = list(range(len(table)))
    else:
        raise ValueError(f"{name} must be {WANTED_TABLE}; got {type(table).__name__}")
    return UserTable(name, {k: [_scalar(v) for v in c] for k, c in columns.items()}, labels)


def _of_frame(table: Any, name: str, has_labels: bool) -> tuple[dict[str, list[Any]], list[Any]]:
    """Columns and labels of a data frame."""
    names = [_column_name(column, name) for column in table.columns]
    twice = [column for column in names if names.count(column) > 1]
    if twice:
        raise ValueError(f"{name} has the column {twice[0]!r} twice; rename one of them")
    labels = table.index.tolist() if has_labels else list(range(len(table)))
    if len(set(labels)) < len(labels):
        again = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(
            f"{name} has the label {again!r} for several rows; labels must differ, as after "
            "reset_index(drop=True)"
        )
    return {column: table[column].tolist() for column in table.columns}, labels


def _column_name(name: object, table: str) -> str:
    """The name of a column, which must be a text."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"{table}: names of columns must be texts; got {name!r}")
    return name


def _scalar(value: object) -> Any:
    """A cell as a Python scalar; None where it is missing."""
    if type(value) is str:
        return value or None
    if isinstance(value, np.generic):
        value = value.item()
    is_nan = isinstance(value, float) and math.isnan(value)
    is_missing = is_nan or type(value).__name__ in ("NAType", "NaTType")
    return None if is_missing else value


def check_complete(table: UserTable, names: Sequence[str]) -> None:
    """Refuse a missing cell in these columns."""
    for column in names:
        for i, value in enumerate(table.columns[column]):
            if value is None:
                raise ValueError(
                    f"{table.place(i, column)}: is empty. Fill it in, or leave the row or the "
                    "column out"
                )


def check_numbers(first: UserTable, second: UserTable, column: str) -> None:
    """Refuse a cell of the second table that is no number where all of the first one are."""
    if not all(is_number(value) for value in first.columns[column]):
        return
    for i, value in enumerate(second.columns[column]):
        if value is not None and not is_number(value):
            raise ValueError(
                f"{second.place(i, column)}: must be a number, as in {first.name}; got {value!r}"
            )


def column_numbers(table: UserTable, column: str, missing: float | None = None) -> list[float]:
    """The numbers of a column; `missing` stands for empty cells, which None refuses."""
    if column not in table.columns:
        known = ", ".join(map(repr, table.columns))
        raise ValueError(f"{table.name} has no column {column!r}; it has {known or 'none'}")
    numbers = []
    for i, value in enumerate(table.columns[column]):
        if value is None and missing is not None:
            numbers.append(missing)
        elif is_number(value):
            numbers.append(float(value))
        else:
            raise ValueError(f"{table.place(i, column)}: must be a finite number; got {value!r}")
    return numbers
