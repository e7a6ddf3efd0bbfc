"""Grids over boxes, and problems that have one: what methods that choose cells need."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, IntDistribution

from studies.problems.problem import Floats, Params, Problem

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Grid:
    """A box and evenly spaced points over it, both ends included."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    sizes: tuple[int, ...]  # points of each axis

    @property
    def n_dims(self) -> int:
        """D."""
        return len(self.sizes)

    @property
    def n_cells(self) -> int:
        """Points of the grid."""
        return math.prod(self.sizes)

    @property
    def axes(self) -> tuple[Floats, ...]:
        """The points of every axis."""
        ends = zip(self.low, self.high, self.sizes, strict=True)
        return tuple(np.linspace(low, high, size) for low, high, size in ends)

    @property
    def cell_space(self) -> dict[str, BaseDistribution]:
        """The cells as a search space of whole numbers, one index for each axis.

        Indices, because steps such as 15 / 13 are no round numbers.
        """
        return {f"x{d}": IntDistribution(0, size - 1) for d, size in enumerate(self.sizes)}

    def points(self, cells: Indices) -> Floats:
        """The points (n, D) of cells (n, D)."""
        return np.stack([axis[cells[:, d]] for d, axis in enumerate(self.axes)], axis=1)

    def points_at(self, flat: Indices) -> Floats:
        """The points (n, D) of flat indices (n,), the last axis running fastest."""
        return self.points(np.stack(np.unravel_index(flat, self.sizes), axis=1))

    def point_at(self, flat: int) -> Floats:
        """The point (D,) of one flat index."""
        return np.asarray(self.points_at(np.array([flat]))[0])

    def cells(self, X: Floats) -> Indices:
        """The cells (n, D) nearest to points."""
        nearest = [
            np.abs(axis[None, :] - X[:, d, None]).argmin(axis=1) for d, axis in enumerate(self.axes)
        ]
        return np.stack(nearest, axis=1)

    def flat(self, X: Floats) -> Indices:
        """The flat indices (n,) of the cells nearest to points."""
        return np.asarray(np.ravel_multi_index(tuple(self.cells(X).T), self.sizes))


@dataclass(frozen=True, eq=False, kw_only=True)
class GridProblem(Problem):
    """A problem on a box of numbers, with a grid over it."""

    grid: Grid

    def to_row(self, params: Params) -> Floats:
        """The coordinates (D,) of a point."""
        return np.array([params[name] for name in self.space], dtype=float)

    def to_params(self, row: Floats) -> Params:
        """The point of coordinates (D,)."""
        return {name: float(value) for name, value in zip(self.space, row, strict=True)}

    def cell_of(self, params: Params) -> Params:
        """A point as a point of the grid's `cell_space`."""
        cell = self.grid.cells(self.to_row(params)[None])[0]
        return {name: int(i) for name, i in zip(self.grid.cell_space, cell, strict=True)}

    def point_of(self, cell: Params) -> Params:
        """The point of a cell."""
        indices = np.array([[cell[name] for name in self.grid.cell_space]])
        return self.to_params(self.grid.points(indices)[0])


def on_cells(problem: GridProblem, *, name: str, minimum: float, budget: int) -> Problem:
    """The same problem as a function of cells: no point but those of the grid can be tried."""
    return Problem(
        name=name,
        title=problem.title,
        space=problem.grid.cell_space,
        function=lambda cell: problem.values([problem.point_of(cell)])[0],
        minimum=minimum,
        budget=budget,
    )
