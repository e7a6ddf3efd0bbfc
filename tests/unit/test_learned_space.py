"""The space that trials show: conditions on categories, numbers and booleans, nested and changing."""

import math
from collections.abc import Callable
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, Trial

from bktf.optuna_sampler.learned_space import describe_conditions, learn_space
from bktf.spaces import Activation, Condition, Parameter
from seeds import seeded


def trials_of(objective: Callable[[Trial], Any], n: int, seed: int = 0) -> list[FrozenTrial]:
    """Random trials of an objective."""
    sampler = optuna.samplers.RandomSampler(seed=seeded(seed))
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: float(objective(t) or 0.0), n_trials=n)
    return study.trials


def learned(objective: Callable[[Trial], Any], n: int = 60) -> dict[str, Parameter]:
    """The parameters that random trials of an objective show, by name."""
    return {p.name: p for p in learn_space(trials_of(objective, n), ()).parameters}


def pipeline(t: Trial) -> None:
    """A tree of three kinds, one with layers, and a parameter in two branches."""
    t.suggest_float("shared", 0, 1)
    kind = t.suggest_categorical("kind", ["svm", "forest", "net"])
    if kind == "svm":
        t.suggest_float("C", 0.1, 10, log=True)
    if kind == "net":
        for i in range(t.suggest_int("layers", 1, 3)):
            t.suggest_int(f"width{i}", 4, 64)
        if t.suggest_categorical("dropout", [False, True]):
            t.suggest_float("rate", 0, 0.5)
    if kind in ("svm", "net"):
        t.suggest_float("scale", 0, 1)


def test_parents_are_found_by_what_tells_trials_apart() -> None:
    found = learned(pipeline, 120)
    assert found["shared"].activations is None
    assert found["kind"].activations is None

    def only(*conditions: Condition) -> tuple[Activation, ...]:
        return (Activation(conditions),)

    net, svm = 2.0, 0.0
    assert found["C"].activations == only(Condition("kind", frozenset({svm})))
    assert found["layers"].activations == only(Condition("kind", frozenset({net})))
    assert found["width0"].activations == only(Condition("kind", frozenset({net})))
    assert found["width1"].activations == only(Condition("layers", None, 1.5, math.inf))
    assert found["width2"].activations == only(Condition("layers", None, 2.5, math.inf))
    assert found["rate"].activations == only(Condition("dropout", frozenset({1.0})))
    assert found["scale"].activations == only(Condition("kind", frozenset({svm, net})))


def test_what_was_learned_is_said_in_words() -> None:
    parameters = learn_space(trials_of(pipeline, 120), ()).parameters
    assert set(describe_conditions(parameters)) == {
        "C appears where kind = svm",
        "layers, width0 and dropout appear where kind = net",
        "width1 appears where layers ≥ 2",
        "width2 appears where layers ≥ 3",
        "rate appears where dropout = True",
        "scale appears where kind = svm or net",
    }


def test_two_conditions_that_must_both_hold_are_found() -> None:
    def objective(t: Trial) -> None:
        kind = t.suggest_categorical("kind", ["a", "b", "c"])
        if t.suggest_int("n", 1, 4) <= 2 and kind == "b":
            t.suggest_float("x", 0, 1)

    (activation,) = learned(objective, 200)["x"].activations or ()
    assert set(activation.conditions) == {
        Condition("kind", frozenset({1.0})),
        Condition("n", None, -math.inf, 2.5),
    }


def test_a_range_that_changed_covers_all_and_suggestions_keep_to_the_latest() -> None:
    early = trials_of(lambda t: t.suggest_float("x", 0, 10), 5)
    late = trials_of(lambda t: t.suggest_float("x", 2, 5), 5, seed=1)
    for trial in late:
        trial.number += 5
    space = learn_space([*early, *late], ())
    (x,) = space.parameters
    assert x.distribution == FloatDistribution(0, 10)
    assert space.distributions == {"x": FloatDistribution(2, 5)}
    assert x.activations == (Activation((), 2.0, 5.0),)
    assert learn_space(early, ()).parameters[0].activations is None


@pytest.mark.parametrize(("is_added", "activations"), [(True, (Activation(),)), (False, ())])
def test_parameters_that_came_or_went_in_mid_study_are_told_by_time(
    is_added: bool, activations: tuple[Activation, ...]
) -> None:
    def objective(t: Trial, has_y: bool) -> None:
        t.suggest_float("x", 0, 1)
        if has_y:
            t.suggest_float("y", 0, 1)

    early = trials_of(lambda t: objective(t, not is_added), 12)
    late = trials_of(lambda t: objective(t, is_added), 12, seed=1)
    for trial in late:
        trial.number += 12
    space = learn_space([*early, *late], ())
    found = {p.name: p for p in space.parameters}
    assert found["x"].activations is None
    assert found["y"].activations == activations
    assert ("y" in space.distributions) is is_added
    if not is_added:
        assert describe_conditions(space.parameters) == ["y appears no longer"]


def test_a_parameter_of_another_kind_counts_as_it_was_last() -> None:
    early = trials_of(lambda t: t.suggest_float("x", 0.5, 1), 4)
    late = trials_of(lambda t: t.suggest_int("x", 1, 7), 4, seed=1)
    for trial in late:
        trial.number += 4
    space = learn_space([*early, *late], ())
    assert space.distributions == {"x": IntDistribution(1, 7)}


def test_no_trials_show_no_space() -> None:
    space = learn_space([], ())
    assert space.parameters == ()
    assert space.distributions == {}
