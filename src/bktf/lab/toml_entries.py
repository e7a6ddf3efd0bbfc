"""Entries of a TOML document by name and type; a LabError names the entry that is wrong."""

import difflib
from collections.abc import Iterable
from typing import Any

from bktf.lab.lab_space import LabError


def check_names(table: dict[str, Any], names: set[str], where: str) -> None:
    """Refuse an entry with another name."""
    for name in table:
        if name not in names:
            hint = nearest_name(name, names)
            raise LabError(f"{where} has an entry {name!r} that means nothing here{hint}")


def nearest_name(name: str, names: Iterable[str]) -> str:
    """A hint: the nearest of some names, or all of them."""
    close = difflib.get_close_matches(name, list(names), 1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(map(repr, sorted(names)))}"


def read_table_entry(table: dict[str, Any], name: str, where: str = "the file") -> dict[str, Any]:
    """A table by its name."""
    found = table.get(name)
    if not isinstance(found, dict):
        if found is None:
            raise LabError(f"{where} needs a table {name!r}")
        raise LabError(f"{where}: {name!r} must be a table; got {found!r}")
    return found


def read_list(table: dict[str, Any], name: str, where: str = "the file") -> list[Any]:
    """A list by its name; empty where it is missing."""
    found = table.get(name, [])
    if not isinstance(found, list):
        raise LabError(f"{where}: {name!r} must be a list; got {found!r}")
    return found


def read_string(table: dict[str, Any], name: str, where: str) -> str:
    """A text by its name."""
    found = table.get(name)
    if not isinstance(found, str):
        if found is None:
            raise LabError(f"{where} {name} is missing")
        raise LabError(f"{where} {name} must be a text; got {found!r}")
    return found


def read_number(table: dict[str, Any], name: str, where: str) -> float:
    """A finite number by its name."""
    found = table.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) <= 1e300:
        if found is None:
            raise LabError(f"{where} {name} is missing")
        raise LabError(f"{where} {name} must be a finite number; got {found!r}")
    return float(found)
