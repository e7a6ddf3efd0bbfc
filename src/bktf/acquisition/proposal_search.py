"""The best point of a set that proposes its own points, where no coordinate moves alone.

Mixtures are such a set: amounts sum to a total. The search compares random points and neighbours of
the best observed ones, and climbs from the best of them: random neighbours, nearer in every round,
then all adjacent points until none is better.
"""

import math
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from bktf._typing import Floats
from bktf.acquisition.found import Found

N_RANDOM = 768
N_NEAR = 96  # neighbours of each incumbent
N_INCUMBENTS = 4
N_CLIMBERS = 5
N_NEIGHBOURS = 48  # of each climber in a round
DISTANCES = (0.2, 0.07, 0.02, 0.007)  # in successive rounds
MAX_PASSES = 20  # over adjacent points

Scores = Callable[[Floats], Floats]  # of points (n, D) in the user's units


class Proposals(Protocol):
    """A set of points that proposes some of them; coordinates in the user's units."""

    def random_points(self, n: int, rng: np.random.Generator, fixed: Mapping[int, float]) -> Floats:
        """At most n random points (·, D)."""

    def neighbours(
        self,
        point: Floats,
        n: int,
        distance: float,
        rng: np.random.Generator,
        fixed: Mapping[int, float],
    ) -> Floats:
        """At most n points (·, D) near a point (D,)."""

    def adjacent(self, point: Floats, fixed: Mapping[int, float]) -> Floats:
        """All points (·, D) next to a point (D,)."""


def search_proposals(
    scores: Scores,
    proposals: Proposals,
    incumbents: Floats,
    taken: Floats,
    fixed: Mapping[int, float],
    rng: np.random.Generator,
) -> Found:
    """The best point that was found and is not taken (n, D); the score is as `scores` gives it."""
    known = {tuple(row) for row in taken.tolist()}
    near = [
        proposals.neighbours(point, N_NEAR, DISTANCES[i % 2], rng, fixed)
        for i, point in enumerate(incumbents[:N_INCUMBENTS])
        if all(point[d] == x for d, x in fixed.items())
    ]
    points = np.concatenate((proposals.random_points(N_RANDOM, rng, fixed), *near))
    points = _untaken(points, known)
    if not len(points):
        return Found(None, -math.inf, "nothing allowed")
    values = scores(points)
    starts = np.argsort(-values, kind="stable")[:N_CLIMBERS]
    climbers = [(points[i], float(values[i])) for i in starts]
    for distance in DISTANCES:
        around = [
            proposals.neighbours(point, N_NEIGHBOURS, distance, rng, fixed) for point, _ in climbers
        ]
        climbers = _moved(climbers, [_untaken(a, known) for a in around], scores)
    point, value = max(climbers, key=lambda climber: climber[1])
    for _ in range(MAX_PASSES):
        next_to = _untaken(proposals.adjacent(point, fixed), known)
        ((moved, better),) = _moved([(point, value)], [next_to], scores)
        if better <= value:
            break
        point, value = moved, better
    return Found(point, value, "proposals")


def _untaken(points: Floats, known: set[tuple[float, ...]]) -> Floats:
    """The points (·, D) that are not taken."""
    return points[[tuple(row) not in known for row in points.tolist()]]


def _moved(
    climbers: list[tuple[Floats, float]], around: list[Floats], scores: Scores
) -> list[tuple[Floats, float]]:
    """Each climber at the best of the points around it, in one call of the score."""
    sizes = [len(points) for points in around]
    if not sum(sizes):
        return climbers
    values = scores(np.concatenate(around))
    result, first = [], 0
    for (point, value), points in zip(climbers, around, strict=True):
        own = values[first : first + len(points)]
        first += len(points)
        if own.size and own.max() > value:
            point, value = points[int(own.argmax())], float(own.max())
        result.append((point, value))
    return result
