"""`minimize` and `maximize`: one call on an Optuna study with `BKTFSampler`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.study import Study

from bktf.engine import Direction
from bktf.optimize.argument_checks import Callback, StopRule, check_keywords, check_storage
from bktf.optimize.evaluation import Function, Run, evaluate_all, with_value
from bktf.optimize.result import Result, make_result
from bktf.optuna_sampler import BKTFSampler, objective_of, parameter_names
from bktf.spaces import Pool, Space, read_pool, read_space

RESULT_NOTE = "bktf: the result of the evaluations before is this exception's attribute `result`"


def minimize(
    fn: Function,
    space: Mapping[str, Any] | Sequence[Any] | None = None,
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
    stop: StopRule | None = None,
    **settings: Any,
) -> Result:
    """Find the parameters where fn is smallest.

    Args:
        fn: takes a dictionary of parameters and returns a number. NaN marks a failed evaluation:
            its neighbourhood is avoided, and the run goes on.
        space: by parameter name one of
            (1.0, 10.0): any number in between; (1, 10): any whole number in between;
            range(0, 100, 5), or a list of increasing numbers: exactly those values, ordered;
            bktf.choices("a", "b"): a category; bktf.choices("low", "high", ordered=True): an
            ordered one; any Optuna distribution, as FloatDistribution(1e-5, 1.0, log=True).
            A space with conditions is a list: [{"kind": bktf.choices("svm", "net")},
            bktf.when({"kind": "svm"}, C=(0.1, 10.0))]. fn is then given active parameters only.
            With `candidates`, a table of all that may be tried, it may be left out; then every
            column is a parameter. Otherwise it describes those columns that are.
        n_trials: evaluations to make now (with `storage`, beyond those that are there); None to go
            on until `timeout`. At most 10 million.
        seed: makes the run reproducible.
        timeout: seconds after which no further evaluation is started.
        n_jobs: evaluations at a time, in threads; -1 for one per processor.
        storage: where trials are kept, as "sqlite:///study.db"; a later call with the same storage
            and study_name goes on from there.
        study_name: name of the study in the storage; by default "bktf".
        callbacks: functions of (study, trial), called after each evaluation; `study.stop()` in one
            of them ends the run.
        catch: exceptions of fn that count as a failed evaluation; any other ends the run, with the
            result so far as its attribute `result`.
        show_progress_bar: by default where the output is a terminal.
        stop: ends the run when it is good enough, as bktf.StopWhenConverged(tolerance=0.1): once
            the best point is, with 80 % probability, within 0.1 of the optimum.
        settings: everything else goes to `bktf.BKTFSampler`: acquisition, rank, feasible,
            allow_repeats, noise_std, …

    Ctrl-C ends the run and returns what there is.
    """
    check_keywords("minimize", settings, minimize, BKTFSampler)
    run = Run(fn, n_trials, timeout, n_jobs, callbacks, catch, show_progress_bar, stop)
    target = Target("minimize", space, seed, storage, study_name, settings)
    return _optimize(run, target)


def maximize(
    fn: Function,
    space: Mapping[str, Any] | Sequence[Any] | None = None,
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
    stop: StopRule | None = None,
    **settings: Any,
) -> Result:
    """Find the parameters where fn is largest; everything as in `bktf.minimize`."""
    check_keywords("maximize", settings, minimize, BKTFSampler)
    run = Run(fn, n_trials, timeout, n_jobs, callbacks, catch, show_progress_bar, stop)
    target = Target("maximize", space, seed, storage, study_name, settings)
    return _optimize(run, target)


@dataclass(frozen=True)
class Target:
    """The space, the study that stores the trials, and the sampler; as given to `minimize`."""

    direction: Direction
    space: Mapping[str, Any] | Sequence[Any] | None
    seed: int | None
    storage: str | BaseStorage | None
    study_name: str | None
    settings: Mapping[str, Any]  # of the sampler

    def open_study(self, sampler: BKTFSampler) -> Study:
        """A new study, or the one of this name in the storage."""
        name = self.study_name or ("bktf" if self.storage is not None else None)
        study = optuna.create_study(
            direction=self.direction,
            sampler=sampler,
            storage=self.storage,
            study_name=name,
            load_if_exists=True,
        )
        direction = objective_of(study).direction
        if direction != self.direction:
            other = f"the study {name!r} in this storage is there to {direction}"
            raise ValueError(f"{other}; give another study_name")
        return study


def _read_target(
    space: Mapping[str, Any] | Sequence[Any] | None, candidates: object
) -> tuple[Space, Pool | None]:
    """The space, and the candidates where a table of them was given."""
    if candidates is not None:
        pool = read_pool(candidates, space)
        return pool.space, pool
    if space is None:
        raise ValueError(
            'give a space, as {"x": (0.0, 1.0)}, or candidates, a table of all that may be tried'
        )
    return read_space(space), None


def _optimize(run: Run, target: Target) -> Result:
    """`minimize` or `maximize`."""
    run = run.checked()
    check_storage(target.storage, target.study_name)
    settings = dict(target.settings)
    space, candidates = _read_target(target.space, settings.pop("candidates", None))
    ordinal = space.ordinal | frozenset(parameter_names(settings.pop("ordinal", ())))
    space = space._replace(ordinal=ordinal)
    sampler = BKTFSampler(
        seed=target.seed, search_space=space, ordinal=ordinal, candidates=candidates, **settings
    )
    parameters = space.modelled
    level = optuna.logging.get_verbosity()
    # Optuna's line for each trial would break the progress bar. With `catch`, its warnings show the
    # exceptions that were caught.
    min_level = optuna.logging.WARNING if run.catch else optuna.logging.ERROR
    optuna.logging.set_verbosity(max(level, min_level))
    try:
        study = target.open_study(sampler)
        try:
            message = evaluate_all(run, study, space, sampler.is_exhausted)
        except Exception as error:
            if with_value(study):
                reason = "an evaluation raised an exception"
                result = make_result(study, reason, parameters, sampler)
                error.result = result  # type: ignore[attr-defined]
                error.add_note(RESULT_NOTE)
            raise
        return make_result(study, message, parameters, sampler)
    finally:
        optuna.logging.set_verbosity(level)
