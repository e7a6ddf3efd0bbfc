"""The maximum of each of many whole functions over what may be suggested.

Where all allowed points can be compared, or the hulls of components give it, a maximum is exact.
Otherwise many candidates are compared for all paths together. Each path climbs from its best ones,
and then from the ends of the others' climbs. Under restrictions, candidates near the best points
of all paths are tried in rounds, nearer in every round. What a search finds is a lower bound.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bktf._typing import Bools, Floats
from bktf.acquisition.box_search import Box, box_candidates
from bktf.acquisition.choose_arguments import Domain, Question, make_domain
from bktf.acquisition.list_search import allowed_points
from bktf.acquisition.path_climbs import climb_paths
from bktf.acquisition.posterior_view import PosteriorView
from bktf.acquisition.search_domain import SearchDomain
from bktf.components import ComponentPaths
from bktf.product_forms import Forms, JoinedPaths, ProductPaths, make_forms, maximum_over_draws

MAX_COMPARED = 20_000  # allowed cells of a finite space that are listed
MAX_VALUES = 1_000_000  # of paths at points, up to which all are compared
N_SCREENED = 2000  # points of a long list that all paths are compared at
N_ROUGH_PATHS = 12  # paths that choose them
N_CANDIDATES = 1024  # in all parts together; as many near good points as anywhere
MIN_PART_CANDIDATES = 64
N_TRIED = 32  # best observed points that are among the candidates where they are allowed
MAX_PARENTS = 48  # best points of paths around which others are tried
N_CHILDREN = 512  # in a round
ROUNDS = (0.2, 0.07, 0.02, 0.007, 0.002)  # distances of children, as shares of the axes
ROUNDING = 1e-9  # a gap below this share of the value is rounding error

Weigh = Callable[[Floats, Floats], Floats]  # values (N, m) at points (m, D) in the user's units


class PathMaxima(NamedTuple):
    """The best allowed point of each of N paths."""

    points: Floats  # (N, D) in the user's units; NaN where nothing is allowed
    values: Floats  # (N,) in the model's units; −∞ where nothing is allowed
    is_exact: bool  # whether no allowed point is better, of any path


def maximise_paths(
    view: PosteriorView,
    paths: ProductPaths,
    domain: SearchDomain,
    rng: np.random.Generator,
    taken: Floats | None = None,
    weigh: Weigh | None = None,
) -> PathMaxima:
    """The best point of each path that may be suggested.

    Args:
        view: the posterior that the paths are of. Larger is better.
        paths: N of them.
        domain: what may be suggested.
        rng: for candidates.
        taken: points (n, D) that must not be chosen.
        weigh: changes values (N, m) of paths at points (m, D), as by a chance of success.
    """
    taken = np.empty((0, len(view.grid))) if taken is None else taken
    search = PathSearch(view, domain, taken, weigh, rng)
    listed = getattr(domain.feasible, "is_list", False)
    if listed:
        return search.compare(paths, allowed_points(search.questions[0], taken))
    if isinstance(paths, JoinedPaths):
        found = [maximise_paths(view, part, domain, rng, taken, weigh) for part in paths.parts]
        columns = zip(*(f[:2] for f in found), strict=True)
        points, values = (np.concatenate(column) for column in columns)
        return PathMaxima(points, values, all(f.is_exact for f in found))
    is_plain = domain.feasible is None and weigh is None
    if isinstance(paths, ComponentPaths) and is_plain:
        return search.solve_components(paths)
    if search.proposes:  # its points are on no grid
        return search.climb(paths)
    cells = search.few_cells(0 if isinstance(paths, ComponentPaths) else len(domain.free))
    if cells is not None and paths.n_paths * len(cells) <= MAX_VALUES:
        return search.compare(paths, cells)
    return search.climb(paths)


@dataclass(frozen=True, eq=False)
class PathSearch:
    """A search for the maxima of paths; points are in the user's units."""

    view: PosteriorView
    domain: SearchDomain
    taken: Floats  # (n, D)
    weigh: Weigh | None
    rng: np.random.Generator

    @property
    def questions(self) -> list[Question]:
        """What each part asks for."""
        d = self.domain
        return [
            Question("max", 0.0, False, d.feasible, None, dict(part.fixed), dict(part.within),
                     None, d.free, 0)
            for part in d.parts
        ]  # fmt: skip

    @property
    def regions(self) -> list[Domain]:
        """The parts, as points of axes."""
        return [make_domain(self.view, question, self.taken) for question in self.questions]

    def values(self, paths: ProductPaths, points: Floats) -> Floats:
        """Values (N, m) of all paths at points (m, D), weighed where they are to be."""
        found = paths.values(self.view.scaled(points))
        return found if self.weigh is None else self.weigh(found, points)

    # --- exact maxima ------------------------------------------------------------------------

    def few_cells(self, n_free: int) -> Floats | None:
        """All allowed points (m, D) of a finite space; None where they are too many."""
        known = getattr(self.domain.feasible, "points", None)
        if known is not None and len(self.domain.parts) == 1:
            return known if len(known) <= MAX_COMPARED else None
        regions = self.regions
        if n_free and any(region.free for region in regions):
            return None
        if sum(math.prod(axis.size for axis in r.axes) for r in regions) > MAX_COMPARED:
            return None
        every = [np.array(list(itertools.product(*region.axes))) for region in regions]
        return self._allowed(np.concatenate(every))

    def compare(self, paths: ProductPaths, points: Floats) -> PathMaxima:
        """The best of a list of points; of a long one, of those that some paths find promising."""
        points, is_exact = self._untaken(points), True
        if not len(points):
            return _nothing(paths.n_paths, len(self.view.grid))
        if paths.n_paths * len(points) > MAX_VALUES and len(points) > N_SCREENED:
            few = np.linspace(0, paths.n_paths - 1, min(N_ROUGH_PATHS, paths.n_paths)).astype(int)
            rough = self.values(paths.select(few), points)
            promising = rough.mean(axis=0) + 2.0 * rough.std(axis=0)
            best = np.argsort(-promising, kind="stable")[:N_SCREENED]
            kept = np.unique(np.concatenate((best, rough.argmax(axis=1))))
            points, is_exact = points[kept], False
        values = self.values(paths, points)
        best = values.argmax(axis=1)
        return PathMaxima(points[best], values[np.arange(len(best)), best], is_exact)

    def solve_components(self, paths: ComponentPaths) -> PathMaxima:
        """The maxima of draws of components over the points of the axes, by hulls."""
        found, n_dims = _nothing(paths.n_paths, len(self.view.grid)), len(self.view.grid)
        for region in self.regions:
            pairs = zip(paths.draws.factors, region.kept, strict=True)
            factors = [factor[:, :, kept] for factor, kept in pairs]
            forms = make_forms(factors, paths.draws.weights, paths.draws.active)
            excluded = region.grid().excluded
            cells, values = np.zeros((paths.n_paths, n_dims), dtype=np.int64), found.values.copy()
            is_exact = found.is_exact
            for p in range(paths.n_paths):
                one = Forms(forms.coordinates[p : p + 1], forms.additive, forms.starts)
                best = maximum_over_draws(one, set(excluded))
                if best is not None and best.value > found.values[p]:
                    cells[p], values[p] = best.cell, best.value
                    gap = best.bound - best.value
                    is_exact &= gap <= ROUNDING * max(1.0, abs(best.value))
            is_better = values > found.values
            points = np.where(is_better[:, None], region.points(cells), found.points)
            found = PathMaxima(points, values, is_exact)
        return found

    # --- searches ----------------------------------------------------------------------------

    def climb(self, paths: ProductPaths) -> PathMaxima:
        """The best points that a search finds."""
        regions = self.regions
        boxes = [region.box() for region in regions]
        size = max(N_CANDIDATES // len(boxes), MIN_PART_CANDIDATES)
        candidates, owners = [], []
        for i, (region, box) in enumerate(zip(regions, boxes, strict=True)):
            tried = [x for x in self._tried if self.domain.parts[i].holds(x)]
            known = np.array(tried).reshape(-1, len(self.view.grid))
            proposed = np.concatenate((known, self._proposed(region, box, size)))
            candidates.append(proposed)
            owners.append(np.full(len(proposed), i))
        points, owner = np.concatenate(candidates), np.concatenate(owners)
        if not len(points):
            return _nothing(paths.n_paths, len(self.view.grid))._replace(is_exact=False)
        values = self.values(paths, points)
        best = values.argmax(axis=1)
        at, level = points[best], values[np.arange(len(best)), best]
        if self.weigh is None and not self.proposes:
            for i, (region, box) in enumerate(zip(regions, boxes, strict=True)):
                mine = owner == i
                if not mine.any():
                    continue
                ends, _ = climb_paths(paths, box, self.view.scaled(points[mine]), values[:, mine])
                reached = np.array([region.unscaled(end) for end in ends])
                is_better = self._is_allowed(reached, box)
                own = paths.own_values(self.view.scaled(reached)[:, None, :])[:, 0]
                is_better &= own > level
                at, level = np.where(is_better[:, None], reached, at), np.where(
                    is_better, own, level
                )  # fmt: skip
        if self.domain.feasible is not None or self.weigh is not None:
            for distance in ROUNDS:
                at, level = self._round(paths, regions, boxes, (at, level), distance)
        return PathMaxima(at, level, False)

    def _round(
        self,
        paths: ProductPaths,
        regions: Sequence[Domain],
        boxes: Sequence[Box],
        best: tuple[Floats, Floats],
        distance: float,
    ) -> tuple[Floats, Floats]:
        """The best points (N, D) and values after trying others near those of all paths."""
        at, level = best
        parents = np.unique(at, axis=0)
        if len(parents) > MAX_PARENTS:
            parents = parents[self.rng.choice(len(parents), MAX_PARENTS, replace=False)]
        n = max(N_CHILDREN // len(parents), 4)
        children = [self._near(parent, n, distance, regions, boxes) for parent in parents]
        points = np.concatenate((*children, parents))
        values = self.values(paths, points)
        top = values.argmax(axis=1)
        reached = values[np.arange(len(top)), top]
        is_better = reached > level
        return np.where(is_better[:, None], points[top], at), np.where(is_better, reached, level)

    def _near(
        self,
        parent: Floats,
        n: int,
        distance: float,
        regions: Sequence[Domain],
        boxes: Sequence[Box],
    ) -> Floats:
        """Allowed points (·, D) near a point."""
        if self.proposes:
            proposals: Any = self.domain.feasible
            fixed = self.domain.parts[0].fixed
            return self._untaken(proposals.neighbours(parent, n, distance, self.rng, fixed))
        scaled = self.view.scaled(parent[None])[0]
        for region, box in zip(regions, boxes, strict=True):
            if box.holds(scaled):
                moved = box.near(scaled, n, distance, self.rng)
                return self._allowed(np.array([region.unscaled(point) for point in moved]))
        return parent[None][:0]

    def _proposed(self, region: Domain, box: Box, n: int) -> Floats:
        """Allowed candidates (·, D) of a part, with its observed points."""
        if self.proposes:
            proposals: Any = self.domain.feasible
            return self._untaken(proposals.random_points(n, self.rng, region.question.fixed))
        pool = getattr(self.domain.feasible, "points", None)
        if pool is not None and len(pool):
            return self._untaken(pool[self.rng.integers(len(pool), size=n)])
        scaled = np.unique(box_candidates(box, n // 2, n - n // 2, self.rng), axis=0)
        return self._allowed(np.array([region.unscaled(point) for point in scaled]))

    @cached_property
    def _tried(self) -> Floats:
        """Tried points (·, D) that are allowed: where few points are, at least these are known."""
        some = self._untaken(self.view.best_points(N_TRIED))
        return np.asarray(some[np.array([self.domain.holds(x) for x in some], dtype=bool)])

    @property
    def proposes(self) -> bool:
        """Whether the predicate proposes points, as that of mixtures."""
        return hasattr(self.domain.feasible, "random_points")

    def _is_allowed(self, points: Floats, box: Box) -> Bools:
        """Which of points (N, D) may be chosen."""
        if self.domain.feasible is None and not len(self.taken):
            return np.ones(len(points), dtype=bool)
        return np.array([box.is_allowed(x) for x in self.view.scaled(points)], dtype=bool)

    def _allowed(self, points: Floats) -> Floats:
        """Those of points (m, D) that are feasible and not taken."""
        left, feasible = self._untaken(points), self.domain.feasible
        if feasible is None:
            return left
        return np.asarray(left[np.array([bool(feasible(x)) for x in left], dtype=bool)])

    def _untaken(self, points: Floats) -> Floats:
        """Those of points (m, D) that are not taken."""
        if not len(self.taken) or not len(points):
            return points
        gone = {tuple(row) for row in self.taken.tolist()}
        return np.asarray(points[[tuple(row) not in gone for row in points.tolist()]])


def _nothing(n_paths: int, n_dims: int) -> PathMaxima:
    """Where nothing is allowed."""
    return PathMaxima(np.full((n_paths, n_dims), np.nan), np.full(n_paths, -np.inf), True)
