"""`StopWhenConverged`: a callback that ends a study once its best point is good enough."""

import math
import threading
from typing import Any

import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from bktf import analysis
from bktf._checks import whole_number
from bktf.analysis import Convergence, StopRule
from bktf.optuna_sampler import BKTFSampler
from bktf.study_analysis.sources import analyze

MIN_CHECKED = 10  # values from which on convergence is looked at; earlier was not measured
MIN_VALUES = 3  # without which a study says nothing
logger = optuna.logging.get_logger(__name__)


class StopWhenConverged:
    """A callback that stops a study once its best point is good enough.

    Give it to `study.optimize(callbacks=[…])`, to `bktf.minimize(stop=…)` or to
    `BKTFSearchCV(stop=…)`. It works with every sampler. ::

        stop = bktf.StopWhenConverged(tolerance=0.01)
        study.optimize(objective, n_trials=200, callbacks=[stop])
        print(stop.latest)

    With several worker processes each needs its own; each stops its own loop.

    Args:
        tolerance: stop when the best tried point is, with this much tolerance in units of the
            objective, as good as the optimum.
        confidence: the probability that is enough; measurements support none above 0.85.
        cost: instead of a tolerance: stop when one more evaluation should gain less than it costs.
        check_every: values between two looks. Each look is one more chance to be wrong; 5 is what
            was measured (docs/analysis.md).
        min_values: values before the first look.
        sampler: as in `bktf.analyze`.
    """

    def __init__(
        self,
        tolerance: float | None = None,
        confidence: float = analysis.DEFAULT_CONFIDENCE,
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

    @staticmethod
    def _key(study: Study) -> str:
        """What tells studies apart in one process."""
        return f"{id(study._storage)} {study._study_id}"

    def check(self, study: Study) -> bool:
        """Whether the study has converged; looks only where `check_every` says so.

        For loops of `study.ask` and `study.tell`.
        """
        if len(study.directions) > 1:
            raise ValueError(
                "StopWhenConverged is for one objective; the study has "
                f"{len(study.directions)}. Leave the callback out"
            )
        if self._looked[0] != self._key(study):  # what it knows is of another study
            self._looked, self.latest = (self._key(study), 0), None
        completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        n = sum(t.value is not None and math.isfinite(t.value) for t in completed)
        if n < self.min_values or not self._checking.acquire(blocking=False):
            return False  # another thread is looking
        try:
            key, n_looked = self._looked
            if 0 < n_looked <= n < n_looked + self.check_every:
                return False
            self._looked = key, n
            self.latest = analysis.convergence(analyze(study, sampler=self.sampler), self.rule)
            logger.info(str(self.latest))
            return self.latest.is_reached
        finally:
            self._checking.release()
