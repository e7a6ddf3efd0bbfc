"""What trials say, each rule by itself: values, failures, points under way, ranges, and what workers publish."""

import math
from datetime import datetime, timedelta
from typing import Any

import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from bktf.engine import History, Objective
from bktf.optuna_sampler.learned_space import learn_space
from bktf.optuna_sampler.trials import (
    INTERRUPTED,
    PIECE,
    TrialConverter,
    pieces_of,
    read_published,
)
from bktf.spaces import parameters_of

NOW = datetime(2026, 1, 1, 12)
SPACE: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 9)}
PARAMETERS = parameters_of(SPACE, ())


def trial(
    number: int, state: TrialState = TrialState.COMPLETE, value: float | None = None, *, x: float | None = None, reports: Any = None,
    attributes: dict[str, Any] | None = None, hours: float = 1.0, took: float = 0.01, space: dict[str, BaseDistribution] | None = None,
) -> FrozenTrial:  # fmt: skip
    """A trial at x (its number by default) that started so many hours ago and, if it has finished, took so many."""
    begun = NOW - timedelta(hours=hours)
    finished = begun + timedelta(hours=took) if state.is_finished() else None
    params = (
        {"x": float(number) if x is None else x}
        if attributes is None or "fixed" in attributes
        else {}
    )
    return FrozenTrial(
        number=number, state=state, value=value, datetime_start=begun, datetime_complete=finished, params=params,
        distributions={name: d for name, d in (space or SPACE).items() if name in params}, user_attrs={},
        system_attrs=attributes or {}, intermediate_values=reports or {}, trial_id=number,
    )  # fmt: skip


def read(*trials: FrozenTrial, maximize: bool = False, asking: int = -1) -> History:
    objective = Objective(direction="maximize" if maximize else "minimize")
    by_number = {trial.number: trial for trial in trials}
    return TrialConverter(PARAMETERS, objective).history(by_number, asking, NOW)


@pytest.mark.parametrize("maximize", [False, True])
def test_infinitely_good_counts_as_the_best_and_infinitely_bad_as_a_failure(maximize: bool) -> None:
    good = math.inf if maximize else -math.inf
    found = read(
        trial(0, value=1.0),
        trial(1, value=3.0),
        trial(2, value=good),
        trial(3, value=-good),
        maximize=maximize,
    )
    assert found.y.tolist() == ([1.0, 3.0, 3.0] if maximize else [-1.0, -3.0, -1.0])
    assert found.X.tolist() == [[0.0], [1.0], [2.0]]
    assert found.failed.tolist() == [[3.0]]
    assert found.tried.tolist() == [[0.0], [1.0], [2.0], [3.0]]


def test_a_pruned_trial_that_ended_infinitely_bad_is_a_failure() -> None:
    ended_badly = trial(0, TrialState.PRUNED, reports={1: 2.0, 2: math.inf})
    began_badly = trial(1, TrialState.PRUNED, reports={1: math.inf, 2: 2.0})
    found = read(ended_badly, began_badly)
    assert (found.failed.tolist(), found.X.tolist(), found.y.tolist()) == ([[0.0]], [[1.0]], [-2.0])


def test_the_trial_that_asks_and_interrupted_ones_say_nothing() -> None:
    mine = trial(0, TrialState.RUNNING)
    ended = trial(1, TrialState.FAIL, attributes={INTERRUPTED: True, "fixed": True})
    assert read(mine, trial(2, TrialState.RUNNING), ended, asking=0).pending.tolist() == [[2.0]]
    assert not len(read(ended).tried)


@pytest.mark.parametrize(
    ("hours", "longest", "is_pending"),
    [(0.9, 0.001, True), (1.1, 0.001, False), (9.0, 1.0, True), (11.0, 1.0, False)],
)
def test_a_running_trial_is_believed_for_an_hour_or_ten_times_the_longest(
    hours: float, longest: float, is_pending: bool
) -> None:
    found = read(
        trial(0, value=1.0, hours=20.0, took=longest), trial(1, TrialState.RUNNING, hours=hours)
    )
    assert len(found.pending) == is_pending


def test_a_running_trial_is_where_its_worker_published_it() -> None:
    published = pieces_of({"internal": {"x": 4.5}})
    assert read(trial(0, TrialState.RUNNING, attributes=dict(published))).pending.tolist() == [
        [4.5]
    ]
    assert read(trial(0, TrialState.FAIL, attributes=dict(published))).failed.tolist() == [[4.5]]


@pytest.mark.parametrize("length", [1, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE])
def test_what_is_published_is_read_back_whatever_its_length(length: int) -> None:
    record = {"name": "n" * length, "value": 1.5}
    pieces = pieces_of(record)
    assert all(len(piece) <= PIECE for piece in pieces.values())
    assert read_published(pieces) == record


def test_the_latest_ranges_are_the_space() -> None:
    earlier, later = {"x": IntDistribution(0, 5)}, {"x": IntDistribution(0, 9)}
    trials = [
        trial(0, value=1.0, x=2, space=dict(earlier)),
        trial(1, value=2.0, x=7, space=dict(later)),
    ]
    for order in (trials, trials[::-1]):
        assert learn_space(order, ()).distributions == later
