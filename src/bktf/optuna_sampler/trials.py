"""From a study's trials to a history: values, and points tried, failed and pending.

All trials are read once per suggestion, before the fit. Later reads are only of trials that are
running or waiting, and of those that finished since. Finished trials never change, so they are
converted once and kept in `ConvertedTrials`, which may be lost at any time.
"""

import json
import math
import traceback
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from bktf._typing import Floats
from bktf.engine import History, Objective, RelatedValues
from bktf.optuna_sampler.pruned_trials import values_of_pruned
from bktf.optuna_sampler.reported_values import reported_values
from bktf.spaces import INACTIVE, Parameter, deactivate, is_active_at

Trials = Mapping[int, FrozenTrial]  # by number, in their order

PUBLISHED = "bktf:suggestion"  # attributes PUBLISHED:0, PUBLISHED:1, … hold one JSON text in pieces
PIECE = 2045  # characters that fit into one system attribute of every storage
PATIENCE = 10.0  # times the longest duration of a trial, for which a running one is pending
MIN_PATIENCE = 3600.0  # seconds for which it is pending at least
MAX_CACHED_STUDIES = 8
MAX_CACHED_TRIALS = 100_000  # of one study

UNFINISHED = (TrialState.RUNNING, TrialState.WAITING)
INTERRUPTED = "bktf:interrupted"  # attribute of a trial that Ctrl-C ended; it is ignored


# --- reading -----------------------------------------------------------------------------------


def whole_study(study: Study) -> Study:
    """The study itself where Optuna hands over only a part of it.

    `HyperbandPruner` shows a sampler the trials of one bracket. What the others have tried counts,
    too.
    """
    whole: Study = getattr(study, "_study", study)
    return whole


def read_all(study: Study) -> Trials:
    """All trials of a study, by number."""
    return {trial.number: trial for trial in study.get_trials(deepcopy=False)}


def read_changes(study: Study, known: Trials) -> Trials:
    """All trials again, without reading those that are known to be finished.

    Running and waiting trials are read in one request. Others that were unfinished or unknown have
    finished meanwhile and are read one by one: they are few.
    """
    storage, study_id = study._storage, study._study_id
    waiting = study.get_trials(deepcopy=False, states=UNFINISHED)
    unfinished = {trial.number: trial for trial in waiting}
    trials: dict[int, FrozenTrial] = {}
    for number, trial in known.items():
        if trial.state.is_finished():
            trials[number] = trial
        else:
            trials[number] = unfinished.get(number) or storage.get_trial(trial._trial_id)
    number = max(known, default=-1) + 1
    while True:  # ends: numbers have no gaps, and the first that is not there raises KeyError
        if number in unfinished:
            trials[number] = unfinished[number]
        else:
            try:
                trial_id = storage.get_trial_id_from_study_id_trial_number(study_id, number)
            except KeyError:
                return trials
            trials[number] = storage.get_trial(trial_id)
        number += 1


def ends_with_interrupt() -> bool:
    """Whether Optuna's loop is ending a trial because of Ctrl-C.

    Optuna tells samplers only that a trial failed, after the handling of the exception; the
    exception itself is still a local variable of its loop. Should Optuna change that, the trial
    counts as a failure.
    """
    return any(
        isinstance(value, KeyboardInterrupt)
        for frame, _ in traceback.walk_stack(None)
        if frame.f_globals.get("__name__") == "optuna.study._optimize"
        for value in frame.f_locals.values()
    )


def objective_of(study: Study) -> Objective:
    """What a study optimises."""
    is_maximized = study.direction == StudyDirection.MAXIMIZE
    return Objective(direction="maximize" if is_maximized else "minimize")


# --- from trials to a history ------------------------------------------------------------------


class ConvertedTrial(NamedTuple):
    """A trial as the history takes it; values are oriented."""

    point: tuple[float, ...] | None  # coordinates; None where some are not known
    is_failure: bool
    value: float | None  # of a completed trial
    reports: dict[int, float]  # finite intermediate values by step
    seconds: float  # from start to end; 0 where that is not known


@dataclass(eq=False)
class _CachedStudy:
    """Converted trials of one study, and what they were converted for."""

    storage: "weakref.ref[BaseStorage]"
    study_id: int
    parameters: tuple[Parameter, ...]
    trials: dict[tuple[int, datetime | None], ConvertedTrial] = field(default_factory=dict)


class ConvertedTrials:
    """A bounded cache of converted trials. Losing it costs time and nothing else."""

    def __init__(self) -> None:
        self._studies: list[_CachedStudy] = []  # the latest last

    def of(self, study: Study, parameters: tuple[Parameter, ...]) -> "TrialConverter":
        """The converter of a study's trials for these parameters."""
        storage, study_id = study._storage, study._study_id
        for cached in self._studies:
            if cached.storage() is storage and cached.study_id == study_id:
                if cached.parameters == parameters:
                    return TrialConverter(parameters, objective_of(study), cached.trials)
                self._studies.remove(cached)
                break
        cached = _CachedStudy(weakref.ref(storage), study_id, parameters)
        self._studies = [*self._studies, cached][-MAX_CACHED_STUDIES:]
        return TrialConverter(parameters, objective_of(study), cached.trials)


@dataclass(frozen=True, eq=False)
class TrialConverter:
    """From trials to points and oriented values."""

    parameters: tuple[Parameter, ...]
    objective: Objective
    cache: dict[tuple[int, datetime | None], ConvertedTrial] = field(default_factory=dict)

    def convert(self, trial: FrozenTrial) -> ConvertedTrial:
        """A trial converted; a finished one is taken from the cache if possible."""
        if not trial.state.is_finished():
            return self._convert(trial)
        key = (trial._trial_id, trial.datetime_complete)
        converted = self.cache.get(key)
        if converted is None:
            converted = self._convert(trial)
            if len(self.cache) < MAX_CACHED_TRIALS:
                self.cache[key] = converted
        return converted

    def _convert(self, trial: FrozenTrial) -> ConvertedTrial:
        """A trial converted, without the cache."""
        is_interrupted = INTERRUPTED in trial.system_attrs
        point = None if is_interrupted else point_of(trial, self.parameters)
        sign = 1.0 if self.objective.is_maximized else -1.0
        value = None
        if trial.state == TrialState.COMPLETE and trial.value is not None:
            value = sign * trial.value
        reports = {step: sign * report for step, report in trial.intermediate_values.items()}
        last = value if value is not None or not reports else reports[max(reports)]
        return ConvertedTrial(
            point=point,
            is_failure=trial.state == TrialState.FAIL or last == -math.inf,
            value=value,
            reports={step: report for step, report in reports.items() if math.isfinite(report)},
            seconds=0.0 if trial.duration is None else trial.duration.total_seconds(),
        )

    def history(self, trials: Trials, asking: int, time: datetime) -> History:
        """The history that the trials give.

        A pruned trial gets a value from its reports (`pruned_trials`). An infinite value on the bad
        side is a failure; on the good side it counts as the best finite value. A trial outside the
        current ranges is left out.

        Args:
            trials: all trials.
            asking: number of the trial that asks, which is left out.
            time: the current time; running trials that are too old are not pending.
        """
        finished = {n: t for n, t in trials.items() if n != asking and t.state.is_finished()}
        read = {number: self.convert(trial) for number, trial in finished.items()}
        located = {n: converted for n, converted in read.items() if converted.point is not None}
        valued = {n: converted for n, converted in located.items() if not converted.is_failure}
        values = {n: converted.value for n, converted in valued.items()}
        pruned = [n for n in valued if trials[n].state == TrialState.PRUNED]
        if pruned:
            finite = {n: v for n, v in values.items() if v is not None and math.isfinite(v)}
            translated = values_of_pruned(
                [valued[n].reports for n in pruned],
                [valued[n].reports for n in finite],
                list(finite.values()),
            )
            values.update(zip(pruned, translated, strict=True))
        kept = [n for n, value in values.items() if value is not None]
        y = np.array([values[n] for n in kept], dtype=float)
        is_finite = np.isfinite(y)
        if not is_finite.all():
            y[~is_finite] = y[is_finite].max() if is_finite.any() else 0.0
        pending = self._pending(trials, asking, time)
        return History(
            X=self._points(valued[n].point for n in kept),
            y=y,
            failed=self._points(c.point for c in located.values() if c.is_failure),
            tried=self._points(c.point for c in located.values()),
            pending=self._points(c.point for c in pending),
            related=_reports_of(kept, valued, pruned, pending),
        )

    def tried_points(self, trials: Trials, asking: int, known: Trials | None = None) -> Floats:
        """Points (n, D) of finished trials; with `known`, only of those that ended since."""
        known = known or {}
        old = {number for number, trial in known.items() if trial.state.is_finished()} | {asking}
        finished = {n: trial for n, trial in trials.items() if trial.state.is_finished()}
        return self._points(self.convert(finished[n]).point for n in finished if n not in old)

    def pending_points(self, trials: Trials, asking: int, time: datetime) -> Floats:
        """Points (n, D) of unfinished trials, without those so old that their worker has died."""
        return self._points(c.point for c in self._pending(trials, asking, time))

    def _pending(self, trials: Trials, asking: int, time: datetime) -> list[ConvertedTrial]:
        """Unfinished trials, without those so old that their worker has died."""
        finished = (t for t in trials.values() if t.state.is_finished())
        longest = max((self.convert(trial).seconds for trial in finished), default=0.0)
        patience = max(PATIENCE * longest, MIN_PATIENCE)
        others = [trial for number, trial in trials.items() if number != asking]
        unfinished = [trial for trial in others if not trial.state.is_finished()]
        return [self.convert(trial) for trial in unfinished if not _is_stale(trial, time, patience)]

    def _points(self, points: Iterable[tuple[float, ...] | None]) -> Floats:
        """Points (n, D) as an array, without those that are None."""
        rows = [point for point in points if point is not None]
        return np.array(rows, dtype=float).reshape(-1, len(self.parameters))


def _reports_of(
    kept: Sequence[int],
    valued: Mapping[int, ConvertedTrial],
    pruned: Sequence[int],
    pending: Sequence[ConvertedTrial],
) -> RelatedValues | None:
    """What trials reported on the way, beside the observations that they are.

    Args:
        kept: numbers of the trials that are observations, in their order.
        valued: finished trials that did not fail, by number.
        pruned: numbers of the pruned ones among them.
        pending: running trials.
    """
    unfinished = [valued[n] for n in pruned] + list(pending)
    with_reports = [(c.point, c.reports) for c in unfinished if c.point is not None and c.reports]
    if not with_reports:
        return None
    row_of = {number: row for row, number in enumerate(kept)}
    completed, returned = {}, {}
    for number, row in row_of.items():
        value = valued[number].value
        if value is not None and math.isfinite(value):
            completed[row], returned[row] = valued[number].reports, value
    points = [valued[n].point or () for n in kept]
    estimates = [row_of[n] for n in pruned if n in row_of]
    return reported_values(points, returned, completed, estimates, with_reports)


def is_taken(
    study: Study,
    known: Trials,
    asking: int,
    converter: TrialConverter,
    point: Floats,
) -> bool:
    """Whether another trial has taken a point (D,) since the trials `known` were read.

    Of two workers the one that publishes last sees the other, so it must give way.
    """
    trials = read_changes(study, known)
    tried = converter.tried_points(trials, asking)
    pending = converter.pending_points(trials, asking, datetime.now())
    # As the trial will store it: values are rounded to those that the parameter takes.
    pairs = zip(converter.parameters, point, strict=True)
    stored = np.array(
        [INACTIVE if x == INACTIVE else p.coordinate(p.value(float(x))) for p, x in pairs]
    )
    return bool(np.any(np.all(np.concatenate((tried, pending)) == stored, axis=1)))


def point_of(trial: FrozenTrial, parameters: Sequence[Parameter]) -> tuple[float, ...] | None:
    """The trial's coordinates; None where a parameter is missing or outside its range.

    A parameter was suggested, or fixed when the trial was enqueued, or published by the trial's
    worker. A trial may fail before all its parameters are suggested, so published values count for
    failures, too. A conditional parameter that a trial did not have was inactive.
    """
    has_all = trial.state in (TrialState.COMPLETE, TrialState.PRUNED)
    fixed = {} if has_all else trial.system_attrs.get("fixed_params", {})
    known = {**fixed, **trial.params}
    published = {} if has_all else read_published(trial.system_attrs).get("internal", {})
    point = []
    for parameter in parameters:
        if parameter.name in known:
            coordinate = parameter.coordinate(known[parameter.name])
        elif parameter.name in published:
            coordinate = parameter.coordinate_of_internal(published[parameter.name])
        elif parameter.activations is not None:
            coordinate = INACTIVE
        else:
            return None
        if coordinate is None and parameter.activations is not None:
            coordinate = INACTIVE  # the parameter was of another kind in this trial
        if coordinate is None:
            return None
        point.append(coordinate)
    if has_all:
        return tuple(point)
    # A trial may be enqueued with values of parameters that are not active with the others.
    active = deactivate(parameters, np.array(point)).tolist()
    # An unfinished trial may not have come so far as to suggest what is active.
    is_complete = all(
        x != INACTIVE or p.activations is None or not is_active_at(p, parameters, active)
        for p, x in zip(parameters, active, strict=True)
    )
    return tuple(active) if is_complete else None


def kept_values(study: Study, trial: FrozenTrial) -> dict[str, Any]:
    """Values that a trial was enqueued with, or that a PartialFixedSampler around this fixes."""
    fixed: dict[str, Any] = {}
    sampler: Any = study.sampler
    while hasattr(sampler, "_fixed_params"):  # ends: each holds the one that it was put around
        fixed = {**sampler._fixed_params, **fixed}
        sampler = getattr(sampler, "_base_sampler", None)
    return {**fixed, **trial.system_attrs.get("fixed_params", {})}


def fixed_coordinates(
    kept: Mapping[str, Any],
    parameters: Sequence[Parameter],
) -> dict[int, float]:
    """Coordinates that a trial keeps, by axis."""
    named = {d: p for d, p in enumerate(parameters) if p.name in kept}
    coordinates = {d: p.coordinate(kept[p.name]) for d, p in named.items()}
    return {d: x for d, x in coordinates.items() if x is not None}


def _is_stale(trial: FrozenTrial, time: datetime, patience: float) -> bool:
    """Whether a running trial is so old that its worker has probably died."""
    if trial.datetime_start is None:
        return False
    return (time - trial.datetime_start).total_seconds() > patience


# --- what workers publish ----------------------------------------------------------------------


def pieces_of(suggestion: Mapping[str, Any]) -> dict[str, str]:
    """System attributes that publish a suggestion before it has an outcome."""
    text = json.dumps(suggestion)
    starts = range(0, len(text), PIECE)
    return {f"{PUBLISHED}:{n}": text[i : i + PIECE] for n, i in enumerate(starts)}


def read_published(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What `pieces_of` published; empty where nothing, or only a part, has arrived yet."""
    pieces: list[str] = []
    while (piece := attributes.get(f"{PUBLISHED}:{len(pieces)}")) is not None:
        pieces.append(piece)
    try:
        found = json.loads("".join(pieces)) if pieces else {}
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
