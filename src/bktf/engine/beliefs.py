"""Where an expert expects the optimum: a density over the space that fades with the trials.

The acquisition is multiplied by the density to the power STRENGTH / n after n values, as πBO does
(Hvarfner et al., 2022): at first the search stays where the optimum is expected, and later the data
decide. Some points of the start design are drawn from the density.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bktf._typing import Floats
from bktf.engine.history import Suggestion
from bktf.engine.settings import seed_for
from bktf.spaces import Parameter, deactivate, is_number, point_at

STRENGTH = 4.0  # power of the density after one value
MIN_DENSITY = 0.01  # of all axes together, relative to the largest: nothing is excluded
N_DRAWN = 3  # points of the start that are drawn from the density, every second one
N_GRID = 257  # even points of a continuous axis at which densities are compared
N_PROPOSED = 256  # points of a set that proposes its own, of which one is drawn
MAX_TRIES = 200  # points drawn for one that may be tried
BELIEF_STREAM = 7  # of the seed


class HasDensity(Protocol):
    """A distribution as SciPy's."""

    def pdf(self, x: Any) -> Any:
        """The density at values of the parameter."""


@dataclass(frozen=True, eq=False)
class AxisBelief:
    """The relative density along one axis, largest 1; linear between its points."""

    coordinates: Floats  # (m,) increasing, or all levels
    density: Floats  # (m,)
    is_exact: bool  # whether only these coordinates can be

    def at(self, x: Floats) -> Floats:
        """The density (n,) at coordinates; 1 where the parameter is inactive."""
        inside = np.where(np.isfinite(x), x, self.coordinates[0])
        values = np.interp(inside, self.coordinates, self.density)
        return np.where(np.isfinite(x), values, 1.0)

    def draw(self, rng: np.random.Generator) -> float:
        """A random coordinate."""
        if self.is_exact:
            return float(rng.choice(self.coordinates, p=self.density / self.density.sum()))
        middle = 0.5 * (self.density[1:] + self.density[:-1]) * np.diff(self.coordinates)
        cell = int(rng.choice(middle.size, p=middle / middle.sum()))
        low, high = self.coordinates[cell : cell + 2]
        return float(rng.uniform(low, high))


@dataclass(frozen=True, eq=False)
class Belief:
    """Where the optimum is expected, axis by axis."""

    parameters: tuple[Parameter, ...]
    axes: Mapping[int, AxisBelief]

    def weight(self, points: Floats, n: int) -> Floats:
        """The factor (N,) of the acquisition at points (N, D) after n values."""
        log = np.zeros(len(points))
        for d, axis in self.axes.items():
            log += np.log(np.maximum(axis.at(points[:, d]), MIN_DENSITY))
        bounded = np.maximum(log, math.log(MIN_DENSITY))
        return np.asarray(np.exp(bounded * STRENGTH / max(n, 1)))

    def start_point(
        self,
        number: int,
        seed: int,
        known: Floats,
        feasible: Callable[[Floats], bool] | None,
        fixed: Mapping[int, float],
    ) -> Suggestion | None:
        """A new point drawn from the density, uniform on other axes; None where none is found."""
        if number % 2 or number >= 2 * N_DRAWN:
            return None
        rng = np.random.default_rng(seed_for(seed, BELIEF_STREAM, number))
        taken = {tuple(row) for row in known.tolist()}
        proposed: Floats | None = None
        if getattr(feasible, "is_list", False):
            proposed = feasible.points  # type: ignore[union-attr]
        elif hasattr(feasible, "random_points"):
            proposed = feasible.random_points(N_PROPOSED, rng, fixed)  # type: ignore[union-attr]
        if proposed is not None:
            return self._drawn_among(proposed, taken, fixed, rng)
        for _ in range(MAX_TRIES):
            kept = {d: self._on_axis(d, axis.draw(rng)) for d, axis in self.axes.items()}
            units = rng.random(len(self.parameters))
            drawn = np.array(point_at(self.parameters, units, {**kept, **fixed}))
            point = deactivate(self.parameters, drawn)
            if tuple(point.tolist()) not in taken and (feasible is None or feasible(point)):
                return Suggestion(point, None, False)
        return None

    def _drawn_among(
        self,
        points: Floats,
        taken: set[tuple[float, ...]],
        fixed: Mapping[int, float],
        rng: np.random.Generator,
    ) -> Suggestion | None:
        """One of points (N, D) that is not taken, in proportion to the density."""
        agrees = np.array([
            tuple(row) not in taken and all(row[d] == x for d, x in fixed.items())
            for row in points.tolist()
        ], dtype=bool)  # fmt: skip
        left = points[agrees]
        if not len(left):
            return None
        density = np.ones(len(left))
        for d, axis in self.axes.items():
            density *= np.maximum(axis.at(left[:, d]), 1e-9)
        return Suggestion(left[int(rng.choice(len(left), p=density / density.sum()))], None, False)

    def _on_axis(self, d: int, x: float) -> float:
        """A coordinate that the parameter can take, near another one."""
        p = self.parameters[d]
        coordinate = p.coordinate(p.value(x))
        return x if coordinate is None else coordinate


def weigh_by_belief(
    chance: Callable[[Floats], Floats] | None, belief: Belief | None, n: int
) -> Callable[[Floats], Floats] | None:
    """The chance of success times the factor of a belief after n values."""
    if belief is None:
        return chance
    if chance is None:
        return lambda points: belief.weight(points, n)
    return lambda points: chance(points) * belief.weight(points, n)


def make_belief(parameters: Sequence[Parameter], expected: Mapping[str, Any]) -> Belief | None:
    """The belief that a user states, for the parameters that a space has."""
    axes = {
        d: _axis_belief(p, expected[p.name]) for d, p in enumerate(parameters) if p.name in expected
    }
    return Belief(tuple(parameters), axes) if axes else None


def check_expected(expected: object) -> dict[str, Any]:
    """The beliefs by parameter, refused where they are none."""
    if not isinstance(expected, Mapping) or not expected:
        raise ValueError(
            'expected_optimum must be a dictionary like {"rate": (0.01, 0.005)} with at least one '
            f"parameter; got {expected!r}"
        )
    for name, belief in expected.items():
        place = f"expected_optimum[{name!r}]"
        if isinstance(belief, tuple):
            fine = len(belief) == 2 and all(map(is_number, belief)) and belief[1] > 0
            if not fine:
                raise ValueError(
                    f"{place} must be (centre, standard deviation), two numbers, the second "
                    f"positive; got {belief!r}"
                )
        elif isinstance(belief, Mapping):
            weights = list(belief.values())
            fine = bool(weights) and all(is_number(w) and w >= 0 for w in weights)
            if not fine or not sum(weights) > 0:
                raise ValueError(
                    f"{place} must give each level a weight of at least 0, one of them positive; "
                    f"got {belief!r}"
                )
        elif not callable(getattr(belief, "pdf", None)):
            raise ValueError(
                f"{place} must be (centre, standard deviation), a dictionary from levels to "
                f"weights, or an object with a method pdf; got {belief!r}"
            )
    return dict(expected)


def _axis_belief(p: Parameter, belief: Any) -> AxisBelief:
    """The density along the axis of one parameter."""
    place = f"expected_optimum[{p.name!r}]"
    if isinstance(belief, Mapping):
        if p.choice_coordinates is None:
            raise ValueError(f"{place} gives weights to levels, but {p.name!r} is a number")
        for level in belief:
            if p.coordinate(level) is None:
                raise ValueError(f"{place}: {level!r} is no choice of {p.distribution}")
        coordinates = np.sort(p.choice_coordinates)
        weights = [float(belief.get(p.value(x), 0.0)) for x in coordinates]
        return AxisBelief(coordinates, np.array(weights) / max(weights), True)
    if p.is_unordered:
        raise ValueError(
            f"{place} must be a dictionary from levels to weights, because "
            f"{p.name!r} is a category; got {belief!r}"
        )
    values = p.ends_or_values()
    is_exact = not p.is_divisible
    if not is_exact:
        low, high = values
        space = np.geomspace if p.log else np.linspace
        values = np.clip(space(low, high, N_GRID), low, high)
        if isinstance(belief, tuple):  # a narrow one needs points around its centre
            around = belief[0] + belief[1] * np.linspace(-4.0, 4.0, 33)
            values = np.union1d(values, around[(around >= low) & (around <= high)])
    shown = values if p.has_numeric_coordinates else np.arange(values.size, dtype=float)
    if isinstance(belief, tuple):
        centre, deviation = map(float, belief)
        density = np.exp(-0.5 * ((shown - centre) / deviation) ** 2)
    else:
        density = np.array([float(belief.pdf(x)) for x in shown])
    if not np.all(np.isfinite(density)) or density.min() < 0 or not density.max() > 0:
        hint = "its density must be finite, not negative, and positive somewhere in the range"
        raise ValueError(f"{place}: {hint} of {p.distribution}")
    relative = density / density.max()
    return AxisBelief(values, np.where(np.isfinite(relative), relative, 0.0), is_exact)
