"""Kernel parameters that a suggestion publishes with its trial, for the next one to start from.

The search for the most probable parameters is shorter from those of an earlier suggestion, and
whether warped values predict better need not be found out each time. They are in the storage, so a
suggestion stays a function of seed, trial number and storage, whichever worker makes it. One
attribute holds them; only those of the latest trials are read.
"""

import json
import math
from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from bktf.engine import EarlierProcess, Model, process_to_publish
from bktf.optuna_sampler.messages import Messages
from bktf.optuna_sampler.trials import PIECE, Trials
from bktf.spaces import Parameter
from bktf.surrogate import ProcessStart

KEY = "bktf:parameters"
VERSION = 2  # of what the attribute holds
N_LATEST = 8  # trials that are looked at
FRESH_PERIOD = 10  # of so many suggestions one starts anew, so that no poor mode is kept for ever
MAX_LOG = 50.0  # of a parameter; a larger one is damaged
DAMAGED = (
    "the kernel parameters published with a trial are damaged or of another version, and are not "
    "used; the search for them starts anew"
)


def publish_parameters(study: Study, trial: FrozenTrial, space: str, model: Model) -> None:
    """Publish the parameters of a model's process; nothing where the next one needs none."""
    found = process_to_publish(model)
    if found is None:
        return
    numbers = [*found.start.logs.tolist(), math.log(found.start.noise_precision)]
    logs = [round(x, 3) for x in numbers]
    record = {"version": VERSION, "space": space, "warped": found.is_warped, "logs": logs}
    text = json.dumps(record, separators=(",", ":"))
    if len(text) <= PIECE:
        study._storage.set_trial_system_attr(trial._trial_id, KEY, text)


def read_parameters(
    trials: Trials, asking: int, space: str, messages: Messages, study_name: str
) -> EarlierProcess | None:
    """The latest published parameters of this space; damaged ones are passed over."""
    if asking % FRESH_PERIOD == 0:
        return None
    for number in range(asking - 1, max(asking - 1 - N_LATEST, -1), -1):
        attributes: Mapping[str, Any] = trials[number].system_attrs if number in trials else {}
        if KEY not in attributes:
            continue
        try:
            found_space, found = _parse(attributes[KEY])
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            messages.say_once("damaged", study_name, DAMAGED)
            continue
        if found_space == space:
            return found
    return None


def _parse(text: str) -> tuple[str, EarlierProcess]:
    """What an attribute holds; raises one of several errors where it is damaged."""
    record = json.loads(text)
    logs = np.array(record["logs"], dtype=float)
    is_sound = logs.ndim == 1 and logs.size > 3 and bool(np.all(np.abs(logs) < MAX_LOG))
    if record["version"] != VERSION or not is_sound or not isinstance(record["warped"], bool):
        raise ValueError(f"version must be {VERSION}, logs numbers, warped a truth; got {record}")
    start = ProcessStart(logs[:-1], math.exp(logs[-1]))
    return record["space"], EarlierProcess(start, record["warped"])


def space_key(parameters: tuple[Parameter, ...]) -> str:
    """A short name of a search space: parameters of another one are not used."""
    named = [f"{p.name}: {p.distribution!r}, {p.ordinal}" for p in parameters]
    return f"{len(parameters)}-{crc32(chr(10).join(named).encode()):08x}"
