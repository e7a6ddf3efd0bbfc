"""What the engine learns from a history."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bktf._typing import Floats
from bktf.engine.history import History
from bktf.engine.success import Chance
from bktf.surrogate import Posterior


@dataclass(frozen=True, eq=False)
class Model:
    """What is learned from a history; no posterior during the start design."""

    tried: Floats  # (n, D) as read
    history: History  # on the points of the axes; outliers count as failed
    fixed: Mapping[int, float]  # coordinates that every suggestion keeps, by axis
    posterior: Posterior | None = None  # oriented, perhaps of warped values
    chance: Chance | None = None  # of success; None where nothing failed
    free: frozenset[int] = frozenset()  # axes of continuous parameters
    n_outliers: int = 0
    n_values: int = 0  # without outliers
    n_unseen: int = 0  # values that the surrogate does not see, because there are too many
    has_fewer_for_parameters: bool = False  # kernel parameters are learned from a subset
    fit_rank: Callable[[float], Posterior] | None = None  # the surrogate of another rank
    fitted: dict[float, Posterior] = field(default_factory=dict)  # by rank, where needed so far
