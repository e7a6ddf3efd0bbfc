"""Which shape of the surrogate is used, and that leaving out is as if it had never been seen; the warp and its way back."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from optuna.distributions import IntDistribution

from bktf import shapes
from bktf.history import History
from bktf.local_draws import local_draws
from bktf.space import parameters_of
from bktf.strategy import Strategy, make_strategy
from bktf.suggestion import fit_history, next_points
from bktf.warping import Warp
from seeds import seeded

Floats = NDArray[np.float64]
AXES = [np.linspace(0, 1, 9)] * 2
RUN = {"n_sweeps": 40, "n_burn_in": 24, "n_chains": 2}


def points(n: int) -> Floats:
    return np.random.default_rng(seeded(5)).random((n, 2))


def wave(X: Floats) -> Floats:
    return np.sin(5 * (X[:, 0] + X[:, 1]))


@pytest.mark.parametrize(
    ("model", "n", "is_finite", "shape"),
    [
        ("auto", 20, False, "process"), ("auto", 18, True, "process"), ("auto", 19, True, "components"), ("auto", 22, True, "components"),
        ("auto", 24, True, "process"), ("auto", 27, True, "components"), ("auto", 28, True, "components"),
        ("auto", 301, False, "components"), ("process", 300, True, "process"), ("process", 301, True, "components"),
        ("components", 20, False, "components"), ("both", 20, True, "both"), ("both", 301, True, "components"),
    ],
)  # fmt: skip
def test_the_shape_follows_the_rules(model: str, n: int, is_finite: bool, shape: str) -> None:
    assert shapes.shape_of(Strategy(model=model), n, n, is_finite) == shape


@pytest.mark.parametrize("acquisition", ["max", "thompson"])
def test_acquisitions_of_whole_surfaces_are_for_components(acquisition: str) -> None:
    assert shapes.shape_of(Strategy(acquisition=acquisition), 20, 20, False) == "components"


def test_what_is_shown_is_one_shape_of_plain_values() -> None:
    assert (shapes.shown(Strategy()).model, shapes.shown(Strategy()).compress) == ("process", False)
    assert shapes.shown(Strategy(model="components")).model == "components"


@pytest.mark.parametrize("model", ["auto", "process", "components", "both"])
def test_every_shape_is_fitted(model: str) -> None:
    X = points(13)
    strategy = Strategy(model=model, n_sweeps=6, n_burn_in=3, main_effects=True, rank=2)
    shape = shapes.shape_of(strategy, 13, 13, is_finite=True)
    posterior = shapes.fit_shape(shape, strategy, AXES, X, wave(X), maximize=False, seed=seeded(0))
    assert posterior.rank == (0 if model == "process" else 4)
    assert (posterior.local is not None) == (model in ("process", "both"))


def test_a_fold_is_left_out_as_if_it_had_never_been_seen() -> None:
    X = points(12)
    own = shapes.fit_process(AXES, X, wave(X), None, seed=seeded(0), **RUN).local
    assert own is not None
    left_out = np.array([1, 5, 6])
    seen = np.setdiff1d(np.arange(12), left_out)
    without = local_draws(own.observed[seen], own.on_levels, own.logs, own.noise_precision, own.residuals[:, seen])
    expected = without.moments_at(own.observed[left_out])
    mean, variance = shapes.leave_out(own, left_out)
    np.testing.assert_allclose(mean, expected.mean, atol=1e-6)
    np.testing.assert_allclose(variance, expected.variance + 1 / own.noise_precision[:, None], rtol=1e-5, atol=1e-8)


def test_a_process_sees_warped_values_where_that_predicts_better() -> None:
    X = points(40)
    steep = np.exp(4 * wave(X))
    for y, is_warped in ((wave(X), False), (steep, True)):
        warp = Warp.of(y, maximize=False)
        posterior = shapes.fit_process(AXES, X, y, warp, seed=seeded(0), **RUN)
        np.testing.assert_array_equal(posterior.y, warp.forward(y) if is_warped else y)


@pytest.mark.parametrize("maximize", [False, True])
def test_a_warp_keeps_order_slope_and_improvements_and_can_be_undone(maximize: bool) -> None:
    y = np.random.default_rng(seeded(0)).standard_cauchy(50)
    warp = Warp.of(y, maximize)
    wide = np.linspace(y.min() - 5, y.max() + 5, 301)
    warped = warp.forward(wide)
    assert np.all(np.diff(warped) > 0)
    np.testing.assert_allclose(warp.inverse(warped), wide, rtol=1e-9, atol=1e-9)
    better = wide > warp.best if maximize else wide < warp.best
    np.testing.assert_array_equal(warped[better], wide[better])
    slope = (warp.forward(wide + 1e-6) - warp.forward(wide - 1e-6)) / 2e-6
    np.testing.assert_allclose(np.exp(warp.log_slope(wide)), slope, rtol=1e-4)


def test_the_same_values_have_no_warp() -> None:
    warp = Warp.of(np.full(4, 2.5), maximize=True)
    y = np.array([1.0, 2.5, 3.0])
    np.testing.assert_array_equal(warp.forward(y), y)
    np.testing.assert_array_equal(warp.inverse(y), y)
    np.testing.assert_array_equal(warp.log_slope(y), np.zeros(3))


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(ValueError, match=r"model must be one of 'auto', 'process', 'components', 'both'; got 'gp'"):
        replace(Strategy(), model="gp")


def test_a_batch_takes_turns_too() -> None:
    """Three at a time: with one shape for all, the process would choose every point or none."""
    parameters = parameters_of({"x": IntDistribution(0, 8), "y": IntDistribution(0, 8)}, ())
    X = np.array([[i, (3 * i) % 9] for i in range(9)], dtype=float)
    history = History(X, wave(X / 8), np.empty((0, 2)), X, np.empty((0, 2)))
    strategy = Strategy(n_sweeps=20, n_burn_in=10)
    model = fit_history(parameters, history, strategy, False, 0, {})
    assert [model.in_turn(i).rank for i in range(6)] == [3, 0, 3, 0, 3, 0]
    assert model.in_turn(2) is model.posterior
    assert len(next_points(model, strategy, False, 0, 3, None)) == 3


def test_sweeps_without_a_burn_in_keep_its_share() -> None:
    assert make_strategy("default", {"n_sweeps": 200}).n_burn_in == 170
    assert make_strategy("default", {"n_sweeps": 1}).n_burn_in == 0
    assert make_strategy("paper", {"n_sweeps": 300}).n_burn_in == 200
