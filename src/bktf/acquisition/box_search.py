"""The best allowed point of a box under a smooth score, where some axes have only certain values.

The search climbs from the best of many candidates. Ordered coordinates move jointly by L-BFGS;
where an axis has only certain values, the nearest one is taken. Then coordinates with certain
values move one at a time. A chance of success has no gradient, and the allowed points may form any
set. So the search ends with random points near the best allowed ones.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bktf._typing import Bools, Floats
from bktf.acquisition.found import Found
from bktf.acquisition.grid_search import MAX_ASKED
from bktf.acquisition.scores import BoxScore, ChanceWeighted
from bktf.product_forms import best_allowed, best_few_allowed

AnyBoxScore = BoxScore | ChanceWeighted[BoxScore]
Valued = tuple[Floats, float]  # a scaled point (D,) and its score

N_CANDIDATES = 256, 256  # near the best observed points, and anywhere
NEAR_DISTANCES = (0.003, 0.3)  # of those candidates, as shares of the axes; log-uniform
N_GRADIENT_CLIMBERS = 5  # L-BFGS takes most of the time of a search
MIN_CLIMBER_DISTANCE = 0.1  # on at least one axis, so that climbers start on different hills
N_GRADIENT_STEPS = 25  # of L-BFGS in each round
MAX_ROUNDS = 4  # of L-BFGS and a pass over the axes with certain values
MAX_LINE = 32  # values of one axis that are compared in a pass
NEAR_STEPS = (-8, -4, -2, -1, 1, 2, 4, 8)  # along an ordered axis with more values than that
MIN_GAIN = 1e-3  # of a log score; a pass over those axes that gains less is the last one
N_NEARBY_STARTS = 2  # allowed points around which others are tried
N_NEARBY = 64  # points tried in each round
NEARBY_DISTANCES = (0.1, 0.03, 0.01, 0.003)  # in successive rounds, as shares of the axes


@dataclass(frozen=True, eq=False)
class Box:
    """The points of a box, and which of them may be chosen; in scaled coordinates."""

    axes: tuple[Floats, ...]  # points; a single one where an axis is fixed
    is_continuous: Bools  # (D,) axes with every coordinate between the ends
    is_ordered: Bools  # (D,) axes without levels
    incumbents: Floats  # (n, D) points to look around
    is_allowed: Callable[[Floats], bool]  # of one point (D,)

    def random_on(self, d: int, n: int, rng: np.random.Generator) -> Floats:
        """Random coordinates (n,) on one axis."""
        points = self.axes[d]
        if self.is_continuous[d]:
            return rng.uniform(points[0], points[-1], n)
        return rng.choice(points, n)

    def random(self, n: int, rng: np.random.Generator) -> Floats:
        """Random points (n, D)."""
        return np.stack([self.random_on(d, n, rng) for d in range(len(self.axes))], axis=1)

    def line(self, d: int, coordinate: float, rng: np.random.Generator) -> Floats:
        """Values (m,) of an axis to compare with a coordinate of it."""
        points = self.axes[d]
        if points.size <= MAX_LINE:
            return points
        if not self.is_ordered[d]:
            return np.asarray(rng.choice(points, MAX_LINE, replace=False))
        index = int(np.abs(points - coordinate).argmin()) + np.array(NEAR_STEPS)
        return np.asarray(points[np.clip(index, 0, points.size - 1)])

    def snap(self, points: Floats) -> Floats:
        """Points (n, D) moved to the nearest values of the axes that have only certain ones."""
        snapped = points.copy()
        for d in np.flatnonzero(~self.is_continuous):
            nearest = np.abs(self.axes[d] - points[:, d, None]).argmin(axis=1)
            snapped[:, d] = self.axes[d][nearest]
        return snapped

    def near(self, point: Floats, n: int, distance: float, rng: np.random.Generator) -> Floats:
        """Random points (n, D) at about a distance, a share of the axes, from a point (D,)."""
        around = np.repeat(point[None], n, axis=0)
        for d in range(len(self.axes)):
            if self.is_continuous[d]:
                step = distance * rng.standard_normal(n)
                around[:, d] = self.clip(d, around[:, d] + step)
            else:
                is_moved = rng.random(n) < distance
                around[:, d] = np.where(is_moved, self.random_on(d, n, rng), around[:, d])
        return around

    def holds(self, point: Floats) -> bool:
        """Whether a point (D,) lies between the ends of the axes, and on those that are fixed."""
        pairs = zip(self.axes, point.tolist(), strict=True)
        return all(axis.min() <= x <= axis.max() for axis, x in pairs)

    def with_incumbents_on_axes(self) -> "Box":
        """The same box with its incumbents moved to the nearest values of its axes."""
        return replace(self, incumbents=self.snap(self.incumbents))

    def clip(self, d: int, coordinates: Floats) -> Floats:
        """Coordinates moved to the nearest end of an axis where they lie outside."""
        return np.clip(coordinates, self.axes[d][0], self.axes[d][-1])


def search_box(score: AnyBoxScore, box: Box, rng: np.random.Generator) -> Found:
    """The best allowed point that was found; where no candidate is allowed, near incumbents."""
    smooth = score.plain if isinstance(score, ChanceWeighted) else score
    candidates = smooth.promising(box_candidates(box, *N_CANDIDATES, rng))
    values = smooth.values(candidates)
    starts = _spread(candidates, values)
    ends, end_values = _climb(smooth, box, candidates[starts], values[starts], rng)
    points, values = np.concatenate((ends, candidates)), np.concatenate((end_values, values))
    if isinstance(score, ChanceWeighted):
        values = score.weigh(values, points)
    elif box.is_allowed(points[values.argmax()]):
        return Found(points[values.argmax()], float(values.max()), "gradient ascent")
    allowed = best_few_allowed(points, values, box.is_allowed, N_NEARBY_STARTS)
    is_thin = not allowed
    if is_thin:
        unknown = [(point, -math.inf) for point in box.incumbents]
        allowed = unknown + _any_allowed(score, box, rng)
    tried = [_try_nearby(score, box, start, rng) for start in allowed]
    point, value = max(tried, key=lambda valued: valued[1])
    if value == -math.inf:
        return Found(None, -math.inf, "nothing allowed")
    method = "restricted search" if is_thin else "gradient ascent"
    return Found(point, value, method, is_thin=is_thin)


def box_candidates(box: Box, n_near: int, n_anywhere: int, rng: np.random.Generator) -> Floats:
    """Points (n, D): near incumbents in some of their coordinates, and anywhere."""
    n_dims, n = len(box.axes), n_near
    anywhere = box.random(n_anywhere, rng)
    near = box.incumbents[np.arange(n) % len(box.incumbents)].copy()
    nearest, farthest = NEAR_DISTANCES
    distance = np.exp(rng.uniform(math.log(nearest), math.log(farthest), n))
    share = np.maximum(rng.random(n), 1.0 / n_dims)
    for d in range(n_dims):
        is_moved = rng.random(n) < share
        if box.is_continuous[d]:
            step = distance * rng.standard_normal(n)
            near[:, d] = box.clip(d, near[:, d] + np.where(is_moved, step, 0.0))
        else:
            is_moved &= rng.random(n) < 0.5
            near[:, d] = np.where(is_moved, box.random_on(d, n, rng), near[:, d])
    return np.concatenate((near, anywhere))


def _spread(candidates: Floats, values: Floats) -> list[int]:
    """The best candidates that are not next to each other."""
    chosen: list[int] = []
    for i in np.argsort(-values, kind="stable").tolist():
        distances = np.abs(candidates[chosen] - candidates[i]).max(axis=1)
        if distances.min(initial=math.inf) > MIN_CLIMBER_DISTANCE:
            chosen.append(i)
            if len(chosen) == N_GRADIENT_CLIMBERS:
                break
    return chosen


def _climb(
    score: BoxScore, box: Box, points: Floats, values: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Local maxima (n, D) near points, and their scores.

    All climbers move at once, because each draw's covariances are read from memory once for all of
    them. The best one goes on alone.
    """
    finite = np.flatnonzero(~box.is_continuous)
    has_continuous = bool(box.is_continuous.any())
    if np.any(box.is_ordered & ~box.is_continuous):
        relaxed, _ = _climb_gradient(score, box, points, values, box.is_ordered)
        snapped = box.snap(relaxed)
        points, values = _better(points, values, snapped, score.values(snapped))
    for _ in range(MAX_ROUNDS):
        if has_continuous:
            points, values = _climb_gradient(score, box, points, values, box.is_continuous)
        before = values
        for d in finite.tolist():
            points, values = _climb_line(score, box, points, values, d, rng)
        if np.all(values < before + MIN_GAIN):  # nothing has changed for another gradient ascent
            break
    best = [int(values.argmax())]
    if has_continuous and len(points) > 1:
        found = _climb_gradient(score, box, points[best], values[best], box.is_continuous)
        points[best], values[best] = found
    return points, values


def _better(
    points: Floats, values: Floats, others: Floats, other_values: Floats
) -> tuple[Floats, Floats]:
    """The better one of two points of each climber, (n, D), and its score."""
    is_better = other_values > values
    return np.where(is_better[:, None], others, points), np.where(is_better, other_values, values)


def _climb_line(
    score: BoxScore, box: Box, points: Floats, values: Floats, d: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Every climber at its best value of one axis, in one call of the score."""
    lines = [box.line(d, float(point[d]), rng) for point in points]
    owner = np.repeat(np.arange(len(points)), [line.size for line in lines])
    moved = points[owner]
    moved[:, d] = np.concatenate(lines)
    moved_values = score.values(moved)
    points, values = points.copy(), values.copy()
    for i in range(len(points)):
        mine = np.flatnonzero(owner == i)
        best = mine[moved_values[mine].argmax()]
        if moved_values[best] > values[i]:
            points[i], values[i] = moved[best], moved_values[best]
    return points, values


def _climb_gradient(
    score: BoxScore, box: Box, points: Floats, values: Floats, is_free: Bools
) -> tuple[Floats, Floats]:
    """Local maxima over the free coordinates, by one L-BFGS on the sum of all climbers' scores."""
    from scipy.optimize import minimize  # heavy, and only needed here

    free = np.flatnonzero(is_free)
    current, best, best_values = points.copy(), points.copy(), values.copy()

    def negative(x: Floats) -> tuple[float, Floats]:
        """The negative sum of the scores; keeps the best point of each climber."""
        current[:, free] = x.reshape(len(points), -1)
        found, gradients = score.values_and_gradients(current)
        is_better = found > best_values
        best[is_better], best_values[is_better] = current[is_better], found[is_better]
        return -float(found.sum()), -gradients[:, free].ravel()

    bounds = [(box.axes[d][0], box.axes[d][-1]) for d in free] * len(points)
    options = {"maxiter": N_GRADIENT_STEPS}
    x = points[:, free].ravel()
    minimize(negative, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return best, best_values


def _any_allowed(score: AnyBoxScore, box: Box, rng: np.random.Generator) -> list[Valued]:
    """An allowed point that turns up at random; nothing where they are too rare."""
    for _ in range(0, MAX_ASKED, N_CANDIDATES[1]):
        for point in box.random(N_CANDIDATES[1], rng):
            if box.is_allowed(point):
                return [(point, float(score.values(point[None])[0]))]
    return []


def _try_nearby(score: AnyBoxScore, box: Box, start: Valued, rng: np.random.Generator) -> Valued:
    """The best allowed of random points around the best so far, nearer in every round."""
    point, value = start
    for distance in NEARBY_DISTANCES:
        around = box.near(point, N_NEARBY, distance, rng)
        better = best_allowed(around, score.values(around), box.is_allowed, value)
        point, value = better or (point, value)
    return point, value
