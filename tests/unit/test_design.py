"""The start design: the Sobol sequence of its seed, and what takes a point's place."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import qmc

from bktf.engine import EngineSettings, seed_for
from bktf.engine.start_design import start_point
from bktf.spaces import Feasibility, parameters_of
from seeds import seeded

Floats = NDArray[np.float64]
BOX = parameters_of({"x": FloatDistribution(0, 1), "y": FloatDistribution(-1, 3)}, ())
GRID = parameters_of({"n": IntDistribution(0, 3), "c": CategoricalDistribution(list("abc"))}, ())
CELLS = np.array(list(itertools.product(range(4), range(3))), dtype=float)
NONE: Floats = np.empty((0, 2))


def design(n: int, seed: int, settings: EngineSettings) -> Floats:
    return np.stack([start_point(BOX, settings, i, seed, NONE, None, {}).point for i in range(n)])


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_the_start_is_a_sobol_sequence_scrambled_by_the_seed(seed: int) -> None:
    expected = qmc.Sobol(
        2, scramble=True, rng=np.random.default_rng(seed_for(seeded(seed)))
    ).random(8)
    np.testing.assert_allclose(
        design(8, seeded(seed), EngineSettings()), [0, -1] + expected * [1, 4], atol=1e-12
    )


def test_a_start_that_does_not_fill_space_is_another_one_for_every_seed_and_number() -> None:
    settings = EngineSettings(space_filling=False)
    points = np.concatenate([design(6, seeded(seed), settings) for seed in range(3)])
    assert len(np.unique(points, axis=0)) == 18
    assert not np.allclose(points[:6], design(6, seeded(0), EngineSettings()))


@pytest.mark.parametrize("left", range(12))
def test_the_point_that_is_left_is_found(left: int) -> None:
    avoid = np.delete(CELLS, left, axis=0)
    found = start_point(GRID, EngineSettings(), left, seeded(2), avoid, None, {})
    assert (found.point.tolist(), found.is_repeat) == (CELLS[left].tolist(), False)


def test_start_points_are_new_and_feasible() -> None:
    def even(point: Floats) -> bool:
        return bool(point.sum() % 2 == 0)

    for feasible in (even, Feasibility(GRID, even)):
        tried = NONE
        for i in range(6):
            found = start_point(GRID, EngineSettings(), i, seeded(3), tried, feasible, {})
            assert even(found.point)
            assert not found.is_repeat
            tried = np.concatenate((tried, found.point[None]))
        assert len(np.unique(tried, axis=0)) == 6
        assert start_point(GRID, EngineSettings(), 6, seeded(3), tried, feasible, {}).is_repeat


def test_where_feasible_points_are_known_the_new_one_nearest_to_the_sequence_is_taken() -> None:
    """Ten points on a diagonal, one in a thousand cells."""
    line = parameters_of({"a": IntDistribution(0, 99), "b": IntDistribution(0, 99)}, ())
    feasible = Feasibility(line, lambda p: bool(p[0] == p[1] and p[0] % 10 == 0))
    assert feasible.points is not None
    assert len(feasible.points) == 10
    sequence = qmc.Sobol(2, scramble=True, rng=np.random.default_rng(seed_for(seeded(4)))).random(4)
    places = (np.arange(10) + 0.5) / 10
    for i, wanted in enumerate(sequence):
        order = np.argsort([((place - wanted) ** 2).sum() for place in places])
        first = start_point(line, EngineSettings(), i, seeded(4), NONE, feasible, {}).point
        assert first.tolist() == [10.0 * order[0]] * 2
        second = start_point(line, EngineSettings(), i, seeded(4), first[None], feasible, {}).point
        assert second.tolist() == [10.0 * order[1]] * 2
