"""Which points a slice or a marginal is made of: names, values and fixed coordinates, checked."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bktf._typing import Floats
from bktf.axis_kernels import check_points
from bktf.surrogate import Posterior

N_ALONE, N_PAIR = 41, 21  # values of a continuous parameter, along one and along two
MAX_VALUES = 500  # of a parameter with finitely many, all of which are shown

Along = str | int | Sequence[str | int]
Values = Sequence[Any] | ArrayLike | None


class Lines(NamedTuple):
    """The values of one or two parameters, as coordinates, and all their combinations."""

    axes: tuple[int, ...]
    coordinates: tuple[Floats, ...]  # (u,) of each, in the user's units; levels by index

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values of each."""
        return tuple(line.size for line in self.coordinates)

    def points(self, point: Floats) -> Floats:
        """A point (D,) moved to all combinations, (u·v, D), the last parameter fastest."""
        mesh = np.meshgrid(*self.coordinates, indexing="ij")
        points = np.repeat(point[None], mesh[0].size, axis=0)
        for d, column in zip(self.axes, mesh, strict=True):
            points[:, d] = column.ravel()
        return points


def lines_along(posterior: Posterior, along: Along, values: Values, extra: Floats | None) -> Lines:
    """The values of the parameters that a slice moves.

    values: of one parameter a list, of two a pair of lists; None: a default for each. `extra` is a
    point (D,) whose coordinates are among the defaults of continuous parameters.
    """
    named = [along] if isinstance(along, str | int) else list(along)
    axes = tuple(posterior.meaning.axis(name) for name in named)
    if len(axes) not in (1, 2) or len(set(axes)) < len(axes):
        raise ValueError(f"along must name one parameter, or two different ones; got {along!r}")
    given: list[Any] = [values] if len(axes) == 1 else _pair(values)
    n_points = N_ALONE if len(axes) == 1 else N_PAIR
    lines = []
    for d, line in zip(axes, given, strict=True):
        if line is None:
            lines.append(default_values(posterior, d, n_points, extra))
            continue
        if isinstance(line, str) or not isinstance(line, Iterable):
            raise ValueError(f"values must be a list for each parameter; got {line!r}")
        listed = [coordinate_of(posterior, d, value) for value in line]
        if not listed:
            raise ValueError("values must have at least one value; got none")
        lines.append(np.array(listed))
    return Lines(axes, tuple(lines))


def _pair(values: Values) -> list[Any]:
    """Values of two parameters."""
    if values is None:
        return [None, None]
    listed = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else []
    if len(listed) != 2:
        raise ValueError(
            f"values of two parameters must be two lists, None for a default; got {values!r}"
        )
    return listed


def default_values(
    posterior: Posterior, d: int, n_points: int, extra: Floats | None = None
) -> Floats:
    """All values of a finite parameter; of others n_points, even on the scale of the axis."""
    axis, known = posterior.grid[d], finite_values(posterior, d)
    if known is not None and (known.size <= MAX_VALUES or axis.kernel.on_levels):
        return known
    even = axis.unscale(np.linspace(0.0, 1.0, n_points))
    even[[0, -1]] = axis.active_points[[0, -1]]
    if known is not None:
        nearest = np.abs(known[:, None] - even).argmin(axis=0)
        return np.asarray(np.unique(known[nearest]))
    if extra is not None and math.isfinite(extra[d]):
        even = np.append(even, extra[d])
    shown = [posterior.meaning.value(d, x) for x in even.tolist()]
    return np.unique(np.array(shown, dtype=float))  # of a parameter with steps, the nearest ones


def finite_values(posterior: Posterior, d: int) -> Floats | None:
    """The coordinates of a parameter's values where there are finitely many, else None."""
    axis, measure = posterior.grid[d], posterior.meaning.measure(d)
    if axis.kernel.on_levels or axis.active_points.size == 1:
        return axis.active_points
    is_stated = d in posterior.meaning.measures and measure.coords is not None
    return axis.unscale(measure.coords) if is_stated and measure.coords is not None else None


def coordinate_of(posterior: Posterior, d: int, value: Any) -> float:
    """The coordinate of a value of the user: the number, or that of the level."""
    meaning, axis = posterior.meaning, posterior.grid[d]
    name, known = meaning.names[d], finite_values(posterior, d)
    if known is not None:
        for coordinate in known.tolist():
            if _is_same(meaning.value(d, coordinate), value):
                return float(coordinate)
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if known is not None and (axis.kernel.on_levels or d in meaning.values or not is_number):
        levels = ", ".join(repr(meaning.value(d, x)) for x in known[:20].tolist())
        more = ", …" if known.size > 20 else ""
        raise ValueError(f"{value!r} is no value of {name!r}; there are {levels}{more}")
    if not is_number or not math.isfinite(value):
        raise ValueError(f"{name!r} must be a finite number; got {value!r}")
    low, high = axis.active_points[[0, -1]].tolist()
    slack = 1e-9 * (high - low)
    if not low - slack <= float(value) <= high + slack:
        raise ValueError(f"{name!r} must lie in [{low:g}, {high:g}]; got {value!r}")
    coordinate = float(min(max(float(value), low), high))
    nearest = meaning.value(d, coordinate)
    if not _is_same(nearest, coordinate):
        raise ValueError(f"{value!r} is no value of {name!r}; the nearest is {nearest!r}")
    return coordinate


def _is_same(first: Any, second: Any) -> bool:
    """Whether two values are one; numbers may differ by rounding, and truth values are none."""
    kinds = [isinstance(value, bool | np.bool_) for value in (first, second)]
    if not any(kinds) and all(isinstance(v, int | float | np.number) for v in (first, second)):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)
    return kinds[0] == kinds[1] and bool(first == second)


def fixed_point(posterior: Posterior, at: Mapping[str, Any] | ArrayLike | None) -> Floats:
    """The point (D,) that gives the coordinates of parameters that do not move.

    A dictionary gives values by name, and those that it does not name are the default ones. An
    array gives all coordinates. The default is the tried point whose posterior mean is best where
    a direction is known. Otherwise it is the middle of every axis, and the level that was tried
    most often.
    """
    if at is None or isinstance(at, Mapping):
        point = _default_point(posterior)
        for name, value in {} if at is None else at.items():
            d = posterior.meaning.axis(name)
            point[d] = coordinate_of(posterior, d, value)
        return point
    n_dims = len(posterior.grid)
    try:
        coordinates = np.asarray(at, dtype=float)
    except (TypeError, ValueError):
        coordinates = np.empty((0, 0))
    if coordinates.shape != (n_dims,):
        raise ValueError(
            f"at must be a dictionary of values by name, or {n_dims} coordinates; got {at!r}"
        )
    return np.asarray(check_points(coordinates[None], posterior.grid, "at")[0])


def _default_point(posterior: Posterior) -> Floats:
    """Where a slice passes through unless told otherwise, (D,)."""
    direction = posterior.meaning.direction
    if direction is not None and len(posterior.X):
        means = posterior.mean(posterior.X)
        best = means.argmax() if direction == "maximize" else means.argmin()
        return np.array(posterior.X[int(best)])
    point = np.empty(len(posterior.grid))
    for d, axis in enumerate(posterior.grid):
        known = finite_values(posterior, d)
        if known is None:
            point[d] = axis.unscale(np.array([0.5]))[0]
        elif axis.kernel.on_levels:
            counts = (posterior.X[:, d, None] == known).sum(axis=0)
            point[d] = known[int(counts.argmax())]
        else:
            point[d] = known[int(np.abs(axis.scale(known) - 0.5).argmin())]
    return point
