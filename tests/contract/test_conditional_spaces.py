"""Conditional spaces through the front doors: complete suggestions inside their branch, no repeats."""

import logging
import math
from datetime import datetime
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial, TrialState

import bktf
from bktf._typing import Floats
from bktf.engine import Engine, History, Objective, make_settings
from bktf.optuna_sampler.learned_space import learn_space
from bktf.optuna_sampler.trials import TrialConverter, objective_of, read_all
from bktf.spaces import INACTIVE, branch_of, deactivate, n_points, read_space, values_at
from random_trees import random_tree
from seeds import seeded

FEW: dict[str, Any] = {
    "n_sweeps": 4,
    "n_burn_in": 2,
    "n_chains": 1,
    "rank": math.inf,
    "n_startup_trials": 3,
}
N_TREES = 200
N_CHOSEN = 3  # suggestions of a model in each tree


def tree_value(point: Floats) -> float:
    """Some smooth value of the active coordinates."""
    active = np.isfinite(point)
    return float(np.sum(np.cos(point[active] + np.flatnonzero(active))))


@pytest.mark.parametrize("block", range(4))
def test_suggestions_in_random_trees_are_complete_inside_their_branch_and_new(block: int) -> None:
    settings = make_settings("default", FEW)
    for seed in range(block * N_TREES // 4, (block + 1) * N_TREES // 4):
        rng = np.random.default_rng(seeded(seed))
        tree = random_tree(rng, finite=bool(seed % 2))
        engine = Engine(tree, Objective(direction="minimize"), settings, seed)
        X, total = np.empty((0, len(tree))), n_points(tree)
        while True:
            y = np.array([tree_value(x) for x in X])
            history = History(X, y, X[:0], X, X[:0])
            is_start = engine.needs_start(history)
            suggestion = engine.choose(engine.learn(history, len(X)), len(X), X[:0], X[:0])
            point = suggestion.point
            assert np.array_equal(deactivate(tree, point), point)
            branch = branch_of(tree, point)
            assert values_at(tree, point).keys() == {
                p.name for d, p in enumerate(tree) if branch.active[d]
            }
            is_known = bool((point == X).all(axis=1).any())
            assert is_known == suggestion.is_repeat == (len(X) >= total)
            X = np.vstack((X, point))
            if is_known or (not is_start and len(X) >= 3 + N_CHOSEN):
                break


def pipeline(t: Trial) -> float:
    """Define-by-run: two branches, the second with layers; the optimum is in the second."""
    scale = t.suggest_float("scale", 0, 1)
    if t.suggest_categorical("kind", ["svm", "net"]) == "svm":
        return 0.5 + (math.log10(t.suggest_float("C", 0.01, 100, log=True)) - 1) ** 2 + scale
    value = (scale - 0.3) ** 2
    for i in range(t.suggest_int("layers", 1, 3)):
        value += 0.01 * abs(t.suggest_int(f"width{i}", 1, 9) - 5 - i)
    return float(value + 0.1 * abs(t.params["layers"] - 2))


def run(n_trials: int, seed: int = 0, **settings: Any) -> optuna.Study:
    sampler = bktf.BKTFSampler(seed=seeded(seed), **settings)
    study = optuna.create_study(sampler=sampler)
    study.optimize(pipeline, n_trials=n_trials)
    return study


def test_conditions_are_learned_used_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bktf"):
        study = run(35)
    said = [r.getMessage() for r in caplog.records if "learned from the trials" in r.getMessage()]
    assert len(said) == len(set(said))
    assert any("C appears where kind = svm" in text for text in said)
    assert any("layers" in text and "appear where kind = net" in text for text in said)
    assert study.best_value < 0.02  # at most 0.0021 with ten seeds
    names = {"svm": {"scale", "kind", "C"}}
    for trial in study.trials:
        layers = [f"width{i}" for i in range(trial.params.get("layers", 0))]
        net = {"scale", "kind", "layers", *layers}
        assert trial.params.keys() == names.get(trial.params["kind"], net)


def test_a_parameter_that_nobody_foresaw_is_drawn_and_modelled_from_then_on() -> None:
    def objective(t: Trial) -> float:
        if t.suggest_categorical("kind", ["a", "b", "rare"]) == "rare":
            return abs(t.suggest_float("hidden", 0, 1) - 0.2) - 1
        return 1.0

    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(1)))
    for kind in "abab":
        study.enqueue_trial({"kind": kind})
    study.optimize(objective, n_trials=25)
    with_hidden = [t for t in study.trials if "hidden" in t.params]
    assert len(with_hidden) > 10
    assert study.best_value < -0.98  # at most −0.9984 with ten seeds


@pytest.mark.parametrize("seed", range(3))
def test_every_branch_is_tried_at_the_end_of_the_start(seed: int) -> None:
    kinds = "abcdefgh"
    parts = [bktf.when({"kind": kind}, {f"x{kind}": (0.0, 1.0)}) for kind in kinds]
    space = read_space([{"kind": bktf.choices(*kinds)}, *parts]).modelled
    settings = make_settings("default", FEW)
    engine = Engine(space, Objective(direction="minimize"), settings, seeded(seed))
    X = np.full((3, len(space)), INACTIVE)
    X[:, 0], X[:, 1] = 0.0, [0.2, 0.4, 0.6]  # only the first kind
    for n_tried in range(1, len(kinds)):
        history = History(X, np.zeros(len(X)), X[:0], X, X[:0])
        assert engine.needs_start(history)
        point = engine.choose(engine.learn(history, len(X)), len(X), X[:0], X[:0]).point
        X = np.vstack((X, point))
        assert len(set(X[:, 0])) == n_tried + 1
    assert not engine.needs_start(History(X, np.zeros(len(X)), X[:0], X, X[:0]))


def test_a_finite_tree_is_tried_once_and_then_the_study_stops() -> None:
    def objective(t: Trial) -> float:
        if t.suggest_categorical("kind", ["a", "b"]) == "a":
            return float(t.suggest_int("x", 1, 4))
        return float(t.suggest_int("y", 1, 3) + 2 * t.suggest_categorical("on", [False, True]))

    sampler = bktf.BKTFSampler(seed=seeded(2), **FEW)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=60)
    points = [tuple(sorted(t.params.items())) for t in study.trials if t.value is not None]
    # The first trials are drawn before the space is known and may repeat.
    assert len(set(points)) == 10
    assert len(points) < 20


def test_pending_fixed_and_failed_trials_keep_to_their_branches() -> None:
    space = [
        {"kind": bktf.choices("a", "b")},
        bktf.when({"kind": "a"}, x=(1, 3)),
        bktf.when({"kind": "b"}, y=(1, 3)),
    ]
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(3), search_space=space, **FEW))
    distributions = {
        "kind": CategoricalDistribution(("a", "b")),
        "x": IntDistribution(1, 3),
        "y": IntDistribution(1, 3),
    }

    def ask() -> Trial:
        trial = study.ask()
        child = "x" if trial.suggest_categorical("kind", ["a", "b"]) == "a" else "y"
        trial.suggest_int(child, 1, 3)
        return trial

    for value in (1.0, 2.0, 3.0):
        study.tell(ask(), value)
    running = [ask(), ask()]
    study.tell(running[0], state=TrialState.FAIL)
    points = {tuple(t.params.items()) for t in study.trials}
    assert len(points) == 5
    study.enqueue_trial({"kind": "b"})
    trial = ask()
    assert trial.params["kind"] == "b"
    assert set(distributions) >= trial.params.keys()
    assert "x" not in trial.params


def test_minimize_takes_branches_and_gives_only_active_parameters() -> None:
    seen: list[dict[str, Any]] = []

    def fn(p: dict[str, Any]) -> float:
        seen.append(p)
        if p["kind"] == "svm":
            return float(1 + abs(p["C"] - 3))
        return float(
            abs(p["C"] - 12) / 10 + (p["width 2"] - 5) ** 2 / 50 if "width 2" in p else 0.9
        )

    space = [
        {"kind": bktf.choices("svm", "net")},
        bktf.when({"kind": "svm"}, C=(0.1, 10.0), constant=(7, 7)),
        bktf.when(
            {"kind": ["net"]},
            {"n layers": (1, 3)},
            bktf.when({"n layers": (2, 3)}, {"width 2": (1, 9)}),
            C=(5.0, 20.0),
        ),
    ]
    result = bktf.minimize(fn, space, n_trials=30, seed=seeded(0))
    for p in seen:
        if p["kind"] == "svm":
            assert list(p) == ["kind", "C", "constant"]
            assert 0.1 <= p["C"] <= 10.0
        else:
            assert 5.0 <= p["C"] <= 20.0
            assert ("width 2" in p) == (p["n layers"] >= 2)
            assert "constant" not in p
    assert result.fun < 0.1  # at most 0.008 with ten seeds
    for p in result.suggest(3):
        assert ("constant" in p) == (p["kind"] == "svm")
    assert "kind" in repr(result)


def test_feasible_is_asked_about_active_parameters_only() -> None:
    space = [{"kind": bktf.choices("a", "b")}, bktf.when({"kind": "a"}, x=(1, 9), n=(2, 2))]

    def feasible(p: dict[str, Any]) -> bool:
        assert ("x" in p) == ("n" in p) == (p["kind"] == "a")
        return "x" not in p or p["x"] != 5

    result = bktf.minimize(
        lambda p: abs(p.get("x", 30) - 5), space, n_trials=20, seed=seeded(0), feasible=feasible
    )
    assert result.fun == 1
    assert all(t.params.get("x") != 5 for t in result.study.trials)
    assert result.nfev == 9  # eight values of x, and the other branch
    assert result.message == "every point was tried"


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (
            [{"a": (0, 1)}, bktf.when({"b": 1}, c=(0, 1))],
            "on 'b' names no parameter; the space has",
        ),
        ([bktf.when({"b": 1}, a=(0, 1)), bktf.when({"a": 1}, b=(0, 1))], "must not form a cycle"),
        ([{"a": bktf.choices("x", "y")}, bktf.when({"a": "z"}, c=(0, 1))], "must be a value of it"),
        (
            [
                {"a": bktf.choices("x", "y")},
                bktf.when({"a": "x"}, c=(0, 1)),
                bktf.when({"a": "y"}, c=(0.0, 1.0)),
            ],
            "'c' must be of the same kind in all branches",
        ),
        ([{"a": (0, 3)}, bktf.when({"a": (5, 6)}, c=(0, 1))], r"no value of 'a' lies in \(5, 6\)"),
        ([{"a": (0, 3)}, bktf.when({"a": (1.2, 1.8)}, c=(0, 1))], "'c' is active nowhere"),
        ([{"a": (0, 3)}, bktf.when({"a": "2"}, c=(0, 1))], "must be a value of it"),
        (
            [{"a": (0, 3)}, bktf.when({"a": 1}, bktf.when({"a": 2}, c=(0, 1)))],
            "'c' is active nowhere",
        ),
        ([{"a": (0, 3)}, bktf.when({"a": 1}, {"c": (0, 1)}, c=(0, 2))], "'c' is there twice"),
        (
            [
                {"a": (0, 1)},
                bktf.when({"a": 0}, c=range(0, 9, 2)),
                bktf.when({"a": 1}, c=range(1, 9, 2)),
            ],
            "which do not meet",
        ),
        (
            [{"a": bktf.choices("x")}, bktf.when({"a": (0, 1)}, c=(0, 1))],
            "must be a value or a list",
        ),
        ([{"a": (0, 3)}, bktf.when({"a": (2, 1)}, c=(0, 1))], "low ≤ high"),
        ([{"a": (0, 3)}, {"a": (0, 3)}], "'a' is there twice"),
        ([{"a": (0, 3)}, bktf.when({"a": []}, c=(0, 1))], "must be a value of it"),
        ([], "space must be a dictionary"),
        ([3], "space must be a dictionary"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(space: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bktf.minimize(lambda _: 0.0, space, n_trials=1)


def test_when_without_conditions_or_parameters_is_refused() -> None:
    with pytest.raises(ValueError, match="when needs conditions"):
        bktf.when({}, a=(0, 1))
    with pytest.raises(ValueError, match="has no parameters"):
        bktf.when({"a": 1})
    with pytest.raises(ValueError, match="must be dictionaries of parameters"):
        bktf.when({"a": 1}, 3)


def test_trials_before_a_range_was_narrowed_keep_their_information() -> None:
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(4)))
    study.optimize(lambda t: (t.suggest_float("x", 0, 10) - 6) ** 2, n_trials=12)
    study.optimize(lambda t: (t.suggest_float("x", 2, 5) - 6) ** 2, n_trials=4)
    late = [t.params["x"] for t in study.trials[12:]]
    assert all(2 <= x <= 5 for x in late)
    assert max(late) == pytest.approx(5, abs=0.05)  # the earlier trials say that it rises
    space = study.sampler.infer_relative_search_space(study, study.trials[0])
    assert space == {"x": FloatDistribution(2, 5)}


def test_a_suggestion_is_the_same_in_another_process_of_the_same_storage() -> None:
    first = run(14, seed=5)
    again = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(5)))
    for trial in first.trials[:-1]:
        again.add_trial(trial)
    again.optimize(pipeline, n_trials=1)
    assert again.trials[-1].params == first.trials[-1].params


def test_an_inactive_coordinate_is_infinity_in_the_history() -> None:
    study = run(12)
    parameters = learn_space(study.trials, ()).parameters
    converter = TrialConverter(parameters, objective_of(study))
    history = converter.history(read_all(study), -1, datetime.now())
    assert len(history.X) == 12
    column = [p.name for p in parameters].index("C")
    is_svm = [t.params["kind"] == "svm" for t in study.trials]
    assert ((history.X[:, column] != INACTIVE) == is_svm).all()
