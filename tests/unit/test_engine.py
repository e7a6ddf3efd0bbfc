"""Small decisions of the engine, each against its documented rule."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from optuna.distributions import FloatDistribution

import bktf
from bktf.acquisition.choice import Choice, choose
from bktf.engine import Engine, History, Objective, make_settings, suggestion
from bktf.engine.success import CAUTION_WINDOW, caution
from bktf.spaces import parameters_of
from bktf.surrogate.observed_values import Warp
from seeds import seeded

Floats = NDArray[np.float64]
BOX = parameters_of({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}, ())


def tried_then(first_fail: bool, n: int = 60) -> History:
    """A history of which the first or the last half failed."""
    X = np.random.default_rng(seeded(0)).random((n, 2))
    failed = X[: n // 2] if first_fail else X[n // 2 :]
    good = X[n // 2 :] if first_fail else X[: n // 2]
    return History(good, good.sum(axis=1), failed, X, np.empty((0, 2)))


def test_caution_follows_the_latest_trials() -> None:
    assert CAUTION_WINDOW == 30
    assert caution(tried_then(first_fail=True)) == pytest.approx(12 * 2 ** (-0.1 / 0.03))
    assert caution(tried_then(first_fail=False)) == 400


def test_a_tenth_of_failures_gives_the_documented_caution() -> None:
    X = np.random.default_rng(seeded(1)).random((30, 2))
    history = History(X[3:], X[3:, 0], X[:3], X, np.empty((0, 2)))
    assert caution(history) == pytest.approx(12)
    assert caution(history._replace(failed=X[:6])) == pytest.approx(12 * 2 ** (0.1 / 0.03))


@pytest.mark.parametrize("best", [100.0, 0.0])
def test_the_warp_is_linear_up_to_the_lower_quartile_of_the_distances(best: float) -> None:
    y = np.arange(101.0) - 100.0 + best
    warp = Warp.of(y)
    assert (warp.best, warp.scale) == (best, 25.0)
    assert warp.forward(y)[0] == pytest.approx(best - 25 * np.log(1 + 100 / 25))


def test_compression_is_linear_near_the_best_and_keeps_the_order() -> None:
    y = -np.concatenate(([0.0, 1e-9], np.linspace(0.1, 1.0, 30), [1e6]))
    squeezed = Warp.of(y).forward(y)
    assert squeezed[0] == 0
    assert squeezed[1] == pytest.approx(-1e-9, rel=1e-6)
    assert np.all(np.diff(squeezed) < 0)
    assert squeezed[-1] > -20


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("repeats", [False, True])
def test_where_repeats_are_allowed_improvement_counts_from_the_best_posterior_mean(
    repeats: bool, maximize: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seeded(2))
    X = rng.random((14, 2))
    history = History(
        X, X.sum(axis=1) + rng.standard_normal(14), np.empty((0, 2)), X, np.empty((0, 2))
    )
    changes = {"allow_repeats": repeats, "noise_std": 1.0, "compress": False}
    settings = make_settings("default", changes)
    objective = Objective(direction="maximize" if maximize else "minimize")
    engine = Engine(BOX, objective, settings, seeded(2))
    model = engine.learn(history, 0)
    asked: list[Any] = []

    def ask(*arguments: Any, **settings: Any) -> Choice:
        asked.append(settings["best"])
        return choose(*arguments, **settings)

    monkeypatch.setattr(suggestion, "choose", ask)
    engine.choose(model, 0, np.empty((0, 2)), np.empty((0, 2)))
    assert model.posterior is not None
    means = model.posterior.mean(X)
    assert asked == [pytest.approx(means.max()) if repeats else None]
    assert means.max() < history.y.max()


def test_the_draws_that_choose_come_from_all_chains() -> None:
    X = np.random.default_rng(seeded(3)).random((10, 2))
    posterior = bktf.fit(
        [np.linspace(0, 1, 5)] * 2,
        X,
        X[:, 0],
        seed=seeded(3),
        rank=math.inf,
        n_sweeps=20,
        n_burn_in=10,
        n_chains=4,
    )
    assert posterior.draws.process is not None
    fewer, kept = posterior.draws.process.thinned(16)
    assert len(kept) == 16 == len(fewer.logs)
    assert np.bincount(kept // 10, minlength=4).tolist() == [4, 4, 4, 4]
    np.testing.assert_array_equal(fewer.logs, posterior.draws.process.logs[kept])
