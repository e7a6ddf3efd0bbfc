"""Studies as Optuna allows them: choices of any kind, enqueued values, samplers around, trials without parameters."""

import logging
import math
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import Trial, TrialState

import bktf
from seeds import seeded

pytestmark = pytest.mark.usefixtures("quiet_optuna")


def study_of(**settings: Any) -> optuna.Study:
    return optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(0), **settings))


def grid(trial: Trial) -> float:
    return float((trial.suggest_int("x", 0, 9) - 3) ** 2 + (trial.suggest_int("y", 0, 9) - 6) ** 2)


def test_failures_are_learned_from_before_the_start_design_has_its_values() -> None:
    study = study_of(search_space={"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)})
    study.optimize(
        lambda t: math.nan if t.suggest_float("x", 0, 1) > 0.1 else t.suggest_float("y", 0, 1),
        n_trials=50,
    )
    # 3.4 ± 1 of the 25 (eight seeds); drawn at random 22.5 ± 1.5 would fail.
    assert sum(t.state == TrialState.FAIL for t in study.trials[25:]) <= 15
    everything_fails = study_of()
    everything_fails.optimize(lambda t: t.suggest_int("a", 0, 2) * math.nan, n_trials=14)
    assert len(everything_fails.trials) <= 11


def test_choices_that_json_cannot_hold_are_fine() -> None:
    functions: Any = [math.sin, math.cos, np.int64(3)]
    study = study_of()
    with pytest.warns(UserWarning, match="persistent storage"):
        study.optimize(
            lambda t: float(t.suggest_categorical("f", functions) is math.sin), n_trials=3
        )
    assert len(study.trials) == 3


def test_a_partial_fixed_sampler_around_it_works() -> None:
    study = study_of(feasible=lambda p: bool(p["x"] + p["y"] < 12))
    study.optimize(grid, n_trials=20)
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        study.sampler = optuna.samplers.PartialFixedSampler({"x": 3}, study.sampler)
    study.optimize(grid, n_trials=3)
    later = [(t.params["x"], t.params["y"]) for t in study.trials[20:]]
    assert {x for x, _ in later} == {3}
    tried = [(t.params["x"], t.params["y"]) for t in study.trials]
    assert len(set(tried)) == len(tried)


def test_trials_without_parameters_do_not_switch_the_model_off() -> None:
    study = study_of()

    def objective(trial: Trial) -> float:
        if trial.number == 3:
            raise optuna.TrialPruned
        return (trial.suggest_float("x", 0, 1) - 0.3) ** 2

    study.add_trial(optuna.create_trial(params={}, distributions={}, value=3.0))
    study.optimize(objective, n_trials=16)
    assert study.sampler.infer_relative_search_space(study, study.trials[0]) == {
        "x": FloatDistribution(0, 1)
    }
    assert (
        study.best_value < 1e-4
        # At most 1.3e-6 (eight seeds); 16 points at random come as near as the limit in one run of four
    )


def test_an_enqueued_value_that_is_not_feasible_is_evaluated_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = study_of(
        feasible=lambda p: bool(p["x"] < 4),
        search_space={"x": IntDistribution(0, 9), "y": IntDistribution(0, 9)},
    )
    study.enqueue_trial({"x": 5})
    with caplog.at_level(logging.WARNING, "bktf"):
        study.optimize(grid, n_trials=2)
    assert study.trials[0].params["x"] == 5
    assert study.trials[1].params["x"] < 4
    assert "enqueued with values that `feasible` does not allow" in caplog.text
