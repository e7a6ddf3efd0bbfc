"""`pool.csv`: a table of what is available; nothing else is suggested."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bktf._typing import Floats
from bktf.lab.lab_space import LabError, LabSpace, point_of, read_text
from bktf.lab.results_table import by_column, named_columns, numbered_cells, read_params
from bktf.spaces import CandidateList, Parameter


@dataclass(frozen=True)
class Candidate:
    """One row of the pool."""

    number: int  # as a spreadsheet shows it
    params: dict[str, Any]
    others: dict[str, str]  # cells of all other columns


@dataclass(frozen=True, eq=False)
class CandidatePool:
    """The rows of a pool."""

    name: str  # of the file
    parameters: tuple[Parameter, ...]
    rows: tuple[Candidate, ...]

    @cached_property
    def listed(self) -> CandidateList:
        """The rows as points."""
        points = [point_of(self.parameters, row.params) for row in self.rows]
        labels = tuple(row.number for row in self.rows)
        return CandidateList(self.parameters, np.array(points, dtype=float), labels)

    def row(self, point: Floats) -> Candidate:
        """The row of a point (D,)."""
        return self.rows[self.listed.row(point)]


def read_candidates(path: Path, space: LabSpace) -> CandidatePool:
    """Read a pool; a LabError names the row and the column that are wrong."""
    header: list[str] = []
    rows: list[Candidate] = []
    first: dict[tuple[Any, ...], int] = {}
    for number, where, cells in numbered_cells(read_text(path), path.name):
        if not header:
            header = cells
            named = named_columns(header, where)
            missing = [name for name in space.distributions if name not in named]
            if missing:
                raise LabError(
                    f"{where}: the column {missing[0]!r} is missing from the header; candidates "
                    "need a value of every parameter of the space file"
                )
            continue
        cell_of = by_column(cells, header, where)
        params = read_params(cell_of, space, where)
        others = {k: v for k, v in cell_of.items() if k and k not in space.distributions}
        again = first.setdefault(tuple(params.items()), number)
        if again != number:
            raise LabError(
                f"{where}: has the same parameters as row {again}. Leave one of them out, or add a "
                "parameter that tells them apart"
            )
        rows.append(Candidate(number, params, others))
    if not rows:
        raise LabError(f"{path.name}: has no candidates; it needs a header and at least one row")
    return CandidatePool(path.name, space.parameters, tuple(rows))
