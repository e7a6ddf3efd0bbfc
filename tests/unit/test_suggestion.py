"""What a history teaches the engine: failures, outliers, turns, axes, and what is said of a suggestion."""

import itertools
import math
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from optuna.distributions import FloatDistribution, IntDistribution

from bktf.acquisition.choice import Choice, choose
from bktf.engine import suggestion
from bktf.engine.history import History
from bktf.engine.settings import Strategy, seed_for
from bktf.engine.suggestion import Chance, fit_history, next_point, next_points
from bktf.spaces.parameters import parameters_of
from bktf.surrogate.posterior import Posterior
from seeds import seeded

Floats = NDArray[np.float64]
BOX = parameters_of({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}, ())
GRID = parameters_of({"x": IntDistribution(0, 8), "y": IntDistribution(0, 8)}, ())
NONE: Floats = np.empty((0, 2))
QUICK = Strategy(n_sweeps=12, n_burn_in=6, n_chains=2, process_sweeps=8, process_burn_in=4)


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
    ("draws", "chance"), [([0.5], 0.5), ([0.0], 1 / (1 + np.exp(6))), ([1.0], 1 / (1 + np.exp(-6))), ([0.0, 1.0], 0.5)]
)
@pytest.mark.parametrize("power", [1.0, 12.0])
def test_the_chance_of_success_is_even_half_way_and_raised_to_its_power(draws: list[float], chance: float, power: float) -> None:
    found = Chance(cast(Posterior, FakeSuccess(draws)), power)(np.zeros((2, 2)))
    np.testing.assert_allclose(found, [chance**power] * 2, rtol=1e-12)


def test_the_chance_of_success_is_small_where_trials_failed() -> None:
    """Two halves of a square, without noise: the chances differ by more than the half that is asked for."""
    history = half_failed()
    model = fit_history(BOX, history, QUICK, False, seeded(0), {})
    assert model.chance is not None
    chance = Chance(model.chance.success, 1.0)
    assert np.median(chance(history.failed)) < 0.25
    assert np.median(chance(history.X)) > 0.75


@pytest.mark.parametrize("maximize", [False, True])
def test_the_improvement_that_is_said_is_that_of_a_trial_that_succeeds(maximize: bool) -> None:
    """With so few draws that all of them choose; failures weigh on the choice and not on what it promises."""
    strategy = Strategy(model="process", process_sweeps=8, process_burn_in=4, compress=False)
    X = np.array([[i, (3 * i) % 9] for i in range(9)], dtype=float)
    history = History(X[:6], X[:6].sum(axis=1), X[6:], X, NONE)
    model = fit_history(GRID, history, strategy, maximize, seeded(1), {})
    found = next_point(model, strategy, maximize, seeded(1), NONE, NONE, None, {})
    signed = model.posterior if maximize else model.posterior.negated()
    assert model.chance is not None
    assert model.chance(found.point[None])[0] < 1 - 1e-4
    assert found.expected_improvement == pytest.approx(signed.expected_improvement(found.point[None])[0], rel=1e-6)


@pytest.mark.parametrize("maximize", [False, True])
def test_a_value_beyond_all_measure_counts_as_a_failure(maximize: bool) -> None:
    X = lattice(4)
    y = X.sum(axis=1)
    y[5] = -1e6 if maximize else 1e6
    history = History(X, y, NONE, X, NONE)
    model = fit_history(BOX, history, QUICK, maximize, seeded(2), {})
    assert model.n_outliers == 1
    assert model.history.failed.tolist() == [X[5].tolist()]
    assert model.posterior.X.tolist() == np.delete(X, 5, axis=0).tolist()
    assert model.chance is not None
    assert model.chance.power == pytest.approx(12 * 2 ** ((1 / 16 - 0.1) / 0.03))  # one of 16 trials


def test_nothing_is_set_aside_without_compression_nor_on_the_good_side() -> None:
    X = lattice(4)
    y = X.sum(axis=1)
    y[5] = 1e6
    history = History(X, y, NONE, X, NONE)
    for strategy, maximize in ((QUICK, True), (Strategy(process_sweeps=8, process_burn_in=4, compress=False), False)):
        model = fit_history(BOX, history, strategy, maximize, seeded(3), {})
        assert (model.n_outliers, model.chance, len(model.posterior.y)) == (0, None, 16)


@pytest.mark.parametrize("maximize", [False, True])
def test_axes_are_fine_around_the_best_points(maximize: bool) -> None:
    X = lattice(4)
    y = X.min(axis=1) if maximize else X.max(axis=1)  # the best four are a quarter of the square
    model = fit_history(BOX, History(X, y, NONE, X, NONE), QUICK, maximize, seeded(4), {})
    for axis in model.posterior.axes:
        finest = axis[np.diff(axis).argmin()]
        assert finest > 0.5 if maximize else finest < 0.5


def test_points_under_way_take_a_turn() -> None:
    X = np.array([[i, (3 * i) % 9] for i in range(8)], dtype=float)
    history = History(X, X.sum(axis=1), NONE, X, NONE)
    ranks = [fit_history(GRID, history._replace(pending=X[:n] + 0.0), QUICK, False, 0, {}).posterior.rank for n in (0, 1, 2)]
    assert ranks == [math.inf, 3, math.inf]


def test_each_point_of_a_batch_is_chosen_in_its_own_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.array([[i, (3 * i) % 9] for i in range(8)], dtype=float)
    model = fit_history(GRID, History(X, X.sum(axis=1), NONE, X, NONE), QUICK, False, seeded(5), {})
    ranks: list[float] = []

    def ask(posterior: Posterior, *arguments: Any, **settings: Any) -> Choice:
        ranks.append(posterior.rank)
        return choose(posterior, *arguments, **settings)

    monkeypatch.setattr(suggestion, "choose", ask)
    next_points(model, QUICK, False, seeded(5), 4, None)
    assert ranks == [math.inf, 3, math.inf, 3]


def test_seeds_of_different_numbers_differ() -> None:
    numbers = list(itertools.product(range(12), range(12)))
    assert len({seed_for(a, b) for a, b in numbers}) == len(numbers)
