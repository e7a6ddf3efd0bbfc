"""The search space of a study: given ahead, or learned from its trials and kept for a while."""

import weakref
from collections.abc import Mapping
from typing import Any

from optuna.storages import BaseStorage
from optuna.study import Study

from bktf.optuna_sampler.learned_space import KnownSpace, given_space, learn_space
from bktf.optuna_sampler.trials import Trials
from bktf.spaces import Mixture, Space

Key = tuple["weakref.ref[BaseStorage]", int, int]  # storage, study, number of finished trials

MIN_FINISHED = 10  # finished trials that show all parameters of a define-by-run space


class StudySpace:
    """What a sampler knows of the space of a study."""

    def __init__(self, given: Space | None, ordinal: frozenset[str]) -> None:
        self._given = given
        self._ordinal = ordinal
        self._learned: tuple[Key, KnownSpace] | None = None  # may be lost at any time

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what was learned."""
        return {"_given": self._given, "_ordinal": self._ordinal}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The same with nothing learned."""
        self.__dict__.update(state)
        self._learned = None

    @property
    def is_given(self) -> bool:
        """Whether the space was given ahead."""
        return self._given is not None

    @property
    def mixtures(self) -> tuple[Mixture, ...]:
        """The mixtures of a space that was given."""
        return () if self._given is None else self._given.mixtures

    def of(self, study: Study, trials: Trials) -> KnownSpace:
        """The space as it was given, or as the finished ones of these trials show it."""
        if self._given is not None:
            return given_space(self._given)
        finished = [t for t in trials.values() if t.state.is_finished()]
        # Finished trials never change, so their number says whether there are others.
        key = (weakref.ref(study._storage), study._study_id, len(finished))
        cached = self._learned  # read once: another thread may ask for another study
        if cached is None or cached[0] != key:
            cached = key, learn_space(finished, self._ordinal)
            self._learned = cached
        return cached[1]

    def is_known(self, trials: Trials) -> bool:
        """Whether the space is given, or enough trials have shown it."""
        if self.is_given:
            return True
        return sum(t.state.is_finished() for t in trials.values()) >= MIN_FINISHED

    def with_constants(
        self, constants: Mapping[str, Any], values: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Values of active parameters, with the constants that are active beside them.

        `constants` are those of a space that was not given ahead.
        """
        if self._given is not None:
            return self._given.with_constants(values)
        return {**constants, **values}
