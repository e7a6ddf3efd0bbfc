"""What the engine is told and what it answers: objective, history and suggestion.

Larger is better inside. An `Objective` knows the user's direction. Values are oriented where a
history is read, and turned back where an answer is shown.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf.surrogate.posterior import Posterior

Floats = NDArray[np.float64]
Direction = Literal["minimize", "maximize"]


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What is optimised, as users speak of it."""

    direction: Direction
    name: str = "value"
    unit: str = ""

    @property
    def is_maximized(self) -> bool:
        """Whether larger values are better for the user, too."""
        return self.direction == "maximize"

    def orient(self, values: Floats) -> Floats:
        """Values in the user's direction as values of which larger ones are better."""
        return values if self.is_maximized else -values

    def to_user(self, values: Floats) -> Floats:
        """Oriented values in the user's direction."""
        return self.orient(values)  # a change of sign is its own inverse

    def orient_posterior(self, posterior: Posterior) -> Posterior:
        """The oriented posterior of one in the user's direction, and the other way round."""
        return posterior if self.is_maximized else posterior.negated()


class History(NamedTuple):
    """What was tried: points (·, D) as coordinates on the axes, and oriented values."""

    X: Floats  # points with a value
    y: Floats  # their values, finite; larger is better
    failed: Floats  # points that failed
    tried: Floats  # all points that were evaluated, with whatever outcome
    pending: Floats  # points that are being evaluated


class Suggestion(NamedTuple):
    """A point to try, as coordinates, and what the model expects of it."""

    point: Floats  # (D,)
    expected_improvement: float | None  # in the user's units, where the acquisition is EI
    is_repeat: bool  # whether everything was tried already
    is_poor: bool = False  # whether only some feasible points, near to known ones, were compared


class NothingFeasible(ValueError):
    """No point that may be tried was found."""
