"""Where the optimum is and how good it is: the distribution of the best point over whole functions.

Every path of the posterior has a maximum over what may be suggested. Their values and places are
draws of the value and the place of the optimum.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bktf._checks import whole_number
from bktf._typing import Bools, Floats
from bktf.acquisition import PathMaxima, PosteriorView, SearchDomain, maximise_paths
from bktf.analysis.estimates import MIN_DRAWS, Estimate
from bktf.analysis.explained import check_observed
from bktf.analysis.optimum_place import INACTIVE, Place, densest_draw, shortest_intervals
from bktf.product_forms import ProductPaths
from bktf.surrogate import Direction, Meaning, Posterior

N_PATHS, MAX_PATHS = 128, 100_000
N_CHECKED = 16  # paths that are searched again, to see what the first search missed
CANDIDATE_STREAM = 6  # spawn key of the fit's seed
SAME_VALUE = 1e-9  # in standard deviations of y; closer values are the same up to rounding
Region = tuple[tuple[Any, Any], ...] | tuple[Any, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Optimum:
    """The distribution of the optimum's value and place, over N paths; print it for a summary.

    In the user's units, names and direction. A search may miss a path's maximum, so where it is not
    exact, `value` and `gap` are lower bounds; `missed` says how much another search found.
    """

    direction: Direction
    value: Estimate  # of f at the optimum
    x: dict[str, Any]  # the most probable place
    # Of the tried points that may be suggested, the one with the best posterior mean; empty where
    # none may be
    best: dict[str, Any]
    gap: Estimate  # how much better the optimum is than f at that point; not negative
    typical_gap: float  # its median; the mean is sensitive to single paths
    x_draws: Floats  # (N, D) places of the optimum as coordinates; a category is its index
    value_draws: Floats  # (N,) f at the optimum
    best_draws: Floats  # (N,) f at `best` on the same paths
    # By parameter, how probably each value is the best one; `analysis.INACTIVE` stands for none
    best_level: Mapping[str, dict[Any, float]]
    is_exact: bool  # whether no path has a better point than was found
    missed: float  # how much more another search of some paths found, on average
    _places: tuple[Place, ...]
    _meaning: Meaning

    def within(self, eps: float) -> float:
        """The probability that the best tried point is within eps of the optimum.

        The share of paths on which f at `best` is at most eps, in units of y, from the optimum.
        """
        return float(np.mean(self.gaps <= check_tolerance("eps", eps)))

    @property
    def gaps(self) -> Floats:
        """How much better the optimum is than f at `best` on each path, (N,)."""
        return np.asarray(np.maximum(np.abs(self.value_draws - self.best_draws), 0.0))

    def region(self, name: str, level: float = 0.9) -> Region:
        """Where the optimum lies along one parameter for this part of paths: the smallest such set.

        Of a continuous parameter intervals, as pairs of ends; of others their most probable values.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}")
        d = self._meaning.axis(name)
        if name in self.best_level:
            chosen, total = [], 0.0
            for value, share in sorted(self.best_level[name].items(), key=lambda item: -item[1]):
                if total >= level:
                    break
                chosen.append(value)
                total += share
            return tuple(chosen)
        place, coords = self._places[d], self.x_draws[:, d]
        ends = shortest_intervals(place, coords[np.isfinite(coords)], level)
        return tuple(tuple(self._meaning.value(d, float(x)) for x in pair) for pair in ends)

    def __repr__(self) -> str:
        """The value, how far the best tried point may be from it, and the place by parameter."""
        goal = "largest" if self.direction == "maximize" else "smallest"
        drawn = f"90 % of {len(self.value_draws)} functions drawn from the model"
        lines = [
            f"{goal} value {self.value}; in brackets, {drawn}",
            f"the best tried point may be improved by {self.gap}"
            if self.best
            else "none of the tried points may be suggested now",
            "most probable place, and where it lies for 90 % of them:",
        ]
        width = max(len(name) for name in self._meaning.names)
        for name in self._meaning.names:
            if name in self.x:
                where = _region_text(self.region(name))
                lines.append(f"  {name:<{width}} = {_text(self.x[name])}  in {where}")
        if not self.is_exact:
            lines.append(
                f"(found by search: another search of {N_CHECKED} functions found "
                f"{self.missed:.2g} more on average)"
            )
        return "\n".join(lines)


def optimum(
    posterior: Posterior,
    direction: Direction | None = None,
    *,
    n_paths: int = N_PATHS,
    seed: int | None = None,
) -> Optimum:
    """The posterior distribution of the optimum: its value, its place, the gap to the best point.

    Args:
        posterior: a fit; where it is of a study, it knows direction, names and what may be tried.
        direction: "maximize" or "minimize", where the posterior does not know it.
        n_paths: whole functions whose maxima are found.
        seed: of other paths of the same fit.
    """
    count = whole_number("n_paths", n_paths, MIN_DRAWS, MAX_PATHS)
    goal = check_direction(posterior, direction)
    check_observed(posterior, "the optimum")
    oriented = posterior if goal == "maximize" else posterior.negated()
    count = min(count, oriented.n_draws) if _has_draws_only(oriented) else count
    paths, domain = oriented.draws.paths(count, seed), posterior.meaning.domain
    stream = np.random.SeedSequence(posterior.seed, spawn_key=(CANDIDATE_STREAM,))
    rng = np.random.default_rng(stream)
    view = PosteriorView(oriented)
    found = maximise_paths(view, paths, domain, rng)
    best = best_tried(oriented, domain)
    if not np.isfinite(found.values).all():
        raise ValueError(
            "no point was found that may be suggested, so there is no optimum: feasible, "
            "constraints or fixed values leave nothing, or so little that a search misses it"
        )
    points, values, at_best = found.points, found.values, np.full(count, -np.inf)
    if best is not None:  # it is a candidate, too
        at_best = paths.values(view.scaled(best[None]))[:, 0]
        is_tried = at_best >= values - SAME_VALUE
        points = np.where(is_tried[:, None], best, points)
        values = np.where(is_tried, at_best, values)
    missed = 0.0 if found.is_exact else _missed(view, paths, domain, (values, rng))
    units, sign = oriented.standardisation, 1.0 if goal == "maximize" else -1.0
    meaning = posterior.meaning
    places = tuple(Place.of(axis, d in domain.free) for d, axis in enumerate(posterior.grid))
    gaps = units.scale * (values - at_best)
    return Optimum(
        direction=goal,
        value=Estimate.of(sign * units.to_user(values)),
        x=meaning.params(points[densest_draw(places, points)]),
        best={} if best is None else meaning.params(best),
        gap=Estimate(math.inf, math.inf, math.inf) if best is None else Estimate.of(gaps),
        typical_gap=float(np.median(gaps)),
        x_draws=points,
        value_draws=sign * units.to_user(values),
        best_draws=sign * units.to_user(at_best),
        best_level=_shares(points, places, meaning),
        is_exact=found.is_exact,
        missed=units.scale * missed,
        _places=places,
        _meaning=meaning,
    )


def check_direction(posterior: Posterior, direction: Direction | None) -> Direction:
    """The direction that is given, or that the posterior knows."""
    known = posterior.meaning.direction
    if direction is None and known is None:
        raise ValueError(
            'direction must be "maximize" or "minimize": a fit has none. A study or a Result '
            "brings its own"
        )
    if direction not in (None, "maximize", "minimize"):
        raise ValueError(f'direction must be "maximize" or "minimize"; got {direction!r}')
    if direction is not None and known is not None and direction != known:
        raise ValueError(f"the study is there to {known}; got direction={direction!r}")
    found: Direction | None = direction or known
    assert found is not None
    return found


def check_tolerance(name: str, value: object) -> float:
    """A tolerance in units of the objective: a number of at least 0."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:  # type: ignore[arg-type,operator]
        raise ValueError(
            f"{name} must be a finite number of at least 0, in units of the objective; "
            f"got {value!r}"
        )
    return float(value)  # type: ignore[arg-type]


def _has_draws_only(posterior: Posterior) -> bool:
    """Whether paths are the draws of the fit, so that there are no more."""
    return posterior.rank != math.inf


def best_tried(oriented: Posterior, domain: SearchDomain) -> Floats | None:
    """The tried point (D,) with the best posterior mean, among those that may be suggested."""
    for i in np.argsort(-oriented.mean(oriented.X), kind="stable"):
        if domain.holds(oriented.X[i]):
            return np.asarray(oriented.X[i])
    return None


def _missed(
    view: PosteriorView,
    paths: ProductPaths,
    domain: SearchDomain,
    found: tuple[Floats, np.random.Generator],
) -> float:
    """How much more another search finds of some paths, on average, in the model's units."""
    values, rng = found
    some = np.linspace(0, paths.n_paths - 1, min(N_CHECKED, paths.n_paths)).astype(np.int64)
    again: PathMaxima = maximise_paths(view, paths.select(some), domain, rng)
    return float(np.maximum(again.values - values[some], 0.0).mean())


def _shares(
    points: Floats, places: tuple[Place, ...], meaning: Meaning
) -> dict[str, dict[Any, float]]:
    """By parameter with few values, the share of paths whose optimum has each."""
    found: dict[str, dict[Any, float]] = {}
    for d, place in enumerate(places):
        if place.is_continuous:
            continue
        column = points[:, d]
        shares: dict[Any, float] = {}
        for x in place.values.tolist():
            is_here: Bools = column == x if x == math.inf else np.isclose(column, x)
            label = INACTIVE if x == math.inf else meaning.value(d, x)
            shares[label] = shares.get(label, 0.0) + float(np.mean(is_here))
        found[meaning.names[d]] = shares
    return found


def _text(value: Any) -> str:
    """A value with at most four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _region_text(region: Region) -> str:
    """A region in one line."""
    if region and isinstance(region[0], tuple):
        return " or ".join(f"{_text(low)} to {_text(high)}" for low, high in region)
    return "{" + ", ".join(_text(value) for value in region) + "}"
