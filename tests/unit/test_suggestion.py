"""What a history teaches the engine: failures, outliers, surrogates, axes, suggestions."""

import itertools
import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from optuna.distributions import FloatDistribution, IntDistribution

import bktf
from bktf.acquisition.choice import Choice, choose
from bktf.engine import (
    Direction,
    Engine,
    EngineSettings,
    History,
    Objective,
    make_settings,
    seed_for,
    suggestion,
)
from bktf.engine.success import Chance
from bktf.spaces import Parameter, parameters_of
from bktf.surrogate.posterior import Posterior
from seeds import seeded

Floats = NDArray[np.float64]
BOX = parameters_of({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}, ())
GRID = parameters_of({"x": IntDistribution(0, 8), "y": IntDistribution(0, 8)}, ())
NONE: Floats = np.empty((0, 2))


def with_short_process(settings: EngineSettings) -> EngineSettings:
    """The same settings with few sweeps of a process."""
    return replace(settings, process=replace(settings.process, n_sweeps=8, n_burn_in=4))


QUICK = with_short_process(
    make_settings("default", {"n_sweeps": 12, "n_burn_in": 6, "n_chains": 2})
)


def engine_of(
    space: tuple[Parameter, ...],
    settings: EngineSettings,
    seed: int,
    direction: Direction = "maximize",
) -> Engine:
    """An engine whose start is over after one point, as most tests have few."""
    without_start = replace(settings, n_startup_trials=0)
    return Engine(space, Objective(direction=direction), without_start, seed)


def lattice(n: int) -> Floats:
    """Points (n², 2) that fill the unit square evenly."""
    ticks = (np.arange(n) + 0.5) / n
    return np.array(list(itertools.product(ticks, ticks)))


def half_failed() -> History:
    """A history in which the right half of the square failed."""
    X = lattice(5)
    bad = X[:, 0] > 0.5
    return History(X[~bad], X[~bad].sum(axis=1), X[bad], X, NONE)


class FakeSuccess:
    """Draws of success that are known."""

    def __init__(self, draws: list[float]) -> None:
        self.draws = np.array(draws)[:, None]

    def draws_at(self, points: Floats) -> Floats:
        return np.repeat(self.draws, len(points), axis=1)


@pytest.mark.parametrize(
    ("draws", "chance"),
    [([0.5], 0.5), ([0.0], 1 / (1 + np.exp(6))), ([1.0], 1 / (1 + np.exp(-6))), ([0.0, 1.0], 0.5)],
)
@pytest.mark.parametrize("power", [1.0, 12.0])
def test_the_chance_of_success_is_even_half_way_and_raised_to_its_power(
    draws: list[float], chance: float, power: float
) -> None:
    found = Chance(cast(Posterior, FakeSuccess(draws)), power)(np.zeros((2, 2)))
    np.testing.assert_allclose(found, [chance**power] * 2, rtol=1e-12)


def test_the_chance_of_success_is_small_where_trials_failed() -> None:
    """Two halves of a square, without noise: the chances differ by more than the half that is asked for."""
    history = half_failed()
    model = engine_of(BOX, QUICK, seeded(0)).learn(history, 0)
    assert model.chance is not None
    chance = Chance(model.chance.success, 1.0)
    assert np.median(chance(history.failed)) < 0.25
    assert np.median(chance(history.X)) > 0.75


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_improvement_that_is_said_is_that_of_a_trial_that_succeeds(
    direction: Direction,
) -> None:
    """With so few draws that all of them choose.

    Failures weigh on the choice and not on what it promises.
    """
    settings = with_short_process(EngineSettings(rank=math.inf, compress=False))
    X = np.array([[i, (3 * i) % 9] for i in range(9)], dtype=float)
    history = History(X[:6], X[:6].sum(axis=1), X[6:], X, NONE)
    engine = engine_of(GRID, settings, seeded(1), direction)
    model = engine.learn(history, 0)
    found = engine.choose(model, 0, NONE, NONE)
    assert model.posterior is not None
    assert model.chance is not None
    assert model.chance(found.point[None])[0] < 1 - 1e-4
    assert found.expected_improvement == pytest.approx(
        model.posterior.expected_improvement(found.point[None])[0], rel=1e-6
    )


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_value_beyond_all_measure_counts_as_a_failure(direction: Direction) -> None:
    X = lattice(4)
    y = X.sum(axis=1)
    y[5] = -1e6
    history = History(X, y, NONE, X, NONE)
    model = engine_of(BOX, QUICK, seeded(2), direction).learn(history, 0)
    assert model.n_outliers == 1
    assert model.posterior is not None
    assert model.history.failed.tolist() == [X[5].tolist()]
    assert model.posterior.X.tolist() == np.delete(X, 5, axis=0).tolist()
    assert model.chance is not None
    assert model.chance.power == pytest.approx(
        12 * 2 ** ((1 / 16 - 0.1) / 0.03)
    )  # one of 16 trials


def test_nothing_is_set_aside_without_compression_nor_on_the_good_side() -> None:
    X = lattice(4)
    y = X.sum(axis=1)
    y[5] = 1e6
    plain = with_short_process(EngineSettings(compress=False))
    for settings, values in ((QUICK, y), (plain, -y)):
        history = History(X, values, NONE, X, NONE)
        model = engine_of(BOX, settings, seeded(3)).learn(history, 0)
        assert model.posterior is not None
        assert (model.n_outliers, model.chance, len(model.posterior.y)) == (0, None, 16)


@pytest.mark.parametrize("is_upper", [False, True])
def test_axes_are_fine_around_the_best_points(is_upper: bool) -> None:
    X = lattice(4)
    y = X.min(axis=1) if is_upper else -X.max(axis=1)  # the best four are a quarter of the square
    model = engine_of(BOX, QUICK, seeded(4)).learn(History(X, y, NONE, X, NONE), 0)
    assert model.posterior is not None
    for axis in model.posterior.axes:
        finest = axis[np.diff(axis).argmin()]
        assert finest > 0.5 if is_upper else finest < 0.5


def test_pending_points_count_for_the_choice_of_the_surrogate() -> None:
    X = np.array([[i, (3 * i) % 9] for i in range(8)], dtype=float)
    history = History(X, X.sum(axis=1), NONE, X, NONE)
    engine = engine_of(GRID, QUICK, 0)
    ranks = []
    for n in (0, 1, 2):
        posterior = engine.learn(history._replace(pending=X[:n] + 0.0), 0).posterior
        assert posterior is not None
        ranks.append(posterior.rank)
    assert ranks == [math.inf, 3, math.inf]


def test_each_point_of_a_batch_is_chosen_by_the_surrogate_of_its_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.array([[i, (3 * i) % 9] for i in range(8)], dtype=float)
    engine = engine_of(GRID, QUICK, seeded(5))
    model = engine.learn(History(X, X.sum(axis=1), NONE, X, NONE), 0)
    ranks: list[float] = []

    def ask(posterior: Posterior, *arguments: Any, **settings: Any) -> Choice:
        ranks.append(posterior.rank)
        return choose(posterior, *arguments, **settings)

    monkeypatch.setattr(suggestion, "choose", ask)
    engine.choose_batch(model, 0, 4)
    assert ranks == [math.inf, 3, math.inf, 3]


def test_each_point_of_a_batch_takes_those_before_it_as_pending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = lattice(3)
    engine = engine_of(BOX, QUICK, seeded(6))
    model = engine.learn(History(X, np.sin(5 * X).sum(axis=1), NONE, X, NONE), 0)
    pending: list[Floats] = []

    def ask(posterior: Posterior, *arguments: Any, **settings: Any) -> Choice:
        pending.append(settings["pending"])
        return choose(posterior, *arguments, **settings)

    monkeypatch.setattr(suggestion, "choose", ask)
    batch = [s.point for s in engine.choose_batch(model, 0, 3)]
    assert [len(points) for points in pending] == [0, 1, 2]
    np.testing.assert_allclose(pending[-1], batch[:2])


def test_seeds_of_different_numbers_differ() -> None:
    numbers = list(itertools.product(range(12), range(12)))
    assert len({seed_for(a, b) for a, b in numbers}) == len(numbers)


def test_the_chance_of_success_is_the_same_at_points_and_at_cells() -> None:
    result = bktf.minimize(
        lambda p: math.nan if p["x"] > 0.6 else p["x"] + p["n"],
        {"x": (0.0, 1.0), "n": (0, 5)},
        n_trials=14,
        seed=seeded(0),
    )
    chance, posterior = result._model.chance, result._model.posterior
    assert chance is not None
    assert posterior is not None
    axes = posterior.axes
    cells = np.stack([np.arange(30) % len(axes[0]), np.arange(30) % len(axes[1])], axis=1)
    points = np.stack([axis[cells[:, d]] for d, axis in enumerate(axes)], axis=1)
    np.testing.assert_allclose(chance.on_axes(axes)(cells), chance(points), rtol=1e-12)
