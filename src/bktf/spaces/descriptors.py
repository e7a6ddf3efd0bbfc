"""Descriptors: numbers that describe the choices of a category, scaled to [0, 1]."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bktf.spaces.parameters import is_number

WANTED = (
    "must be a dictionary from choices to lists, or dictionaries, of numbers, or a pandas data "
    "frame whose index has the choices"
)


def scaled_descriptors(
    choices: Sequence[Any], descriptors: object, what: str
) -> tuple[tuple[float, ...], ...] | None:
    """By choice its numbers, each scaled to [0, 1]; None where none of them varies.

    A choice without numbers, and a cell that is none, are refused; errors begin with `what`.
    """
    rows = _rows(descriptors, what)
    names: list[Any] | None = None
    numbers = []
    for choice in choices:
        if choice not in rows:
            known = ", ".join(repr(key) for key in list(rows)[:8])
            raise ValueError(f"{what} lack the choice {choice!r}; they have {known}")
        row = rows[choice]
        named = list(row) if isinstance(row, Mapping) else list(range(len(row)))
        names = named if names is None else names
        if isinstance(row, Mapping) and set(named) == set(names):
            row, named = {name: row[name] for name in names}, names
        if named != names:
            raise ValueError(
                f"{what} must have the same numbers for every choice; {choice!r} has {named}, "
                f"the first one {names}"
            )
        cells = list(row.values()) if isinstance(row, Mapping) else list(row)
        for name, cell in zip(named, cells, strict=True):
            if not is_number(cell):
                raise ValueError(
                    f"{what}, choice {choice!r}, column {name!r}: must be a finite number; "
                    f"got {cell!r}"
                )
        numbers.append([float(cell) for cell in cells])
    table = np.array(numbers, dtype=float).reshape(len(choices), -1)
    low, high = table.min(axis=0, initial=np.inf), table.max(axis=0, initial=-np.inf)
    varies = high > low
    if not varies.any():
        return None
    scaled = (table[:, varies] - low[varies]) / (high - low)[varies]
    return tuple(tuple(row) for row in scaled.tolist())


def _rows(descriptors: Any, what: str) -> dict[Any, Any]:
    """The numbers of each choice."""
    if hasattr(descriptors, "columns") and hasattr(descriptors, "index"):
        labels = descriptors.index.tolist()
        twice = [label for label in labels if labels.count(label) > 1]
        if twice:
            raise ValueError(f"{what} have the choice {twice[0]!r} twice")
        columns = {str(column): descriptors[column].tolist() for column in descriptors.columns}
        return {
            label: {name: cells[i] for name, cells in columns.items()}
            for i, label in enumerate(labels)
        }
    if not isinstance(descriptors, Mapping) or not descriptors:
        raise ValueError(f"{what} {WANTED}; got {descriptors!r}")
    rows: dict[Any, Any] = {}
    for choice, row in descriptors.items():
        is_row = isinstance(row, Mapping | Sequence | np.ndarray)
        rows[choice] = row if is_row and not isinstance(row, str) else [row]
    return rows
