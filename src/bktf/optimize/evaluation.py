"""The evaluations of `minimize` and `maximize`: the loop, its progress bar, and why it ended."""

import math
import reprlib
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, SupportsFloat

from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from bktf.optimize import argument_checks as checks
from bktf.optimize.argument_checks import Callback, StopRule
from bktf.optuna_sampler import INTERRUPTED, objective_of, read_published, suggest_all
from bktf.spaces import Space

Function = Callable[[dict[str, Any]], SupportsFloat]

WANTED_FUNCTION = "fn must be a function of a dictionary of parameters"


@dataclass(frozen=True)
class Run:
    """What to evaluate, how often and how; as given to `minimize`."""

    fn: Function
    n_trials: int | None
    timeout: float | None
    n_jobs: int
    callbacks: Iterable[Callback]
    catch: type[Exception] | Iterable[type[Exception]]
    show_progress_bar: bool | None
    stop: StopRule | None = None

    def checked(self) -> "Run":
        """The same run with its callbacks and exceptions as tuples, or an error."""
        if not callable(self.fn):
            raise ValueError(f"{WANTED_FUNCTION}; got {self.fn!r}")
        checks.check_extent(self.n_trials, self.timeout, self.n_jobs)
        checks.check_progress_bar(self.show_progress_bar)
        checks.check_stop(self.stop)
        return replace(
            self,
            callbacks=checks.checked_callbacks(self.callbacks),
            catch=checks.checked_exceptions(self.catch),
        )


def evaluate_all(
    run: Run,
    study: Study,
    space: Space,
    is_exhausted: Callable[[Study], bool],
) -> str:
    """Evaluate until something ends it, and say what did."""
    n_before, began = len(study.trials), time.monotonic()

    def objective(trial: Trial) -> float:
        """One evaluation."""
        try:
            params = suggest_all(trial, space)
            return evaluate(run.fn, params, study)
        except KeyboardInterrupt:
            study._storage.set_trial_system_attr(trial._trial_id, INTERRUPTED, True)
            raise

    is_shown = sys.stderr.isatty() if run.show_progress_bar is None else run.show_progress_bar
    try:
        with _Progress(run.n_trials, is_shown) as bar:
            callbacks: list[Callback] = [*run.callbacks, bar.update]
            if run.stop is not None:
                callbacks.append(run.stop)
            study.optimize(objective, run.n_trials, run.timeout, run.n_jobs, run.catch, callbacks)
    except KeyboardInterrupt:
        if not with_value(study):
            raise
        return "interrupted"
    if run.stop is not None and run.stop.reason is not None:
        return run.stop.reason
    if run.n_trials is not None and len(study.trials) - n_before >= run.n_trials:
        return "all evaluations made"
    is_late = run.timeout is not None and time.monotonic() - began >= run.timeout
    if is_exhausted(study):
        return "every point was tried"
    return "the time was up" if is_late else "stopped early"


def evaluate(fn: Function, params: dict[str, Any], study: Study) -> float:
    """The value of fn.

    Until there is a value, an exception that suggests an array was expected gets a note that says
    what fn receives.
    """
    try:
        value = fn(dict(params))
    except (KeyError, TypeError, AttributeError) as error:
        key = error.args[0] if isinstance(error, KeyError) and error.args else None
        if with_value(study) or (isinstance(key, str) and key in params):
            raise
        if isinstance(key, str):
            keys = ", ".join(map(repr, params))
            receives = "the dictionary of parameters that fn receives"
            error.add_note(f"bktf: {receives} has the keys {keys}")
        else:
            error.add_note(
                f"bktf: fn receives a dictionary of parameters, {reprlib.repr(params)}, not an "
                f"array; write fn(p) with p[{next(iter(params))!r}]"
            )
        raise
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"fn must return a number; got {value!r} for {params}") from None


def with_value(study: Study) -> list[FrozenTrial]:
    """Trials with a finite value."""
    completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return [t for t in completed if t.value is not None and math.isfinite(t.value)]


class _Progress:
    """A progress bar with the best value and the improvement still expected."""

    def __init__(self, total: int | None, is_shown: bool) -> None:
        from tqdm.auto import tqdm  # comes with Optuna; not needed otherwise

        self._bar: Any = tqdm(total=total, unit="eval", disable=not is_shown)

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def update(self, study: Study, trial: FrozenTrial) -> None:
        """Called after each trial."""
        shown = {}
        finished = with_value(study) if not self._bar.disable else []
        if finished:
            values: Sequence[float] = [float(t.value or 0.0) for t in finished]
            best = max(values) if objective_of(study).is_maximized else min(values)
            shown["best"] = f"{best:.5g}"
        remaining = read_published(trial.system_attrs).get("expected_improvement")
        if remaining is not None:
            shown["expected gain"] = f"{remaining:.2g}"
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update()
