"""Points of a space with mixtures, proposed so that amounts sum to their totals.

`MixtureSpace` says which points may be tried, lists them where they are few, and otherwise proposes
random points and neighbours of points for a search.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bktf._typing import Floats
from bktf.spaces.branches import point_at
from bktf.spaces.conditions import INACTIVE
from bktf.spaces.feasible_points import Feasibility, LinearConstraint
from bktf.spaces.mixtures import SLACK, Blends, Mixture
from bktf.spaces.parameters import Parameter, only_value, values_at
from bktf.spaces.user_space import Space

MAX_TRIES = 50_000  # random points for one that the user's predicate allows
ENOUGH_TRIES = 5000  # where some were found
MAX_LINE = 32  # values of a finite parameter that are neighbours of another


@dataclass(frozen=True, eq=False)
class MixtureSpace:
    """Which points of a space with mixtures may be tried."""

    parameters: tuple[Parameter, ...]
    mixtures: tuple[Mixture, ...]
    constants: Mapping[str, Any]
    allows: Callable[[dict[str, Any]], bool] | None = None  # what a user adds
    linear: tuple[LinearConstraint, ...] = ()

    @classmethod
    def of(
        cls,
        space: Space,
        allows: Callable[[dict[str, Any]], bool] | None = None,
        linear: tuple[LinearConstraint, ...] = (),
    ) -> "MixtureSpace":
        """That of a space; `allows` is given all values that are active."""
        constants = {n: only_value(d) for n, d in space.distributions.items() if d.single()}
        return cls(space.modelled, space.mixtures, constants, allows, linear)

    def __call__(self, point: Floats) -> bool:
        """Whether a point (D,) may be tried."""
        values = {**self.constants, **values_at(self.parameters, point)}
        return all(m.holds(values) for m in self.mixtures) and self._allows(values)

    def _allows(self, values: dict[str, Any]) -> bool:
        return self.allows is None or bool(self.allows(values))

    @property
    def is_list(self) -> bool:
        """Whether all points are known, so that they are compared and nothing is searched."""
        return self.points is not None

    @cached_property
    def points(self) -> Floats | None:
        """All points (N, D) that may be tried; None where they cannot be listed."""
        sums = tuple(filter(None, map(self._sum, self.mixtures)))
        return Feasibility(self.parameters, self, (*sums, *self.linear)).points

    def _sum(self, m: Mixture) -> LinearConstraint | None:
        """The sum of a mixture over the coordinates of its parameters that vary."""
        axes = {d: 1.0 for d, p in enumerate(self.parameters) if p.name in m.names}
        if not axes:
            return None
        rest = m.total - sum(float(self.constants.get(name, 0.0)) for name in m.names)
        return LinearConstraint(axes, rest - SLACK * m.total, rest + SLACK * m.total)

    # --- proposals -----------------------------------------------------------------------------

    def random_points(self, n: int, rng: np.random.Generator, fixed: Mapping[int, float]) -> Floats:
        """At most n random points (·, D) that may be tried; fixed coordinates stay."""
        found: list[Floats] = []
        for tries in range(n if self.allows is None else MAX_TRIES):
            # Where few blends are allowed, some are enough.
            if len(found) == n or (found and tries > ENOUGH_TRIES):
                break
            units = rng.random(len(self.parameters))
            point = np.array(point_at(self.parameters, units, fixed))
            blended = self._blended(point, fixed, rng)
            if blended is not None and self(blended):
                found.append(blended)
        return np.array(found).reshape(-1, len(self.parameters))

    def neighbours(
        self,
        point: Floats,
        n: int,
        distance: float,
        rng: np.random.Generator,
        fixed: Mapping[int, float],
    ) -> Floats:
        """At most n points (·, D) near a point that may be tried; fixed coordinates stay."""
        found: list[Floats] = []
        blends = [(axes, self._blends(axes, m, fixed)) for axes, m in self._axes_of_mixtures]
        mixed = {d for axes, _ in self._axes_of_mixtures for d in axes if d is not None}
        # Parents of conditional parameters keep their values, so that the same ones are active.
        kept = mixed | fixed.keys() | self._parents
        others = [d for d in range(point.size) if d not in kept]
        for _ in range(n):
            near = point.copy()
            for axes, blend in blends:
                amounts = self._amounts(near, axes, blend.mixture)
                for _ in range(int(rng.integers(1, 4))):
                    amounts = blend.moved(amounts, distance, rng)
                self._set(near, axes, amounts)
            for d in others:
                if near[d] != INACTIVE and rng.random() < max(1.0 / len(others), 0.3):
                    near[d] = _near(self.parameters[d], float(near[d]), distance, rng)
            if self(near):
                found.append(near)
        return np.array(found).reshape(-1, point.size)

    def adjacent(self, point: Floats, fixed: Mapping[int, float]) -> Floats:
        """All points (·, D) next to a point that may be tried: one exchange, or one coordinate."""
        found = []
        for axes, m in self._axes_of_mixtures:
            blend = self._blends(axes, m, fixed)
            for amounts in blend.exchanges(self._amounts(point, axes, m)):
                near = point.copy()
                self._set(near, axes, amounts)
                found.append(near)
        mixed = {d for axes, _ in self._axes_of_mixtures for d in axes if d is not None}
        for d, p in enumerate(self.parameters):
            if d in mixed or d in fixed or d in self._parents or point[d] == INACTIVE:
                continue
            for x in _line(p, float(point[d])):
                near = point.copy()
                near[d] = x
                found.append(near)
        kept = [near for near in found if self(near)]
        return np.array(kept).reshape(-1, point.size)

    @cached_property
    def _parents(self) -> set[int]:
        """Axes of parameters that others depend on."""
        named = {name for p in self.parameters for name in p.parents}
        return {d for d, p in enumerate(self.parameters) if p.name in named}

    @cached_property
    def _axes_of_mixtures(self) -> list[tuple[list[int | None], Mixture]]:
        """Of each mixture, the axis of each component; None where it is constant."""
        index = {p.name: d for d, p in enumerate(self.parameters)}
        return [([index.get(name) for name in m.names], m) for m in self.mixtures]

    def _blends(self, axes: list[int | None], m: Mixture, fixed: Mapping[int, float]) -> Blends:
        """The blends of a mixture with constants and fixed coordinates kept."""
        kept = [
            float(self.constants[name]) if d is None else fixed.get(d, math.nan)
            for name, d in zip(m.names, axes, strict=True)
        ]
        return Blends(m, np.array(kept, dtype=float))

    def _amounts(self, point: Floats, axes: list[int | None], m: Mixture) -> Floats:
        """The amounts of a mixture at a point."""
        pairs = zip(m.names, axes, strict=True)
        return np.array([float(self.constants[n]) if d is None else point[d] for n, d in pairs])

    def _set(self, point: Floats, axes: list[int | None], amounts: Floats) -> None:
        """Write amounts into a point."""
        for d, amount in zip(axes, amounts, strict=True):
            if d is not None:
                p = self.parameters[d]
                coordinate = p.coordinate(p.value(float(amount)))
                point[d] = amount if coordinate is None else coordinate

    def _blended(
        self, point: Floats, fixed: Mapping[int, float], rng: np.random.Generator
    ) -> Floats | None:
        """A point with random blends in place of its amounts."""
        for axes, m in self._axes_of_mixtures:
            amounts = self._blends(axes, m, fixed).random(rng)
            if amounts is None:
                return None
            self._set(point, axes, amounts)
        return point


def _near(p: Parameter, x: float, distance: float, rng: np.random.Generator) -> float:
    """A coordinate near another one of a parameter."""
    if p.choice_coordinates is not None and not p.ordinal:
        return float(rng.choice(p.choice_coordinates)) if rng.random() < 0.3 else x
    values = p.ends_or_values()
    if not p.is_divisible:
        i = int(np.abs(values - x).argmin())
        steps = round(rng.normal() * max(distance * values.size, 1.0))
        return float(values[min(max(i + steps, 0), values.size - 1)])
    low, high = (math.log(v) for v in values) if p.log else values
    at = math.log(x) if p.log else x
    moved = min(max(at + rng.normal() * distance * (high - low), low), high)
    return p.coordinate(p.value(math.exp(moved) if p.log else moved)) or x


def _line(p: Parameter, x: float) -> list[float]:
    """Other values of a finite parameter, the nearest where they are many."""
    if p.is_divisible:
        return []
    values = p.ends_or_values()
    nearest = values[np.argsort(np.abs(values - x), kind="stable")[: MAX_LINE + 1]]
    return [float(v) for v in nearest if v != x]
