"""Log lines of the sampler, each line once."""

import logging
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial

from bktf.engine import MAX_PARAMETER_POINTS, MAX_PROCESS_POINTS, Model
from bktf.optuna_sampler.learned_space import describe_conditions
from bktf.spaces import Parameter

POOR_SEARCH = (
    "`feasible` allows so little of the space that only points near to tried ones were compared; "
    "better ones may be missed. Leave out a parameter that the others determine, or make one "
    "categorical parameter of the candidates"
)
SUBSET = (
    f"beyond {MAX_PROCESS_POINTS} trials the Gaussian process sees {MAX_PROCESS_POINTS} of them: "
    "the best, the latest, the neighbours of the best, and others spread over the space"
)
FEWER_FOR_PARAMETERS = (
    f"beyond {MAX_PARAMETER_POINTS} trials the kernel parameters of the Gaussian process are "
    f"sampled given {MAX_PARAMETER_POINTS} of them, and moved to the mode given all that it sees"
)
REPEATS = "every point of the search space was tried: the next suggestions repeat some of them"

_logger = logging.getLogger("bktf")


class Messages:
    """Log lines that appear once for each subject."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """What was logged, without the lock."""
        return {"_said": set(self._said)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What was logged, with a new lock."""
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def say_once(self, topic: str, subject: str, text: str, level: int = logging.WARNING) -> None:
        """Log a line, unless this topic was mentioned for this subject before."""
        with self._lock:
            is_new = (topic, subject) not in self._said
            self._said.add((topic, subject))
        if is_new:
            _logger.log(level, "bktf: %s", text)

    def mention_conditions(self, study_name: str, parameters: Sequence[Parameter]) -> None:
        """Say which conditions of parameters were learned, each once."""
        for sentence in describe_conditions(parameters):
            text = f"learned from the trials: {sentence}"
            self.say_once(f"condition {sentence}", study_name, text, logging.INFO)

    def mention_left_out(self, study_name: str, model: Model) -> None:
        """Say that values count as failures, or that the process sees only some of them."""
        n_values = len(model.history.y) + model.n_outliers
        if model.n_outliers:
            self.say_once("outliers", study_name, outliers_text(model.n_outliers, n_values))
        if model.n_unseen:
            self.say_once("subset", study_name, SUBSET, logging.INFO)
        if model.has_fewer_for_parameters:
            self.say_once("parameters", study_name, FEWER_FOR_PARAMETERS, logging.INFO)

    def mention_unseen_ordinal(
        self,
        study_name: str,
        ordinal: frozenset[str],
        trials: Iterable[FrozenTrial],
    ) -> None:
        """Warn of ordinal names that no trial has; a conditional parameter may still come."""
        seen = {name: d for trial in trials for name, d in trial.distributions.items()}
        unseen = sorted(ordinal - seen.keys())
        if unseen:
            known = [name for name, d in seen.items() if isinstance(d, CategoricalDistribution)]
            self.say_once("ordinal", study_name, unseen_ordinal_text(unseen, known))

    def mention_stop(self, study_name: str, number: int) -> None:
        """Say that the study ends because nothing is left."""
        text = f"every point of the search space was tried: the study stops after trial {number}"
        self.say_once("exhausted", study_name, text)


def outliers_text(n_outliers: int, n_values: int) -> str:
    """That some values count as failures."""
    return (
        f"{n_outliers} of {n_values} values are so much worse than all others that no smooth "
        "function explains them; they count as failed trials. compress=False keeps them"
    )


def independent_text(name: str) -> str:
    """That the model does not see a parameter."""
    return (
        f"the parameter {name!r} is drawn independently: no finished trial with such values of the "
        "others has it. The model sees it from its next trial on, unless its range is beyond "
        "double precision. Silence this with warn_independent_sampling=False"
    )


def unseen_ordinal_text(unseen: list[str], categorical: list[str]) -> str:
    """That ordinal names parameters which no trial has."""
    known = ", ".join(map(repr, categorical)) or "none"
    return (
        f"ordinal names {', '.join(map(repr, unseen))}, which no trial has so far; the categorical "
        f"parameters are {known}. Check the spelling"
    )


def infeasible_fixed_text(number: int) -> str:
    """That a trial keeps values which are not feasible."""
    return f"trial {number} was enqueued with values that `feasible` does not allow"
