"""The start design: points that fill the space before there is a model."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from bktf._typing import Floats
from bktf.engine.history import NothingFeasible, Suggestion
from bktf.engine.settings import EngineSettings, seed_for
from bktf.spaces import (
    INACTIVE,
    Parameter,
    deactivate,
    find_branches,
    has_conditions,
    n_points,
    point_at,
    values_in,
)

Point = tuple[float, ...]

N_PROPOSED = 64  # points of a set that proposes its own, of which the most distant one is tried
FEW_TRIES = 200  # random points that are tested before a small space is enumerated
MAX_TRIES = 50_000  # random points that are tested on a large space
MAX_UNTRIED = 8  # branches that are tried at the end of the start, because nothing was tried there
ENUMERATE_POINTS = 200_000  # spaces up to this size are enumerated
NOTHING_FOUND = (
    f"no point that `feasible` allows was found among {MAX_TRIES:,} random ones and near to those "
    "that were tried. Write the space so that more of it is feasible: leave out a parameter that "
    "the others determine, or make one categorical parameter of the candidates"
)


def start_point(
    parameters: Sequence[Parameter],
    settings: EngineSettings,
    number: int,
    seed: int,
    avoid: Floats,
    feasible: Callable[[Floats], bool] | None,
    fixed: Mapping[int, float],
) -> Suggestion:
    """Point `number` of a scrambled Sobol sequence.

    Where that point is among `avoid` (n, D) or not feasible, a random point is used instead. Where
    all feasible points are known, it is the nearest of those that are left.
    """
    taken = {tuple(row) for row in avoid.tolist()}
    rng = np.random.default_rng(seed_for(seed, number))
    n_dims = len(parameters)

    def is_good(point: Point, repeats: bool) -> bool:
        """Whether a point is feasible and, unless repeats are allowed, new."""
        return (repeats or point not in taken) and (feasible is None or feasible(np.array(point)))

    def random_point(n_tries: int, repeats: bool) -> Point | None:
        """The first good one of `n_tries` random points; None where there is none."""
        for _ in range(n_tries):
            point = point_at(parameters, rng.random(n_dims), fixed)
            if is_good(point, repeats):
                return point
        return None

    wanted = _sobol(n_dims, number, seed) if settings.space_filling else rng.random(n_dims)
    known = getattr(feasible, "points", None)
    if known is not None:
        return _nearest_known(known, wanted, taken, settings.allow_repeats, fixed)
    propose = getattr(feasible, "random_points", None)
    if propose is not None:
        return _farthest(parameters, propose(N_PROPOSED, rng, fixed), avoid, settings.allow_repeats)
    first = point_at(parameters, wanted, fixed)
    if is_good(first, settings.allow_repeats):
        return Suggestion(np.array(first), None, False)
    is_small = n_points(parameters) <= ENUMERATE_POINTS
    new = random_point(FEW_TRIES if is_small else MAX_TRIES, settings.allow_repeats)
    if new is None and is_small:
        new = any_left(parameters, lambda p: is_good(p, False), fixed, rng)
    if new is not None:
        return Suggestion(np.array(new), None, False)
    again = None if is_small else random_point(MAX_TRIES, True)
    if is_small:
        again = any_left(parameters, lambda p: is_good(p, True), fixed, rng)
    if again is None:
        raise NothingFeasible(NOTHING_FOUND)
    return Suggestion(np.array(again), None, True)


class _MayTry(Protocol):
    """What the start needs to know of an engine."""

    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    @property
    def feasible(self) -> Callable[[Floats], bool] | None: ...

    @property
    def settings(self) -> EngineSettings: ...

    @property
    def seed(self) -> int: ...


def first_point(
    engine: _MayTry, first: Floats, known: Floats, fixed: Mapping[int, float], number: int
) -> Suggestion | None:
    """The first of points (n, D) that may be tried and was not; None where there is none.

    Infinite coordinates, which earlier campaigns do not say, are those of the start design.
    """
    rng = np.random.default_rng(seed_for(engine.seed, number))
    taken = {tuple(row) for row in known.tolist()}
    propose = getattr(engine.feasible, "random_points", None)
    for wanted in first:
        said = {d: float(x) for d, x in enumerate(wanted) if np.isfinite(x)}
        axes, values = list(said), np.array(list(said.values()))
        was_tried = bool(np.any(np.all(known[:, axes] == values, axis=1)))
        if was_tried or any(said.get(d, x) != x for d, x in fixed.items()):
            continue
        for _ in range(1 if propose is not None else FEW_TRIES):
            kept = {**said, **fixed}
            if propose is None:
                drawn = np.array(point_at(engine.parameters, rng.random(wanted.size), kept))
                filled = [deactivate(engine.parameters, drawn)]
            else:
                filled = list(propose(1, rng, kept))
            for point in filled:
                is_allowed = engine.feasible is None or engine.feasible(point)
                if is_allowed and tuple(point.tolist()) not in taken:
                    return Suggestion(point, None, False)
    return None


def untried_branches(parameters: Sequence[Parameter], tried: Floats) -> list[dict[int, float]]:
    """Coordinates of parents that lead into branches where nothing was tried, at most some.

    Each choice of a category that others depend on counts as a branch: what depends on a choice
    that nobody has tried is not known.
    """
    branches = find_branches(parameters) if has_conditions(parameters) else None
    if branches is None:
        return []
    parents = {name for p in parameters for name in p.parents}
    categories = [d for d, p in enumerate(parameters) if p.name in parents and p.is_unordered]
    seen = {(*(row != INACTIVE).tolist(), *row[categories].tolist()) for row in tried}
    found: list[dict[int, float]] = []
    for branch in branches:
        own = [d for d in categories if branch.active[d]]
        for values in itertools.product(*(branch.within[d].tolist() for d in own)):
            at = dict(zip(own, values, strict=True))
            key = (*branch.active.tolist(), *(at.get(d, INACTIVE) for d in categories))
            if key not in seen and len(found) < MAX_UNTRIED:
                numbers = {
                    d: float(x[0])
                    for d, x in branch.within.items()
                    if d not in at and parameters[d].name in parents
                }
                found.append({**numbers, **at})
    return found


def has_feasible(
    parameters: Sequence[Parameter],
    feasible: Callable[[Floats], bool],
    fixed: Mapping[int, float],
    rng: np.random.Generator,
) -> bool:
    """Whether some of a few random points with these coordinates are feasible."""
    points = (point_at(parameters, rng.random(len(parameters)), fixed) for _ in range(FEW_TRIES))
    return any(feasible(np.array(point)) for point in points)


def _nearest_known(
    known: Floats,
    wanted: Floats,
    taken: set[Point],
    repeats: bool,
    fixed: Mapping[int, float],
) -> Suggestion:
    """The feasible point nearest to a point (D,) of the unit cube; a repeat where all are taken."""
    kept = known
    for d, x in fixed.items():
        kept = kept[kept[:, d] == x]
    if not len(kept):
        with_fixed = " with the values that this trial keeps" if fixed else ""
        raise NothingFeasible(f"`feasible` allows no point of the space{with_fixed}")
    new = kept if repeats else kept[[tuple(row) not in taken for row in kept.tolist()]]
    left = new if len(new) else kept
    axes = [np.unique(column) for column in known.T]
    ranks = [np.searchsorted(axis, left[:, d]) for d, axis in enumerate(axes)]
    units = np.stack([(rank + 0.5) / axis.size for rank, axis in zip(ranks, axes, strict=True)], 1)
    nearest = int(((units - wanted) ** 2).sum(axis=1).argmin())
    return Suggestion(left[nearest], None, not len(new))


def _farthest(
    parameters: Sequence[Parameter], proposed: Floats, avoid: Floats, repeats: bool
) -> Suggestion:
    """Of proposed points (n, D) the one farthest from those tried; a repeat where all were."""
    taken = {tuple(row) for row in avoid.tolist()}
    new = proposed[[repeats or tuple(row) not in taken for row in proposed.tolist()]]
    if not len(proposed):
        raise NothingFeasible(NOTHING_FOUND)
    if not len(new):
        return Suggestion(proposed[0], None, True)
    if not len(avoid):
        return Suggestion(new[0], None, False)
    square = np.zeros((len(new), len(avoid)))
    for d, p in enumerate(parameters):
        difference = np.abs(_finite(new[:, d])[:, None] - _finite(avoid[:, d]))
        ends = p.ends_or_values()
        square += (difference > 0) if p.is_unordered else (difference / np.ptp(ends)) ** 2
    return Suggestion(new[int(square.min(axis=1).argmax())], None, False)


def _finite(coordinates: Floats) -> Floats:
    """Coordinates with 0 for inactive ones."""
    return np.where(np.isfinite(coordinates), coordinates, 0.0)


def _sobol(n_dims: int, number: int, seed: int) -> Floats:
    """Point `number` of a Sobol sequence in [0, 1)^D whose scrambling is given by the seed."""
    from scipy.stats import qmc  # takes half a second to import, and only a start needs it

    sequence = qmc.Sobol(n_dims, scramble=True, rng=np.random.default_rng(seed_for(seed)))
    if number:
        sequence.fast_forward(number)
    point: Floats = np.asarray(sequence.random(1)[0], dtype=np.float64)
    return np.minimum(point, 1.0 - 2.0**-53)


def any_left(
    parameters: Sequence[Parameter],
    is_good: Callable[[Point], bool],
    fixed: Mapping[int, float],
    rng: np.random.Generator,
) -> Point | None:
    """A good point of a small finite space, if there is one.

    Tests all points, branch after branch, those of a branch in random order.
    """
    branches = find_branches(parameters)
    assert branches is not None  # a space with so many is not small
    for i in rng.permutation(len(branches)) if len(branches) > 1 else [0]:
        values = values_in(parameters, branches[i], fixed)
        sizes = [v.size for v in values]
        for flat in rng.permutation(math.prod(sizes)):
            cell = np.unravel_index(flat, sizes)
            point = tuple(float(v[j]) for v, j in zip(values, cell, strict=True))
            if is_good(point):
                return point
    return None
