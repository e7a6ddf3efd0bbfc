"""`Result`: what an optimisation found, and what the model says of it."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from bktf._checks import MAX_TRIALS, whole_number
from bktf.engine import Engine, History, Model, Suggestion, describe, improvement_baseline
from bktf.optimize.evaluation import with_value
from bktf.optuna_sampler import (
    INTERRUPTED,
    POOR_SEARCH,
    BKTFSampler,
    TrialConverter,
    objective_of,
    read_all,
)
from bktf.spaces import INACTIVE, Parameter, values_at
from bktf.surrogate import Posterior

NOTHING_TO_MODEL = "every parameter of this space has a single value, so there is nothing to model"
MIN_DIFFERENCE = 0.1  # in standard deviations, between best expected and best observed, to mention


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

    @functools.cached_property
    def _engine(self) -> Engine:
        """What suggests further points; there are values, so it needs no start design."""
        modelled = {p.name for p in self._parameters}
        constants = {name: value for name, value in self.x.items() if name not in modelled}
        engine = self._sampler.engine(self._parameters, objective_of(self.study), constants)
        return replace(engine, settings=replace(engine.settings, n_startup_trials=0))

    @functools.cached_property
    def _history(self) -> History:
        """What all trials of the study give."""
        if not self._parameters:
            raise ValueError(NOTHING_TO_MODEL)
        converter = TrialConverter(self._parameters, objective_of(self.study))
        history = converter.history(read_all(self.study), -1, datetime.now())
        return self._sampler.with_earlier(history, self._engine)

    @functools.cached_property
    def _model(self) -> Model:
        """What suggestions are made from."""
        return self._engine.learn(self._history, 0)

    @functools.cached_property
    def _shown(self) -> Model:
        """What is shown to people."""
        return self._engine.learn_to_show(self._history, 0)

    @functools.cached_property
    def posterior(self) -> Posterior:
        """The surrogate given all trials, in your units and direction.

        Columns of points are in the order of the space. A category is its index (an ordered list
        its values); parameters with a single value have no column. Fitted on first use.
        """
        assert self._shown.posterior is not None
        return describe(self._shown.posterior, self._engine)

    @property
    def x_expected(self) -> dict[str, Any]:
        """Of the parameters that were tried, those with the best posterior mean.

        Under noise this is the answer, rather than the luckiest `x`.
        """
        return self._best_expected[0]

    @property
    def fun_expected(self) -> float:
        """The posterior mean at `x_expected`: what another evaluation there gives on average."""
        return self._best_expected[1]

    @functools.cached_property
    def _best_expected(self) -> tuple[dict[str, Any], float]:
        """`x_expected` and `fun_expected`, by the surrogate that is shown."""
        if not self._parameters:
            return self.x, self.fun
        trials = _inside(self.study, self._parameters)
        points = np.array([self._point(trial.params) for trial in trials], dtype=float)
        failed = {tuple(row) for row in self._shown.history.failed.tolist()}  # with outliers
        kept = [i for i, point in enumerate(points.tolist()) if tuple(point) not in failed]
        means = self.posterior.mean(points[kept])
        best = int(self._engine.objective.orient(means).argmax())
        return dict(trials[kept[best]].params), float(means[best])

    def suggest(self, q: int = 1) -> list[dict[str, Any]]:
        """The q points to try next, together; fewer where the space has no more."""
        found = self._suggestions(whole_number("q", q, 1, MAX_TRIALS))
        values = [values_at(self._parameters, s.point) for s in found]
        modelled = {p.name for p in self._parameters}
        constants = {name: x for name, x in self.x.items() if name not in modelled}
        return [self._sampler.space.with_constants(constants, v) for v in values]

    def _suggestions(self, q: int) -> list[Suggestion]:
        """The q points to try next, as the engine gives them."""
        found = self._engine.choose_batch(self._model, len(self.study.trials), q)
        if any(suggestion.is_poor for suggestion in found):
            self._sampler.messages.say_once("poor", self.study.study_name, POOR_SEARCH)
        return found

    def _point(self, params: Mapping[str, Any]) -> list[float | None]:
        """Coordinates (D,) of parameters."""
        return [_coordinate(p, params) for p in self._parameters]

    def __repr__(self) -> str:
        """The best point, what the model says of it, and what is still expected."""
        goal = "largest" if objective_of(self.study).is_maximized else "smallest"
        failures = self.study.get_trials(deepcopy=False, states=(TrialState.FAIL,))
        n_failed = sum(INTERRUPTED not in trial.system_attrs for trial in failures)
        counted = f"{self.nfev} evaluations" + (f" and {n_failed} that failed" if n_failed else "")
        lines = [f"{goal} value {self.fun:.6g} after {counted}; {self.message}", *_listed(self.x)]
        if self._parameters and self.nfev > 1:
            lines += self._model_lines()
        return "\n".join(lines)

    def _model_lines(self) -> list[str]:
        """What the surrogate that is shown says, and the improvement that it expects."""
        point = np.array([self._point(self.x)], dtype=float)
        mean, std = float(self.posterior.mean(point)[0]), float(self.posterior.std(point)[0])
        lines = [f"the model puts the function there at {mean:.6g} ± {std:.2g}"]
        if self.x_expected != self.x and abs(self.fun_expected - mean) > MIN_DIFFERENCE * std:
            best_value = f"the best value, {self.fun_expected:.6g} on average,"
            lines.append(f"it expects {best_value} of another point that was tried:")
            lines += _listed(self.x_expected)
        suggestions = [s for s in self._suggestions(1) if s.expected_improvement is not None]
        if suggestions:
            # By the model that is shown, as all numbers here; another one chooses.
            shown = self._shown.posterior
            assert shown is not None
            best = improvement_baseline(shown, self._engine.settings)
            gain = float(shown.expected_improvement(suggestions[0].point[None], best)[0])
            lines.append(f"improvement expected of one more evaluation: {gain:.2g}")
        return lines


def _listed(params: Mapping[str, Any]) -> list[str]:
    """One line for each parameter."""
    width = max(len(name) for name in params)
    return [f"  {name:<{width}} = {_as_text(value)}" for name, value in params.items()]


def _as_text(value: Any) -> str:
    """A value with at most six digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def make_result(
    study: Study,
    message: str,
    parameters: tuple[Parameter, ...],
    sampler: BKTFSampler,
) -> Result:
    """The result of a study that has at least one value in the space."""
    finished = _inside(study, parameters)
    if not study.trials:
        raise RuntimeError(f"no evaluation was made: {message}; there is no result")
    if not finished:
        raise RuntimeError(
            f"none of the {len(study.trials)} evaluations gave a finite value in this space, so "
            "there is no result; fn must return a number somewhere in it (NaN and infinities count "
            "as failures)"
        )
    values = np.array([trial.value for trial in finished], dtype=float)
    best = finished[int(objective_of(study).orient(values).argmax())]  # the first of equals
    value = float(best.value or 0.0)
    return Result(dict(best.params), value, len(finished), study, message, parameters, sampler)


def _coordinate(parameter: Parameter, params: Mapping[str, Any]) -> float | None:
    """The coordinate of a parameter; None where it is not one of its values."""
    if parameter.name not in params and parameter.activations is not None:
        return INACTIVE
    return parameter.coordinate(params.get(parameter.name))


def _inside(study: Study, parameters: tuple[Parameter, ...]) -> list[FrozenTrial]:
    """Trials with a finite value whose parameters lie in the space."""

    def is_inside(trial: FrozenTrial) -> bool:
        """Whether a trial has a value of every parameter."""
        return all(_coordinate(p, trial.params) is not None for p in parameters)

    return [trial for trial in with_value(study) if is_inside(trial)]
