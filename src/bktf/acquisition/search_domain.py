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

    def holds(self, point: Floats) -> bool:
        """Whether a point (D,) is in this part."""
        is_fixed = all(point[d] == value for d, value in self.fixed.items())
        pairs = self.within.items()
        return is_fixed and all(x.min() <= point[d] <= x.max() for d, x in pairs)


@dataclass(frozen=True, eq=False)
class SearchDomain:
    """What may be suggested; by default every cell of the grid."""

    parts: tuple[DomainPart, ...] = (DomainPart({}, {}),)
    feasible: Callable[[Floats], bool] | None = None  # as `choose` takes it
    free: frozenset[int] = frozenset()  # axes with every value between the ends
    allows_repeats: bool = True  # whether a tried point may be suggested again

    def holds(self, point: Floats) -> bool:
        """Whether a point (D,) may be suggested."""
        if not any(part.holds(point) for part in self.parts):
            return False
        return self.feasible is None or bool(self.feasible(point))
