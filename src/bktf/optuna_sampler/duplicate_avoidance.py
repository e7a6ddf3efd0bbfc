"""How workers avoid trying the same point, without messages between them.

A worker publishes its choice with its trial and then checks whether another trial has the same
point. Of two workers the one that publishes last sees the other, so it chooses again.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from bktf.engine import Engine, Model, NothingFeasible, Suggestion
from bktf.optuna_sampler.messages import POOR_SEARCH, Messages, infeasible_fixed_text
from bktf.optuna_sampler.trials import (
    TrialConverter,
    Trials,
    is_taken,
    pieces_of,
    read_changes,
)
from bktf.spaces import Parameter, values_at

MAX_AGREEMENTS = 5  # times a worker chooses at most, where others publish the same point first
MAX_WAIT = 0.05  # seconds before it chooses again, at most, the first time


@dataclass(frozen=True, eq=False)
class Question:
    """One suggestion, from the fit to the choice."""

    study: Study
    trial: FrozenTrial
    trials: Trials  # as they were before the fit
    converter: TrialConverter
    engine: Engine
    model: Model


def choose_and_publish(
    question: Question,
    lock: threading.Lock,
    messages: Messages,
    end_or_repeat: Callable[[], None],
) -> Suggestion:
    """The point of a trial: choose, publish, look again, until no other worker was first.

    Args:
        question: the study, the trial and the fitted model.
        lock: lets threads that share a sampler choose one after the other.
        messages: takes the log lines.
        end_or_repeat: called where nothing is left to try; may raise.
    """
    study, trial, engine = question.study, question.trial, question.engine
    converter, number = question.converter, question.trial.number
    repeats = engine.settings.allow_repeats
    taken = np.empty((0, len(engine.parameters)))  # by others while this worker was choosing
    for attempt in range(MAX_AGREEMENTS):
        with lock:
            # Read again: a fit takes time, and other trials have begun or ended since.
            trials = read_changes(study, question.trials)
            pending = converter.pending_points(trials, number, datetime.now())
            tried = converter.tried_points(trials, number, known=question.trials)
            tried = np.concatenate((tried, taken))
            try:
                suggestion = engine.choose(question.model, number, tried, pending)
            except NothingFeasible:
                if not question.model.fixed:
                    raise
                text = infeasible_fixed_text(number)
                messages.say_once("fixed", str(number), text)
                anywhere = engine.without_constraint()
                suggestion = anywhere.choose(question.model, number, tried, pending)
            if suggestion.is_poor:
                messages.say_once("poor", study.study_name, POOR_SEARCH)
            if suggestion.is_repeat and not repeats:
                end_or_repeat()
            publish(study, trial, engine.parameters, suggestion)
        if repeats or suggestion.is_repeat:
            break
        if not is_taken(study, question.trials, number, converter, suggestion.point):
            break
        taken = np.concatenate((taken, suggestion.point[None]))
        # A random time, so that two workers that saw each other do not collide again.
        time.sleep(random.uniform(0.0, MAX_WAIT * (attempt + 1)))
    return suggestion


def publish(
    study: Study,
    trial: FrozenTrial,
    parameters: tuple[Parameter, ...],
    suggestion: Suggestion,
) -> None:
    """Tell the other workers what this trial will try."""
    values = values_at(parameters, suggestion.point)
    distributions = {p.name: p.distribution for p in parameters}
    internal = {name: distributions[name].to_internal_repr(x) for name, x in values.items()}
    record: dict[str, Any] = {"internal": {name: float(x) for name, x in internal.items()}}
    if suggestion.expected_improvement is not None:
        record["expected_improvement"] = suggestion.expected_improvement
    for key, piece in pieces_of(record).items():
        study._storage.set_trial_system_attr(trial._trial_id, key, piece)
