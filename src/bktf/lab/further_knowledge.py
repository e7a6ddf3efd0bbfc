"""What a space file says beside the space: descriptors, earlier campaigns, the expected optimum."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from bktf.engine import Campaign, check_expected, make_campaign
from bktf.lab.lab_space import LabError, LabSpace, as_text, read_text
from bktf.lab.results_table import (
    NUMBER,
    by_column,
    named_columns,
    numbered_cells,
    read_number_cell,
)
from bktf.lab.toml_entries import check_names, read_number
from bktf.spaces import column_distributions, read_table, scaled_descriptors


def read_descriptors(
    path: Path, parameter: str, choices: Sequence[Any]
) -> tuple[tuple[float, ...], ...] | None:
    """Numbers that describe the choices of a parameter, from a table with one row for each."""
    header: list[str] = []
    rows: dict[Any, dict[str, float]] = {}
    levels = {as_text(choice): choice for choice in choices}
    for _, where, cells in numbered_cells(read_text(path), path.name):
        if not header:
            header = cells
            if parameter not in named_columns(header, where):
                raise LabError(f"{where}: the column {parameter!r} is missing from the header")
            continue
        named = by_column(cells, header, where)
        level = levels.get(named[parameter])
        if level is None:
            continue  # a choice that this experiment does not have
        if level in rows:
            raise LabError(f"{where}: {named[parameter]!r} stands twice")
        rows[level] = {
            name: read_number_cell(text, f"{where}, column {name!r}")
            for name, text in named.items()
            if name and name != parameter
        }
    try:
        return scaled_descriptors(choices, rows, f"{path.name}: descriptors")
    except ValueError as error:
        raise LabError(str(error)) from None


def read_earlier_files(entry: Mapping[str, Any], folder: Path) -> tuple[Path, ...]:
    """The files of earlier campaigns; their paths are relative to the space file."""
    check_names(dict(entry), {"files"}, "[earlier]")
    files = entry.get("files")
    if not isinstance(files, list) or not files or not all(isinstance(f, str) for f in files):
        raise LabError(f"[earlier] files must be a list of file names; got {files!r}")
    return tuple(folder / name for name in files)


def read_campaign(path: Path, space: LabSpace) -> Campaign:
    """An earlier table: the objective, and what it has of the parameters and of others."""
    header: list[str] = []
    rows: list[dict[str, Any]] = []
    values: list[float] = []
    target = space.objective.name
    skipped = {"status", "predicted", "uncertainty", "reason", *space.other_columns}
    for _, where, cells in numbered_cells(read_text(path), path.name):
        if not header:
            header = cells
            if target not in named_columns(header, where):
                raise LabError(f"{where}: the column {target!r} is missing from the header")
            continue
        named = by_column(cells, header, where)
        if not named[target] or not NUMBER.fullmatch(named[target]):
            if named[target] and named[target].lower() not in ("failed", "fail", "nan"):
                read_number_cell(named[target], f"{where}, column {target!r}")
            continue  # no result
        values.append(read_number_cell(named[target], f"{where}, column {target!r}"))
        rows.append(
            {
                name: _cell(text, f"{where}, column {name!r}", space.distributions.get(name))
                for name, text in named.items()
                if name and name != target and name not in skipped
            }
        )
    if not rows:
        raise LabError(f"{path.name}: has no row with a result in the column {target!r}")
    distributions = column_distributions([read_table(rows, path.name)])
    return make_campaign(path.name, rows, np.array(values), distributions, space.objective)


def _cell(text: str, where: str, distribution: BaseDistribution | None) -> Any:
    """A cell of an earlier table: a number where it reads like one.

    Of a parameter that is a number it must be one.
    """
    if not text:
        return None
    if isinstance(distribution, FloatDistribution | IntDistribution):
        return read_number_cell(text, where)
    if isinstance(distribution, CategoricalDistribution):
        found = [c for c in distribution.choices if as_text(c) == text]
        return found[0] if found else text
    if NUMBER.fullmatch(text):
        number = float(text)
        return int(number) if number == int(number) and "." not in text else number
    return text


def read_expected(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Where the optimum is expected: {centre, sd} of a number, or weights of levels."""
    found: dict[str, Any] = {}
    for name, belief in entry.items():
        where = f"[expected_optimum] {name}"
        if not isinstance(belief, dict):
            raise LabError(
                f"{where} must be a table like {{centre = 80, sd = 10}} or {{DMF = 3, water = 1}}; "
                f"got {belief!r}"
            )
        if {"centre", "sd"} & belief.keys():
            check_names(belief, {"centre", "sd"}, where)
            found[name] = (read_number(belief, "centre", where), read_number(belief, "sd", where))
        else:
            found[name] = belief
    try:
        return check_expected(found) if found else {}
    except ValueError as error:
        raise LabError(str(error).replace("expected_optimum", "[expected_optimum]", 1)) from None
