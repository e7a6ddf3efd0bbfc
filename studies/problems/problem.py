"""One record for every problem: a search space, a function to minimise, a known optimum."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

Floats = NDArray[np.float64]
Params = dict[str, Any]
Space = Mapping[str, BaseDistribution]


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """A function to minimise on a search space, and what is known of its optimum."""

    name: str
    space: Space
    function: Callable[[Params], float]  # without noise
    minimum: float  # the least value on the space; NaN where it is not known
    budget: int  # evaluations after the start
    title: str = ""
    n_start: int = 10  # points given to every method
    noise_std: float = 0.0

    @property
    def n_dims(self) -> int:
        """D."""
        return len(self.space)

    @property
    def kind(self) -> str:
        """Whether all parameters are "continuous", all are whole numbers ("grid"), or "mixed"."""
        types = {type(distribution) for distribution in self.space.values()}
        if types == {FloatDistribution}:
            return "continuous"
        return "grid" if types == {IntDistribution} else "mixed"

    def values(self, points: Sequence[Params]) -> list[float]:
        """The values at points, without noise."""
        return [self.function(params) for params in points]

    def nearest(self, params: Params) -> Params:
        """The point of the space that is tried where a method asks for this one."""
        return {
            name: round(value) if isinstance(self.space[name], IntDistribution) else value
            for name, value in params.items()
        }

    def start_points(self, seed: int) -> list[Params]:
        """The points that every method is given: random, and different where there are enough."""
        rng = np.random.default_rng([seed, 7])
        points: list[Params] = []
        for _ in range(100 * self.n_start):
            point = sample(self.space, rng)
            if point not in points:
                points.append(point)
            if len(points) == self.n_start:
                break
        return points


def sample(space: Space, rng: np.random.Generator) -> Params:
    """A random point, uniform in each parameter (in its logarithm where it is logarithmic)."""
    return {name: _quantile(dist, float(rng.random())) for name, dist in space.items()}


def _quantile(distribution: BaseDistribution, u: float) -> Any:
    """The parameter's value at the quantile u in [0, 1)."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(u * len(distribution.choices))]
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    if isinstance(distribution, IntDistribution) and not distribution.log:
        return int(low + int(u * ((high - low) // int(step or 1) + 1)) * int(step or 1))
    if step is not None and not distribution.log:
        return float(low + int(u * (round((high - low) / step) + 1)) * step)
    if distribution.log:
        value = math.exp(math.log(low) + u * (math.log(high) - math.log(low)))
        return round(value) if isinstance(distribution, IntDistribution) else value
    return float(low + u * (high - low))


@dataclass(frozen=True)
class UnitCube:
    """Points of a space as numbers, for methods that need them.

    Coordinates lie in [0, 1], logarithmic where the parameter is; a category is its index.
    """

    space: Space

    @property
    def categorical(self) -> list[int]:
        """Indices of the categorical parameters."""
        types = enumerate(self.space.values())
        return [d for d, dist in types if isinstance(dist, CategoricalDistribution)]

    def all_points(self) -> Floats:
        """The coordinates (N, D) of every point of a finite space."""
        axes = []
        for dist in self.space.values():
            if isinstance(dist, CategoricalDistribution):
                axes.append([float(i) for i in range(len(dist.choices))])
            else:
                assert isinstance(dist, IntDistribution)
                values = range(dist.low, dist.high + 1, dist.step)
                axes.append([_coordinate(dist, value) for value in values])
        return np.array(list(itertools.product(*axes)))

    def to_numbers(self, params: Params) -> Floats:
        """The coordinates (D,) of a point."""
        return np.array([_coordinate(dist, params[name]) for name, dist in self.space.items()])

    def to_params(self, numbers: Floats) -> Params:
        """The nearest point."""
        pairs = zip(self.space.items(), numbers, strict=True)
        return {name: _value(dist, float(v)) for (name, dist), v in pairs}


def _coordinate(distribution: BaseDistribution, value: Any) -> float:
    """Where a value lies between the ends of its parameter."""
    if isinstance(distribution, CategoricalDistribution):
        return float(distribution.choices.index(value))
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    scale = np.log if distribution.log else float
    low, high = scale(distribution.low), scale(distribution.high)
    return float((scale(value) - low) / (high - low))


def _value(distribution: BaseDistribution, coordinate: float) -> Any:
    """The value of a parameter nearest to a coordinate."""
    if isinstance(distribution, CategoricalDistribution):
        index = np.clip(round(coordinate), 0, len(distribution.choices) - 1)
        return distribution.choices[int(index)]
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, u = distribution.low, distribution.high, float(np.clip(coordinate, 0.0, 1.0))
    if distribution.log:
        value = float(np.exp(np.log(low) + u * (np.log(high) - np.log(low))))
    else:
        value = low + u * (high - low)
    if isinstance(distribution, IntDistribution):
        return int(np.clip(round(value), low, high))
    return float(np.clip(value, low, high))
