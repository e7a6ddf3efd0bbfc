"""Conditions: where a parameter of a search space is active.

A parameter may exist only where others have certain values. Elsewhere it is inactive, and its
coordinate is infinity. An *activation* is one set of conditions under which it is active; a
parameter with several is active where one of them holds.
"""

import math
from typing import NamedTuple

INACTIVE = math.inf  # the coordinate of a parameter that is not active


class Condition(NamedTuple):
    """That another parameter is active and has one of these coordinates, or one in a range."""

    parent: str
    coordinates: frozenset[float] | None = None  # None: the range
    low: float = -math.inf
    high: float = math.inf

    def holds(self, coordinate: float) -> bool:
        """Whether the parent's coordinate is among those."""
        if coordinate == INACTIVE:
            return False
        if self.coordinates is not None:
            return coordinate in self.coordinates
        return self.low <= coordinate <= self.high


class Activation(NamedTuple):
    """Conditions that must all hold, and the range that the parameter then has."""

    conditions: tuple[Condition, ...] = ()
    low: float = -math.inf
    high: float = math.inf


ALWAYS = Activation()
