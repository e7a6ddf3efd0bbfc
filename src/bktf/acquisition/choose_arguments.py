"""The arguments of `choose`, checked, and the grid or box that they define."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bktf._typing import Bools, Floats, Ints
from bktf.acquisition.box_search import Box
from bktf.acquisition.grid_search import Grid
from bktf.acquisition.posterior_view import PosteriorView
from bktf.axis_kernels import SAME_POINT

ACQUISITIONS = ("ei", "ucb", "max", "thompson")
N_STARTING_INCUMBENTS = 16  # best observed points that are among the starts on a grid
MIN_REGION_VALUES = 3  # of an ordered axis with certain values, inside a region
N_NEAR_INCUMBENTS = 4  # best observed points around which a search of a box tries candidates
POOL_TOLERANCE = 1e-12  # relative distance up to which a feasible point equals an axis point


@dataclass(frozen=True)
class Question:
    """The arguments of `choose`, beside the posterior and the points."""

    acquisition: str
    beta: float
    integrate_weights: bool
    feasible: Callable[[Floats], bool] | None
    chance: Callable[[Floats], Floats] | None
    fixed: dict[int, float]
    best: float | None
    free: frozenset[int]
    seed: int
    region: Floats | None = None  # (2, D) lower and upper ends, in the user's units

    def __post_init__(self) -> None:
        check_acquisition(self.acquisition)
        check_beta(self.beta)
        if any(isinstance(d, bool) or not isinstance(d, int | np.integer) for d in self.free):
            got = sorted(map(str, self.free))
            raise ValueError(f"free must name axes by their numbers; got {got}")
        if self.best is not None and not math.isfinite(self.best):
            refusal = "best must be a finite number in the units of y, or None; got"
            raise ValueError(f"{refusal} {self.best!r}")


def check_acquisition(acquisition: str) -> None:
    """Raise an error unless this is the name of an acquisition."""
    if acquisition not in ACQUISITIONS:
        names = ", ".join(map(repr, ACQUISITIONS))
        raise ValueError(f"acquisition must be one of {names}; got {acquisition!r}")


def check_beta(beta: float) -> None:
    """Raise an error unless beta is a finite number of at least 0."""
    is_number = isinstance(beta, int | float | np.number) and not isinstance(beta, bool)
    if not is_number or not math.isfinite(beta) or beta < 0:
        raise ValueError(f"beta must be a number of at least 0; got {beta!r}")


@dataclass(frozen=True, eq=False)
class Domain:
    """The part of a posterior's axes where fixed axes keep one of their points."""

    view: PosteriorView
    question: Question
    fixed: dict[int, int]  # axis: index of the point that it keeps
    taken: Floats  # (n, D) points that must not be chosen, in the user's units

    @property
    def axes(self) -> tuple[Floats, ...]:
        """Points of the axes in the user's units, a single one where an axis is fixed."""
        axes = [axis.points for axis in self.view.grid]
        for d, j in self.fixed.items():
            axes[d] = axes[d][j : j + 1]
        return tuple(axes)

    @property
    def scaled_axes(self) -> tuple[Floats, ...]:
        """The same in the model's units."""
        pairs = zip(self.view.grid, self.axes, strict=True)
        return tuple(axis.scale(points) for axis, points in pairs)

    def points(self, cells: Ints) -> Floats:
        """The points (n, D) of cells (n, D), in the user's units."""
        return np.stack([axis[cells[:, d]] for d, axis in enumerate(self.axes)], axis=1)

    def grid(self) -> Grid:
        """The cells of the axes."""
        axes, feasible = self.axes, self.question.feasible
        incumbents = self.view.located(self.view.best_points(N_STARTING_INCUMBENTS))
        incumbents[:, list(self.fixed)] = 0

        def is_feasible(cell: Ints) -> bool:
            assert feasible is not None
            return bool(feasible(np.array([axis[j] for axis, j in zip(axes, cell, strict=True)])))

        return Grid(
            sizes=tuple(axis.size for axis in axes),
            excluded=self._excluded(),
            incumbents=incumbents,
            feasible=None if feasible is None else is_feasible,
            pool=_cells_on(axes, getattr(feasible, "points", None)),
        )

    def chance_of_cells(self) -> Callable[[NDArray[Any]], Floats] | None:
        """The chance of success as a function of cells (n, D)."""
        chance = self.question.chance
        on_axes = getattr(chance, "on_axes", None)
        if on_axes is not None:  # a faster method for points of a grid
            faster: Callable[[NDArray[Any]], Floats] = on_axes(self.axes)
            return faster
        return None if chance is None else lambda cells: chance(self.points(cells))

    def box(self) -> Box:
        """The box that the axes span, some of them continuous."""
        feasible = self.question.feasible
        free = self.question.free - self.fixed.keys()
        is_continuous = np.array([d in free for d in range(len(self.view.grid))])
        is_ordered = np.array([not axis.kernel.on_levels for axis in self.view.grid])
        axes = self._axes_in_region(is_continuous, is_ordered)
        taken = self.view.scaled(self.taken)
        incumbents = self.view.scaled(self.view.best_points(N_NEAR_INCUMBENTS))
        for d in np.flatnonzero(is_ordered).tolist():
            incumbents[:, d] = np.clip(incumbents[:, d], axes[d][0], axes[d][-1])
        for d in self.fixed:
            incumbents[:, d] = axes[d][0]

        def is_allowed(point: Floats) -> bool:
            distances = np.abs(taken - point).max(axis=1)
            if not np.all(distances > SAME_POINT):
                return False
            return feasible is None or bool(feasible(self.view.unscaled(point[None])[0]))

        box = Box(axes, is_continuous, is_ordered, incumbents, is_allowed)
        return box if self.question.region is None else box.with_incumbents_on_axes()

    def _axes_in_region(self, is_continuous: Bools, is_ordered: Bools) -> tuple[Floats, ...]:
        """The scaled axes; ordered ones only inside the region, where there is one.

        An axis with certain values keeps the MIN_REGION_VALUES nearest to the region's middle.
        """
        axes = list(self.scaled_axes)
        if self.question.region is None:
            return tuple(axes)
        ends = self.view.scaled(self.question.region)
        for d in np.flatnonzero(is_ordered):
            low, high = np.clip(ends[:, d], axes[d][0], axes[d][-1])
            if is_continuous[d]:
                axes[d] = np.array([low, high])
                continue
            distances = np.abs(axes[d] - 0.5 * (low + high))
            last = min(MIN_REGION_VALUES, distances.size) - 1
            reach = max(0.5 * (high - low), np.sort(distances)[last])
            axes[d] = axes[d][distances <= reach]
        return tuple(axes)

    def unscaled(self, point: Floats) -> Floats:
        """A scaled point (D,) of the box in the user's units, on the points of finite axes."""
        unscaled = self.view.unscaled(point[None])[0]
        for d, axis in enumerate(self.axes):
            if d not in self.question.free:
                unscaled[d] = axis[np.abs(axis - unscaled[d]).argmin()]
        return np.asarray(unscaled)

    def chance_of_points(self) -> Callable[[NDArray[Any]], Floats] | None:
        """The chance of success as a function of scaled points (n, D)."""
        chance = self.question.chance
        return None if chance is None else lambda points: chance(self.view.unscaled(points))

    def _excluded(self) -> set[tuple[int, ...]]:
        """The cells that must not be chosen; a point between axis points has none."""
        cells = self.view.located(self.taken)
        is_cell = (cells >= 0).all(axis=1)
        for d, j in self.fixed.items():
            is_cell &= cells[:, d] == j
            cells[:, d] = 0
        return {tuple(cell) for cell in cells[is_cell].tolist()}


def make_domain(view: PosteriorView, question: Question, taken: Floats) -> Domain:
    """Where to search, with the axes that the question names checked."""
    n_dims = len(view.grid)
    for d in question.free:
        if d not in range(n_dims) or view.grid[d].kernel.on_levels:
            raise ValueError(f"free must name ordered axes among 0 … {n_dims - 1}; got {d!r}")
    _check_region(question.region, n_dims)
    fixed = {}
    for d, value in question.fixed.items():
        if d not in range(n_dims):
            raise ValueError(f"fixed must name axes among 0 … {n_dims - 1}; got {d!r}")
        fixed[d] = int(view.grid[d].locate(np.array([value], dtype=float))[0])
        if fixed[d] < 0:
            refusal = f"fixed[{d}] must be a point of axis {d}; got {value!r}"
            raise ValueError(f"{refusal}. Add it to the axis before fitting")
    return Domain(view, question, fixed, taken)


def _check_region(region: Floats | None, n_dims: int) -> None:
    """Refuse what is not a box."""
    if region is None:
        return
    wanted = f"region must be the lower ends, then the upper ends, of shape (2, {n_dims})"
    if region.shape != (2, n_dims):
        raise ValueError(f"{wanted}; got shape {region.shape}")
    is_reversed = ~(region[0] <= region[1])  # NaN, too
    if is_reversed.any():
        d = int(is_reversed.argmax())
        raise ValueError(f"{wanted}; on axis {d} they are {region[0, d]} and {region[1, d]}")


def _cells_on(axes: tuple[Floats, ...], points: Floats | None) -> Ints | None:
    """The cells of those points (N, D) that lie on axes; None for None."""
    if points is None:
        return None
    cells = np.empty(points.shape, dtype=np.int64)
    is_cell = np.ones(len(points), dtype=bool)
    for d, axis in enumerate(axes):
        cells[:, d] = np.minimum(np.searchsorted(axis, points[:, d]), axis.size - 1)
        is_cell &= np.isclose(axis[cells[:, d]], points[:, d], rtol=POOL_TOLERANCE, atol=0.0)
    return cells[is_cell]
