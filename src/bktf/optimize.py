"""`minimize` and `maximize`: one call on an Optuna study with `BKTFSampler`."""

import difflib
import functools
import inspect
import math
import reprlib
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, SupportsFloat

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from bktf._checks import MAX_TRIALS, whole_number
from bktf.engine.history import History
from bktf.engine.settings import Suggestion, seed_for
from bktf.engine.suggestion import Model, fit_history, fit_shown, next_points
from bktf.optuna_sampler.sampler import POOR_SEARCH, BKTFSampler, parameter_names
from bktf.optuna_sampler.trials import INTERRUPTED, read_history, read_published
from bktf.spaces.parameters import Parameter, can_be_modelled, parameters_of, read_space, values_at
from bktf.surrogate.posterior import Posterior

TOLD_APART = 0.1  # standard deviations by which the best expected point must be better than the best observed one to be mentioned

Callback = Callable[[Study, FrozenTrial], None]
Objective = Callable[[dict[str, Any]], SupportsFloat]

MAX_JOBS = 10_000  # threads


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What an optimisation found; print it for a summary.

    x: the parameters with the best observed value
    fun: the best observed value. Under noise it is the luckiest one; see `x_expected`
    nfev: evaluations that gave a value
    study: the Optuna study with every trial
    message: why it ended
    """

    x: dict[str, Any]
    fun: float
    nfev: int
    study: Study
    message: str
    _parameters: tuple[Parameter, ...] = field(repr=False)
    _sampler: BKTFSampler = field(repr=False)

    @property
    def _maximize(self) -> bool:
        return self.study.direction == StudyDirection.MAXIMIZE

    @functools.cached_property
    def _history(self) -> History:
        """Everything there is."""
        if not self._parameters:
            raise ValueError("every parameter of this space has a single value, so there is nothing to model")
        return read_history(self.study.get_trials(deepcopy=False), self._parameters, self._maximize, -1, datetime.now())

    @functools.cached_property
    def _model(self) -> Model:
        """What suggestions are made from."""
        seed = seed_for(self._sampler._seed, 0)
        return fit_history(self._parameters, self._history, self._sampler._strategy, self._maximize, seed, {})

    @functools.cached_property
    def _shown(self) -> Model:
        """What is shown to people."""
        return fit_shown(self._parameters, self._history, self._sampler._strategy, self._maximize, seed_for(self._sampler._seed, 0))

    @functools.cached_property
    def posterior(self) -> Posterior:
        """The surrogate given all trials: points and values in your units and direction, columns in the order of the space.

        A category is its index (an ordered list its values); parameters with a single value have no column. Fitted when first asked for.
        """
        return self._shown.posterior

    @property
    def x_expected(self) -> dict[str, Any]:
        """Of the parameters that were tried, those with the best posterior mean: under noise the answer, rather than the luckiest `x`."""
        return self._best_expected[0]

    @property
    def fun_expected(self) -> float:
        """The posterior mean at `x_expected`: what another evaluation there would give on average."""
        return self._best_expected[1]

    @functools.cached_property
    def _best_expected(self) -> tuple[dict[str, Any], float]:
        """`x_expected` and `fun_expected`, by the surrogate that is shown."""
        if not self._parameters:
            return self.x, self.fun
        trials = _inside(self.study, self._parameters)
        points = np.array([[p.coordinate(t.params[p.name]) for p in self._parameters] for t in trials], dtype=float)
        failed = {tuple(row) for row in self._shown.history.failed.tolist()}  # what was set aside is among them
        kept = [i for i, point in enumerate(points.tolist()) if tuple(point) not in failed]
        means = self.posterior.mean(points[kept])
        best = int(means.argmax() if self._maximize else means.argmin())
        return dict(trials[kept[best]].params), float(means[best])

    def suggest(self, q: int = 1) -> list[dict[str, Any]]:
        """The q points to try next, together; fewer where the space has no more."""
        return [{**self._constants, **values_at(self._parameters, s.point)} for s in self._suggestions(whole_number("q", q, 1, MAX_TRIALS))]

    def _suggestions(self, q: int) -> list[Suggestion]:
        sampler = self._sampler
        feasible = sampler._feasible_point(self._parameters, self._constants)
        seed = seed_for(sampler._seed, len(self.study.trials))
        found = next_points(self._model, sampler._strategy, self._maximize, seed, q, feasible)
        if any(suggestion.is_poor for suggestion in found):
            sampler._say_once("poor", self.study.study_name, POOR_SEARCH)
        return found

    @property
    def _constants(self) -> dict[str, Any]:
        modelled = {p.name for p in self._parameters}
        return {name: value for name, value in self.x.items() if name not in modelled}

    def __repr__(self) -> str:
        """The best point, what the model says of it, and what is still expected."""
        goal = "largest" if self._maximize else "smallest"
        width = max(len(name) for name in self.x)
        failures = self.study.get_trials(deepcopy=False, states=(TrialState.FAIL,))
        failed = sum(INTERRUPTED not in trial.system_attrs for trial in failures)
        counted = f"{self.nfev} evaluations" + (f" and {failed} that failed" if failed else "")
        lines = [f"{goal} value {self.fun:.6g} after {counted}; {self.message}"]
        lines += [f"  {name:<{width}} = {_shown(value)}" for name, value in self.x.items()]
        if self._parameters and self.nfev > 1:
            point = np.array([[p.coordinate(self.x[p.name]) for p in self._parameters]], dtype=float)
            mean, std = float(self.posterior.mean(point)[0]), float(self.posterior.std(point)[0])
            lines.append(f"the model puts the function there at {mean:.6g} ± {std:.2g}")
            if self.x_expected != self.x and abs(self.fun_expected - mean) > TOLD_APART * std:
                lines.append(f"it expects the best value, {self.fun_expected:.6g} on average, of another point that was tried:")
                lines += [f"  {name:<{width}} = {_shown(value)}" for name, value in self.x_expected.items()]
            for suggestion in self._suggestions(1):
                if suggestion.expected_improvement is not None:  # of the model that chooses; all numbers here are of the one that is shown
                    shown = self.posterior if self._maximize else self.posterior.negated()
                    repeats = self._sampler._strategy.allow_repeats
                    best = float(shown.mean(shown.X).max()) if repeats else None  # what the choice counts from, too
                    gain = float(shown.expected_improvement(suggestion.point[None], best)[0])
                    lines.append(f"improvement expected of one more evaluation: {gain:.2g}")
        return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def minimize(
    fn: Objective,
    space: Mapping[str, Any],
    n_trials: int | None = 50,
    *,
    seed: int | None = None,
    timeout: float | None = None,
    n_jobs: int = 1,
    storage: str | BaseStorage | None = None,
    study_name: str | None = None,
    callbacks: Iterable[Callback] = (),
    catch: type[Exception] | Iterable[type[Exception]] = (),
    show_progress_bar: bool | None = None,
    **settings: Any,
) -> Result:
    """Find the parameters where fn is smallest.

    Args:
        fn: takes a dictionary of parameters and returns a number. NaN marks a failed evaluation: its neighbourhood is avoided, and the run
            goes on.
        space: by parameter name one of
            (1.0, 10.0): any number in between; (1, 10): any whole number in between;
            range(0, 100, 5), or a list of increasing numbers: exactly those values, ordered;
            bktf.choices("a", "b"): a category; bktf.choices("low", "high", ordered=True): an ordered one;
            any Optuna distribution, as FloatDistribution(1e-5, 1.0, log=True).
        n_trials: evaluations to make now (with `storage`, beyond those that are there); None to go on until `timeout`. At most
            10 million.
        seed: makes the run reproducible.
        timeout: seconds after which no further evaluation is started.
        n_jobs: evaluations at a time, in threads; -1 for one per processor.
        storage: where trials are kept, as "sqlite:///study.db"; a later call with the same storage and study_name goes on from there.
        study_name: name of the study in the storage; by default "bktf".
        callbacks: functions of (study, trial), called after each evaluation; `study.stop()` in one of them ends the run.
        catch: exceptions of fn that count as a failed evaluation; any other ends the run, with the result so far as its attribute `result`.
        show_progress_bar: by default where the output is a terminal.
        settings: everything else goes to `bktf.BKTFSampler`: acquisition, rank, feasible, allow_repeats, noise_std, …

    Ctrl-C ends the run and returns what there is.
    """
    return _optimize(
        "minimize", fn, space, n_trials, seed, timeout, n_jobs, storage, study_name, callbacks, catch, show_progress_bar, settings
    )  # fmt: skip


def maximize(
    fn: Objective,
    space: Mapping[str, Any],
    n_trials: int | None = 50,
    *,
    seed: int | None = None,
    timeout: float | None = None,
    n_jobs: int = 1,
    storage: str | BaseStorage | None = None,
    study_name: str | None = None,
    callbacks: Iterable[Callback] = (),
    catch: type[Exception] | Iterable[type[Exception]] = (),
    show_progress_bar: bool | None = None,
    **settings: Any,
) -> Result:
    """Find the parameters where fn is largest; everything as in `bktf.minimize`."""
    return _optimize(
        "maximize", fn, space, n_trials, seed, timeout, n_jobs, storage, study_name, callbacks, catch, show_progress_bar, settings
    )  # fmt: skip


def _optimize(
    direction: Literal["minimize", "maximize"],
    fn: Objective,
    space: Mapping[str, Any],
    n_trials: int | None,
    seed: int | None,
    timeout: float | None,
    n_jobs: int,
    storage: str | BaseStorage | None,
    study_name: str | None,
    callbacks: Iterable[Callback],
    catch: type[Exception] | Iterable[type[Exception]],
    show_progress_bar: bool | None,
    settings: dict[str, Any],
) -> Result:
    """`minimize` or `maximize`."""
    if not callable(fn):
        raise ValueError(f"fn must be a function of a dictionary of parameters; got {fn!r}")
    _check_keywords(direction, settings)
    _check_extent(n_trials, timeout, n_jobs)
    _check_storage(storage, study_name)
    if show_progress_bar is not None and not isinstance(show_progress_bar, bool):
        raise ValueError(f"show_progress_bar must be True, False or None; got {show_progress_bar!r}")
    callbacks, exceptions = _callbacks(callbacks), _exceptions(catch)
    distributions, ordinal = read_space(space)
    ordinal = ordinal | frozenset(parameter_names(settings.pop("ordinal", ())))
    sampler = BKTFSampler(seed=seed, search_space=distributions, ordinal=ordinal, **settings)
    parameters = parameters_of({name: d for name, d in distributions.items() if can_be_modelled(d)}, ordinal)
    level = optuna.logging.get_verbosity()
    # One line per trial would tear the bar apart; of failures, those with an exception are worth a line.
    optuna.logging.set_verbosity(max(level, optuna.logging.WARNING if exceptions else optuna.logging.ERROR))
    try:
        study = _open_study(direction, sampler, storage, study_name)
        return _run(study, sampler, fn, distributions, parameters, n_trials, timeout, n_jobs, callbacks, exceptions, show_progress_bar)
    finally:
        optuna.logging.set_verbosity(level)


def _check_keywords(function: str, settings: Mapping[str, Any]) -> None:
    """Refuse a keyword that neither `minimize` nor the sampler has, and name the nearest one."""
    if "search_space" in settings:
        raise TypeError("the search space is the argument `space`; search_space is for BKTFSampler alone")
    known = dict.fromkeys([*inspect.signature(minimize).parameters, *inspect.signature(BKTFSampler).parameters])
    keywords = [name for name in known if name not in ("fn", "space", "settings", "search_space")]
    for name in settings:
        if name not in keywords:
            nearest = difflib.get_close_matches(name, keywords, 1)
            raise TypeError(
                f"{function} has no keyword {name!r}; "
                + (f"did you mean {nearest[0]!r}?" if nearest else f"it has {', '.join(keywords)}")
            )  # fmt: skip


def _check_extent(n_trials: object, timeout: object, n_jobs: object) -> None:
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
        raise ValueError(f"n_jobs must be a whole number from 1 to {MAX_JOBS}, or -1 for one per processor; got {n_jobs!r}")


def _check_storage(storage: object, study_name: object) -> None:
    """Refuse what is no place for trials, or no name."""
    is_url = isinstance(storage, str) and "://" in storage
    if storage is not None and not is_url and not isinstance(storage, BaseStorage):
        raise ValueError(f'storage must be a URL such as "sqlite:///run.db", an Optuna storage or None; got {storage!r}')
    if study_name is not None and not (isinstance(study_name, str) and study_name):
        raise ValueError(f"study_name must be a non-empty string, or None; got {study_name!r}")


def _open_study(
    direction: Literal["minimize", "maximize"], sampler: BKTFSampler, storage: str | BaseStorage | None, study_name: str | None
) -> Study:
    """A new study, or the one of this name in the storage."""
    name = study_name or ("bktf" if storage is not None else None)
    study = optuna.create_study(direction=direction, sampler=sampler, storage=storage, study_name=name, load_if_exists=True)
    if study.direction.name.lower() != direction:
        raise ValueError(f"the study {name!r} in this storage is there to {study.direction.name.lower()}; give another study_name")
    return study


def _run(
    study: Study,
    sampler: BKTFSampler,
    fn: Objective,
    distributions: dict[str, BaseDistribution],
    parameters: tuple[Parameter, ...],
    n_trials: int | None,
    timeout: float | None,
    n_jobs: int,
    callbacks: Iterable[Callback],
    catch: tuple[type[Exception], ...],
    show_progress_bar: bool | None,
) -> Result:
    """Evaluate until something ends it; keep what there is."""
    message = "all evaluations made"
    n_before, began = len(study.trials), time.monotonic()

    def objective(trial: Trial) -> float:
        try:
            params = {name: suggest(trial, name, d) for name, d in distributions.items()}
            return _evaluate(fn, params, study)
        except KeyboardInterrupt:
            study._storage.set_trial_system_attr(trial._trial_id, INTERRUPTED, True)
            raise

    shown = sys.stderr.isatty() if show_progress_bar is None else show_progress_bar
    try:
        with _Progress(n_trials, shown) as progress:
            study.optimize(objective, n_trials, timeout, n_jobs, catch, [*callbacks, progress.update])
        if n_trials is None or len(study.trials) - n_before < n_trials:
            timed_out = timeout is not None and time.monotonic() - began >= timeout
            message = "every point was tried" if sampler.is_exhausted(study) else "the time was up" if timed_out else "stopped early"
    except KeyboardInterrupt:
        message = "interrupted"
        if not _with_value(study):
            raise
    except Exception as error:
        if _with_value(study):
            error.result = _result(study, "an evaluation raised an exception", parameters, sampler)  # type: ignore[attr-defined]
            error.add_note("bktf: the result of the evaluations before is this exception's attribute `result`")
        raise
    return _result(study, message, parameters, sampler)


def _evaluate(fn: Objective, params: dict[str, Any], study: Study) -> float:
    """The value of fn; an exception that suggests an array was expected is told what fn receives, until there is a value."""
    try:
        value = fn(dict(params))
    except (KeyError, TypeError, AttributeError) as error:
        key = error.args[0] if isinstance(error, KeyError) and error.args else None
        if _with_value(study) or (isinstance(key, str) and key in params):
            raise
        if isinstance(key, str):
            error.add_note(f"bktf: the dictionary of parameters that fn receives has the keys {', '.join(map(repr, params))}")
        else:
            error.add_note(
                f"bktf: fn receives a dictionary of parameters, {reprlib.repr(params)}, not an array; "
                f"write fn(p) with p[{next(iter(params))!r}]"
            )
        raise
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"fn must return a number; got {value!r} for {params}") from None


def _result(study: Study, message: str, parameters: tuple[Parameter, ...], sampler: BKTFSampler) -> Result:
    """The result of a study that has at least one value in the space."""
    finished = _inside(study, parameters)
    if not study.trials:
        raise RuntimeError(f"no evaluation was made: {message}; there is no result")
    if not finished:
        raise RuntimeError(
            f"none of the {len(study.trials)} evaluations gave a finite value in this space, so there is no result; "
            "fn must return a number somewhere in it (NaN and infinities count as failures)"
        )
    sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
    best = min(finished, key=lambda t: (sign * float(t.value or 0.0), t.number))
    return Result(dict(best.params), float(best.value or 0.0), len(finished), study, message, parameters, sampler)


def _inside(study: Study, parameters: tuple[Parameter, ...]) -> list[FrozenTrial]:
    """Trials with a finite value whose parameters lie in today's space."""
    return [t for t in _with_value(study) if all(p.coordinate(t.params.get(p.name)) is not None for p in parameters)]


def _with_value(study: Study) -> list[FrozenTrial]:
    """Trials with a finite value."""
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return [t for t in done if t.value is not None and math.isfinite(t.value)]


def _callbacks(callbacks: object) -> tuple[Callback, ...]:
    """The callbacks, checked."""
    wanted = "callbacks must be a list of functions of (study, trial)"
    if not isinstance(callbacks, Iterable):
        alone = callable(callbacks)
        name = getattr(callbacks, "__name__", "callback")
        raise ValueError(f"{wanted}, as in [{name}]; got a single function" if alone else f"{wanted}; got {callbacks!r}")
    given = tuple(callbacks)
    for callback in given:
        if not callable(callback):
            raise ValueError(f"{wanted}; got {callback!r}")
    return given


def _exceptions(catch: object) -> tuple[type[Exception], ...]:
    """The exceptions to catch, checked. Ctrl-C is not among them, because it must end the run."""
    given = tuple(catch) if isinstance(catch, Iterable) and not isinstance(catch, str | type) else (catch,)
    for kind in given:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise ValueError(f"catch must be an exception class or a list of them, all subclasses of Exception; got {kind!r}")
    return given


def suggest(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """The value of one parameter, whatever its distribution."""
    if isinstance(distribution, FloatDistribution):
        return trial.suggest_float(name, distribution.low, distribution.high, step=distribution.step, log=distribution.log)
    if isinstance(distribution, IntDistribution):
        return trial.suggest_int(name, distribution.low, distribution.high, step=distribution.step, log=distribution.log)
    assert isinstance(distribution, CategoricalDistribution)
    return trial.suggest_categorical(name, distribution.choices)


class _Progress:
    """A progress bar with the best value and the improvement still expected."""

    def __init__(self, total: int | None, shown: bool) -> None:
        from tqdm.auto import tqdm  # comes with Optuna; not needed otherwise

        self._bar: Any = tqdm(total=total, unit="eval", disable=not shown)

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def update(self, study: Study, trial: FrozenTrial) -> None:
        """Called after each trial."""
        said = {}
        finished = _with_value(study) if not self._bar.disable else []
        if finished:
            values: Sequence[float] = [float(t.value or 0.0) for t in finished]
            said["best"] = f"{max(values) if study.direction == StudyDirection.MAXIMIZE else min(values):.5g}"
        remaining = read_published(trial.system_attrs).get("expected_improvement")
        if remaining is not None:
            said["expected gain"] = f"{remaining:.2g}"
        self._bar.set_postfix(said, refresh=False)
        self._bar.update()
