"""Maxima of paths: exact where all can be compared, elsewhere no dense set of points beats them."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bktf
from bktf.acquisition import (
    DomainPart,
    PathMaxima,
    PosteriorView,
    SearchDomain,
    maximise_paths,
)
from seeds import seeded

Floats = NDArray[np.float64]


def fitted(n_points: int = 7, rank: float = math.inf, **settings: Any) -> bktf.Posterior:
    """A fit over two ordered axes and three levels."""
    rng = np.random.default_rng(seeded(0))
    axes = [np.linspace(0, 1, n_points), np.geomspace(1, 100, n_points), np.arange(3.0)]
    X = np.column_stack([rng.choice(axis, 14) for axis in axes])
    y = np.sin(5 * X[:, 0]) + np.log(X[:, 1]) * (X[:, 2] - 1) + 0.1 * rng.standard_normal(14)
    return bktf.fit(
        axes, X, y, rank=rank, seed=seeded(1), log=[False, True, False],
        kernel=[None, None, "categorical"], **settings,
    )  # fmt: skip


def found(
    posterior: bktf.Posterior, domain: SearchDomain, n: int = 12, **settings: Any
) -> tuple[Any, PathMaxima]:
    """Some paths and their maxima."""
    paths = posterior.draws.paths(n)
    rng = np.random.default_rng(seeded(2))
    return paths, maximise_paths(PosteriorView(posterior), paths, domain, rng, **settings)


def cells(posterior: bktf.Posterior) -> Floats:
    """All cells of the grid."""
    return np.array(list(itertools.product(*(axis.points for axis in posterior.grid))))


@pytest.mark.parametrize("rank", [2, math.inf])
def test_on_a_small_grid_maxima_are_those_of_all_cells(rank: float) -> None:
    posterior = fitted(rank=rank)
    paths, maxima = found(posterior, SearchDomain())
    every = paths.values(PosteriorView(posterior).scaled(cells(posterior)))
    assert maxima.is_exact
    np.testing.assert_allclose(maxima.values, every.max(axis=1), atol=1e-9)
    np.testing.assert_allclose(maxima.points, cells(posterior)[every.argmax(axis=1)])


def is_small(point: Floats) -> bool:
    """A constraint that excludes corners."""
    return bool(point[0] + math.log10(point[1]) / 2 < 1.0)


@pytest.mark.parametrize("rank", [2, math.inf])
@pytest.mark.parametrize("part", [({}, {}), ({2: 1.0}, {}), ({}, {0: np.linspace(0, 1, 7)[:3]})])
@pytest.mark.parametrize("feasible", [None, is_small])
def test_maxima_keep_to_what_may_be_suggested(
    rank: float, part: tuple[Mapping[int, float], Mapping[int, Floats]], feasible: Any
) -> None:
    posterior = fitted(rank=rank)
    paths, maxima = found(posterior, SearchDomain((DomainPart(*part),), feasible))
    fixed, within = part
    allowed = np.array(
        [
            all(x[d] == value for d, value in fixed.items())
            and all(np.isclose(points, x[d]).any() for d, points in within.items())
            and (feasible is None or feasible(x))
            for x in cells(posterior)
        ]
    )
    every = paths.values(PosteriorView(posterior).scaled(cells(posterior)[allowed]))
    np.testing.assert_allclose(maxima.values, every.max(axis=1), atol=1e-9)


def test_points_that_are_taken_are_not_chosen() -> None:
    posterior = fitted()
    _, first = found(posterior, SearchDomain())
    _, second = found(posterior, SearchDomain(), taken=first.points)
    gone = {tuple(point) for point in first.points.tolist()}
    assert not any(tuple(point) in gone for point in second.points.tolist())
    assert np.all(second.values <= first.values)


def test_where_all_is_taken_nothing_is_found() -> None:
    posterior = fitted(n_points=3)
    _, maxima = found(posterior, SearchDomain(), taken=cells(posterior))
    assert np.all(maxima.values == -np.inf)
    assert np.all(np.isnan(maxima.points))


@pytest.mark.parametrize("feasible", [None, is_small])
def test_a_search_of_a_box_beats_a_dense_set_of_points(feasible: Any) -> None:
    posterior = fitted(n_points=33)
    paths, maxima = found(posterior, SearchDomain(feasible=feasible, free=frozenset((0, 1))), n=24)
    rng = np.random.default_rng(seeded(3))
    points = np.column_stack(
        (rng.random(6000), np.exp(rng.uniform(0, math.log(100), 6000)), rng.integers(0, 3, 6000))
    )
    if feasible is not None:
        points = points[[feasible(point) for point in points]]
    dense = paths.values(PosteriorView(posterior).scaled(points)).max(axis=1)
    spread = float(np.std(dense)) + 1.0
    # A path in three dimensions has few hills: a search that missed one of 24 would still pass.
    assert np.sum(maxima.values < dense - 1e-3 * spread) <= 1
    own = paths.own_values(PosteriorView(posterior).scaled(maxima.points)[:, None, :])[:, 0]
    np.testing.assert_allclose(own, maxima.values, atol=1e-6)
    assert feasible is None or all(feasible(point) for point in maxima.points)
    assert not maxima.is_exact


def test_parts_of_a_conditional_space_are_all_searched() -> None:
    rng = np.random.default_rng(seeded(4))
    axes = [np.arange(2.0), np.append(np.linspace(0, 1, 9), np.inf)]
    X = np.array([[0, np.inf]] * 2 + [[1, x] for x in rng.choice(axes[1][:-1], 6)])
    y = np.where(X[:, 0] == 0, 0.3, 0.0) + rng.standard_normal(8) * 0.3
    posterior = bktf.fit(axes, X, y, rank=math.inf, seed=0, kernel=["categorical", None])
    branches = (DomainPart({0: 0.0, 1: math.inf}, {}), DomainPart({0: 1.0}, {}))
    paths, maxima = found(posterior, SearchDomain(branches), n=40)
    allowed = np.array([[0, np.inf], *([1, x] for x in axes[1][:-1])])
    every = paths.values(PosteriorView(posterior).scaled(allowed))
    np.testing.assert_allclose(maxima.values, every.max(axis=1), atol=1e-9)
    assert {bool(np.isinf(x[1])) for x in maxima.points} == {True, False}


class Listed:
    """Three points are all that may be tried, one of them between axis points."""

    is_list = True
    points = np.array([[0.0, 1.0, 0.0], [0.123, 7.0, 1.0], [1.0, 100.0, 2.0]])

    def __call__(self, point: Floats) -> bool:
        return bool((self.points == point).all(axis=1).any())


def test_a_list_of_candidates_is_compared() -> None:
    posterior, listed = fitted(), Listed()
    paths, maxima = found(posterior, SearchDomain(feasible=listed))
    every = paths.values(PosteriorView(posterior).scaled(listed.points))
    np.testing.assert_allclose(maxima.points, listed.points[every.argmax(axis=1)])
    assert maxima.is_exact


class Proposing:
    """Points whose first two coordinates keep a ratio: no coordinate moves alone."""

    def __call__(self, point: Floats) -> bool:
        return bool(abs(point[1] - 1 - 99 * point[0]) < 1e-9)

    def random_points(self, n: int, rng: np.random.Generator, _: Any) -> Floats:
        u = rng.random(n)
        return np.column_stack((u, 1 + 99 * u, rng.integers(0, 3, n)))

    def neighbours(
        self, point: Floats, n: int, distance: float, rng: np.random.Generator, _: Any
    ) -> Floats:
        u = np.clip(point[0] + distance * rng.standard_normal(n), 0, 1)
        return np.column_stack((u, 1 + 99 * u, np.full(n, point[2])))


def test_proposals_are_searched_where_no_coordinate_moves_alone() -> None:
    posterior, proposing = fitted(n_points=33), Proposing()
    paths, maxima = found(posterior, SearchDomain(feasible=proposing))
    assert all(proposing(point) for point in maxima.points)
    u = np.linspace(0, 1, 2000)
    line = np.concatenate([np.column_stack((u, 1 + 99 * u, np.full(2000, c))) for c in range(3)])
    dense = paths.values(PosteriorView(posterior).scaled(line)).max(axis=1)
    assert np.all(maxima.values >= dense - 0.01)


@pytest.mark.parametrize("settings", [{"rank": 2, "residual_process": True}, {"rank": "auto"}])
def test_sums_and_mixtures_of_models_have_maxima(settings: dict[str, Any]) -> None:
    if settings["rank"] != "auto":
        settings |= {"n_sweeps": 40, "n_burn_in": 20}
    posterior = fitted(**settings)
    paths, maxima = found(posterior, SearchDomain(), n=8)
    every = paths.values(PosteriorView(posterior).scaled(cells(posterior)))
    np.testing.assert_allclose(maxima.values, every.max(axis=1), atol=1e-8)


def test_weighed_values_decide() -> None:
    posterior = fitted()

    def weigh(values: Floats, points: Floats) -> Floats:
        return np.asarray(values - 1e3 * (points[:, 2] != 2.0))

    _, maxima = found(posterior, SearchDomain(), weigh=weigh)
    assert np.all(maxima.points[:, 2] == 2.0)


def test_thompson_and_max_choose_maxima_of_paths_at_infinite_rank() -> None:
    posterior = fitted()
    every = posterior.paths(posterior.n_draws, seed=5)(cells(posterior))
    chosen = bktf.acquisition.choose(posterior, "max", seed=5)
    assert chosen.value == pytest.approx(every.max())
    assert chosen.method == "sample paths"
    one = bktf.acquisition.choose(posterior, "thompson", seed=5)
    assert any(np.isclose(one.value, every.max(axis=1)))
    batch = bktf.acquisition.choose_batch(posterior, 4, "thompson", exclude=posterior.X)
    points = {tuple(choice.point.tolist()) for choice in batch if choice.point is not None}
    assert len(points) == 4
    assert not points & {tuple(x) for x in posterior.X.tolist()}
