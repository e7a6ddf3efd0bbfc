"""`BKTFSearchCV`: hyperparameter search as scikit-learn has it. Extra: bktf[sklearn]."""

import itertools
import numbers
import reprlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial, TrialState
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils.validation import check_random_state

from bktf._checks import whole_number
from bktf.optuna_sampler import BKTFSampler, suggest_all
from bktf.spaces import Choices, Space, read_space, when

BRANCH = "which dictionary"  # the parameter that tells branches apart
LABEL = "choice "  # names of choices that Optuna cannot store as they are


class BKTFSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search hyperparameters with `BKTFSampler`.

    Everything else is scikit-learn's, as in RandomizedSearchCV.

    Args:
        estimator: the estimator to tune.
        param_distributions: by parameter name (of a pipeline's step, "step__name") what
            `bktf.minimize` takes: (low, high), a range, a list of numbers, `bktf.choices(…)`, an
            Optuna distribution. Also a list of anything, as a category, and a scipy.stats
            distribution with bounds. Of the latter only the bounds are used, and whether it is
            logarithmic or of whole numbers. A list of such dictionaries is a list of branches, as
            in scikit-learn's searches: each configuration has the parameters of one of them. What
            stands in several is learned from all of them.
        n_iter: configurations to try.
        n_candidates: configurations tried together in each round; with n_jobs their folds run in
            parallel.
        scoring: as in scikit-learn; with several metrics, the one that `refit` names is maximised.
        n_jobs: folds fitted at a time.
        refit: refit the best configuration on all data; with several metrics, the name of the one
            that counts.
        cv: as in scikit-learn.
        verbose: as in scikit-learn.
        pre_dispatch: as in scikit-learn.
        random_state: makes the search reproducible.
        error_score: the score of a fit that fails; with NaN its neighbourhood is avoided, with a
            number it counts as that.
        return_train_score: whether `cv_results_` has training scores.
        stop: a `bktf.StopWhenConverged`: the search ends before `n_iter` once it is good enough.
            Its tolerance is in units of the score.
        sampler_settings: further settings of `bktf.BKTFSampler`, as {"acquisition": "ucb"} or
            {"rank": math.inf}.

    After fit, `study_` is the Optuna study of the search. A round whose fits all fail is in it, as
    a failure, but not in `cv_results_`.
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        n_iter: int = 20,
        n_candidates: int = 1,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        stop: Any = None,
        sampler_settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.n_candidates = n_candidates
        self.random_state = random_state
        self.stop = stop
        self.sampler_settings = sampler_settings
        super().__init__(
            estimator=estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv,
            verbose=verbose, pre_dispatch=pre_dispatch, error_score=error_score,
            return_train_score=return_train_score,
        )  # fmt: skip

    def _run_search(
        self, evaluate_candidates: Callable[[list[dict[str, Any]]], dict[str, Any]]
    ) -> None:
        """Ask for candidates, evaluate them, and tell the study their scores."""
        whole_number("n_iter", self.n_iter, 1)
        whole_number("n_candidates", self.n_candidates, 1)
        if self.stop is not None and not hasattr(self.stop, "check"):
            raise ValueError(f"stop must be a bktf.StopWhenConverged, or None; got {self.stop!r}")
        if isinstance(self.scoring, list | tuple | set | dict) and not isinstance(self.refit, str):
            self._score_name({})
        space, originals = read_branches(self.param_distributions)
        seed = None
        if self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        settings = dict(self.sampler_settings or {})
        ordinal = {*space.ordinal, *settings.pop("ordinal", ())}
        sampler = BKTFSampler(seed=seed, search_space=space, ordinal=ordinal, **settings)
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(max(verbosity, optuna.logging.ERROR))
        try:
            self.study_ = optuna.create_study(direction="maximize", sampler=sampler)
            done, error = 0, None
            while done < self.n_iter and not (done and sampler.is_exhausted(self.study_)):
                trials: list[Trial] = []
                for _ in range(min(self.n_candidates, self.n_iter - done)):
                    if trials and sampler.is_exhausted(self.study_):
                        break
                    trials.append(self.study_.ask())
                    suggest_all(trials[-1], space)
                candidates = [originals.of(trial.params) for trial in trials]
                scores, error = self._scores(evaluate_candidates, candidates)
                for trial, score in zip(trials, scores, strict=True):
                    value = float(score) if np.isfinite(score) else None
                    self.study_.tell(trial, value, _state(score))
                done += len(trials)
                if self.stop is not None and self.stop.check(self.study_):
                    break
            completed = (TrialState.COMPLETE,)
            if error is not None and not self.study_.get_trials(deepcopy=False, states=completed):
                raise error
        finally:
            optuna.logging.set_verbosity(verbosity)

    def _scores(
        self,
        evaluate_candidates: Callable[[list[dict[str, Any]]], dict[str, Any]],
        candidates: list[dict[str, Any]],
    ) -> tuple[list[float], ValueError | None]:
        """Scores of some candidates.

        Where all their fits fail, scikit-learn raises, and they count as failures with that error.
        """
        try:
            results = evaluate_candidates(candidates)
        except ValueError as error:
            if self.error_score == "raise" or "fits failed" not in str(error):
                raise
            return [float(self.error_score)] * len(candidates), error
        return list(results[self._score_name(results)][-len(candidates) :]), None

    def _score_name(self, results: Mapping[str, Any]) -> str:
        """The column of cv_results_ that is maximised."""
        if "mean_test_score" in results:
            return "mean_test_score"
        if isinstance(self.refit, str) and f"mean_test_{self.refit}" in results:
            return f"mean_test_{self.refit}"
        raise ValueError(
            "with several metrics, refit must name the one to maximise, so that the search knows "
            f"what is better; got refit={self.refit!r}"
        )


def _state(score: float) -> TrialState:
    """Whether a score counts as a result or as a failure."""
    return TrialState.COMPLETE if np.isfinite(score) else TrialState.FAIL


def read_branches(
    param_distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> tuple[Space, "Originals"]:
    """The search space of one dictionary, or of a list of them as branches."""
    given: object = param_distributions
    if isinstance(given, Mapping):
        only_space, only_labels = read_sklearn_space(given)
        return only_space, Originals(only_labels)
    dictionaries: list[Any] = list(given) if isinstance(given, list | tuple) else []
    if not dictionaries or not all(isinstance(part, Mapping) for part in dictionaries):
        raise ValueError(
            "param_distributions must be a dictionary, or a list of dictionaries; "
            f"got {reprlib.repr(given)}"
        )
    read = [read_sklearn_space(p) if p else (Space({}, frozenset()), {}) for p in dictionaries]
    spaces = [space for space, _ in read]
    if len(spaces) == 1:
        return spaces[0], Originals(read[0][1])
    choices: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    branches: list[dict[str, Any]] = []
    for i, (space, labels) in enumerate(read):
        own = {}
        for name in space.distributions:
            holders = [other for other in spaces if name in other.distributions]
            is_one = all(_kind(other, name) == _kind(space, name) for other in holders)
            key = name if is_one else f"{name} (dictionary {i + 1})"
            own[key], names[key] = _entry(space, name), name
            if name in labels:
                choices[key] = labels[name]
        branches.append(own)
    shared = {
        name: entry
        for name, entry in branches[0].items()
        if all(other.get(name) == entry for other in branches)
    }
    parts: list[Any] = [{BRANCH: Choices(tuple(range(len(branches))), False), **shared}]
    for i, own in enumerate(branches):
        rest = {name: entry for name, entry in own.items() if name not in shared}
        parts += [when({BRANCH: i}, rest)] if rest else []
    return read_space(parts), Originals(choices, names)


def _entry(space: Space, name: str) -> Any:
    """A parameter as `read_space` takes it."""
    distribution = space.distributions[name]
    if isinstance(distribution, CategoricalDistribution):
        return Choices(tuple(distribution.choices), name in space.ordinal)
    return distribution


def _kind(space: Space, name: str) -> tuple[Any, ...]:
    """What must be the same where a parameter of two branches counts as one."""
    d = space.distributions[name]
    details = [getattr(d, field, None) for field in ("log", "step", "choices")]
    return (type(d), name in space.ordinal, *map(repr, details))


class Originals(NamedTuple):
    """What scikit-learn calls the parameters of a trial, and their values."""

    choices: dict[str, dict[str, Any]]  # by parameter, the choices that Optuna knows by a label
    names: Mapping[str, str] = MappingProxyType({})  # of parameters that have another one here

    def of(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters as scikit-learn takes them."""
        return {
            self.names.get(key, key): self.choices[key][value] if key in self.choices else value
            for key, value in params.items()
            if key != BRANCH
        }


def read_sklearn_space(
    param_distributions: Mapping[str, Any],
) -> tuple[Space, dict[str, dict[str, Any]]]:
    """The search space, and the choices that Optuna cannot store, by parameter and label."""
    entries: dict[str, Any] = {}
    originals: dict[str, dict[str, Any]] = {}
    for name, entry in param_distributions.items():
        if hasattr(entry, "xk"):  # scipy.stats.rv_discrete over given values
            entries[name] = sorted(np.asarray(entry.xk).tolist())
        elif hasattr(entry, "rvs"):
            entries[name] = _from_scipy(name, entry)
        elif _is_list(entry) and not _is_increasing(entry):
            values = list(entry)
            if not values:
                raise ValueError(f"{name!r}: a list of choices must not be empty")
            if all(_is_number(v) for v in values) and len(set(values)) == len(values):
                entries[name] = sorted(v.item() if isinstance(v, np.generic) else v for v in values)
            else:
                originals[name] = {_label(v, i): v for i, v in enumerate(values)}
                entries[name] = Choices(tuple(originals[name]), ordered=False)
        else:
            entries[name] = entry
    return read_space(entries), originals


def _is_list(entry: object) -> bool:
    """Whether an entry lists values; a tuple of two numbers is a range."""
    if isinstance(entry, list | np.ndarray):
        return True
    if not isinstance(entry, tuple) or isinstance(entry, Choices):
        return False
    return len(entry) != 2 or not all(_is_number(v) for v in entry)


def _is_number(value: object) -> bool:
    """Whether a value is a real number; a boolean is none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def _is_increasing(entry: Sequence[Any]) -> bool:
    """Whether a list holds increasing numbers."""
    if len(entry) == 0 or not all(_is_number(v) for v in entry):
        return False
    return all(a < b for a, b in itertools.pairwise(entry))


def _label(value: Any, index: int) -> str:
    """The name of a choice; its index makes names of choices that print alike different."""
    return value if isinstance(value, str) else f"{LABEL}{index}: {value!r}"[:200]


def _from_scipy(name: str, frozen: Any) -> BaseDistribution:
    """The bounds of a scipy.stats distribution."""
    low, high = frozen.support()
    if not (np.isfinite(low) and np.isfinite(high)):
        given = f"this one reaches from {low} to {high}"
        raise ValueError(f"{name!r}: a scipy.stats distribution needs bounds; {given}")
    family = getattr(frozen, "dist", None)
    kind = getattr(family, "name", "")
    has_mass_only = hasattr(frozen, "pmf") and not hasattr(frozen, "pdf")
    if has_mass_only or hasattr(family, "pmf"):
        return IntDistribution(int(low), int(high))
    return FloatDistribution(float(low), float(high), log=kind in ("loguniform", "reciprocal"))
