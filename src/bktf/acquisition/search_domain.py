"""What may be suggested: the parts of a space, a predicate, and the axes with every value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bktf._typing import Floats


class DomainPart(NamedTuple):
    """A part of what may be suggested: coordinates that are fixed, and points that axes may take.

    Both by axis, as `choose` takes them.
    """

    fixed: Mapping[int, float]
    within: Mapping[int, Floats]


@dataclass(frozen=True, eq=False)
class SearchDomain:
    """What may be suggested; by default every cell of the grid."""

    parts: tuple[DomainPart, ...] = (DomainPart({}, {}),)
    feasible: Callable[[Floats], bool] | None = None  # as `choose` takes it
    free: frozenset[int] = frozenset()  # axes with every value between the ends
