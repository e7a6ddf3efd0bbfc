"""When the start design ends, and what it hands out, without a model."""

import itertools

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import qmc

from bktf.engine import Engine, EngineSettings, History, Objective, make_settings, seed_for
from bktf.engine.start_design import any_left
from bktf.spaces import parameters_of
from seeds import seeded

Floats = NDArray[np.float64]
BOX = parameters_of({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}, ())
GRID = parameters_of({"n": IntDistribution(0, 3), "c": CategoricalDistribution(list("abc"))}, ())
NONE: Floats = np.empty((0, 2))
MAXIMIZE = Objective(direction="maximize")


def history_of(n_values: int, n_failed: int) -> History:
    """Random points of which the first have a value and the others failed."""
    X = np.random.default_rng(seeded(0)).random((n_values + n_failed, 2))
    return History(X[:n_values], X[:n_values, 0], X[n_values:], X, NONE)


def test_the_start_ends_after_as_many_trials_whether_they_failed_or_not() -> None:
    """D + 4 trials; one with a value at least, because a model needs one."""
    engine = Engine(BOX, MAXIMIZE, EngineSettings(), seeded(0))
    assert engine.needs_start(history_of(1, 4))
    assert not engine.needs_start(history_of(1, 5))
    assert not engine.needs_start(history_of(6, 0))
    assert engine.needs_start(history_of(0, 20))


def test_the_start_has_at_most_ten_trials_unless_a_number_is_given() -> None:
    assert [EngineSettings().n_startup(n_dims) for n_dims in (1, 6, 7, 100)] == [5, 10, 10, 10]
    assert EngineSettings(n_startup_trials=104).n_startup(100) == 104
    assert make_settings("paper", {}).n_startup(100) == 100


def test_a_batch_of_the_start_goes_on_along_the_sobol_sequence() -> None:
    engine = Engine(BOX, MAXIMIZE, EngineSettings(), seeded(1))
    model = engine.learn(History(NONE, np.empty(0), NONE, NONE, NONE), 3)
    batch = [suggestion.point for suggestion in engine.choose_batch(model, 3, 4)]
    sequence = qmc.Sobol(2, scramble=True, rng=np.random.default_rng(seed_for(seeded(1)))).random(8)
    np.testing.assert_allclose(batch, sequence[3:7], atol=1e-12)


def test_the_search_through_a_small_space_misses_no_point() -> None:
    rng = np.random.default_rng(seeded(2))
    for cell in itertools.product(range(4), range(3)):
        point = tuple(map(float, cell))
        assert any_left(GRID, point.__eq__, {}, rng) == point
    assert any_left(GRID, lambda _: False, {}, rng) is None
