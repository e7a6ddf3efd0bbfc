"""Checks of the arguments of `minimize` and `maximize`."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial

from bktf._checks import MAX_TRIALS, whole_number

Callback = Callable[[Study, FrozenTrial], None]

MAX_JOBS = 10_000  # threads
SPACE_ARGUMENT = "the search space is the argument `space`; search_space is for BKTFSampler alone"
WANTED_CALLBACKS = "callbacks must be a list of functions of (study, trial)"


def check_keywords(
    name: str,
    settings: Mapping[str, Any],
    function: Callable[..., Any],
    sampler: Callable[..., Any],
) -> None:
    """Refuse a keyword that neither the function nor the sampler has, and name the nearest one."""
    if "search_space" in settings:
        raise TypeError(SPACE_ARGUMENT)
    known = [*inspect.signature(function).parameters, *inspect.signature(sampler).parameters]
    hidden = ("fn", "space", "settings", "search_space")
    keywords = [keyword for keyword in dict.fromkeys(known) if keyword not in hidden]
    for keyword in settings:
        if keyword not in keywords:
            nearest = difflib.get_close_matches(keyword, keywords, 1)
            meant = f"did you mean {nearest[0]!r}?" if nearest else f"it has {', '.join(keywords)}"
            raise TypeError(f"{name} has no keyword {keyword!r}; {meant}")


def check_extent(n_trials: object, timeout: object, n_jobs: object) -> None:
    """Refuse a run of no, endless or impossible extent."""
    is_number = isinstance(timeout, int | float | np.number) and not isinstance(timeout, bool)
    if timeout is not None and not (is_number and timeout > 0):  # type: ignore[operator]
        raise ValueError(f"timeout must be a positive number of seconds, or None; got {timeout!r}")
    if n_trials is not None:
        whole_number("n_trials", n_trials, 1, MAX_TRIALS)
    elif timeout is None:
        raise ValueError("n_trials=None runs without end; give timeout= as well")
    is_whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if not is_whole or not (n_jobs == -1 or 1 <= n_jobs <= MAX_JOBS):  # type: ignore[operator]
        wanted = f"n_jobs must be a whole number from 1 to {MAX_JOBS}, or -1 for one per processor"
        raise ValueError(f"{wanted}; got {n_jobs!r}")


def check_storage(storage: object, study_name: object) -> None:
    """Refuse what is no storage, or no name of a study."""
    is_url = isinstance(storage, str) and "://" in storage
    if storage is not None and not is_url and not isinstance(storage, BaseStorage):
        wanted = 'storage must be a URL such as "sqlite:///run.db", an Optuna storage or None'
        raise ValueError(f"{wanted}; got {storage!r}")
    if study_name is not None and not (isinstance(study_name, str) and study_name):
        raise ValueError(f"study_name must be a non-empty string, or None; got {study_name!r}")


class StopRule(Protocol):
    """What `stop` takes, as `bktf.StopWhenConverged`: a callback that says why it stopped."""

    @property
    def reason(self) -> str | None:
        """Why the study was stopped; None where it was not."""

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study where it is time."""


def check_stop(stop: object) -> None:
    """Refuse what is not a rule for stopping."""
    if stop is not None and not (callable(stop) and hasattr(stop, "reason")):
        raise ValueError(
            "stop must be a bktf.StopWhenConverged, as bktf.StopWhenConverged(tolerance=0.1), or "
            f"None; got {stop!r}. Other functions belong in callbacks"
        )


def check_progress_bar(show_progress_bar: object) -> None:
    """Refuse what is not True, False or None."""
    if show_progress_bar is not None and not isinstance(show_progress_bar, bool):
        wanted = "show_progress_bar must be True, False or None"
        raise ValueError(f"{wanted}; got {show_progress_bar!r}")


def checked_callbacks(callbacks: object) -> tuple[Callback, ...]:
    """The callbacks, checked."""
    if not isinstance(callbacks, Iterable):
        if not callable(callbacks):
            raise ValueError(f"{WANTED_CALLBACKS}; got {callbacks!r}")
        name = getattr(callbacks, "__name__", "callback")
        raise ValueError(f"{WANTED_CALLBACKS}, as in [{name}]; got a single function")
    given = tuple(callbacks)
    for callback in given:
        if not callable(callback):
            raise ValueError(f"{WANTED_CALLBACKS}; got {callback!r}")
    return given


def checked_exceptions(catch: object) -> tuple[type[Exception], ...]:
    """The exceptions to catch, checked. Ctrl-C is not among them, because it must end the run."""
    given: tuple[Any, ...] = (catch,)
    if isinstance(catch, Iterable) and not isinstance(catch, str | type):
        given = tuple(catch)
    for kind in given:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            wanted = "an exception class or a list of them, all subclasses of Exception"
            raise ValueError(f"catch must be {wanted}; got {kind!r}")
    return given
