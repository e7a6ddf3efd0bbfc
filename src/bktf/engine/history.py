"""The engine's input and output: history and suggestion.

Larger is better inside: values are oriented where a history is read (`Objective`).
"""

from typing import NamedTuple

from bktf._typing import Floats


class History(NamedTuple):
    """What was tried: points (·, D) as coordinates on the axes, and oriented values."""

    X: Floats  # points with a value
    y: Floats  # their values, finite; larger is better
    failed: Floats  # points that failed
    tried: Floats  # all points that were evaluated, whatever the outcome
    pending: Floats  # points that are being evaluated


class Suggestion(NamedTuple):
    """A point to try, as coordinates, and what the model expects of it."""

    point: Floats  # (D,)
    expected_improvement: float | None  # in the user's units, where the acquisition is EI
    is_repeat: bool  # whether everything was tried already
    is_poor: bool = False  # whether only feasible points near to tried ones were compared


class NothingFeasible(ValueError):
    """No point that may be tried was found."""
