"""Search spaces: what users write, Optuna's distributions, and coordinates on axes.

A *coordinate* is a number on a parameter's axis in the user's units: the value of a numeric parameter, the place of a choice among
unordered ones, the value or place of an ordered choice.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from bktf.axis_kernels.categorical import MAX_LEVELS
from bktf.spaces.axis_refinement import MAX_POINTS, RefinedAxis, refine_axis

Floats = NDArray[np.float64]

CATEGORICAL = ("equal", "wishart")
LEAST_RANGE = 1e-6  # of a range to its larger end; axis points are told apart at a billionth of the range


@dataclass(frozen=True)
class Choices:
    """A category: what it may be, and whether the order of its values means something. Made by `bktf.choices`."""

    values: tuple[Any, ...]
    ordered: bool


def choices(*values: Any, ordered: bool = False) -> Choices:
    """A parameter that takes one of these values (strings, numbers, booleans or None).

    With ordered=True neighbouring values are taken to behave alike, as in choices("low", "medium", "high", ordered=True).
    """
    if len(values) == 1 and isinstance(values[0], list | tuple | set | frozenset | range):
        raise ValueError(f'write the values themselves, as in choices("a", "b"); got one {type(values[0]).__name__}')
    if not values:
        raise ValueError("choices needs at least one value; got none")
    for i, value in enumerate(values):
        if not (value is None or isinstance(value, bool | int | float | str)):
            raise ValueError(f"choices must be strings, numbers, booleans or None; got {value!r}")
        for other in values[:i]:
            if value == other:
                raise ValueError(f"choices must differ; got {other!r} and {value!r}, which count as equal")
    return Choices(tuple(values), bool(ordered))


SpaceEntry: TypeAlias = BaseDistribution | Choices | tuple[float, float] | Sequence[float]


class Space(NamedTuple):
    """Optuna distributions by name, and which categorical ones are ordered."""

    distributions: dict[str, BaseDistribution]
    ordinal: frozenset[str]


def read_space(space: Mapping[str, Any]) -> Space:
    """A search space from what users write; see `bktf.minimize`."""
    given: object = space
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f'space must be a dictionary like {{"x": (0.0, 1.0)}} with at least one parameter; got {space!r}')
    distributions: dict[str, BaseDistribution] = {}
    ordinal = set()
    for name, entry in space.items():
        if not isinstance(name, str):
            raise ValueError(f"names in a space must be strings; got {name!r}")
        distributions[name], ordered = _read_entry(name, entry)
        if ordered:
            ordinal.add(name)
    return Space(distributions, frozenset(ordinal))


def _read_entry(name: str, entry: object) -> tuple[BaseDistribution, bool]:
    """The distribution of one parameter, and whether it is an ordered category."""
    if isinstance(entry, BaseDistribution):
        return entry, False
    if isinstance(entry, Choices):
        return CategoricalDistribution(entry.values), entry.ordered
    if isinstance(entry, range):
        if len(entry) == 0:
            raise ValueError(f"the range of {name!r} must hold a value; got {entry!r}")
        low, high = min(entry), max(entry)
        return IntDistribution(low, high, step=abs(entry.step) if len(entry) > 1 else 1), False
    if isinstance(entry, tuple):
        if len(entry) != 2 or not all(_is_number(v) for v in entry) or not entry[0] <= entry[1]:
            raise ValueError(
                f"{name!r}: a tuple must be (low, high), two finite numbers with low ≤ high; got {entry!r}. "
                "For a category write bktf.choices(…), for a list of values [ … ]"
            )
        if all(isinstance(v, int | np.integer) for v in entry):
            return IntDistribution(int(entry[0]), int(entry[1])), False
        return FloatDistribution(float(entry[0]), float(entry[1])), False
    if isinstance(entry, list | np.ndarray):
        values = entry.tolist() if isinstance(entry, np.ndarray) else entry
        if not values or not all(_is_number(v) for v in values):
            raise ValueError(f"{name!r}: a list must hold finite numbers, in order; got {entry!r}. For a category write bktf.choices(…)")
        if any(a >= b for a, b in itertools.pairwise(values)):
            raise ValueError(f"{name!r}: a list of values must increase; got {entry!r}")
        return CategoricalDistribution([v.item() if isinstance(v, np.generic) else v for v in values]), True
    raise ValueError(
        f"{name!r} must be (low, high), a range, a list of numbers, bktf.choices(…) or an Optuna distribution; got {entry!r}"
    )  # fmt: skip


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a search space, with its axis."""

    name: str
    distribution: BaseDistribution
    ordinal: bool = False

    @property
    def places(self) -> Floats | None:
        """The coordinate of each choice; None for a parameter that is not categorical.

        Ordered numbers are their own coordinates, other choices are numbered.
        """
        if not isinstance(self.distribution, CategoricalDistribution):
            return None
        values = self.distribution.choices
        if self.ordinal and all(_is_number(v) for v in values):
            numbers = np.array(values, dtype=float)
            ranked = np.unique(numbers)
            if ranked.size == len(values) and np.diff(ranked, prepend=-np.inf).min() > 1e-8 * (ranked[-1] - ranked[0]):
                return numbers
        return np.arange(len(values), dtype=float)

    @property
    def log(self) -> bool:
        """Whether distances are measured on a logarithmic scale: as the distribution says; for ordered numbers, whichever is more even."""
        if not isinstance(self.distribution, CategoricalDistribution):
            return bool(self.distribution.log)  # type: ignore[attr-defined]
        if not self.ordinal:
            return False
        places = np.sort(self.places)  # type: ignore[arg-type]
        return bool(places.size > 2 and places[0] > 0 and _unevenness(np.log(places)) < _unevenness(places))

    @property
    def is_unordered(self) -> bool:
        """Whether it is a category whose order means nothing."""
        return isinstance(self.distribution, CategoricalDistribution) and not self.ordinal

    def kernel(self, categorical: str) -> str:
        """The kernel of its axis; categorical says how unordered levels are modelled."""
        if not isinstance(self.distribution, CategoricalDistribution) or self.ordinal:
            return "matern32"
        return "wishart" if categorical == "wishart" and len(self.distribution.choices) <= MAX_LEVELS else "categorical"

    @property
    def n_values(self) -> float:
        """How many values it can take; infinity for a continuous one."""
        if isinstance(self.distribution, CategoricalDistribution):
            return float(len(self.distribution.choices))
        if isinstance(self.distribution, IntDistribution):
            return float((self.distribution.high - self.distribution.low) // self.distribution.step + 1)
        low, high, step = _bounds(self.distribution)
        return math.inf if step is None else float(math.floor((high - low) / step + 1e-9) + 1)

    def coordinate(self, value: Any) -> float | None:
        """The coordinate of a value; None where it is not one of the parameter's (after its range has changed)."""
        try:
            return self.coordinate_of_internal(self.distribution.to_internal_repr(value))
        except (ValueError, TypeError):
            return None

    def coordinate_of_internal(self, internal: float) -> float | None:
        """The coordinate of a value in Optuna's internal form: the number itself, or the place of a choice."""
        if not self.distribution._contains(internal):
            return None
        if self.places is not None:
            return float(self.places[int(internal)])
        low, high, step = _bounds(self.distribution)
        if isinstance(self.distribution, FloatDistribution) and step is not None:  # one number for each step, whatever its rounding
            return min(low + step * round((internal - low) / step), high)
        return float(internal)

    def value(self, coordinate: float) -> Any:
        """The value at a coordinate, as the Python scalar that Optuna expects."""
        if self.places is not None:
            return self.distribution.to_external_repr(int(np.abs(self.places - coordinate).argmin()))
        low, high, step = _bounds(self.distribution)
        if isinstance(self.distribution, IntDistribution):
            whole = self.distribution.low + self.distribution.step * round((coordinate - low) / self.distribution.step)
            return int(min(max(whole, self.distribution.low), self.distribution.high))
        if step is not None:
            coordinate = min(low + step * round((coordinate - low) / step), high)
        return float(min(max(coordinate, low), high))

    def from_unit(self, u: float) -> float:
        """The coordinate at a share u in [0, 1) of its values: even over choices and steps, or on its scale."""
        if self.places is not None:
            return float(np.sort(self.places)[int(u * self.places.size)])
        low, high, _ = _bounds(self.distribution)
        if self.n_values < math.inf and not self.log:
            return float(self.coordinate(self.value(low + int(u * self.n_values) * _step(self.distribution))) or 0.0)
        if isinstance(self.distribution, IntDistribution):  # each whole number from half a step below to half a step above
            low, high = low - 0.5, high + 0.5
        raw = math.exp(math.log(low) + u * (math.log(high) - math.log(low))) if self.log else low + u * (high - low)
        return float(self.coordinate(self.value(raw)) or 0.0)

    def axis(self, observed: Floats, incumbents: Floats) -> RefinedAxis:
        """The axis for one suggestion: points in the user's units, and the observed coordinates on them."""
        if self.places is not None:
            return RefinedAxis(np.sort(self.places), observed)
        low, high, step = _bounds(self.distribution)
        if not self.log:
            return refine_axis(low, high, observed, incumbents, step=step)
        if isinstance(self.distribution, IntDistribution) and self.n_values <= MAX_POINTS:
            return RefinedAxis(np.arange(low, high + 1), observed)
        refined = refine_axis(math.log(low), math.log(high), np.log(observed), np.log(incumbents))
        if isinstance(self.distribution, IntDistribution):
            return RefinedAxis(np.unique(np.rint(np.exp(refined.points))), np.rint(np.exp(refined.observed)))
        return RefinedAxis(np.unique(np.clip(np.exp(refined.points), low, high)), np.clip(np.exp(refined.observed), low, high))


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
    """Whether a parameter has something to choose, and a range that double precision can hold and divide."""
    if distribution.single():
        return False
    if isinstance(distribution, CategoricalDistribution):
        return True
    low, high, _ = _bounds(distribution)
    return math.isfinite(high - low) and high - low > LEAST_RANGE * max(abs(low), abs(high))


def parameters_of(distributions: Mapping[str, BaseDistribution], ordinal: Iterable[str]) -> tuple[Parameter, ...]:
    """The parameters of a search space, in its order."""
    ordered = set(ordinal)
    return tuple(Parameter(name, distribution, name in ordered) for name, distribution in distributions.items())


def values_at(parameters: Sequence[Parameter], point: Floats) -> dict[str, Any]:
    """The values, by name, at a point (D,) given by its coordinates."""
    return {p.name: p.value(float(x)) for p, x in zip(parameters, point, strict=True)}


def only_value(distribution: BaseDistribution) -> Any:
    """The value of a parameter that has only one."""
    return distribution.choices[0] if isinstance(distribution, CategoricalDistribution) else distribution.low  # type: ignore[attr-defined]


def n_points(parameters: Sequence[Parameter]) -> float:
    """How many different points a space has; infinity where one parameter is continuous."""
    return math.prod(p.n_values for p in parameters)
