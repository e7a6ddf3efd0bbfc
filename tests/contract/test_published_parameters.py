"""Kernel parameters in the storage: what is written, what is read, and what damaged ones do."""

import json
import logging
import math
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution

import bktf
from bktf.engine import MAX_PARAMETER_POINTS
from bktf.optuna_sampler import published_parameters
from bktf.optuna_sampler.messages import Messages
from bktf.optuna_sampler.published_parameters import KEY, N_LATEST, read_parameters, space_key
from bktf.spaces import parameters_of
from bktf.surrogate import uses_mode
from seeds import seeded

pytestmark = pytest.mark.usefixtures("quiet_optuna")

N_BEFORE = 81  # so that the next suggestions do not start anew


def long_study(
    n_dims: int = 2, storage: Any = None, n: int = N_BEFORE, **settings: Any
) -> optuna.Study:
    """A study with random trials."""
    rng = np.random.default_rng(seeded(0))
    sampler = bktf.BKTFSampler(seed=seeded(1), **settings)
    study = optuna.create_study(sampler=sampler, storage=storage, study_name="s")
    named = space(n_dims)
    for x in rng.random((n, n_dims)).tolist():
        params = dict(zip(named, x, strict=True))
        study.add_trial(
            optuna.create_trial(params=params, distributions=named, value=value(params))
        )
    return study


def space(n_dims: int) -> dict[str, Any]:
    return {f"x{d}": FloatDistribution(0.0, 1.0) for d in range(n_dims)}


def value(params: dict[str, float]) -> float:
    x = np.array(list(params.values()))
    return float(np.sin(5 * x).sum() + x @ x)


UNCHANGED = object()


def ask(study: optuna.Study, n_dims: int = 2, published: Any = UNCHANGED) -> optuna.Trial:
    """One trial; with `published`, what it publishes is replaced."""
    trial = study.ask(space(n_dims))
    if published is not UNCHANGED:
        study._storage.set_trial_system_attr(trial._trial_id, KEY, published)
    study.tell(trial, value(trial.params))
    return trial


def attribute(study: optuna.Study, number: int) -> Any:
    return study.trials[number].system_attrs.get(KEY)


def test_parameters_are_published_in_one_short_attribute_and_read_by_the_next() -> None:
    study = long_study()
    first = ask(study)
    text = attribute(study, first.number)
    record = json.loads(text)
    assert len(text) <= 2045
    assert len(record["logs"]) == 2 + 3  # length-scales, variance, share, noise
    trials = {t.number: t for t in study.trials}
    found = read_parameters(trials, first.number + 1, record["space"], Messages(), "s")
    assert found is not None
    np.testing.assert_array_equal(found.start.logs, record["logs"][:-1])
    assert found.is_warped == record["warped"]
    assert found.start.noise_precision == pytest.approx(math.exp(record["logs"][-1]))
    assert read_parameters(trials, first.number + 1, "another space", Messages(), "s") is None
    last_reader = first.number + N_LATEST  # a trial after it looks at later ones only
    for number, is_read in ((last_reader, True), (last_reader + 2, False)):
        assert number % published_parameters.FRESH_PERIOD
        found = read_parameters(trials, number, record["space"], Messages(), "s")
        assert (found is not None) == is_read
    moved = {89: trials[first.number]}
    assert read_parameters(moved, 90, record["space"], Messages(), "s") is None  # starts anew
    assert read_parameters(moved, 91, record["space"], Messages(), "s") is not None


def test_the_latest_published_parameters_are_read() -> None:
    study = long_study()
    record = json.loads(attribute(study, ask(study).number))
    for size in (0.25, 0.5):
        logs = [size] * len(record["logs"])
        last = ask(study, published=json.dumps(record | {"logs": logs}))
    trials = {t.number: t for t in study.trials}
    found = read_parameters(trials, last.number + 1, record["space"], Messages(), "s")
    assert found is not None
    assert set(found.start.logs.tolist()) == {0.5}


@pytest.mark.parametrize("n", [N_BEFORE, MAX_PARAMETER_POINTS + 11])
def test_the_next_suggestion_keeps_plain_or_warped_values(
    n: int,
) -> None:
    study = long_study(n=n)
    record = json.loads(attribute(study, ask(study).number))
    kinds = []
    for is_warped in (True, False):
        ask(study, published=json.dumps(record | {"warped": is_warped}))
        reader = ask(study)
        assert reader.number % published_parameters.FRESH_PERIOD
        kinds.append((is_warped, json.loads(attribute(study, reader.number))["warped"]))
    assert [asked for asked, _ in kinds] == [used for _, used in kinds]
    plain = long_study(n=n, compress=False)
    ask(plain, published=json.dumps(record | {"warped": True}))
    assert not json.loads(attribute(plain, ask(plain).number))["warped"]


def test_in_a_hundred_dimensions_they_still_fit_into_one_attribute() -> None:
    study = long_study(100, n=41)
    assert uses_mode(100, 41)
    trial = ask(study, 100)
    text = attribute(study, trial.number)
    assert len(text) <= 2045
    assert len(json.loads(text)["logs"]) == 103


def test_few_trials_and_finite_rank_publish_nothing() -> None:
    few = long_study(n=20)
    assert attribute(few, ask(few).number) is None
    with pytest.warns(FutureWarning, match="rank=1 now means"):
        finite = long_study(rank=1, n_sweeps=4, n_burn_in=2)
    assert attribute(finite, ask(finite).number) is None


def test_a_suggestion_depends_on_seed_number_and_storage_alone(tmp_path: Any) -> None:
    """The next worker, with another sampler of the same seed, suggests the same."""
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    study = long_study(storage=storage)
    ask(study)
    again = optuna.load_study(
        study_name="s", storage=storage, sampler=bktf.BKTFSampler(seed=seeded(1))
    )
    first = study.ask(space(2)).params
    waiting = study.trials[-1]
    study.tell(waiting.number, state=optuna.trial.TrialState.FAIL)
    copy = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(1)), study_name="s")
    copy.add_trials(again.trials[:-1])
    assert copy.ask(space(2)).params == first


def damaged_record(**changes: Any) -> str:
    """What a trial of `long_study` may publish, with some entries replaced."""
    sound = {"version": published_parameters.VERSION, "space": "s", "warped": False}
    return json.dumps(sound | {"logs": [0.1, 0.1, 0.0, 0.0, 1.0]} | changes)


def test_a_record_without_changes_is_sound() -> None:
    """Otherwise the cases of damaged ones would say nothing."""
    study = long_study()
    last = ask(study, published=damaged_record())
    trials = {t.number: t for t in study.trials}
    assert read_parameters(trials, last.number + 1, "s", Messages(), "s") is not None


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "no json",
        "[1, 2]",
        damaged_record(logs=None),
        damaged_record(version=99),
        damaged_record(version=1),
        damaged_record(logs="abc"),
        damaged_record(logs=[1e9, 0, 0, 0, 0]),
        damaged_record(logs=[10**400, 0, 0, 0, 0]),
        damaged_record(logs=[math.nan, 0, 0, 0, 0]),
        damaged_record(logs=[]),
        damaged_record(logs=[[0]]),
        damaged_record(logs={"a": 1}),
        damaged_record(warped=None),
        damaged_record(warped="false"),
        damaged_record(warped=[0]),
        damaged_record(warped=7),
        damaged_record().replace("warped", "curved"),
        7,
        None,
    ],
)
def test_damaged_parameters_are_ignored_with_one_line(
    damaged: Any, caplog: pytest.LogCaptureFixture
) -> None:
    study = long_study()
    ask(study, published=damaged)
    with caplog.at_level(logging.INFO, logger="bktf"):
        second = ask(study, published=damaged)
        ask(study)
    lines = [r for r in caplog.records if "damaged or of another version" in r.getMessage()]
    assert len(lines) == 1
    assert all(0.0 <= x <= 1.0 for x in second.params.values())


def test_parameters_of_a_space_that_has_changed_are_not_used() -> None:
    study = long_study()
    ask(study)
    wider: dict[str, Any] = {"x0": FloatDistribution(0.0, 2.0), "x1": FloatDistribution(0.0, 1.0)}
    trial = study.ask(wider)
    assert 0.0 <= trial.params["x0"] <= 2.0
    trials = {t.number: t for t in study.trials[:-1]}
    changed = space_key(parameters_of(wider, frozenset()))
    assert read_parameters(trials, trial.number, changed, Messages(), "s") is None
    same = space_key(parameters_of(space(2), frozenset()))
    assert read_parameters(trials, trial.number, same, Messages(), "s") is not None


def test_parameters_of_the_wrong_length_do_no_harm() -> None:
    """The space's name is checked, so this can only be a damaged attribute."""
    study = long_study()
    record = json.loads(attribute(study, ask(study).number))
    ask(study, published=json.dumps(record | {"logs": [0.0, 0.1]}))
    assert all(0.0 <= x <= 1.0 for x in ask(study).params.values())
