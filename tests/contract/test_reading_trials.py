"""What a suggestion reads of the storage and converts, and that a cache changes nothing."""

import pickle
from collections import Counter
from collections.abc import Container
from datetime import datetime
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.storages import InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

import bktf
from bktf.optuna_sampler import duplicate_avoidance, trials
from bktf.optuna_sampler.trials import (
    MAX_CACHED_STUDIES,
    ConvertedTrials,
    TrialConverter,
    read_all,
    read_changes,
)
from bktf.spaces import parameters_of
from conftest import ROOT
from seeds import seeded

pytestmark = pytest.mark.usefixtures("quiet_optuna")

BOX: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1), "n": IntDistribution(0, 20)}
EVERYTHING = "every trial"
UNFINISHED = "running and waiting trials"
QUICK: dict[str, Any] = {"n_sweeps": 12, "n_burn_in": 6, "n_chains": 1, "compress": False}


class CountingStorage(InMemoryStorage):
    """A storage that notes what is read of it."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []
        self.single: Counter[int] = Counter()  # numbers of finished trials read one by one

    def get_all_trials(
        self,
        study_id: int,
        deepcopy: bool = True,
        states: Container[TrialState] | None = None,
    ) -> list[FrozenTrial]:
        is_narrow = states is not None and TrialState.COMPLETE not in states
        self.requests.append(UNFINISHED if is_narrow else EVERYTHING)
        return super().get_all_trials(study_id, deepcopy, states)

    def get_trial(self, trial_id: int) -> FrozenTrial:
        trial = super().get_trial(trial_id)
        if trial.state.is_finished():
            self.single[trial.number] += 1
        return trial


def value_at(params: dict[str, Any]) -> float:
    return float((params["x"] - 0.3) ** 2 + 0.01 * params["n"])


def study_with(n: int, storage: Any, **settings: Any) -> Study:
    """A study of n completed trials."""
    sampler = bktf.BKTFSampler(seed=seeded(0), **QUICK, **settings)
    study = optuna.create_study(storage=storage, sampler=sampler)
    for i in range(n):
        params = {"x": (0.37 * i) % 1.0, "n": (7 * i) % 21}
        value = value_at(params)
        study.add_trial(optuna.create_trial(params=params, distributions=BOX, value=value))
    return study


@pytest.fixture
def converted(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often each finished trial was converted."""
    counts: Counter[int] = Counter()
    point_of = trials.point_of

    def counted(trial: FrozenTrial, parameters: Any) -> Any:
        if trial.state.is_finished():
            counts[trial.number] += 1
        return point_of(trial, parameters)

    monkeypatch.setattr(trials, "point_of", counted)
    return counts


@pytest.mark.parametrize("settings", [{}, {"search_space": BOX}])
def test_all_trials_are_read_once_per_suggestion(settings: dict[str, Any]) -> None:
    storage = CountingStorage()
    study = study_with(12, storage, **settings)
    storage.requests.clear()
    trial = study.ask(BOX)
    assert storage.requests.count(EVERYTHING) == 1
    later = storage.requests[storage.requests.index(EVERYTHING) :]
    assert later.count(UNFINISHED) >= 2  # just before choosing and after publishing
    assert not storage.single
    study.tell(trial, 0.5)


def test_finished_trials_are_converted_once_and_only_new_ones_for_the_next_suggestion(
    converted: Counter[int],
) -> None:
    study = study_with(12, CountingStorage())
    first = study.ask(BOX)
    assert converted == Counter(range(12))
    study.tell(first, value_at(first.params))
    converted.clear()
    study.ask(BOX)
    assert converted == Counter([12])


def test_a_trial_that_finishes_during_the_fit_is_read_by_itself(
    monkeypatch: pytest.MonkeyPatch,
    converted: Counter[int],
) -> None:
    """Another worker starts and ends a trial while this one fits, and ends one that was running."""
    storage = CountingStorage()
    study = study_with(12, storage, search_space=BOX)
    running = study.ask(BOX)
    looked: list[tuple[list[list[float]], int]] = []
    learn = bktf.engine.Engine.learn
    choose = bktf.engine.Engine.choose

    def learn_slowly(engine: Any, *arguments: Any, **further: Any) -> Any:
        model = learn(engine, *arguments, **further)
        study.tell(running, 0.7)
        params = {"x": 0.123, "n": 3}
        study.add_trial(optuna.create_trial(params=params, distributions=BOX, value=0.2))
        converted.clear()
        storage.single.clear()
        return model

    def choose_noted(engine: Any, model: Any, number: int, tried: Any, pending: Any) -> Any:
        looked.append((tried.tolist(), len(pending)))
        return choose(engine, model, number, tried, pending)

    monkeypatch.setattr("bktf.engine.Engine.learn", learn_slowly)
    monkeypatch.setattr("bktf.engine.Engine.choose", choose_noted)
    trial = study.ask(BOX)
    there = [running.params["x"], float(running.params["n"])]
    assert looked == [([there, [0.123, 3.0]], 0)]
    assert trial.number == 13
    assert set(storage.single) == {12, 14}  # by the two looks, and no trial that was known
    assert converted == Counter([12, 14])


@pytest.mark.parametrize("n_lost", [0, 5])
def test_changes_bring_a_reading_up_to_date(n_lost: int) -> None:
    """Trials that were waiting, running or unknown, in every state they can have by now."""
    study = study_with(6, InMemoryStorage(), search_space=BOX)
    study.enqueue_trial({"x": 0.5, "n": 1})
    asked = [study.ask(BOX) for _ in range(3)]
    known = read_all(study)
    known = {number: trial for number, trial in known.items() if number < len(known) - n_lost}
    study.tell(asked[0], 1.0)
    study.tell(asked[1], state=TrialState.FAIL)
    study.ask(BOX)
    study.add_trial(optuna.create_trial(params={"x": 0.1, "n": 2}, distributions=BOX, value=2.0))
    study.enqueue_trial({"x": 0.7, "n": 3})
    now, fresh = read_changes(study, known), read_all(study)
    assert list(now) == list(fresh)
    for number, trial in now.items():
        same = fresh[number]
        assert (trial.state, trial.params, trial.value) == (same.state, same.params, same.value)


@pytest.mark.parametrize("space", [{}, {"search_space": BOX}])
def test_a_suggestion_is_the_same_with_and_without_the_cache(space: dict[str, Any]) -> None:
    """One sampler for the whole study, and a new one for every trial."""
    kept, fresh = (study_with(7, InMemoryStorage(), **space) for _ in range(2))
    for _ in range(4):
        fresh.sampler = bktf.BKTFSampler(seed=seeded(0), **QUICK, **space)
        asked: list[Trial] = [study.ask(BOX) for study in (kept, fresh)]
        assert asked[0].params == asked[1].params
        for study, trial in zip((kept, fresh), asked, strict=True):
            study.tell(trial, value_at(trial.params))


def test_one_sampler_keeps_studies_and_ranges_apart() -> None:
    sampler_settings = {"search_space": BOX}
    first, second = (study_with(9, InMemoryStorage(), **sampler_settings) for _ in range(2))
    second.sampler = first.sampler
    for study, offset in ((first, 0.0), (second, 0.4)):
        params = {"x": 0.5 + offset, "n": 5}
        study.add_trial(optuna.create_trial(params=params, distributions=BOX, value=-1.0))
    alone = study_with(9, InMemoryStorage(), **sampler_settings)
    params = {"x": 0.9, "n": 5}
    alone.add_trial(optuna.create_trial(params=params, distributions=BOX, value=-1.0))
    first.ask(BOX)
    assert second.ask(BOX).params == alone.ask(BOX).params


def test_the_cache_is_bounded_cleared_with_the_parameters_and_not_pickled() -> None:
    cache = ConvertedTrials()
    narrow = parameters_of({"x": FloatDistribution(0, 0.5)}, ())
    wide = parameters_of({"x": FloatDistribution(0, 1)}, ())
    study = study_with(5, InMemoryStorage())

    def points(converter: TrialConverter) -> int:
        return len(converter.tried_points(read_all(study), -1))

    assert points(cache.of(study, wide)) == 5
    assert points(cache.of(study, narrow)) == 4
    assert len(cache.of(study, wide).cache) == 0
    others = [study_with(1, InMemoryStorage()) for _ in range(MAX_CACHED_STUDIES + 3)]
    for other in others:
        cache.of(other, wide)
    assert len(cache._studies) == MAX_CACHED_STUDIES
    study.ask(BOX)
    assert isinstance(study.sampler, bktf.BKTFSampler)
    assert study.sampler._converted._studies
    assert not pickle.loads(pickle.dumps(study.sampler))._converted._studies


def test_what_was_published_is_looked_at_before_another_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker that finds its point taken after publishing chooses another one."""
    grid: dict[str, BaseDistribution] = {"x": IntDistribution(0, 3), "n": IntDistribution(0, 3)}
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(0), search_space=grid))
    mine, other = study.ask(), study.ask()
    publish = duplicate_avoidance.publish
    published: list[list[float]] = []

    def publish_after_the_other(study: Study, trial: Any, parameters: Any, suggestion: Any) -> None:
        if not published:  # the other worker was faster by a moment
            publish(study, study._storage.get_trial(other._trial_id), parameters, suggestion)
        published.append(suggestion.point.tolist())
        publish(study, trial, parameters, suggestion)

    monkeypatch.setattr(duplicate_avoidance, "publish", publish_after_the_other)
    frozen = study._storage.get_trial(mine._trial_id)
    values = study.sampler.sample_relative(study, frozen, grid)
    assert len(published) == 2
    assert published[0] != published[1] == [float(values["x"]), float(values["n"])]


def test_a_study_of_the_version_before_resumes_without_a_lost_trial(tmp_path: Path) -> None:
    """Twenty trials on a mixed space, number 7 pruned, number 11 failed."""
    recorded = ROOT / "tests" / "data" / "study_before_packages.log"
    path = tmp_path / "study.log"
    path.write_bytes(recorded.read_bytes())
    storage = JournalStorage(JournalFileBackend(str(path)))
    sampler = bktf.BKTFSampler(seed=3)
    study = optuna.load_study(study_name="before", storage=storage, sampler=sampler)
    before = study.trials
    assert [trial.number for trial in before] == list(range(20))
    space = before[-1].distributions
    parameters = parameters_of(space, ())
    reader = TrialConverter(parameters, trials.objective_of(study))
    history = reader.history(read_all(study), -1, datetime(2027, 1, 1))
    assert (len(history.tried), len(history.X), len(history.failed)) == (20, 19, 1)
    assert history.failed.tolist() == [list(trials.point_of(before[11], parameters) or ())]
    assert history.X[7].tolist() == list(trials.point_of(before[7], parameters) or ())
    values = [trial.value for trial in before if trial.state == TrialState.COMPLETE]
    np_values = [-y for i, y in enumerate(history.y.tolist()) if i != 7]
    assert np_values == values
    assert all("expected_improvement" in trials.read_published(t.system_attrs) for t in before[8:])
    trial = study.ask(space)
    assert trial.params not in [t.params for t in before]
    study.tell(trial, 0.1)
    assert [t.number for t in study.trials] == list(range(21))
    assert [t.params for t in study.trials[:20]] == [t.params for t in before]
