"""Bad input gets one clear error; odd but good input gets finite answers."""

import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import Trial

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
    (
        {"X": X + np.array([[0, 0], [0, 1], [0, 0]])},
        r"X\[1, 1\] = 2 is outside \[-1, 1\]. Extend axis 1",
    ),
    ({"X": [[0.0, np.nan], *X[1:].tolist()]}, r"X\[0, 1\] is nan"),
    ({"X": [["a", "b"]] * 3}, "X must be an array of numbers"),
    ({"axes": [AXES[0][::-1], AXES[1]]}, "axis 0 must increase; got 1 followed by 0.75 at index 0"),
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
    (
        {"kernel": [np.eye(5), "matern32"], "X": X + np.array([[0.1, 0], [0, 0], [0, 0]])},
        "given covariance matrix, so",
    ),
    ({"kernel": object()}, "must be a name"),
    (
        {"rank": 0},
        r"rank must be a whole number of at least 1, \"auto\", or math\.inf for a Gaussian process; got 0",
    ),
    ({"rank": 2.5}, "rank must be a whole number"),
    (
        {"n_sweeps": 400, "n_burn_in": 500},
        r"n_burn_in must lie in \[0, n_sweeps\); got 500 with n_sweeps=400",
    ),
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
    ({"n_sweeps": 10**29}, "n_sweeps must be a whole number of at most 10000000; got 1000000000"),
    ({"n_chains": 10**29}, "n_chains must be a whole number of at most 10000;"),
    ({"rank": 10**29}, "rank must be a whole number of at most 10000;"),
    ({"n_threads": 10**9}, "n_threads must be a whole number of at most 10000;"),
    ({"active": [0, 1]}, "must name dimensions"),
    ({"active": 5}, "active must list"),
    ({"active": [("a", 0)]}, "must name dimensions"),
    ({"active": [(True, False)]}, "must name dimensions"),
    ({"axes": None}, "axes must be a list"),
    ({"axes": 5}, "axes must be a list"),
    ({"n_threads": "a"}, "n_threads must be a whole number"),
    ({"n_threads": -1}, "n_threads must be a whole number"),
    ({"shared_lengthscales": "no"}, "True or False"),
    ({"noise_std": True}, "noise_std must be"),
    ({"y": Y + 1j}, "real numbers"),
    ({"y": np.ma.masked_array(Y, [False, True, False])}, "y must be finite"),
    ({"kernel": [np.zeros((5, 5)), "matern32"]}, "positive diagonal"),
]


@pytest.mark.parametrize(("changed", "message"), BAD, ids=[m[:40] for _, m in BAD])
def test_bad_input_gets_one_clear_error(changed: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"axes": AXES, "X": X, "y": Y, "seed": 0, **SHORT, **changed}
    with pytest.raises(ValueError, match=message):
        bktf.fit(arguments.pop("axes"), arguments.pop("X"), arguments.pop("y"), **arguments)


BAD_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"n_sweeps": 10**29}, "n_sweeps must be a whole number of at most 10000000;"),
    ({"n_burn_in": 10**29}, r"n_burn_in must lie in \[0, n_sweeps\)"),
    ({"n_chains": 10**29}, "n_chains must be a whole number of at most 10000;"),
    ({"rank": 10**29}, "rank must be a whole number of at most 10000;"),
    ({"n_startup_trials": 10**29}, "n_startup_trials must be a whole number of at most 10000000;"),
    ({"beta": "x"}, "beta must be a number of at least 0; got 'x'"),
    ({"beta": math.nan}, "beta must be a number of at least 0; got nan"),
    ({"beta": True}, "beta must be a number of at least 0; got True"),
    ({"priors": {}}, "priors must be a bktf.Priors; got dict"),
    ({"feasible": 3}, "feasible must be a function"),
    ({"acquisition": 5}, "acquisition must be one of"),
    ({"preset": []}, r"preset must be one of 'default', 'paper'; got \[\]"),
    ({"ordinal": 5}, "ordinal must be a list of parameter names; got 5"),
    ({"ordinal": [3]}, r"ordinal must be a list of parameter names; got \[3\]"),
    (
        {"independent_sampler": "random"},
        "independent_sampler must be an Optuna sampler, as .*, or None; got 'random'",
    ),
    (
        {"independent_sampler": optuna.samplers.RandomSampler},
        r"independent_sampler must be .*RandomSampler\(\)",
    ),
    (
        {"warn_independent_sampling": "no"},
        "warn_independent_sampling must be True or False; got 'no'",
    ),
]
BAD_SPACES: list[tuple[dict[str, Any], str]] = [
    (
        {"search_space": {"x": (0.0, 1.0)}},
        r"search_space .* Optuna distribution.*; 'x' is \(0.0, 1.0\)\. bktf.minimize takes",
    ),
    ({"search_space": {3: FloatDistribution(0, 1)}}, "search_space .*names must be strings; got 3"),
    ({"search_space": [1]}, r"space must be a dictionary .* or a list of .*; got \[1\]"),
    ({"search_space": 1}, r"search_space must be a dictionary .*; got 1"),
    (
        {"search_space": {}},
        "search_space must be a dictionary .* with at least one parameter; got {}",
    ),
    (
        {"search_space": {"x": FloatDistribution(0, 1)}, "ordinal": ["x"]},
        "ordinal names categorical parameters; 'x' is",
    ),
]
BAD_RUNS: list[tuple[dict[str, Any], str]] = [
    ({"n_trials": 10**29}, "n_trials must be a whole number of at most 10000000;"),
    ({"timeout": 0}, "timeout must be a positive number of seconds, or None; got 0"),
    ({"timeout": -1.5}, "timeout must be a positive number"),
    ({"timeout": "long"}, "timeout must be a positive number of seconds, or None; got 'long'"),
    ({"timeout": math.nan}, "timeout must be a positive number"),
    ({"timeout": True}, "timeout must be a positive number"),
    (
        {"n_jobs": 0},
        "n_jobs must be a whole number from 1 to 10000, or -1 for one per processor; got 0",
    ),
    ({"n_jobs": 1.5}, "n_jobs must be a whole number"),
    ({"n_jobs": "2"}, "n_jobs must be a whole number"),
    ({"n_jobs": 10**9}, "n_jobs must be a whole number from 1 to 10000"),
    ({"storage": 5}, "storage must be a URL such as .*; got 5"),
    (
        {"storage": "run.db"},
        r"storage must be a URL such as .sqlite:///run\.db., .*; got 'run\.db'",
    ),
    ({"study_name": 3}, "study_name must be a non-empty string, or None; got 3"),
    ({"study_name": ""}, "study_name must be a non-empty string, or None; got ''"),
    (
        {"callbacks": print},
        r"callbacks must be a list of functions of \(study, trial\), as in \[print\]; got a single function",
    ),
    ({"callbacks": [3]}, r"callbacks must be a list of functions of \(study, trial\); got 3"),
    ({"callbacks": None}, "callbacks must be a list of functions .*; got None"),
    ({"catch": "x"}, "catch must be an exception class .*; got 'x'"),
    ({"catch": ["x"]}, "catch must be an exception class .*; got 'x'"),
    ({"catch": ValueError("x")}, r"catch must be an exception class .*; got ValueError\('x'\)"),
    ({"catch": KeyboardInterrupt}, "catch must be an exception class .*KeyboardInterrupt"),
    ({"catch": None}, "catch must be an exception class .*; got None"),
    ({"show_progress_bar": "x"}, "show_progress_bar must be True, False or None; got 'x'"),
    ({"ordinal": ["y"]}, "ordinal must name parameters of the search space; 'y' is none"),
    ({"ordinal": ["x"]}, "ordinal names categorical parameters; 'x' is"),
    ({"seed": "x"}, "seed must be a whole number of at least 0"),
]


@pytest.mark.parametrize(
    ("changed", "message"),
    BAD_SETTINGS + BAD_SPACES,
    ids=[m[:40] for _, m in BAD_SETTINGS + BAD_SPACES],
)
def test_a_bad_setting_of_the_sampler_gets_one_clear_error(
    changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        bktf.BKTFSampler(**changed)


@pytest.mark.parametrize(
    ("changed", "message"),
    BAD_RUNS + BAD_SETTINGS,
    ids=[m[:40] for _, m in BAD_RUNS + BAD_SETTINGS],
)
def test_a_bad_argument_of_minimize_gets_one_clear_error_before_anything_is_run_or_created(
    changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    def never(params: dict[str, Any]) -> float:
        pytest.fail(f"fn was called with {params}")

    arguments: dict[str, Any] = {
        "n_trials": 2,
        "storage": f"sqlite:///{tmp_path}/run.db",
        **changed,
    }
    with pytest.raises(ValueError, match=message):
        bktf.minimize(never, {"x": (0.0, 1.0)}, **arguments)
    assert not list(tmp_path.iterdir())


def test_an_unknown_keyword_of_minimize_names_the_nearest_one_or_all() -> None:
    def run(**arguments: Any) -> bktf.Result:
        return bktf.minimize(lambda p: float(p["x"]), {"x": (0.0, 1.0)}, **arguments)

    with pytest.raises(
        TypeError, match=r"^minimize has no keyword 'n_trial'; did you mean 'n_trials'\?$"
    ):
        run(n_trial=3)
    with pytest.raises(TypeError, match="no keyword 'aquisition'; did you mean 'acquisition'"):
        run(aquisition="ei")
    with pytest.raises(
        TypeError,
        match=r"no keyword 'zzz'; it has n_trials, seed, .*timeout, .*acquisition, .*feasible",
    ):
        run(zzz=3)
    with pytest.raises(TypeError, match=r"^maximize has no keyword 'ranks'; did you mean 'rank'"):
        bktf.maximize(lambda p: float(p["x"]), {"x": (0.0, 1.0)}, ranks=3)


def test_arguments_that_optuna_takes_are_taken() -> None:
    seen: list[int] = []
    arguments: dict[str, Any] = {
        "n_trials": np.int64(2), "timeout": math.inf, "n_jobs": -1, "storage": optuna.storages.InMemoryStorage(), "study_name": "s",
        "callbacks": iter([lambda _, trial: seen.append(trial.number)]), "catch": [OSError, ValueError], "show_progress_bar": False,
        "seed": np.int64(3), "n_sweeps": np.int64(100), "independent_sampler": optuna.samplers.RandomSampler(),
    }  # fmt: skip
    result = bktf.minimize(lambda p: float(p["x"]), {"x": (0, 1)}, **arguments)
    assert (result.nfev, result.study.study_name, sorted(seen)) == (2, "s", [0, 1])


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x[0],
        lambda x: x**2,
        lambda x: x.sum(),
        lambda x: np.sin(x),
        lambda x: x[:2],
        lambda: 3.0,
    ],
)
def test_a_function_of_an_array_is_told_that_it_receives_a_dictionary(fn: Any) -> None:
    with pytest.raises((KeyError, TypeError, AttributeError)) as caught:
        bktf.minimize(fn, {"rate": (3, 3), "x": (0.0, 1.0)}, n_trials=2, seed=seeded(0))
    assert "fn receives a dictionary of parameters, {'rate': 3, 'x': " in caught.value.__notes__[0]
    assert "not an array; write fn(p) with p['rate']" in caught.value.__notes__[0]


def test_a_name_that_the_space_lacks_stays_a_key_error_and_is_told_the_names() -> None:
    with pytest.raises(KeyError, match="rat") as caught:
        bktf.minimize(
            lambda p: p["rat"], {"rate": (3, 3), "x": (0.0, 1.0)}, n_trials=2, seed=seeded(0)
        )
    assert caught.value.__notes__ == [
        "bktf: the dictionary of parameters that fn receives has the keys 'rate', 'x'"
    ]


def test_an_error_after_the_first_value_or_of_another_kind_has_no_word_of_dictionaries() -> None:
    def breaks(params: dict[str, Any]) -> float:
        if len(values) == 2:
            raise TypeError("of its own")
        values.append(float(params["x"]))
        return values[-1]

    values: list[float] = []
    with pytest.raises(TypeError, match="of its own") as caught:
        bktf.minimize(breaks, {"x": (0.0, 1.0)}, n_trials=4, seed=seeded(0))
    assert not any("dictionary" in note for note in caught.value.__notes__)
    with pytest.raises(ZeroDivisionError) as divided:
        bktf.minimize(lambda _: 1 / 0, {"x": (0.0, 1.0)}, n_trials=4, seed=seeded(0))
    assert not hasattr(divided.value, "__notes__")


def test_time_that_is_up_before_the_first_evaluation_is_said() -> None:
    with pytest.raises(RuntimeError, match="no evaluation was made: the time was up"):
        bktf.minimize(lambda p: float(p["x"]), {"x": (0.0, 1.0)}, timeout=1e-9)


@pytest.mark.usefixtures("quiet_optuna")
def test_an_ordinal_name_that_no_trial_has_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: Trial) -> float:
        size = trial.suggest_categorical("size", ["s", "m", "l"])
        return trial.suggest_float("x", 0.0, 1.0) + len(size)

    def warnings(*ordinal: str) -> list[str]:
        caplog.clear()
        study = optuna.create_study(
            sampler=bktf.BKTFSampler(seed=seeded(0), n_startup_trials=100, ordinal=ordinal)
        )
        with caplog.at_level(logging.WARNING, "bktf"):
            study.optimize(objective, n_trials=15)
        return [record.getMessage() for record in caplog.records]

    assert warnings("size") == []
    assert warnings("size", "siez") == [
        "bktf: ordinal names 'siez', which no trial has so far; the categorical parameters are 'size'. Check the spelling"
    ]


def test_arguments_of_minimize_are_checked() -> None:
    space = {"size": bktf.choices("s", "m"), "x": (0.0, 1.0)}
    with pytest.raises(ValueError, match="got a single string"):
        bktf.minimize(lambda p: p["x"], space, ordinal="size")
    with pytest.raises(ValueError, match="'typo' is none"):
        bktf.minimize(lambda p: p["x"], space, ordinal=["typo"])
    with pytest.raises(TypeError, match="the search space is the argument `space`"):
        bktf.minimize(lambda p: p["x"], space, search_space={})


def test_choices_that_count_as_equal_are_refused() -> None:
    for values in ((1, True), (0, False), (1, 1.0)):
        with pytest.raises(ValueError, match="which count as equal"):
            bktf.choices(*values)


def test_odd_arguments_elsewhere_get_clear_errors() -> None:
    posterior = bktf.fit(AXES, X, Y, seed=seeded(0), **SHORT)
    for period in ("x", None, -1.0):
        with pytest.raises(ValueError, match="the period must be"):
            bktf.Periodic(period)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"a bktf\.Result or an Optuna study; got int"):
        bktf.leave_one_out(3)  # type: ignore[arg-type]
    for index in ([False, True, False], [0.7]):
        with pytest.raises(ValueError, match="index must list"):
            bktf.leave_one_out(posterior, index=index)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="level must lie"):
        bktf.leave_one_out(posterior, index=[0]).coverage(90)


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
    for answer in (
        posterior.mean(points),
        posterior.std(points),
        posterior.quantile(points, 0.9),
        posterior.noise_std,
    ):
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
        AXES,
        np.repeat(X, 20, axis=0),
        np.repeat(Y, 20) + np.tile([-1.0, 1.0], 30),
        seed=seeded(0),
        n_sweeps=400,
        n_burn_in=200,
    )
    assert_finite(posterior, OFF_GRID)
    # 1.00 to 1.02, and means within 0.1 (six seeds).
    assert 0.7 < np.median(posterior.noise_std) < 1.5
    np.testing.assert_allclose(posterior.mean(X), Y, atol=0.8)


def test_axes_of_one_and_two_points_and_one_dimension_work() -> None:
    assert_finite(
        bktf.fit([[0, 1]], [[0], [1], [1]], [1.0, 2.0, 2.1], seed=seeded(0), **SHORT),
        [[0.5], [1.0]],
    )
    assert_finite(bktf.fit([[0, 1]], [0.0, 1.0], [1.0, 2.0], seed=seeded(0), **SHORT), [0.5])
    assert_finite(
        bktf.fit([[3.0], [0, 1]], [[3.0, 0.0], [3.0, 1.0]], [1.0, 2.0], seed=seeded(0), **SHORT),
        [[3.0, 0.4]],
    )
    assert_finite(
        bktf.fit(
            [[0, 1e-300], [0, 1]], [[0.0, 0.0], [1e-300, 1.0]], [1.0, 2.0], seed=seeded(0), **SHORT
        ),
        [[0.5e-300, 0.4]],
    )


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
