"""The result of a search, the same for every score and every domain."""

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Found:
    """The best allowed cell of a grid, or point of a box, that a search found.

    gap: upper bound on how much better another allowed one can be; infinity without a bound
    is_thin: whether feasible ones are so rare that only some near known ones were compared
    """

    at: NDArray[Any] | None  # (D,) cell, or scaled point; None where nothing allowed was found
    score: float
    method: str  # see `Choice`
    is_exact: bool = False
    gap: float = math.inf
    is_thin: bool = False
