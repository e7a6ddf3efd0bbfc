"""A user's own full-factorial table as a problem: one row for each combination of values.

A column of numbers is an ordered axis, a column of text an unordered category. The values of an
axis are those that occur in its column.
"""

import csv
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from studies.problems.problem import Floats, Params, Problem

MAX_CELLS = 1_000_000
OWN = "own"  # the half and the group of such a problem


def table_problem(
    name: str, grid: Mapping[str, Sequence[Any]], losses: Floats, budget: int
) -> Problem:
    """A table of losses (one axis per parameter); a number is its index among the values."""
    space: dict[str, BaseDistribution] = {}
    for key, values in grid.items():
        is_category = isinstance(values[0], str)
        last = len(values) - 1
        space[key] = CategoricalDistribution(values) if is_category else IntDistribution(0, last)

    def function(p: Params) -> float:
        """The loss in the cell that the parameters name."""
        cell = [grid[key].index(p[key]) if isinstance(p[key], str) else p[key] for key in space]
        return float(losses[tuple(cell)])

    minimum = float(losses.min())
    return Problem(name=name, space=space, function=function, minimum=minimum, budget=budget)


def read_own_table(
    path: Path, target: str | None, is_maximized: bool, budget: int | None
) -> Problem:
    """The problem of a CSV file; its target is the last column unless another one is named.

    Larger targets are better where `is_maximized`; the problem then has their negatives. Its title
    names the file and a checksum of what it holds, so that another table is another problem.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            head = next(reader, [])
            rows = [row for row in reader if any(cell.strip() for cell in row)]
    except UnicodeDecodeError:
        raise ValueError(f"{path} must be a text file in UTF-8; save it as CSV UTF-8") from None
    wanted = "" if target is None else f"{target!r} and "
    target = head[-1] if target is None and head else target
    if target not in head or len(head) < 2 or len(set(head)) < len(head):
        raise ValueError(
            f"{path} must have a first line of different column names, separated by commas, with "
            f"{wanted}at least one parameter beside the target; got {', '.join(head) or 'nothing'}"
        )
    short = next((i for i, row in enumerate(rows, 2) if len(row) != len(head)), None)
    if short is not None or not rows:
        where = f"line {short} has another number" if rows else "there are none"
        raise ValueError(f"{path} must have rows of {len(head)} cells; {where}")
    blank = next((i for i, row in enumerate(rows, 2) if not all(c.strip() for c in row)), None)
    if blank is not None:
        raise ValueError(f"{path} must have a value in every cell; line {blank} has an empty one")
    columns = dict(zip(head, zip(*rows, strict=True), strict=True))
    values = _numbers(columns.pop(target))
    if values is None:
        raise ValueError(f"{path}: every {target!r} must be a finite number")
    if np.median(values) == (values.max() if is_maximized else values.min()):
        raise ValueError(
            f"{path}: fewer than half of the values of {target!r} must be the best one, or random "
            "search cannot miss it and there is nothing to compare"
        )
    signed = -values if is_maximized else values
    grid, cells = {}, []
    for name, column in columns.items():
        numbers = _numbers(column)
        given = list(column) if numbers is None else numbers.tolist()
        grid[name] = sorted(set(given))
        cells.append([grid[name].index(x) for x in given])
    losses = _filled(path, grid, np.array(cells), signed)
    count = min(40, max(losses.size - 10, 1)) if budget is None else budget
    problem = table_problem(f"own-{path.stem}", grid, losses, count)
    if not is_maximized:
        title = f"{path.stem}, smallest {target}"
    else:
        title = f"{path.stem}, largest {target}"
    return replace(problem, title=f"{title} ({crc32(losses.tobytes()):08x})")


def _numbers(column: Sequence[str]) -> Floats | None:
    """A column as numbers; None where a cell is no finite number."""
    try:
        numbers = [float(cell) for cell in column]
    except ValueError:
        return None
    return np.array(numbers) if all(map(math.isfinite, numbers)) else None


def _filled(path: Path, grid: Mapping[str, Sequence[Any]], cells: Any, values: Floats) -> Floats:
    """The losses, one axis per parameter; refused where a combination is missing or twice there."""
    shape = tuple(len(v) for v in grid.values())
    n = math.prod(shape)
    what = " × ".join(map(str, shape))
    if n > MAX_CELLS:
        raise ValueError(f"{path} must have at most {MAX_CELLS:,} combinations; got {what}")
    flat = np.ravel_multi_index(tuple(cells), shape)
    counts = np.bincount(flat, minlength=n)
    if np.any(counts != 1):
        kind = "is missing" if np.any(counts == 0) else "is there twice"
        wrong = int(np.flatnonzero(counts == 0 if np.any(counts == 0) else counts > 1)[0])
        example = next(itertools.islice(itertools.product(*grid.values()), wrong, None))
        named = ", ".join(f"{k} = {v}" for k, v in zip(grid, example, strict=True))
        raise ValueError(
            f"{path} must have each of {what} = {n:,} combinations once; got {len(values):,} rows, "
            f"and {named} {kind}. Leave out values that were not combined with all others"
        )
    losses = np.empty(n)
    losses[flat] = values
    return losses.reshape(shape)
