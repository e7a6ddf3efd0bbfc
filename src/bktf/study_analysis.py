"""What the surrogate knows of a study: posteriors, importance, the optimum, and when to stop.

Every function takes a posterior, a `Result`, or any Optuna study, whoever sampled it.
"""

import math
import threading
from typing import Any

import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from bktf import analysis
from bktf._checks import whole_number
from bktf.analysis import Convergence, Optimum, StopRule
from bktf.optimize import Result
from bktf.optuna_sampler import BKTFSampler, stored_settings, whole_study
from bktf.surrogate import Direction, Posterior

Source = Posterior | Result | Study

MIN_CHECKED = 10  # values from which on convergence is looked at; earlier was not measured
MIN_VALUES = 3  # without which a study says nothing
logger = optuna.logging.get_logger(__name__)


def analyze(source: Source, *, sampler: BKTFSampler | None = None) -> Posterior:
    """The surrogate given all trials of a study, whichever sampler suggested them.

    It is in your units and direction, and carries names and what may be suggested.

    Args:
        source: an Optuna study, a `Result`, or a posterior, which is returned as it is.
        sampler: a `BKTFSampler` with the settings and the space to use. By default the study's own;
            where it has another sampler, the settings that a BKTFSampler stored with the study, or
            the defaults. Functions such as `feasible` and tables cannot be stored.
    """
    if sampler is not None and not isinstance(sampler, BKTFSampler):
        raise ValueError(f"sampler must be a bktf.BKTFSampler; got {type(sampler).__name__}")
    if isinstance(source, Posterior):
        return source
    if isinstance(source, Result):
        return source.posterior if sampler is None else sampler.posterior_to_show(source.study)
    if not isinstance(source, Study):
        raise ValueError(
            "give a posterior of bktf.fit, a bktf.Result or an Optuna study; got "
            f"{type(source).__name__}"
        )
    study = whole_study(source)
    if len(study.directions) > 1:
        raise ValueError(f"an analysis is of one objective; the study has {len(study.directions)}")
    return (sampler or _sampler_of(study)).posterior_to_show(study)


def optimum(
    source: Source,
    direction: Direction | None = None,
    *,
    n_paths: int = analysis.N_PATHS,
    seed: int | None = None,
) -> Optimum:
    """The posterior distribution of the optimum: its value, its place, the gap to the best point.

    Args:
        source: a posterior, a `Result` or an Optuna study.
        direction: "maximize" or "minimize" where the source does not bring its own.
        n_paths: whole functions whose optima are found.
        seed: of other functions of the same fit.
    """
    return analysis.optimum(analyze(source), direction, n_paths=n_paths, seed=seed)


def convergence(
    source: Source,
    *,
    tolerance: float | None = None,
    confidence: float = 0.9,
    cost: float | None = None,
    direction: Direction | None = None,
) -> Convergence:
    """Am I done? The probability that the best tried point is within `tolerance` of the optimum.

    Args:
        source: a posterior, a `Result` or an Optuna study.
        tolerance: how far from the optimum is good enough, in units of the objective.
        confidence: the probability that is enough.
        cost: instead of a tolerance, what an evaluation costs in units of the objective.
        direction: "maximize" or "minimize" where the source does not bring its own.
    """
    rule = StopRule(tolerance, confidence, cost)
    return analysis.convergence(analyze(source), rule, direction)


class StopWhenConverged:
    """A callback that stops a study once its best point is good enough.

    Give it to `study.optimize(callbacks=[…])`, to `bktf.minimize(stop=…)` or to
    `BKTFSearchCV(stop=…)`. It works with every sampler. ::

        stop = bktf.StopWhenConverged(tolerance=0.01, confidence=0.9)
        study.optimize(objective, n_trials=200, callbacks=[stop])
        print(stop.latest)

    With several worker processes each needs its own; each stops its own loop.

    Args:
        tolerance: stop when the best tried point is, with this much tolerance in units of the
            objective, as good as the optimum.
        confidence: the probability that is enough.
        cost: instead of a tolerance: stop when one more evaluation should gain less than it costs.
        check_every: values between two looks. Each look is one more chance to be wrong; 5 is what
            was measured (docs/analysis.md).
        min_values: values before the first look.
        sampler: as in `bktf.analyze`.
    """

    def __init__(
        self,
        tolerance: float | None = None,
        confidence: float = 0.9,
        *,
        cost: float | None = None,
        check_every: int = 5,
        min_values: int = MIN_CHECKED,
        sampler: BKTFSampler | None = None,
    ) -> None:
        self.rule = StopRule(tolerance, confidence, cost)
        self.check_every = whole_number("check_every", check_every, 1)
        self.min_values = whole_number("min_values", min_values, MIN_VALUES)
        if sampler is not None and not isinstance(sampler, BKTFSampler):
            raise ValueError(f"sampler must be a bktf.BKTFSampler; got {type(sampler).__name__}")
        self.sampler = sampler
        self.latest: Convergence | None = None
        self._looked: tuple[str, int] = ("", 0)  # the study, and its values at the last look
        self._checking = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the lock."""
        return {name: value for name, value in self.__dict__.items() if name != "_checking"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The same with a new lock."""
        self.__dict__.update(state)
        self._checking = threading.Lock()

    def __repr__(self) -> str:
        """The rule and how often it is looked at."""
        return f"StopWhenConverged({self.rule}, check_every={self.check_every})"

    @property
    def reason(self) -> str | None:
        """Why the study was stopped; None where it was not."""
        is_reached = self.latest is not None and self.latest.is_reached
        return str(self.latest) if is_reached else None

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Look whether the study has converged, and stop it if so."""
        if trial.state == TrialState.COMPLETE and self.check(study):
            study.stop()

    def check(self, study: Study) -> bool:
        """Whether the study has converged; looks only where `check_every` says so.

        For loops of `study.ask` and `study.tell`.
        """
        completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        n = sum(t.value is not None and math.isfinite(t.value) for t in completed)
        if n < self.min_values or not self._checking.acquire(blocking=False):
            return False  # another thread is looking
        try:
            looked_at, n_looked = self._looked
            if looked_at == study.study_name and n_looked <= n < n_looked + self.check_every:
                return False
            self._looked = study.study_name, n
            self.latest = analysis.convergence(analyze(study, sampler=self.sampler), self.rule)
            logger.info(str(self.latest))
            return self.latest.is_reached
        finally:
            self._checking.release()


def _sampler_of(study: Study) -> BKTFSampler:
    """The sampler whose model a study has: its own, or one with the stored settings."""
    sampler = getattr(study.sampler, "_base_sampler", study.sampler)  # of PartialFixedSampler
    if isinstance(sampler, BKTFSampler):
        return sampler
    return BKTFSampler(seed=0, **stored_settings(study))
