"""What pruned trials say: their reports count only where completed trials show what they mean."""

import numpy as np
import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from bktf.engine import Objective
from bktf.optuna_sampler.pruned_trials import MIN_PAIRS, values_of_pruned
from bktf.optuna_sampler.trials import TrialConverter
from seeds import seeded


def completed(value: float, reports: list[float]) -> FrozenTrial:
    return optuna.create_trial(value=value, intermediate_values=dict(enumerate(reports)))


def pruned(reports: list[float]) -> FrozenTrial:
    return optuna.create_trial(
        state=TrialState.PRUNED, intermediate_values=dict(enumerate(reports))
    )


def translated(
    pruned: list[FrozenTrial], completed: list[FrozenTrial], maximize: bool
) -> list[float | None]:
    """The values of pruned trials in the user's direction."""
    sign = 1.0 if maximize else -1.0
    converter = TrialConverter((), Objective(direction="maximize" if maximize else "minimize"))
    done = [converter.convert(trial) for trial in completed]
    values = values_of_pruned(
        [converter.convert(trial).reports for trial in pruned],
        [each.reports for each in done],
        [each.value for each in done if each.value is not None],
    )
    return [None if value is None else sign * value for value in values]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_reports_on_another_scale_are_translated(seed: int, maximize: bool) -> None:
    rng = np.random.default_rng(seeded(seed))
    final = rng.uniform(10, 20, 12)
    done = [completed(y, [0.5 * y - 3, 0.01 * y + 1]) for y in final]
    for truth in rng.uniform(12, 30, 5):
        expected = min(truth, final.max()) if maximize else max(truth, final.min())
        assert translated([pruned([0.5 * truth - 3, 0.01 * truth + 1])], done, maximize) == [
            pytest.approx(expected)
        ]
        assert translated([pruned([0.5 * truth - 3])], done, maximize) == [pytest.approx(expected)]


@pytest.mark.parametrize("maximize", [False, True])
def test_a_pruned_trial_never_looks_better_than_every_completed_one(maximize: bool) -> None:
    sign = 1.0 if maximize else -1.0
    done = [completed(float(y), [10.0 * y]) for y in range(8)]
    (value,) = translated([pruned([sign * 1e6])], done, maximize)
    assert value == (7.0 if maximize else 0.0)


def test_reports_that_say_nothing_of_the_value_are_left_out() -> None:
    """The chance that 30 unrelated pairs seem to explain half the variance is below 1e-5 (a correlation of 0.7)."""
    rng = np.random.default_rng(seeded(0))
    done = [completed(float(rng.random()), [float(rng.random())]) for _ in range(30)]
    assert translated([pruned([0.0]), pruned([1.0])], done, False) == [None, None]


@pytest.mark.parametrize("seed", range(4))
def test_reports_count_where_the_line_through_the_other_pairs_predicts_each_value(
    seed: int,
) -> None:
    """Few pairs of which one stands far out: the line fits them, but does not predict that one."""
    rng = np.random.default_rng(seeded(seed))
    n_left_out, n_fitting = 0, 0
    for _ in range(100):
        n = int(rng.integers(MIN_PAIRS, 9))
        x = rng.standard_normal(n) + np.where(np.arange(n) == 0, 4.0, 0.0)
        y = 0.4 * x + rng.standard_normal(n)
        lines = [np.polyfit(np.delete(x, j), np.delete(y, j), 1) for j in range(n)]
        missed = y - [np.polyval(line, a) for line, a in zip(lines, x, strict=True)]
        fitted = y - np.polyval(np.polyfit(x, y, 1), x)
        predicts, fits = (1.0 - (e**2).sum() / y.var() / n >= 0.5 for e in (missed, fitted))
        done = [completed(float(b), [float(a)]) for a, b in zip(x, y, strict=True)]
        (value,) = translated([pruned([0.0])], done, False)
        assert (value is not None) == predicts
        n_left_out, n_fitting = n_left_out + (not predicts), n_fitting + fits
    assert 0 < n_left_out < 100
    assert n_fitting > 100 - n_left_out


@pytest.mark.parametrize("maximize", [False, True])
def test_with_few_pairs_they_rank_behind_all_completed_ones_as_with_tpe(maximize: bool) -> None:
    done = [completed(float(y), [0.1 * y]) for y in range(MIN_PAIRS - 1)]
    further, early_good, early_bad = pruned([0.0, 5.0]), pruned([0.02]), pruned([0.5])
    if maximize:
        early_good, early_bad = early_bad, early_good
    values = translated([early_bad, further, early_good], done, maximize)
    assert all(value is not None for value in values)
    bad, far, good = (-value if maximize else value for value in values if value is not None)
    assert (
        max(-t.value if maximize else t.value for t in done if t.value is not None)
        < far
        < good
        < bad
    )


def test_before_any_trial_has_completed_reports_count_as_they_are() -> None:
    assert translated([pruned([3.0, 2.0]), pruned([np.nan]), pruned([])], [], False) == [
        2.0,
        None,
        None,
    ]


def test_steps_that_completed_trials_do_not_share_fall_back_to_one_that_they_do() -> None:
    done = [completed(float(y), [2.0 * y]) for y in range(6)]
    assert translated([pruned([8.0, 77.0, -5.0])], done, False) == [pytest.approx(4.0)]


def test_constant_values_and_constant_reports_are_no_relation_to_trip_over() -> None:
    assert translated([pruned([9.0])], [completed(2.0, [float(i)]) for i in range(6)], False) == [
        2.0
    ]
    assert translated([pruned([9.0])], [completed(float(i), [1.0]) for i in range(6)], False) == [
        None
    ]
