"""Intermediate values as values of one more axis, and what a study with a pruner makes of them."""

import math
from datetime import datetime

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

import bktf
from bktf.optuna_sampler.reported_values import MAX_REPORTS, reported_values
from bktf.optuna_sampler.trials import read_all, whole_study
from seeds import seeded

POINTS = [(float(i),) for i in range(6)]
RETURNED = {i: 10.0 * i for i in range(6)}
COMPLETED = {i: {1: 10.0 * i - 8, 2: 10.0 * i - 3, 3: 10.0 * i} for i in range(6)}


def test_reports_enter_with_their_step_as_they_are() -> None:
    found = reported_values(POINTS, RETURNED, COMPLETED, [], [((9.0,), {1: 2.0, 2: 5.0, 7: 1.0})])
    assert found is not None
    assert found.y[0] == 5.0  # the last step that completed trials share
    assert found.context[0, 0] == pytest.approx(math.log(3))
    assert found.rows.tolist() == [-1, 5, 4, 3, 2, 1, 0]
    assert found.y[1:].tolist() == [10.0 * i - 3 for i in (5, 4, 3, 2, 1, 0)]
    (axis,) = found.axes
    assert axis.target == pytest.approx(math.log(5))
    assert axis.points[-1] == axis.target


@pytest.mark.parametrize("slope", [0.01, 1.0, -2.0])
def test_reports_on_another_scale_go_through_one_line(slope: float) -> None:
    other = {
        i: {s: (r - 7.0) / slope for s, r in reports.items()} for i, reports in COMPLETED.items()
    }
    unfinished = [((9.0,), {2: (5.0 - 7.0) / slope})]
    found = reported_values(POINTS, RETURNED, other, [], unfinished)
    assert found is not None
    assert found.y[0] == pytest.approx(5.0)


def test_nothing_is_said_where_few_trials_have_completed_or_steps_are_not_shared() -> None:
    waiting = [((9.0,), {2: 5.0})]
    few = {i: COMPLETED[i] for i in range(4)}
    assert reported_values(POINTS, RETURNED, few, [], waiting) is None
    assert reported_values(POINTS, RETURNED, COMPLETED, [], [((9.0,), {8: 5.0})]) is None
    same = dict.fromkeys(range(6), 1.0)
    assert reported_values(POINTS, same, COMPLETED, [], waiting) is None


def test_the_number_of_reports_is_bounded_and_wild_ones_are_clipped() -> None:
    unfinished = [((float(i),), {2: 1e200 * (-1) ** i}) for i in range(MAX_REPORTS + 20)]
    found = reported_values(POINTS, RETURNED, COMPLETED, [], unfinished)
    assert found is not None
    assert len(found.y) == MAX_REPORTS
    assert np.abs(found.y).max() <= 11 * 50.0


def objective(trial: optuna.Trial) -> float:
    a, b = trial.suggest_int("a", 0, 9), trial.suggest_int("b", 0, 9)
    value = (a - 6) ** 2 + (b - 3) ** 2
    for step in range(1, 10):
        trial.report(value + 20 / step, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return float(value)


@pytest.mark.parametrize(
    "pruner",
    [optuna.pruners.MedianPruner(n_startup_trials=3), optuna.pruners.HyperbandPruner(1, 9)],
    ids=["median", "hyperband"],
)
def test_a_study_with_a_pruner_uses_reports_and_repeats_nothing(
    pruner: optuna.pruners.BasePruner,
) -> None:
    sampler = bktf.BKTFSampler(seed=seeded(0))
    study = optuna.create_study(study_name="steps", sampler=sampler, pruner=pruner)
    study.optimize(objective, n_trials=30)
    states = [t.state for t in study.trials]
    assert states.count(TrialState.PRUNED) > 3
    assert len({tuple(t.params.values()) for t in study.trials}) == 30
    space = sampler.space.of(study, read_all(study))
    parameters = space.asked_for(space.distributions, ())
    converter = sampler._converted.of(study, parameters)
    history = converter.history(read_all(study), -1, datetime.now())
    assert history.related is not None
    assert len(history.related.estimates) == states.count(TrialState.PRUNED)
    assert len(history.tried) == 30  # of all brackets


def test_reports_of_running_trials_count() -> None:
    pruner = optuna.pruners.NopPruner()
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(1)), pruner=pruner)
    study.optimize(objective, n_trials=8)
    running = study.ask()
    running.suggest_int("a", 0, 9), running.suggest_int("b", 0, 9)
    sampler = study.sampler
    assert isinstance(sampler, bktf.BKTFSampler)
    trials = read_all(study)
    space = sampler.space.of(study, trials)
    converter = sampler._converted.of(study, space.asked_for(space.distributions, ()))
    assert converter.history(trials, -1, datetime.now()).related is None
    running.report(11.0, 4)
    related = converter.history(read_all(study), -1, datetime.now()).related
    assert related is not None
    assert related.rows[0] == -1
    # Oriented, and as far below as last reports are above what was returned
    assert -related.y[0] == pytest.approx(11.0 - 20 / 9)
    study.tell(study.ask(), 3.0)  # the next suggestion is made


def test_brackets_of_hyperband_are_seen_together() -> None:
    study = optuna.create_study(pruner=optuna.pruners.HyperbandPruner(1, 9), study_name="x")
    study.optimize(objective, n_trials=6)
    part = optuna.pruners._filter_study(study, study.trials[0])
    assert len(part.get_trials()) < 6
    assert whole_study(part) is study
    assert whole_study(study) is study
