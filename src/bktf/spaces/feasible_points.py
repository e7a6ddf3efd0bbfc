"""Which points of a finite space the user's constraints allow, listed where that is possible.

A predicate tells of one point at a time. Where few points satisfy it, random points rarely do. All
of them can be listed in two cases:

    linear constraints    low ≤ Σ_d factor_d·x_d ≤ high: axes are added one by one, and partial sums
                          that nothing can complete are dropped, so that four shares in steps of
                          5 % that sum to 100 % take 1,771 points and not 194,481
    a small space         every point is tested, once

docs/acquisition.md says what happens where neither is possible.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bktf._typing import Floats
from bktf.spaces.branches import has_conditions, n_points
from bktf.spaces.parameters import Parameter, values_at

MAX_TESTED = 200_000  # points of a space that are all tested
MAX_LISTED = 200_000  # points, or partial sums, that are listed
N_SAMPLED = 512  # random points that tell whether feasible ones are rare
RARE = 0.05  # share of feasible points below which all points of a small space are tested
SLACK = 1e-9  # of the sum of absolute terms, by which rounding may miss a bound


@dataclass(frozen=True)
class LinearConstraint:
    """low ≤ Σ factor·coordinate ≤ high over some axes."""

    factors: dict[int, float]
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Feasibility:
    """A predicate of points in coordinates, and the points that satisfy it where known."""

    parameters: tuple[Parameter, ...]
    holds: Callable[[Floats], bool]  # of a point (D,)
    linear: tuple[LinearConstraint, ...] = ()  # constraints that `holds` implies

    @classmethod
    def of_values(
        cls,
        parameters: tuple[Parameter, ...],
        allows: Callable[[dict[str, Any]], bool],
        complete: Callable[[dict[str, Any]], dict[str, Any]] = dict,
        linear: tuple[LinearConstraint, ...] = (),
    ) -> "Feasibility":
        """From a function of values by name; `complete` adds constants to those at a point."""

        def holds(point: Floats) -> bool:
            """Whether the values at a point (D,) are allowed."""
            return bool(allows(complete(values_at(parameters, point))))

        return cls(parameters, holds, linear)

    def __call__(self, point: Floats) -> bool:
        """Whether a point (D,) may be tried."""
        return self.holds(point)

    @cached_property
    def points(self) -> Floats | None:
        """All feasible points (N, D).

        None where they are not rare, are too many, or cannot be listed.
        """
        if n_points(self.parameters) == math.inf or has_conditions(self.parameters):
            return None
        values = [p.axis(np.zeros(0), np.zeros(0)).points for p in self.parameters]
        if any(len(v) != p.n_values for v, p in zip(values, self.parameters, strict=True)):
            return None  # an axis of very many values is only known in part
        candidates = _listed(values, self.linear)
        if candidates is None or (not self.linear and not self._is_rare(values)):
            return None
        feasible = np.array([self.holds(point) for point in candidates], dtype=bool)
        return np.asarray(candidates[feasible])

    def _is_rare(self, values: Sequence[Floats]) -> bool:
        """Whether few of some random points are feasible; the same points every time."""
        rng = np.random.default_rng(0)
        random = np.stack([rng.choice(v, N_SAMPLED) for v in values], axis=1)
        return sum(self.holds(point) for point in random) < RARE * N_SAMPLED


def _listed(values: Sequence[Floats], linear: Sequence[LinearConstraint]) -> Floats | None:
    """All points (N, D) that satisfy linear constraints; None where there are too many."""
    if not linear and math.prod(v.size for v in values) > MAX_TESTED:
        return None
    n_dims, n_constraints = len(values), len(linear)
    rows = [[c.factors.get(d, 0.0) for d in range(n_dims)] for c in linear]
    factors = np.array(rows).reshape(n_constraints, n_dims)
    low, high = np.array([c.low for c in linear]), np.array([c.high for c in linear])
    pairs = [[f * v[[0, -1]] for f, v in zip(row, values, strict=True)] for row in factors]
    ends = np.array(pairs).reshape(n_constraints, n_dims, 2)
    sizes = SLACK * np.abs(ends).max(axis=2, initial=0.0).sum(axis=1)
    points = np.empty((1, 0))
    sums = np.zeros((1, len(linear)))
    for d, axis in enumerate(values):
        if len(points) * axis.size > 20 * MAX_LISTED:
            return None
        column = np.tile(axis, len(points))[:, None]
        points = np.concatenate((np.repeat(points, axis.size, axis=0), column), axis=1)
        sums = np.repeat(sums, axis.size, axis=0) + points[:, -1:] * factors[:, d]
        rest = ends[:, d + 1 :]
        min_rest, max_rest = rest.min(axis=2).sum(axis=1), rest.max(axis=2).sum(axis=1)
        can_reach = (sums + max_rest >= low - sizes) & (sums + min_rest <= high + sizes)
        possible = np.all(can_reach, axis=1)
        points, sums = points[possible], sums[possible]
        if len(points) > MAX_LISTED:
            return None
    return points
