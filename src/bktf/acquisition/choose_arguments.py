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
    within: dict[int, Floats]  # points that an axis may take, or the ends of a free one
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
    """The part of a posterior's axes that is searched."""

    view: PosteriorView
    question: Question
    kept: tuple[Ints, ...]  # of each axis, the indices of the points that may be chosen, increasing
    taken: Floats  # (n, D) points that must not be chosen, in the user's units

    @property
    def axes(self) -> tuple[Floats, ...]:
        """Points of the axes in the user's units, a single one where an axis is fixed."""
        pairs = zip(self.view.grid, self.kept, strict=True)
        return tuple(axis.points[kept] for axis, kept in pairs)

    @property
    def free(self) -> list[int]:
        """Axes on which every coordinate between the ends may be chosen."""
        return sorted(d for d in self.question.free if self.kept[d].size > 1)

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
        located = self.view.located(self.view.best_points(N_STARTING_INCUMBENTS))
        nearest = [_positions(kept, located[:, d]) for d, kept in enumerate(self.kept)]
        incumbents = np.stack(nearest, axis=1)

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
        is_continuous = np.isin(np.arange(len(self.view.grid)), self.free)
        is_ordered = np.array([not axis.kernel.on_levels for axis in self.view.grid])
        axes = self._axes_in_region(is_continuous, is_ordered)
        taken = self.view.scaled(self.taken)
        incumbents = self.view.scaled(self.view.best_points(N_NEAR_INCUMBENTS))
        for d in np.flatnonzero(is_ordered).tolist():
            incumbents[:, d] = np.clip(incumbents[:, d], axes[d][0], axes[d][-1])
        for d in np.flatnonzero(~is_ordered).tolist():
            is_other = ~np.isin(incumbents[:, d], axes[d])
            incumbents[is_other, d] = axes[d][0]

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
            if axis.size == 1:  # perhaps inactive, at infinity
                unscaled[d] = axis[0]
            elif d not in self.free:
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
        for d, kept in enumerate(self.kept):
            is_cell &= np.isin(cells[:, d], kept)
            cells[:, d] = _positions(kept, cells[:, d])
        return {tuple(cell) for cell in cells[is_cell].tolist()}


def make_domain(view: PosteriorView, question: Question, taken: Floats) -> Domain:
    """Where to search, with the axes that the question names checked."""
    n_dims = len(view.grid)
    for d in question.free:
        if d not in range(n_dims) or view.grid[d].kernel.on_levels:
            raise ValueError(f"free must name ordered axes among 0 … {n_dims - 1}; got {d!r}")
    _check_region(question.region, n_dims)
    # An inactive coordinate is chosen only where it is asked for.
    kept = [np.arange(axis.active_points.size) for axis in view.grid]
    for d, wanted in question.within.items():
        if d not in range(n_dims):
            raise ValueError(f"within must name axes among 0 … {n_dims - 1}; got {d!r}")
        kept[d] = _kept_within(view, question, d, wanted)
    for d, value in question.fixed.items():
        if d not in range(n_dims):
            raise ValueError(f"fixed must name axes among 0 … {n_dims - 1}; got {d!r}")
        kept[d] = view.grid[d].locate(np.array([value], dtype=float))
        if kept[d][0] < 0:
            refusal = f"fixed[{d}] must be a point of axis {d}; got {value!r}"
            raise ValueError(f"{refusal}. Add it to the axis before fitting")
    return Domain(view, question, tuple(kept), taken)


def _kept_within(view: PosteriorView, question: Question, d: int, wanted: Floats) -> Ints:
    """The indices of the points of axis d that may be chosen."""
    axis = view.grid[d]
    if wanted.ndim != 1 or wanted.size == 0:
        raise ValueError(f"within[{d}] must be a list of points of axis {d}; got {wanted!r}")
    index = np.unique(axis.locate(wanted))
    if index[0] < 0:
        refusal = f"within[{d}] must be points of axis {d}; got {wanted.tolist()!r}"
        raise ValueError(f"{refusal}. Add them to the axis before fitting")
    return np.arange(index[0], index[-1] + 1) if d in question.free else index


def _positions(kept: Ints, index: Ints) -> Ints:
    """Where indices of axis points stand among those that are kept, or the nearest of these."""
    right = np.minimum(np.searchsorted(kept, index), kept.size - 1)
    left = np.maximum(right - 1, 0)
    return np.where(np.abs(kept[left] - index) < np.abs(kept[right] - index), left, right)


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
