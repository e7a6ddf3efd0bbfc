"""What a study's trials say: values, points tried, points that failed, points under way."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from bktf.engine.history import History
from bktf.optuna_sampler.pruned_trials import values_of_pruned
from bktf.spaces.parameters import Parameter, can_be_modelled

Floats = NDArray[np.float64]

PUBLISHED = "bktf:suggestion"  # system attributes PUBLISHED:0, PUBLISHED:1, … hold one JSON text in pieces
PIECE = 2045  # characters that fit into one system attribute of every storage
PATIENCE = 10.0  # a running trial is believed for this many times the longest finished one took
LEAST_PATIENCE = 3600.0  # seconds it is believed at least

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
INTERRUPTED = "bktf:interrupted"  # system attribute of a trial that Ctrl-C ended: it says nothing of its point


class KnownSpace(NamedTuple):
    """What finished trials show of a define-by-run search space."""

    distributions: dict[str, BaseDistribution]  # parameters of every finished trial that can be modelled, as last suggested
    constants: dict[str, Any]  # parameters with a single value
    is_open: bool  # whether some trial had further parameters, so a point of this space is not the whole trial


def known_space(trials: Sequence[FrozenTrial]) -> KnownSpace:
    """The parameters that every finished trial has, with their latest ranges (Optuna's intersection drops one whose range changed)."""
    finished = [t for t in trials if t.distributions and (t.state == TrialState.COMPLETE or t.last_step is not None)]
    if not finished:  # what failed shows the space too, where nothing else does
        finished = [t for t in trials if t.distributions and t.state == TrialState.FAIL]
    if not finished:
        return KnownSpace({}, {}, False)
    latest = max(finished, key=lambda t: t.number)
    shared = {
        name: distribution
        for name, distribution in latest.distributions.items()
        if all(name in t.distributions and _same_kind(distribution, t.distributions[name]) for t in finished)
    }
    inside = {name: d for name, d in shared.items() if can_be_modelled(d)}
    constants = {name: latest.params[name] for name, d in shared.items() if d.single()}
    is_open = any(name not in inside and not d.single() for t in finished for name, d in t.distributions.items())
    return KnownSpace(inside, constants, is_open)


def _same_kind(one: BaseDistribution, other: BaseDistribution) -> bool:
    """Whether two distributions of a parameter differ in their range at most."""
    return type(one) is type(other) and getattr(one, "log", False) == getattr(other, "log", False)


def read_history(trials: Iterable[FrozenTrial], parameters: Sequence[Parameter], maximize: bool, own: int, now: datetime) -> History:
    """Everything the trials say of these parameters; `own` is the number of the trial that asks, `now` tells which others are stale.

    A pruned trial counts with what its last intermediate value says of the final one (`pruned_trials`). An infinite value on the bad side
    is a failure; on the good side it counts as the best finite value. A trial outside today's ranges is left out.
    """
    valued: list[tuple[FrozenTrial, list[float]]] = []  # completed and pruned, with their points
    failed: list[list[float]] = []
    tried: list[list[float]] = []
    pending: list[list[float]] = []
    everyone = list(trials)
    patience = max(PATIENCE * _longest(everyone), LEAST_PATIENCE)
    for trial in everyone:
        if trial.number == own or INTERRUPTED in trial.system_attrs:
            continue
        point = _point(trial, parameters)
        if point is None:
            continue
        if not trial.state.is_finished():
            if not _is_stale(trial, now, patience):
                pending.append(point)
            continue
        tried.append(point)
        if trial.state == TrialState.FAIL or _last_value(trial) == (-math.inf if maximize else math.inf):
            failed.append(point)
        else:
            valued.append((trial, point))
    pruned = [trial for trial, _ in valued if trial.state == TrialState.PRUNED]
    completed = [trial for trial, _ in valued if trial.state == TrialState.COMPLETE and math.isfinite(trial.value or 0.0)]
    of_pruned = {t.number: v for t, v in zip(pruned, values_of_pruned(pruned, completed, maximize), strict=True)}
    found = [(of_pruned[t.number] if t.state == TrialState.PRUNED else t.value, point) for t, point in valued]
    with_value = [point for value, point in found if value is not None]
    y = np.array([value for value, _ in found if value is not None], dtype=float)
    finite = y[np.isfinite(y)]
    if finite.size < y.size:
        y[~np.isfinite(y)] = (finite.max() if maximize else finite.min()) if finite.size else 0.0

    def points(rows: list[list[float]]) -> Floats:
        return np.array(rows, dtype=float).reshape(-1, len(parameters))

    return History(points(with_value), y, points(failed), points(tried), points(pending))


def _last_value(trial: FrozenTrial) -> float | None:
    """What a finished trial returned or, if it was pruned, reported last; None where it did neither."""
    if trial.state == TrialState.COMPLETE:
        return trial.value
    return trial.intermediate_values[trial.last_step] if trial.last_step is not None else None


def _point(trial: FrozenTrial, parameters: Sequence[Parameter]) -> list[float] | None:
    """The trial's coordinates; None where a parameter is missing or outside its range.

    A parameter has been suggested already, was fixed when the trial was enqueued, or was published by the trial's worker. A trial may
    fail before it has asked for all its parameters, so for failures too what was published counts.
    """
    known = {**trial.system_attrs.get("fixed_params", {}), **trial.params}
    published = {} if trial.state in (TrialState.COMPLETE, TrialState.PRUNED) else read_published(trial.system_attrs).get("internal", {})
    point = []
    for parameter in parameters:
        if parameter.name in known:
            coordinate = parameter.coordinate(known[parameter.name])
        elif parameter.name in published:
            coordinate = parameter.coordinate_of_internal(published[parameter.name])
        else:
            return None
        if coordinate is None:
            return None
        point.append(coordinate)
    return point


def _longest(trials: Iterable[FrozenTrial]) -> float:
    """Seconds that the longest finished trial took."""
    return max((t.duration.total_seconds() for t in trials if t.duration is not None), default=0.0)


def _is_stale(trial: FrozenTrial, now: datetime, patience: float) -> bool:
    """Whether a running trial is so old that its worker has probably died."""
    return trial.datetime_start is not None and (now - trial.datetime_start).total_seconds() > patience


def pieces_of(suggestion: Mapping[str, Any]) -> dict[str, str]:
    """System attributes that publish a suggestion, so that other workers know of it before it has an outcome."""
    text = json.dumps(suggestion)
    return {f"{PUBLISHED}:{i // PIECE}": text[i : i + PIECE] for i in range(0, len(text), PIECE)}


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
