"""The engine's input and output: history and suggestion.

Larger is better inside: values are oriented where a history is read (`Objective`).
"""

from typing import NamedTuple

import numpy as np

from bktf._typing import Floats, Ints


class ContextAxis(NamedTuple):
    """One more axis, along which values differ from those of the objective."""

    points: Floats  # (m,) increasing; levels 0, 1, … where it has levels
    target: float  # where the objective is; one of the points
    on_levels: bool = False


class RelatedValues(NamedTuple):
    """Values of something related to the objective, such as reports of unfinished trials."""

    X: Floats  # (m, D) their points
    context: Floats  # (m, C) their coordinates on the axes of the context
    y: Floats  # (m,) oriented, and on the scale of the objective
    rows: Ints  # (m,) observation of the history that is of the same trial; −1 for none
    estimates: Ints  # observations of the history that only stand for some of these values
    axes: tuple[ContextAxis, ...]  # (C,)
    is_trusted: bool = False  # whether they are used before it is known whether they help


class History(NamedTuple):
    """What was tried: points (·, D) as coordinates on the axes, and oriented values."""

    X: Floats  # points with a value
    y: Floats  # their values, finite; larger is better
    failed: Floats  # points that failed
    tried: Floats  # all points that were evaluated, whatever the outcome
    pending: Floats  # points that are being evaluated
    related: RelatedValues | None = None
    first: Floats = np.empty((0, 0))  # (·, D) points to try first; infinity where any value will do


class Suggestion(NamedTuple):
    """A point to try, as coordinates, and what the model expects of it."""

    point: Floats  # (D,)
    expected_improvement: float | None  # in the user's units, where the acquisition is EI
    is_repeat: bool  # whether everything was tried already
    is_poor: bool = False  # whether only feasible points near to tried ones were compared


class NothingFeasible(ValueError):
    """No point that may be tried was found."""
