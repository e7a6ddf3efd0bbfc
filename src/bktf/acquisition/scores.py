"""The interface of scores: functions of cells of a grid, or of points of a box, to be maximised.

A score is made from the draws of a posterior (`component_scores`, `process_scores`) and passed to
the search of its domain (`grid_search`, `box_search`). An exact maximum and a compiled ascent are
optional; the searches test for them by `isinstance`.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bktf._typing import Floats, Ints
from bktf.acquisition.found import Found

Cell = tuple[int, ...]

MAX_COMPARED = 20_000  # cells compared one by one where each is expensive: a process, a predicate
MIN_CHANCE = 1e-300  # a chance of success counts as at least this, so that its logarithm is finite


class Score(Protocol):
    """A function of cells (n, D) or of scaled points (n, D), larger is better."""

    @property
    def is_log(self) -> bool:
        """Whether values are logarithms of an expected improvement."""

    def values(self, candidates: NDArray[Any]) -> Floats:
        """Values (n,) at cells or points."""


class GridScore(Score, Protocol):
    """A score of the cells of one grid."""

    @property
    def n_enumerable(self) -> int:
        """The number of cells up to which comparing all of them is the best search."""

    def starting_cells(self) -> Ints:
        """Cells (n, D) from which an ascent may start."""


class BoxScore(Score, Protocol):
    """A score of the points of one box, smooth on its ordered axes."""

    def promising(self, points: Floats) -> Floats:
        """Those of many points (n, D) that are worth comparing."""

    def values_and_gradients(self, points: Floats) -> tuple[Floats, Floats]:
        """Values (n,) at points (n, D) and the gradients (n, D), 0 on axes of levels."""


@runtime_checkable
class HasExactMaximum(GridScore, Protocol):
    """A grid score whose maximum is known without comparing cells."""

    def exact_maximum(self, excluded: Set[Cell]) -> Found:
        """The best cell that is not excluded; there must be one."""


@runtime_checkable
class HasCompiledAscent(GridScore, Protocol):
    """A grid score with a compiled coordinate ascent."""

    def climb(self, cells: Ints, values: Floats, excluded: Ints) -> tuple[Ints, Floats]:
        """Where the ascents from cells (n, D) with known values end, past excluded cells (E, D).

        An excluded start has the value −∞ and moves to its best allowed neighbour, if any.
        """


S = TypeVar("S", bound=Score)


@dataclass(frozen=True, eq=False)
class ChanceWeighted(Generic[S]):
    """A score weighted by the chance that a trial succeeds.

    The part of a score above `worst` is multiplied by that chance. For an expected improvement
    `worst` is 0, for other scores the worst observed value.
    """

    plain: S
    chance: Callable[[NDArray[Any]], Floats]  # (n, D) → (n,)
    worst: float

    @property
    def is_log(self) -> bool:
        """As the plain score."""
        return self.plain.is_log

    def values(self, candidates: NDArray[Any]) -> Floats:
        """Weighted values (n,)."""
        return self.weigh(self.plain.values(candidates), candidates)

    def weigh(self, values: Floats, candidates: NDArray[Any]) -> Floats:
        """Weighted values from plain ones that are known already."""
        chance = np.clip(self.chance(candidates), MIN_CHANCE, 1.0)
        if self.is_log:
            return np.asarray(values + np.log(chance))
        weighted = self.worst + (values - self.worst) * chance
        return np.where(values > self.worst, weighted, values)


def thresholds_of_draws(best: float, at_pending: Floats) -> Floats:
    """The threshold of each draw, (K,): `best`, or its largest value at pending points (K, p)."""
    return np.asarray(np.maximum(best, at_pending.max(axis=1, initial=-np.inf)))
