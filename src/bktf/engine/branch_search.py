"""The search of a conditional space: branch by branch, the most promising ones.

Inside a branch the same parameters are active, so its search is that of a space without conditions:
inactive parameters keep the coordinate infinity, and parents keep to the values of the branch.
Where there are many branches, random points of each tell which ones are worth a search.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bktf._typing import Floats
from bktf.acquisition import Choice
from bktf.engine.settings import EngineSettings
from bktf.spaces import (
    INACTIVE,
    Branch,
    Parameter,
    branch_of,
    find_branches,
    has_conditions,
    point_at,
)
from bktf.surrogate import Posterior

MAX_SEARCHED = 3  # branches that are searched for one suggestion
N_ANYWHERE = 48  # random points of each branch that tell which
N_NEAR = 16  # others near its best observation
NEAR_DISTANCE = 0.1  # of those, as a share of the axis's points
N_BEST = 8  # best observations whose branches are among those compared, where not all can be
N_RANDOM_BRANCHES = 64  # others, of random points
TOLERANCE = 1e-9  # of the range of an axis


@dataclass(frozen=True, eq=False)
class Part:
    """A branch on the axes of a posterior, as `acquisition.choose` takes it."""

    fixed: Mapping[int, float]
    within: Mapping[int, Floats]

    def holds(self, point: Floats) -> bool:
        """Whether the same parameters are active at a point (D,)."""
        inactive = {d for d, x in self.fixed.items() if x == INACTIVE}
        return inactive == set(np.flatnonzero(point == INACTIVE).tolist())


def list_branches(
    parameters: Sequence[Parameter], points: Floats, rng: np.random.Generator
) -> list[Branch]:
    """All branches of a space; where they are too many, those of points (n, D) and random ones."""
    found = find_branches(parameters)
    if found is not None:
        return list(found)
    some = [branch_of(parameters, point) for point in points]
    for _ in range(N_RANDOM_BRANCHES):
        point = point_at(parameters, rng.random(len(parameters)), {})
        some.append(branch_of(parameters, np.array(point)))
    keys = [(b.active.tobytes(), *(x.tobytes() for x in b.within.values())) for b in some]
    return list(dict(zip(keys, some, strict=True)).values())


def parts_of(
    posterior: Posterior,
    parameters: Sequence[Parameter],
    branches: Sequence[Branch],
    fixed: Mapping[int, float],
) -> list[Part]:
    """The branches that agree with the coordinates that a suggestion keeps."""
    parts = []
    for branch in branches:
        kept = {d: x for d, x in fixed.items() if branch.active[d]}
        for d in np.flatnonzero(~branch.active).tolist():
            kept[d] = INACTIVE
        within = {
            d: _among(posterior.grid[d].active_points, values, parameters[d])
            for d, values in branch.within.items()
        }
        agrees = all(
            _among(np.array([kept[d]]), values, parameters[d]).size
            for d, values in branch.within.items()
            if d in kept
        )
        if agrees and all(points.size for points in within.values()):
            parts.append(Part(kept, {d: x for d, x in within.items() if d not in kept}))
    return parts


def _among(points: Floats, values: Floats, parameter: Parameter) -> Floats:
    """Those points (m,) that are among the values, or between them where they are two ends."""
    slack = TOLERANCE * (values[-1] - values[0])
    if parameter.is_divisible:
        return np.asarray(points[(points >= values[0] - slack) & (points <= values[-1] + slack)])
    return np.asarray(points[np.abs(points[:, None] - values).min(axis=1) <= slack])


def choose_in_parts(
    posterior: Posterior,
    parts: Sequence[Part],
    settings: EngineSettings,
    pending: Floats,
    rng: np.random.Generator,
    ask: Callable[..., Choice],
    region: Floats | None,
) -> Choice:
    """The best choice over the branches.

    Args:
        posterior: of the search.
        parts: the branches.
        settings: of the engine.
        pending: points (n, D) that are being evaluated.
        rng: for the points that tell which branches are worth a search.
        ask: the search, given fixed coordinates, points that axes may take, and a region.
        region: a box (2, D) around the best point; only the branch of that point is searched in it.
    """
    left = [part for part in parts if region is None or part.holds(region[0])]
    while left:  # ends: each round searches some of them
        searched = _most_promising(posterior, left, settings, pending, rng)
        best: Choice | None = None
        for part in searched:
            choice = ask(fixed=part.fixed, within=part.within, region=region)
            if choice.point is not None and (best is None or choice.value > best.value):
                best = choice
        if best is not None:
            return best
        left = [part for part in left if part not in searched]
    return Choice(None, -math.inf, "nothing left", True, 0.0)


def _most_promising(
    posterior: Posterior,
    parts: list[Part],
    settings: EngineSettings,
    pending: Floats,
    rng: np.random.Generator,
) -> list[Part]:
    """The branches to search: all, or those with the best of a few random points."""
    if len(parts) <= MAX_SEARCHED:
        return parts
    points = [_some_points(posterior, part, rng) for part in parts]
    together = np.concatenate(points)
    if settings.acquisition == "ei":
        scores = posterior.expected_improvement(together, None, pending)
    else:
        scores = posterior.mean(together) + settings.beta * posterior.std(together)
    owner = np.repeat(np.arange(len(parts)), [len(p) for p in points])
    best = [scores[owner == i].max() for i in range(len(parts))]
    return [parts[i] for i in np.argsort(-np.array(best), kind="stable")[:MAX_SEARCHED]]


def _some_points(posterior: Posterior, part: Part, rng: np.random.Generator) -> Floats:
    """Axis points (n, D) of a branch: anywhere, and near its best observation."""
    own = np.flatnonzero([part.holds(point) for point in posterior.X])
    centre = posterior.X[own[posterior.y[own].argmax()]] if own.size else None
    n = N_ANYWHERE + (0 if centre is None else N_NEAR)
    columns = []
    for d, axis in enumerate(posterior.grid):
        if d in part.fixed:
            columns.append(np.full(n, part.fixed[d]))
            continue
        points = part.within.get(d, axis.active_points)
        column = rng.choice(points, n)
        if centre is not None:
            middle = int(np.abs(points - centre[d]).argmin())
            steps = np.rint(NEAR_DISTANCE * points.size * rng.standard_normal(N_NEAR))
            nearby = np.clip(middle + steps, 0, points.size - 1).astype(int)
            column[-N_NEAR:] = points[nearby]
        columns.append(column)
    return np.stack(columns, axis=1)


def parts_to_search(
    posterior: Posterior,
    parameters: Sequence[Parameter],
    fixed: Mapping[int, float],
    rng: np.random.Generator,
) -> list[Part]:
    """What a suggestion searches; a single part where the space has no conditions."""
    if not has_conditions(parameters):
        return [Part(fixed, {})]
    best_first = np.argsort(-posterior.y, kind="stable")[:N_BEST]
    branches = list_branches(parameters, posterior.X[best_first], rng)
    return parts_of(posterior, parameters, branches, fixed)
