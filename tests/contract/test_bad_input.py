"""Bad input gets one clear ValueError; odd but good input gets finite answers."""

from typing import Any

import numpy as np
import pytest

import bktf
from seeds import seeded

AXES = [np.linspace(0, 1, 5), np.linspace(-1, 1, 4)]
X = np.array([[0.0, -1.0], [0.5, 1.0], [1.0, 0.0]])
Y = np.array([1.0, 2.0, 0.0])
SHORT: dict[str, Any] = {"n_sweeps": 30, "n_burn_in": 10}

BAD: list[tuple[dict[str, Any], str]] = [
    ({"y": [1.0, np.nan, 0.0]}, r"y must be finite; y\[1\] is nan"),
    ({"y": [1.0, np.inf, 0.0]}, r"y\[1\] is inf"),
    ({"y": [1.0, 2.0]}, r"one value per row of X; got \(2,\)"),
    ({"y": "abc"}, "y must be an array of numbers"),
    ({"y": [[1.0], [2.0], [3.0]]}, r"got \(3, 1\)"),
    ({"X": X[:, :1]}, r"X must have shape \(n, 2\), one column per axis; got \(3, 1\)"),
    ({"X": X[0]}, r"X must have shape \(n, 2\)"),
    ({"X": np.empty((0, 2)), "y": []}, "at least one observation; got none"),
    ({"X": X + np.array([[0, 0], [0, 1], [0, 0]])}, r"X\[1, 1\] = 2 is outside \[-1, 1\]. Extend axis 1"),
    ({"X": [[0.0, np.nan], *X[1:].tolist()]}, r"X\[0, 1\] is nan"),
    ({"X": [["a", "b"]] * 3}, "X must be an array of numbers"),
    ({"axes": [AXES[0][::-1], AXES[1]]}, "axis 0 must increase; got 1 followed by 0.75 at place 0"),
    ({"axes": [[0.0, 0.5, 0.5, 1.0], AXES[1]]}, "axis 0 must increase; got 0.5 followed by 0.5"),
    ({"axes": [AXES[0], [np.nan, 1.0]]}, "axis 1 must be finite"),
    ({"axes": [AXES[0], []]}, "axis 1 must be a 1-D array with at least one point"),
    ({"axes": []}, "at least one axis"),
    ({"axes": AXES[0]}, "one array of points per dimension"),
    ({"axes": [["low", "high"], AXES[1]]}, "axis 0 must be numbers"),
    ({"axes": [[0.0, 1e-12, 1.0], AXES[1]]}, "closer than"),
    ({"axes": [[-1.5e308, 1.5e308], AXES[1]]}, "too long"),
    ({"kernel": "matern72"}, "kernel must be one of 'matern12'.*got 'matern72'"),
    ({"kernel": ["matern32"]}, "one entry per axis, 2; got 1"),
    ({"kernel": [np.eye(3), "matern32"]}, "must be 5 by 5, one row per axis point; got shape"),
    ({"kernel": [-np.eye(5), "matern32"]}, "positive semi-definite"),
    ({"kernel": [np.triu(np.ones((5, 5))), "matern32"]}, "symmetric"),
    ({"kernel": [np.full((5, 5), np.nan), "matern32"]}, "finite"),
    ({"kernel": [np.eye(5), "matern32"], "X": X + np.array([[0.1, 0], [0, 0], [0, 0]])}, "given covariance matrix, so"),
    ({"kernel": object()}, "must be a name"),
    ({"rank": 0}, "rank must be a whole number of at least 1; got 0"),
    ({"rank": 2.5}, "rank must be a whole number"),
    ({"n_sweeps": 400, "n_burn_in": 500}, r"n_burn_in must lie in \[0, n_sweeps\); got 500 with n_sweeps=400"),
    ({"n_burn_in": -1}, "n_burn_in must be a whole number of at least 0"),
    ({"n_chains": 0}, "n_chains must be a whole number of at least 1"),
    ({"noise_std": -1.0}, "noise_std must be a number of at least 0"),
    ({"noise_std": np.nan}, "noise_std must be"),
    ({"active": [(0, 2)]}, r"active\[0\] must name dimensions among 0 … 1"),
    ({"active": [()]}, "at least one; got"),
    ({"active": []}, "at least one component"),
    ({"seed": -1}, "seed must be a whole number of at least 0"),
    ({"seed": 1.5}, "seed must be"),
    ({"priors": {"noise_shape": 1}}, "priors must be a bktf.Priors; got dict"),
    ({"warm_start": "posterior"}, "warm_start must be a bktf.Posterior"),
]


@pytest.mark.parametrize(("changed", "message"), BAD, ids=[m[:40] for _, m in BAD])
def test_bad_input_gets_one_clear_error(changed: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"axes": AXES, "X": X, "y": Y, "seed": 0, **SHORT, **changed}
    with pytest.raises(ValueError, match=message):
        bktf.fit(arguments.pop("axes"), arguments.pop("X"), arguments.pop("y"), **arguments)


@pytest.mark.parametrize("name", ["lengthscale_log_var", "noise_shape", "noise_rate", "weight_var"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, "x"])
def test_impossible_priors_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"Priors.{name} must be"):
        bktf.Priors(**{name: value})


def test_a_length_instead_of_its_logarithm_is_refused_where_it_can_be_told() -> None:
    with pytest.raises(ValueError, match="logarithm of a length"):
        bktf.Priors(lengthscale_log_mean=50.0)


def test_a_warm_start_from_another_model_is_refused() -> None:
    first = bktf.fit(AXES, X, Y, seed=seeded(0), rank=3, **SHORT)
    with pytest.raises(ValueError, match="same dimensions, components and kernels"):
        bktf.fit(AXES, X, Y, seed=seeded(0), rank=2, warm_start=first, **SHORT)
    with pytest.raises(ValueError, match="same dimensions, components and kernels"):
        bktf.fit(AXES, X, Y, seed=seeded(0), rank=3, kernel="matern52", warm_start=first, **SHORT)


def test_questions_outside_the_box_or_of_the_wrong_shape_are_refused() -> None:
    posterior = bktf.fit(AXES, X, Y, seed=seeded(0), **SHORT)
    questions: list[Any] = [posterior.mean, posterior.std, posterior.draws_at, posterior.kernel]
    for ask in questions:
        with pytest.raises(ValueError, match="outside"):
            ask([[2.0, 0.0]])
        with pytest.raises(ValueError, match="one column per axis"):
            ask([[0.5]])
    with pytest.raises(ValueError, match=r"levels must lie in \[0, 1\]"):
        posterior.quantile(X, 90)
    with pytest.raises(ValueError, match="at least 2 observations"):
        bktf.leave_one_out(bktf.fit(AXES, X[:1], Y[:1], seed=seeded(0), **SHORT))
    with pytest.raises(ValueError, match="index must list observations"):
        bktf.leave_one_out(posterior, index=[3])


def assert_finite(posterior: bktf.Posterior, points: Any) -> None:
    for answer in (posterior.mean(points), posterior.std(points), posterior.quantile(points, 0.9), posterior.noise_std):
        assert np.all(np.isfinite(answer))
    assert np.all(posterior.std(points) >= 0)
    moments = posterior.grid_moments()
    assert np.all(np.isfinite(moments.mean))
    assert np.all(np.isfinite(moments.std))


OFF_GRID = np.array([[0.123, 0.456], [0.0, -1.0], [0.99, 0.99]])


@pytest.mark.parametrize(
    "y",
    [
        [1.0, 1.0, 1.0],
        [0.1, 0.1, 0.1],
        [0.0, 0.0, 0.0],
        [1e300, 2e300, -1e300],
        [1e300, 1e300, 1e300],
        [1e-300, 2e-300, 5e-301],
        [5e-324, 0.0, 0.0],
        [1e15, 1e15 + 1, 1e15 + 2],
        [-1e308, 1e308, 0.0],
    ],
)
def test_constant_huge_and_tiny_values_give_finite_answers(y: list[float]) -> None:
    posterior = bktf.fit(AXES, X, y, seed=seeded(0), n_sweeps=100, n_burn_in=50)
    assert np.all(np.isfinite(posterior.mean(OFF_GRID)))
    if max(map(abs, y)) < 1e308:
        assert_finite(posterior, OFF_GRID)
    spread = max(y) - min(y) if np.isfinite(max(y) - min(y)) else 2e308 / 2
    assert np.all(np.abs(posterior.mean(X) / 2 - np.array(y) / 2) <= max(spread, 1.0) * 1.01)


def test_one_observation_works() -> None:
    posterior = bktf.fit(AXES, X[:1], [7.0], seed=seeded(0), **SHORT)
    assert_finite(posterior, OFF_GRID)
    assert posterior.mean(X[:1])[0] == pytest.approx(7.0, abs=1.0)


def test_repeated_points_are_repeated_observations() -> None:
    posterior = bktf.fit(
        AXES, np.repeat(X, 20, axis=0), np.repeat(Y, 20) + np.tile([-1.0, 1.0], 30), seed=seeded(0), n_sweeps=400, n_burn_in=200
    )
    assert_finite(posterior, OFF_GRID)
    assert 0.7 < np.median(posterior.noise_std) < 1.5
    np.testing.assert_allclose(posterior.mean(X), Y, atol=0.8)


def test_axes_of_one_and_two_points_and_one_dimension_work() -> None:
    assert_finite(bktf.fit([[0, 1]], [[0], [1], [1]], [1.0, 2.0, 2.1], seed=seeded(0), **SHORT), [[0.5], [1.0]])
    assert_finite(bktf.fit([[0, 1]], [0.0, 1.0], [1.0, 2.0], seed=seeded(0), **SHORT), [0.5])
    assert_finite(bktf.fit([[3.0], [0, 1]], [[3.0, 0.0], [3.0, 1.0]], [1.0, 2.0], seed=seeded(0), **SHORT), [[3.0, 0.4]])
    assert_finite(bktf.fit([[0, 1e-300], [0, 1]], [[0.0, 0.0], [1e-300, 1.0]], [1.0, 2.0], seed=seeded(0), **SHORT), [[0.5e-300, 0.4]])


def test_many_dimensions_do_not_underflow_into_nan() -> None:
    rng = np.random.default_rng(seeded(0))
    axes = [np.linspace(0, 1, 4)] * 60
    P = rng.integers(0, 4, (15, 60)) / 3
    posterior = bktf.fit(axes, P, rng.standard_normal(15), seed=seeded(0), **SHORT)
    assert np.all(np.isfinite(posterior.mean(P)))
    assert np.all(np.isfinite(posterior.lengthscales))
    with pytest.raises(ValueError, match="holds every cell"):
        posterior.grid_moments()


@pytest.mark.parametrize("noise_std", [0.0, 1e-12, 1e6])
def test_extreme_known_noise_gives_finite_answers(noise_std: float) -> None:
    assert_finite(bktf.fit(AXES, X, Y, seed=seeded(0), noise_std=noise_std, **SHORT), OFF_GRID)
