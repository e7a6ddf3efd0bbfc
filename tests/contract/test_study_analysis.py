"""What is known of a study: any Optuna study, a Result, a posterior; and when it is done."""

import logging
import math
import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

import bktf
from bktf.analysis import Estimate, StopRule
from bktf.analysis.convergence import Convergence, percentage
from bktf.analysis.reliability import MAX_STATED, PROBABILITIES, SHARES, probability_of_share
from seeds import seeded

optuna.logging.set_verbosity(optuna.logging.ERROR)


def bowl(trial: optuna.Trial) -> float:
    """A bowl with its smallest value 1 at (0.3, 0.1, b)."""
    x = trial.suggest_float("x", 0.0, 1.0)
    rate = trial.suggest_float("rate", 1e-3, 1.0, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    return 1 + (x - 0.3) ** 2 + 0.1 * (math.log10(rate) + 1) ** 2 + 0.2 * (kind == "a")


def random_study(n_trials: int = 20) -> optuna.Study:
    """A study that another sampler has made."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seeded(0)))
    study.optimize(bowl, n_trials=n_trials)
    return study


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    """Twenty random trials of the bowl."""
    return random_study()


# --- posteriors of studies -----------------------------------------------------------------------


def test_any_study_has_a_posterior_with_its_names_and_direction(study: optuna.Study) -> None:
    posterior = bktf.analyze(study)
    assert posterior.names == ("x", "rate", "kind")
    assert posterior.meaning.direction == "minimize"
    best = study.best_trial
    point = [best.params["x"], best.params["rate"], float(best.params["kind"] == "b")]
    assert posterior.mean([point])[0] == pytest.approx(study.best_value, abs=0.05)
    assert posterior.meaning.params(np.array(point)) == pytest.approx(best.params)
    assert sorted(posterior.y) == pytest.approx(sorted(t.value or 0.0 for t in study.trials))


def test_a_posterior_and_a_result_are_taken_as_well() -> None:
    result = bktf.minimize(lambda p: (p["x"] - 0.4) ** 2, {"x": (0.0, 1.0)}, n_trials=9, seed=0)
    posterior = bktf.analyze(result)
    assert bktf.analyze(posterior) is posterior
    assert posterior is result.posterior
    again = bktf.analyze(result.study)
    points = np.linspace(0, 1, 5)[:, None]
    assert again.mean(points) == pytest.approx(posterior.mean(points))
    assert bktf.optimum(result).x == bktf.optimum(posterior).x


def test_the_settings_of_a_bktf_study_are_read_where_it_is_opened_without_them() -> None:
    storage = optuna.storages.InMemoryStorage()
    sampler = bktf.BKTFSampler(
        seed=0, ordinal=["kind"], noise_std=0.1, allow_repeats=True, rank=math.inf
    )
    study = optuna.create_study(study_name="s", storage=storage, sampler=sampler)
    study.optimize(bowl, n_trials=8)
    opened = optuna.load_study(study_name="s", storage=storage)
    posterior = bktf.analyze(opened)
    assert posterior.spec.noise_std == 0.1
    assert not any(axis.kernel.on_levels for axis in posterior.grid)
    points = posterior.X
    assert posterior.mean(points) == pytest.approx(bktf.analyze(study).mean(points))
    study._storage.set_study_system_attr(study._study_id, "bktf:settings", "damaged {")
    assert bktf.analyze(opened).spec.noise_std is None


def test_a_sampler_that_is_given_says_what_may_be_suggested(study: optuna.Study) -> None:
    sampler = bktf.BKTFSampler(seed=0, feasible=lambda p: p["x"] > 0.6)
    found = bktf.optimum(bktf.analyze(study, sampler=sampler))
    assert found.x_draws[:, 0].min() > 0.6
    assert found.x["x"] > 0.6


def test_conditional_studies_have_an_optimum_in_one_of_their_branches() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["none", "some"]) == "none":
            return 0.5
        return (trial.suggest_float("dose", 0.0, 1.0) - 0.5) ** 2

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seeded(1)))
    study.optimize(objective, n_trials=25)
    found = bktf.optimum(study)
    assert found.best_level["kind"]["some"] > 0.8
    assert found.x["kind"] == "some"
    assert found.x["dose"] == pytest.approx(0.5, abs=0.15)
    is_none = found.x_draws[:, 0] == 0
    assert np.all(np.isinf(found.x_draws[is_none, 1]))
    assert np.all(np.isfinite(found.x_draws[~is_none, 1]))


@pytest.mark.parametrize(
    ("space", "settings", "holds"),
    [
        (
            [bktf.mixture("a", "b", "c", total=10)],
            {},
            lambda p: abs(p["a"] + p["b"] + p["c"] - 10) < 1e-6,
        ),
        (
            {"a": (0.0, 10.0), "b": (0.0, 10.0)},
            {"feasible": lambda p: p["a"] + p["b"] < 9},
            lambda p: p["a"] + p["b"] < 9,
        ),
        (
            None,
            {"candidates": {"a": [0.0, 1.5, 4.0, 7.7, 9.0], "b": [1.0, 2.0, 8.0, 0.0, 3.0]}},
            lambda p: (p["a"], p["b"]) in [(0, 1), (1.5, 2), (4, 8), (7.7, 0), (9, 3)],
        ),
    ],
)
def test_the_optimum_is_over_what_may_be_suggested(space: Any, settings: Any, holds: Any) -> None:
    n_trials = 4 if "candidates" in settings else 8
    result = bktf.minimize(
        lambda p: (p["a"] - 3) ** 2 + p["b"], space, n_trials, seed=0, **settings
    )
    found = bktf.optimum(result, n_paths=40)
    meaning = result.posterior.meaning
    assert all(holds(meaning.params(point)) for point in found.x_draws)
    assert holds(found.best)


# --- am I done? ----------------------------------------------------------------------------------


def test_the_probability_is_that_of_the_share_of_functions(study: optuna.Study) -> None:
    found, done = bktf.optimum(study), bktf.convergence(study, tolerance=0.05)
    assert done.share == found.within(0.05)
    assert done.probability == pytest.approx(probability_of_share(done.share))
    assert done.gap == found.gap
    assert done.is_reached == (probability_of_share(done.share) >= 0.8)
    assert "within 0.05 of the optimum" in str(done)


def test_a_cost_is_compared_with_the_largest_improvement(study: optuna.Study) -> None:
    dear = bktf.convergence(study, cost=10.0)
    cheap = bktf.convergence(study, cost=1e-9)
    assert dear.is_reached
    assert not cheap.is_reached
    assert dear.expected_improvement == cheap.expected_improvement
    posterior = bktf.analyze(study)
    best = posterior.mean(posterior.X).min()
    rng = np.random.default_rng(seeded(2))
    points = np.column_stack((rng.random(500), rng.uniform(1e-3, 1, 500), rng.integers(0, 2, 500)))
    gains = posterior.negated().expected_improvement(points, -best)
    assert dear.expected_improvement is not None
    assert dear.expected_improvement >= gains.max() * 0.9


def test_a_study_stops_once_it_has_converged() -> None:
    stop = bktf.StopWhenConverged(tolerance=0.05, confidence=0.7, check_every=2)
    sampler = bktf.BKTFSampler(seed=seeded(3))
    study = optuna.create_study(sampler=sampler)
    study.optimize(bowl, n_trials=60, callbacks=[stop])
    assert 10 <= len(study.trials) < 60
    assert stop.latest is not None
    assert stop.latest.is_reached
    assert stop.reason == str(stop.latest)
    assert stop.latest.n_values == len(study.trials)


def test_minimize_stops_and_says_why() -> None:
    stop = bktf.StopWhenConverged(tolerance=0.1, confidence=0.7)
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    result = bktf.minimize(
        lambda p: (p["x"] - 0.3) ** 2 + p["y"], space, 60, seed=seeded(4), stop=stop
    )
    assert result.nfev < 60
    assert result.message == stop.reason
    assert result.message.startswith("converged: the best of")


def test_looks_are_as_rare_as_asked_for_and_each_study_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = []

    def look(posterior: Any, _: StopRule) -> Convergence:
        looked.append(len(posterior.y))
        return never

    never = replace(
        bktf.convergence(random_study(10), tolerance=0.0, confidence=0.6), is_reached=False
    )
    monkeypatch.setattr("bktf.analysis.convergence", look)
    stop = bktf.StopWhenConverged(tolerance=0.1, confidence=0.7, check_every=4, min_values=6)
    for _ in range(2):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.optimize(bowl, n_trials=17, callbacks=[stop])
    assert looked == [6, 10, 14] * 2
    assert stop.reason is None


def test_a_rule_can_be_pickled_and_keeps_what_it_knows() -> None:
    stop = bktf.StopWhenConverged(tolerance=0.1, confidence=0.7, check_every=3)
    again = pickle.loads(pickle.dumps(stop))
    assert repr(again) == repr(stop)
    again.check(random_study(12))
    assert again.latest is not None


def test_nothing_is_said_where_the_model_explains_little() -> None:
    rng = np.random.default_rng(seeded(5))
    axis = np.linspace(0, 1, 33)
    posterior = bktf.fit(
        [axis], rng.choice(axis, (30, 1)), rng.standard_normal(30), rank=math.inf, seed=0,
        noise_std=1.0,
    )  # fmt: skip
    done = bktf.convergence(posterior, tolerance=5.0, direction="maximize", confidence=0.6)
    assert done.explained < 0.5
    assert done.probability is None
    assert not done.is_reached
    assert "cannot tell yet" in str(done)


def test_failed_and_pruned_trials_are_not_looked_at() -> None:
    stop = bktf.StopWhenConverged(tolerance=0.1, confidence=0.7, min_values=3)
    study = optuna.create_study()
    for state in (optuna.trial.TrialState.FAIL, optuna.trial.TrialState.PRUNED):
        trial = optuna.create_trial(
            state=state, params={"x": 0.5}, distributions={"x": FloatDistribution(0, 1)}
        )
        study.add_trial(trial)
        stop(study, study.trials[-1])
    assert stop.latest is None


def test_the_map_of_shares_is_increasing_and_never_states_more_than_it_supports() -> None:
    shares = np.linspace(0, 1, 201)
    stated = np.array([probability_of_share(float(share)) for share in shares])
    assert np.all(np.diff(stated) >= 0)
    assert stated.min() >= 0
    assert stated.max() == MAX_STATED == max(PROBABILITIES)
    assert list(SHARES) == sorted(SHARES)
    assert percentage(0.851) == "85 %"


def test_a_look_is_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    optuna.logging.enable_propagation()
    optuna.logging.set_verbosity(optuna.logging.INFO)
    try:
        with caplog.at_level(logging.INFO):
            bktf.StopWhenConverged(tolerance=0.1, confidence=0.7).check(random_study(12))
    finally:
        optuna.logging.disable_propagation()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
    assert any("converged: the best of 12 values" in message for message in caplog.messages)


# --- importance, slices, leave-one-out -----------------------------------------------------------


def test_optuna_asks_for_importances(study: optuna.Study) -> None:
    evaluator = bktf.BKTFImportanceEvaluator()
    found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    assert list(found) == sorted(found, key=lambda name: -found[name])
    assert sum(found.values()) == pytest.approx(1.0)
    own = bktf.importance(study)
    raw = evaluator.evaluate(study)
    assert raw == pytest.approx({name: own.total[name].mean for name in raw})
    first = bktf.BKTFImportanceEvaluator(kind="first").evaluate(study, ["kind", "x"])
    assert first == pytest.approx({name: own.first[name].mean for name in first})
    assert set(first) == {"kind", "x"}


def test_importances_of_a_target_are_those_of_its_values(study: optuna.Study) -> None:
    def only_x(trial: optuna.trial.FrozenTrial) -> float:
        return float(trial.params["x"])

    evaluator = bktf.BKTFImportanceEvaluator()
    found = optuna.importance.get_param_importances(study, evaluator=evaluator, target=only_x)
    assert found["x"] > 0.95


def test_importances_are_of_all_parameters_also_conditional_and_constant_ones() -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("constant", 3, 3)
        if trial.suggest_categorical("kind", ["none", "some"]) == "none":
            return 0.0
        return 1 + 4 * trial.suggest_float("dose", 0.0, 1.0)

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seeded(6)))
    study.optimize(objective, n_trials=25)
    found = bktf.BKTFImportanceEvaluator(kind="first").evaluate(study)
    assert set(found) == {"constant", "kind", "dose"}
    assert found["constant"] == 0.0
    # kind: E = 0 or 3, variance 9/4; dose: E = 1 or so by ½·4·dose, variance (4/2)²/12 = 1/3.
    # The whole variance is 9/4 + ½·16/12 = 2.92.
    assert found["kind"] == pytest.approx(0.77, abs=0.1)
    assert found["dose"] == pytest.approx(0.114, abs=0.06)


def test_slices_marginals_and_leave_one_out_take_studies(study: optuna.Study) -> None:
    posterior = bktf.analyze(study)
    piece, own = bktf.slice_along(study, "x"), bktf.slice_along(posterior, "x")
    np.testing.assert_allclose(piece.mean, own.mean)
    assert bktf.marginal_of(study, "kind").values == (["a", "b"],)
    assert bktf.acquisition_along(study, "x").names == ("x",)
    assert bktf.leave_one_out(study).y == pytest.approx(posterior.y)


# --- what is easily wrong ------------------------------------------------------------------------


def two_columns(n: int, seed: int, low: float = 0.0, high: float = 1.0) -> optuna.Study:
    """A study of x and y between two ends, with its smallest value at (0.2, 0.7)."""
    study, rng = optuna.create_study(), np.random.default_rng(seeded(seed))
    space: dict[str, BaseDistribution] = {n: FloatDistribution(low, high) for n in ("x", "y")}
    for x, y in rng.uniform(low, high, (n, 2)).tolist():
        trial = optuna.create_trial(
            params={"x": x, "y": y}, distributions=space, value=(x - 0.2) ** 2 + (y - 0.7) ** 2
        )
        study.add_trial(trial)
    return study


def test_points_outside_of_todays_range_are_neither_best_nor_optimal() -> None:
    study = two_columns(12, 7)
    for trial in two_columns(8, 8, 0.0, 0.1).trials:
        study.add_trial(trial)
    found = bktf.optimum(study)
    assert found.x_draws.max() <= 0.1
    assert max(found.best.values()) <= 0.1


def test_values_that_are_kept_fixed_hold_for_the_optimum() -> None:
    study = two_columns(20, 9)
    sampler = bktf.BKTFSampler(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.PartialFixedSampler({"x": 0.9}, sampler)
    found = bktf.optimum(study)
    assert set(found.x_draws[:, 0]) == {0.9}
    assert found.best == {}
    assert found.within(1e6) == 0.0
    done = bktf.convergence(study, tolerance=1e6)
    assert not done.is_reached
    assert "none of the tried points may be suggested" in str(done)


def test_where_nothing_may_be_suggested_there_is_no_optimum() -> None:
    study = two_columns(15, 10)
    nothing = bktf.BKTFSampler(seed=0, feasible=lambda _: False)
    with pytest.raises(ValueError, match="no point was found that may be suggested"):
        bktf.optimum(bktf.analyze(study, sampler=nothing))


def test_a_thin_feasible_set_with_a_tried_point_is_searched_around_it() -> None:
    study = two_columns(15, 11)
    inside = optuna.create_trial(
        params={"x": 0.995, "y": 0.95},
        distributions=study.trials[0].distributions,
        value=0.795**2 + 0.25**2,
    )
    study.add_trial(inside)
    thin = bktf.BKTFSampler(seed=0, feasible=lambda p: p["x"] > 0.99 and p["y"] > 0.9)
    found = bktf.optimum(bktf.analyze(study, sampler=thin))
    assert not found.is_exact
    assert found.best == {"x": 0.995, "y": 0.95}
    assert np.median(found.gaps) > 0.005  # (0.99, 0.9) is better by 0.03


def test_a_cost_is_measured_from_the_best_feasible_point() -> None:
    study = two_columns(25, 12)
    half = bktf.BKTFSampler(seed=0, feasible=lambda p: p["x"] > 0.5)
    posterior = bktf.analyze(study, sampler=half)
    found, done = bktf.optimum(posterior), bktf.convergence(posterior, cost=1e-6)
    assert done.expected_improvement is not None
    assert done.expected_improvement == pytest.approx(found.gap.mean, rel=1.0, abs=0.02)
    assert done.expected_improvement > 0.001


def test_none_is_a_level_and_not_the_same_as_inactive() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["svm", "net"]) == "net":
            return 3.0
        weight = trial.suggest_categorical("weight", [None, "balanced"])
        return (weight is not None) + (trial.suggest_float("C", 0.0, 1.0) - 0.5) ** 2

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seeded(13)))
    study.optimize(objective, n_trials=30)
    shares = bktf.optimum(study).best_level["weight"]
    assert shares[None] > 0.8
    assert sum(shares.values()) == pytest.approx(1.0)
    assert [repr(level) for level in shares] == ["None", "'balanced'", "inactive"]


def test_a_rule_that_is_used_again_forgets_the_run_before() -> None:
    stop = bktf.StopWhenConverged(tolerance=10.0, confidence=0.6)
    space = {"x": (0.0, 1.0)}
    first = bktf.minimize(lambda p: p["x"], space, 30, seed=0, stop=stop)
    assert first.message.startswith("converged")
    second = bktf.minimize(lambda p: p["x"], space, 4, seed=0, stop=stop)
    assert second.message == "all evaluations made"


def test_a_posterior_of_a_study_is_saved_with_what_it_knows(tmp_path: Any) -> None:
    def objective(trial: optuna.Trial) -> float:
        i = trial.suggest_int("i", 1, 100, log=True)
        return i + 50 * (trial.suggest_categorical("kind", ["a", "b"]) == "a")

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seeded(14)))
    study.optimize(objective, n_trials=15)
    posterior = bktf.analyze(study)
    posterior.save(tmp_path / "fit.npz")
    again = bktf.load(tmp_path / "fit.npz")
    first, second = bktf.importance(posterior), bktf.importance(again)
    for name, estimate in first.total.items():
        assert second.total[name] == pytest.approx(estimate)
    one, other = bktf.optimum(posterior, n_paths=30), bktf.optimum(again, n_paths=30)
    assert one.best_level == other.best_level
    assert one.x == other.x
    assert isinstance(other.x["i"], int)


def test_what_a_file_cannot_keep_is_said(tmp_path: Any) -> None:
    limited = bktf.BKTFSampler(seed=0, feasible=lambda p: p["x"] > 0.5)
    posterior = bktf.analyze(two_columns(8, 15), sampler=limited)
    posterior.save(tmp_path / "fit.npz")
    again = bktf.load(tmp_path / "fit.npz")
    again.save(tmp_path / "again.npz")
    for loaded in (again, bktf.load(tmp_path / "again.npz")):
        with pytest.raises(ValueError, match=r"needs what may be suggested, which .* not keep"):
            bktf.optimum(loaded)


def test_a_target_has_the_settings_of_the_study() -> None:
    storage = optuna.storages.InMemoryStorage()
    sampler = bktf.BKTFSampler(seed=0, rank=math.inf, noise_std=0.3)
    study = optuna.create_study(study_name="s", storage=storage, sampler=sampler)
    study.optimize(bowl, n_trials=12)
    opened = optuna.load_study(study_name="s", storage=storage)
    evaluator = bktf.BKTFImportanceEvaluator()
    values = evaluator.evaluate(opened, target=lambda trial: trial.value or 0.0)
    assert values == pytest.approx(evaluator.evaluate(opened))


def test_the_cost_of_a_fit_of_all_ranks_and_paths_that_are_maximised() -> None:
    rng = np.random.default_rng(seeded(16))
    axis = np.linspace(0, 1, 9)
    X = rng.choice(axis, (10, 1))
    posterior = bktf.fit([axis], X, X[:, 0] ** 2, rank=math.inf, seed=0)
    points, values = posterior.paths(20).minimise()
    every = posterior.paths(20)(axis[:, None])
    np.testing.assert_allclose(values, every.min(axis=1), atol=1e-9)
    np.testing.assert_allclose(posterior.paths(20).maximise()[1], every.max(axis=1), atol=1e-9)
    assert points.shape == (20, 1)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give either tolerance= .* or cost="),
        ({"tolerance": 0.1, "cost": 1.0}, "give either tolerance= .* or cost="),
        ({"tolerance": -1.0}, "tolerance must be a finite number of at least 0"),
        ({"tolerance": math.inf}, "tolerance must be a finite number of at least 0"),
        ({"tolerance": 0.1, "confidence": 1.0}, r"confidence must lie in \[0.5, 1\); got 1.0"),
        (
            {"tolerance": 0.1, "confidence": "sure"},
            r"confidence must lie in \[0.5, 1\); got 'sure'",
        ),
        ({"tolerance": 0.1, "confidence": 0.9}, "at most 0.851: measurements support no larger"),
        ({"cost": 0.0}, "cost must be positive"),
    ],
)
def test_a_rule_that_cannot_be_is_one_clear_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bktf.StopWhenConverged(**arguments)


def test_what_cannot_be_analysed_is_one_clear_error(study: optuna.Study) -> None:
    with pytest.raises(ValueError, match=r"a bktf\.Result or an Optuna study; got int"):
        bktf.analyze(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"sampler must be a bktf\.BKTFSampler; got TPESampler"):
        bktf.analyze(study, sampler=optuna.samplers.TPESampler())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 3 completed trials; the study has 2"):
        bktf.analyze(random_study(2))
    several = optuna.create_study(directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match="an analysis is of one objective; the study has 2"):
        bktf.analyze(several)
    single = optuna.create_study()
    single.optimize(lambda t: t.suggest_int("n", 2, 2), n_trials=4)
    with pytest.raises(ValueError, match="needs a parameter that varies"):
        bktf.analyze(single)
    with pytest.raises(ValueError, match=r"stop must be a bktf\.StopWhenConverged.* callbacks"):
        bktf.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 5, stop=lambda *_: None)  # type: ignore[arg-type]


def test_analyses_of_too_little_are_one_clear_error(study: optuna.Study) -> None:
    two = bktf.fit([np.linspace(0, 1, 5)], [[0.0], [0.5]], [0.0, 1.0], rank=math.inf, seed=0)
    with pytest.raises(ValueError, match="importance needs at least 3 observed values"):
        bktf.importance(two)
    with pytest.raises(ValueError, match="n_paths must be a whole number of at least 19"):
        bktf.importance(study, n_paths=3)
    with pytest.raises(ValueError, match=r"densities\['x'\] must be .* positive somewhere"):
        bktf.importance(study, densities={"x": (50.0, 0.05)})
    with pytest.raises(ValueError, match='score must be "ei", "ucb", "max"'):
        bktf.acquisition_along(study, "x", score=3)  # type: ignore[arg-type]
    assert bktf.acquisition_along(study, "x", score="ucb").acquisition == "ucb"
    several = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="StopWhenConverged is for one objective"):
        bktf.StopWhenConverged(tolerance=0.1).check(several)
    with pytest.raises(ValueError, match="averaged over some parameters cannot be maximised"):
        bktf.analyze(study).paths(3).integrate("x").maximise()


def test_a_space_that_changed_is_named() -> None:
    study = optuna.create_study()
    for i in range(5):
        trial = optuna.create_trial(
            params={"x": i}, distributions={"x": IntDistribution(0, 9)}, value=float(i)
        )
        study.add_trial(trial)
    narrow = bktf.BKTFSampler(seed=0, search_space={"x": FloatDistribution(0.0, 1.5)})
    with pytest.raises(ValueError, match=r"2 of 5 completed trials .* space of 'x'.* has changed"):
        bktf.analyze(study, sampler=narrow)


def test_a_further_draw_lies_in_the_interval_of_an_estimate() -> None:
    estimate = Estimate.of(np.arange(1.0, 100.0))
    assert estimate == pytest.approx((50.0, 5.0, 95.0))
