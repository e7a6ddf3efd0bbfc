"""Conditional studies that are hard to learn: no point is repeated without end, none is lost."""

import warnings
from collections.abc import Callable
from typing import Any

import optuna
import pytest
from optuna.samplers import PartialFixedSampler
from optuna.trial import Trial

import bktf
from bktf.optuna_sampler.learned_space import learn_space
from bktf.optuna_sampler.trials import point_of
from bktf.spaces import INACTIVE
from seeds import seeded

FEW: dict[str, Any] = {"n_sweeps": 6, "n_burn_in": 3, "n_chains": 1, "rank": float("inf")}


def run(objective: Callable[[Trial], Any], n: int, seed: int = 0, **more: Any) -> optuna.Study:
    settings = {**FEW, "warn_independent_sampling": False, **more}
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(seed), **settings))
    study.optimize(lambda t: float(objective(t)), n_trials=n)
    return study


def distinct(study: optuna.Study) -> int:
    return len({tuple(sorted(t.params.items())) for t in study.trials})


def either_switch(t: Trial) -> float:
    """A child of two switches: it is there where one of them is on; 19 points."""
    a, b = (t.suggest_categorical(name, [False, True]) for name in "ab")
    return (t.suggest_int("x", 1, 6) - 3) ** 2 + a + b if a or b else 3.0


def two_depths(t: Trial) -> float:
    """The same name at two depths; 10 + 5 + 10 + 1 points."""
    kind = t.suggest_categorical("kind", ["svm", "net", "tree"])
    if kind == "svm":
        return 0.3 + (t.suggest_int("C", 1, 10) - 4) ** 2 / 50
    if kind == "tree":
        return 0.5 + t.suggest_int("depth", 1, 5) / 10
    if t.suggest_categorical("regular", [False, True]):
        return 0.2 + (t.suggest_int("C", 1, 10) - 7) ** 2 / 50
    return 0.25


@pytest.mark.parametrize(
    ("objective", "total"), [(either_switch, 19), (two_depths, 26)], ids=["or", "depths"]
)
@pytest.mark.parametrize("seed", range(3))
def test_alternatives_are_learned_and_a_finite_study_tries_every_point(
    objective: Callable[[Trial], float], total: int, seed: int
) -> None:
    study = run(objective, 3 * total, seed)
    assert distinct(study) == total
    # Before the structure is known a few trials may repeat.
    assert len(study.trials) <= total + 8


def test_a_continuous_parent_is_learned() -> None:
    def objective(t: Trial) -> float:
        d = t.suggest_float("d", 0, 1)
        return abs(d - 0.3) if d <= 0.5 else 1 + t.suggest_float("z", 0, 1)

    study = run(objective, 35)
    (z,) = (p for p in learn_space(study.trials, ()).parameters if p.name == "z")
    assert z.activations is not None
    (condition,) = z.activations[0].conditions
    assert condition.parent == "d"
    assert 0.3 < condition.low < 0.8
    assert study.best_value < 0.05
    assert distinct(study) == 35


def test_each_branch_keeps_its_own_range_of_a_shared_name() -> None:
    def objective(t: Trial) -> float:
        kind = t.suggest_categorical("kind", ["forest", "boost"])
        depth = t.suggest_int("depth", 1, 30 if kind == "forest" else 6)
        if kind == "forest":
            return 0.01 * (depth - 20) ** 2
        return 1 + 0.1 * depth + t.suggest_float("rate", 0, 1)

    study = run(objective, 30)
    late = [t.params for t in study.trials[12:]]
    assert sum(p["kind"] == "forest" and p["depth"] > 6 for p in late) > 5
    assert study.best_value < 0.1
    (depth,) = (p for p in learn_space(study.trials, ()).parameters if p.name == "depth")
    assert {(a.low, a.high) for a in depth.activations or ()} == {(1.0, 30.0), (1.0, 6.0)}


def test_a_parameter_that_changed_its_range_and_was_taken_out_stays_out() -> None:
    def objective(t: Trial) -> float:
        k = t.suggest_int("k", 1, 12)
        if t.number < 6:
            t.suggest_float("x", 0, 2 if t.number < 3 else 1)
        return (k - 7) ** 2

    study = run(objective, 24)
    assert len({t.params["k"] for t in study.trials[6:]}) >= 10


def test_what_nothing_explains_is_left_to_the_independent_sampler() -> None:
    def objective(t: Trial) -> float:
        k = t.suggest_int("k", 1, 30)
        return k + (t.suggest_float("x", 0, 1) if t.number % 3 == 1 else 0.0)

    study = run(objective, 20)
    known = learn_space(study.trials, ())
    assert [p.name for p in known.parameters] == ["k"]
    assert known.is_open


def test_feasible_may_exclude_a_whole_branch() -> None:
    space = [
        {"kind": bktf.choices("a", "b")},
        bktf.when({"kind": "a"}, x=(0.0, 8.0)),
        bktf.when({"kind": "b"}, y=(0.0, 8.0)),
    ]
    result = bktf.minimize(
        lambda p: p["x"], space, n_trials=12, seed=seeded(0), feasible=lambda p: p["kind"] == "a"
    )
    assert result.nfev == 12
    assert result.fun < 0.01


def test_an_enqueued_value_of_an_inactive_parameter_counts_for_nothing() -> None:
    space = [
        {"kind": bktf.choices("a", "b")},
        bktf.when({"kind": "a"}, x=(1, 3)),
        bktf.when({"kind": "b"}, y=(1, 3)),
    ]

    def objective(t: Trial) -> float:
        child = "x" if t.suggest_categorical("kind", ["a", "b"]) == "a" else "y"
        return float(t.suggest_int(child, 1, 3))

    settings = {**FEW, "n_startup_trials": 3, "search_space": space}
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(0), **settings))
    study.enqueue_trial({"kind": "b", "y": 2, "x": 3})
    study.optimize(objective, n_trials=20)
    assert len(study.trials) == distinct(study) == 6
    parameters = learn_space(study.trials, ()).parameters
    point = point_of(study.trials[0], parameters)
    assert point is not None
    assert point[[p.name for p in parameters].index("x")] == INACTIVE


def test_an_enqueued_branch_keeps_to_its_ranges() -> None:
    space = [
        {"kind": bktf.choices("svm", "net")},
        bktf.when({"kind": "svm"}, C=(0.1, 10.0)),
        bktf.when({"kind": "net"}, C=(100.0, 1000.0)),
    ]
    drawn: list[str] = []

    class Counting(optuna.samplers.RandomSampler):
        def sample_independent(self, *args: Any, **more: Any) -> Any:
            drawn.append(str(args[2] if len(args) > 2 else more))
            return super().sample_independent(*args, **more)

    def objective(t: Trial) -> float:
        is_svm = t.suggest_categorical("kind", ["svm", "net"]) == "svm"
        return t.suggest_float("C", *((0.1, 10.0) if is_svm else (100.0, 1000.0)))

    settings = {**FEW, "search_space": space, "independent_sampler": Counting()}
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(0), **settings))
    for _ in range(12):
        study.enqueue_trial({"kind": "svm"})
    study.optimize(objective, n_trials=14)
    assert drawn == []


def test_samplers_that_fix_parameters_may_be_nested() -> None:
    def objective(t: Trial) -> float:
        if t.suggest_categorical("kind", ["a", "b"]) == "a":
            return t.suggest_float("k", 0, 1)
        return 1 + t.suggest_float("j", 0, 1)

    study = run(objective, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        inner = PartialFixedSampler({"kind": "a"}, study.sampler)
        study.sampler = PartialFixedSampler({"k": 0.5}, inner)
    study.optimize(objective, n_trials=2)
    assert [t.params for t in study.trials[-2:]] == [{"kind": "a", "k": 0.5}] * 2


def test_conditions_through_parameters_with_one_value() -> None:
    c, when = bktf.choices, bktf.when
    space = [
        {"kind": c("a", "b", "none")},
        when({"kind": "a"}, k=c("x")),
        when({"kind": "b"}, k=c("x")),
        when({"k": "x"}, j=c("y")),
        when({"j": "y"}, z=(0.0, 1.0)),
    ]
    seen: list[dict[str, Any]] = []

    def fn(p: dict[str, Any]) -> float:
        seen.append(p)
        return float(p.get("z", 1.0))

    bktf.minimize(fn, space, n_trials=14, seed=seeded(0), **FEW)
    for p in seen:
        assert ("k" in p) == ("j" in p) == ("z" in p) == (p["kind"] != "none")
    assert {p["kind"] for p in seen} == {"a", "b", "none"}
