"""Parameters and their axes: from values of Optuna's distributions to coordinates and back.

A *coordinate* is a number on a parameter's axis in the user's units. It is the value of a numeric
parameter, the index of an unordered choice, and the value or index of an ordered choice.

Axes adapt to the trials: a base grid, every observed coordinate, and finer points around the
incumbents.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from bktf._typing import Floats, Ints
from bktf.axis_kernels import MAX_LEVELS
from bktf.spaces.conditions import INACTIVE, Activation

CATEGORICAL = ("equal", "wishart")
MIN_RANGE = 1e-6  # of a range to its larger end; axis points differ by a billionth of the range
N_BASE = 65  # points of the base grid
N_HALVINGS = 12  # of the base spacing around each incumbent; with steps, down to one step
MAX_POINTS = 512
MAX_VALUES = 512  # of a parameter, that are told apart one by one


@dataclass(frozen=True, eq=False)
class RefinedAxis:
    """The points of an axis; observed coordinates are moved onto them where they are too many."""

    points: Floats  # (m,) increasing; the last is infinite where the parameter may be inactive
    observed: Floats  # (n,)

    @property
    def active(self) -> Floats:
        """The points at which the parameter is active."""
        return self.points[np.isfinite(self.points)]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a search space, with its axis."""

    name: str
    distribution: BaseDistribution
    ordinal: bool = False
    # Where it is active; None: everywhere, and it was active in all trials
    activations: tuple[Activation, ...] | None = None
    # Of a category, by choice: numbers in [0, 1] that describe it
    descriptors: tuple[tuple[float, ...], ...] | None = None

    @property
    def parents(self) -> frozenset[str]:
        """The parameters that its conditions name."""
        return frozenset(c.parent for a in self.activations or () for c in a.conditions)

    @property
    def is_divisible(self) -> bool:
        """Whether its values are an interval, or too many to be listed."""
        return self.n_values > MAX_VALUES

    def ends_or_values(self) -> Floats:
        """All its coordinates, increasing, or the two ends where they are too many."""
        if self.is_divisible:
            return np.array(_bounds(self.distribution)[:2])
        return self.axis(np.zeros(0), np.zeros(0)).active

    def limited(self, low: float, high: float) -> "Parameter":
        """The same parameter with a smaller range; its scale and steps stay."""
        d = self.distribution
        if not isinstance(d, FloatDistribution | IntDistribution) or not (
            low > d.low or high < d.high
        ):
            return self
        ends = max(low, d.low), min(high, d.high)
        if isinstance(d, IntDistribution):
            first = d.low + d.step * math.ceil((ends[0] - d.low) / d.step)
            whole = IntDistribution(first, math.floor(ends[1]), d.log, d.step)
            return replace(self, distribution=whole)
        if d.step is not None:
            ends = d.low + d.step * math.ceil((ends[0] - d.low) / d.step - 1e-9), ends[1]
        return replace(self, distribution=FloatDistribution(*ends, d.log, d.step))

    def next_above(self, coordinate: float) -> float:
        """The next coordinate above; of a continuous parameter the next number."""
        step = 1.0 if isinstance(self.distribution, IntDistribution) else 0.0
        return coordinate + step if step else math.nextafter(coordinate, math.inf)

    def next_below(self, coordinate: float) -> float:
        """The next coordinate below; of a continuous parameter the next number."""
        step = 1.0 if isinstance(self.distribution, IntDistribution) else 0.0
        return coordinate - step if step else math.nextafter(coordinate, -math.inf)

    @property
    def choice_coordinates(self) -> Floats | None:
        """The coordinate of each choice; None for a parameter that is not categorical.

        For ordered numbers these are the numbers; other choices are numbered.
        """
        if not isinstance(self.distribution, CategoricalDistribution):
            return None
        values = self.distribution.choices
        if self.ordinal and all(is_number(v) for v in values):
            numbers = np.array(values, dtype=float)
            ranked = np.unique(numbers)
            min_gap = 1e-8 * (ranked[-1] - ranked[0])
            if ranked.size == len(values) and np.diff(ranked, prepend=-np.inf).min() > min_gap:
                return numbers
        return np.arange(len(values), dtype=float)

    @property
    def has_numeric_coordinates(self) -> bool:
        """Whether coordinates are the values, not indices of choices."""
        if not isinstance(self.distribution, CategoricalDistribution):
            return True
        values = np.array(self.distribution.choices)
        return bool(np.array_equal(self.choice_coordinates, values))  # type: ignore[arg-type]

    @property
    def log(self) -> bool:
        """Whether distances are measured on a logarithmic scale.

        As the distribution says; for ordered numbers, the scale on which they are more even.
        """
        if not isinstance(self.distribution, CategoricalDistribution):
            return bool(self.distribution.log)  # type: ignore[attr-defined]
        if not self.ordinal:
            return False
        points = np.sort(self.choice_coordinates)  # type: ignore[arg-type]
        if points.size <= 2 or points[0] <= 0:
            return False
        return _unevenness(np.log(points)) < _unevenness(points)

    @property
    def is_unordered(self) -> bool:
        """Whether it is a category whose order means nothing."""
        return isinstance(self.distribution, CategoricalDistribution) and not self.ordinal

    def kernel(self, categorical: str) -> str | None:
        """The kernel of its axis, None where it is ordered.

        `categorical` says how levels are modelled.
        """
        if not isinstance(self.distribution, CategoricalDistribution) or self.ordinal:
            return None
        is_small = len(self.distribution.choices) <= MAX_LEVELS
        return "wishart" if categorical == "wishart" and is_small else "categorical"

    @property
    def n_values(self) -> float:
        """How many values it can take; infinity for a continuous one."""
        if isinstance(self.distribution, CategoricalDistribution):
            return float(len(self.distribution.choices))
        if isinstance(self.distribution, IntDistribution):
            width = self.distribution.high - self.distribution.low
            return float(width // self.distribution.step + 1)
        low, high, step = _bounds(self.distribution)
        return math.inf if step is None else float(math.floor((high - low) / step + 1e-9) + 1)

    def coordinate(self, value: Any) -> float | None:
        """The coordinate of a value; None where it is not a value of the parameter."""
        try:
            return self.coordinate_of_internal(self.distribution.to_internal_repr(value))
        except (ValueError, TypeError):
            return None

    def coordinate_of_internal(self, internal: float) -> float | None:
        """The coordinate of a value in Optuna's internal form: the number, or a choice's index."""
        if not self.distribution._contains(internal):
            return None
        if self.choice_coordinates is not None:
            return float(self.choice_coordinates[int(internal)])
        low, high, step = _bounds(self.distribution)
        if isinstance(self.distribution, FloatDistribution) and step is not None:
            # One number for each step, however the value was rounded.
            return min(low + step * round((internal - low) / step), high)
        return float(internal)

    def value(self, coordinate: float) -> Any:
        """The value at a coordinate, as the Python scalar that Optuna expects."""
        if self.choice_coordinates is not None:
            index = int(np.abs(self.choice_coordinates - coordinate).argmin())
            return self.distribution.to_external_repr(index)
        low, high, step = _bounds(self.distribution)
        if isinstance(self.distribution, IntDistribution):
            first, width = self.distribution.low, self.distribution.step
            whole = first + width * round((coordinate - low) / width)
            return int(min(max(whole, first), self.distribution.high))
        if step is not None:
            coordinate = min(low + step * round((coordinate - low) / step), high)
        return float(min(max(coordinate, low), high))

    def from_unit(self, u: float) -> float:
        """The coordinate at a share u in [0, 1) of its values.

        Choices and steps have equal shares; a continuous parameter is even on its scale.
        """
        if self.choice_coordinates is not None:
            return float(np.sort(self.choice_coordinates)[int(u * self.choice_coordinates.size)])
        low, high, _ = _bounds(self.distribution)
        if self.n_values < math.inf and not self.log:
            raw = low + int(u * self.n_values) * _step(self.distribution)
            return float(self.coordinate(self.value(raw)) or 0.0)
        if isinstance(self.distribution, IntDistribution):
            # Each whole number from half a step below to half a step above it.
            low, high = low - 0.5, high + 0.5
        raw = low + u * (high - low)
        if self.log:
            raw = math.exp(math.log(low) + u * (math.log(high) - math.log(low)))
        return float(self.coordinate(self.value(raw)) or 0.0)

    def axis(self, observed: Floats, incumbents: Floats) -> RefinedAxis:
        """The axis for one suggestion, in the user's units, with the observed coordinates on it."""
        if self.activations is None:
            return self._active_axis(observed, incumbents)
        is_active = np.isfinite(observed)
        refined = self._active_axis(observed[is_active], incumbents[np.isfinite(incumbents)])
        moved = np.full(observed.shape, INACTIVE)
        moved[is_active] = refined.observed
        return RefinedAxis(np.append(refined.points, INACTIVE), moved)

    def _active_axis(self, observed: Floats, incumbents: Floats) -> RefinedAxis:
        """The axis of all points at which the parameter is active."""
        if self.choice_coordinates is not None:
            return RefinedAxis(np.sort(self.choice_coordinates), observed)
        low, high, step = _bounds(self.distribution)
        if not self.log:
            return refine_axis(low, high, observed, incumbents, step=step)
        if isinstance(self.distribution, IntDistribution) and self.n_values <= MAX_POINTS:
            return RefinedAxis(np.arange(low, high + 1), observed)
        refined = refine_axis(math.log(low), math.log(high), np.log(observed), np.log(incumbents))
        points, moved = np.exp(refined.points), np.exp(refined.observed)
        if isinstance(self.distribution, IntDistribution):
            return RefinedAxis(np.unique(np.rint(points)), np.rint(moved))
        return RefinedAxis(np.unique(np.clip(points, low, high)), np.clip(moved, low, high))


def _bounds(distribution: BaseDistribution) -> tuple[float, float, float | None]:
    """Low, high and step of a numeric distribution."""
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    step = None if distribution.step is None else float(distribution.step)
    return float(distribution.low), float(distribution.high), step


def _step(distribution: BaseDistribution) -> float:
    """The step of a distribution that has one."""
    step = _bounds(distribution)[2]
    assert step is not None
    return step


def _unevenness(points: Floats) -> float:
    """Spread of the gaps between points, as a share of their mean."""
    gaps = np.diff(points)
    return float(gaps.std() / gaps.mean())


def can_be_modelled(distribution: BaseDistribution) -> bool:
    """Whether a parameter has several values, in a range that double precision can divide."""
    if distribution.single():
        return False
    if isinstance(distribution, CategoricalDistribution):
        return True
    low, high, _ = _bounds(distribution)
    return math.isfinite(high - low) and high - low > MIN_RANGE * max(abs(low), abs(high))


def parameters_of(
    distributions: Mapping[str, BaseDistribution],
    ordinal: Iterable[str],
    activations: Mapping[str, tuple[Activation, ...]] | None = None,
    descriptors: Mapping[str, tuple[tuple[float, ...], ...]] | None = None,
) -> tuple[Parameter, ...]:
    """The parameters of a search space, in its order, with the conditions of some of them."""
    ordered, conditions, described = set(ordinal), activations or {}, descriptors or {}
    return tuple(
        Parameter(name, d, name in ordered, conditions.get(name), described.get(name))
        for name, d in distributions.items()
    )


def values_at(parameters: Sequence[Parameter], point: Floats) -> dict[str, Any]:
    """The values, by name, of the parameters that are active at a point (D,)."""
    pairs = zip(parameters, point, strict=True)
    return {p.name: p.value(float(x)) for p, x in pairs if x != INACTIVE}


def only_value(distribution: BaseDistribution) -> Any:
    """The value of a parameter that has only one."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[0]
    return distribution.low  # type: ignore[attr-defined]


def is_multiple(distance: float, step: float) -> bool:
    """Whether a distance is a whole number of steps, up to rounding."""
    return abs(distance - step * round(distance / step)) <= 1e-8 * step


def is_number(value: object) -> bool:
    """Whether a value is a finite number; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return False
    return math.isfinite(value)


def refine_axis(
    low: float,
    high: float,
    observed: ArrayLike,
    incumbents: ArrayLike,
    *,
    step: float | None = None,
    n_base: int = N_BASE,
    max_points: int = MAX_POINTS,
) -> RefinedAxis:
    """An axis over [low, high] for one suggestion.

    Args:
        low: lower end.
        high: upper end.
        observed: coordinates tried so far, oldest first.
        incumbents: coordinates of the best points, best first; the axis is refined around each, at
            distances of 1, ½, ¼, … base spacings.
        step: the parameter takes low, low + step, low + 2·step, … only; None for a continuous one.
            With more values than max_points the axis is coarse and refined like a continuous one,
            always on the parameter's values. Values closer than 2e-9 of the range count as one.
        n_base: points of the base grid.
        max_points: never more than this. The base grid and the incumbents' neighbourhoods come
            first, then observed coordinates, the latest first. Coordinates beyond the limit are
            moved to the nearest point.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ValueError(f"low and high must be finite and low ≤ high; got {low!r} and {high!r}")
    if step is not None and not (np.isfinite(step) and step > 0):
        raise ValueError(f"step must be a positive number or None; got {step!r}")
    if not 2 <= n_base <= max_points:
        given = f"{n_base} with max_points={max_points}"
        raise ValueError(f"n_base must lie in [2, max_points]; got {given}")
    tried: Floats = np.atleast_1d(np.asarray(observed, dtype=np.float64))
    best: Floats = np.atleast_1d(np.asarray(incumbents, dtype=np.float64))
    if low == high:
        return RefinedAxis(np.array([float(low)]), np.full(tried.size, float(low)))
    if step is not None and np.floor((high - low) / step + 1e-9) + 1 <= max_points:
        n_steps = int(np.floor((high - low) / step + 1e-9))
        points: Floats = np.minimum(low + step * np.arange(n_steps + 1), high)
        return RefinedAxis(points, points[_nearest(points, tried)])

    spacing = (high - low) / (n_base - 1)
    n_halvings = N_HALVINGS if step is None else int(np.ceil(np.log2(max(spacing / step, 1.0))))
    distances = spacing / 2.0 ** np.arange(n_halvings + 1)
    around = (best[:, None] + np.concatenate((-distances, distances))).ravel()
    around = around[(around > low) & (around < high)]
    wanted = np.concatenate((np.linspace(low, high, n_base), best, around, tried[::-1]))
    on_values = _on_values(np.clip(wanted, low, high), low, high, step)
    kept: list[float] = []
    seen: set[float] = set()
    closest = 2e-9 * (high - low)
    for value in on_values.tolist():  # in order of importance
        if len(kept) == max_points:
            break
        key = round(value / closest)
        if key not in seen:
            seen |= {key - 1, key, key + 1}
            kept.append(value)
    points = np.sort(np.array(kept, dtype=np.float64))
    return RefinedAxis(points, points[_nearest(points, tried)])


def _on_values(values: Floats, low: float, high: float, step: float | None) -> Floats:
    """Values moved onto low, low + step, …; unchanged for a continuous parameter."""
    if step is None:
        return values
    last = np.floor((high - low) / step + 1e-9)
    n_steps = np.clip(np.rint((values - low) / step), 0, last)
    return np.asarray(np.minimum(low + step * n_steps, high))


def _nearest(points: Floats, values: Floats) -> Ints:
    """Index of the point nearest to each value."""
    right = np.clip(np.searchsorted(points, values), 1, max(points.size - 1, 1))
    right = np.minimum(right, points.size - 1)
    left = np.maximum(right - 1, 0)
    return np.where(values - points[left] <= points[right] - values, left, right).astype(np.int64)
