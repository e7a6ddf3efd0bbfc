"""A search on a grid of which hardly any cell may be chosen."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bktf.acquisition import grid_search
from bktf.acquisition.grid_search import Effort, Grid, search_grid
from seeds import seeded

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SIZES = (40, 40, 40)


class Sum:
    """A score of cells: the sum of their indices."""

    is_log = False
    n_enumerable = 0

    def values(self, cells: Ints) -> Floats:
        """Scores of cells (n, D)."""
        return np.asarray(cells.sum(axis=1), dtype=float)

    def starting_cells(self) -> Ints:
        """None are known."""
        return np.empty((0, 3), dtype=np.int64)


def is_feasible(cell: Ints) -> bool:
    """A cube of 5 × 5 × 5 in the middle, one cell in 512."""
    return bool(np.all((cell >= 18) & (cell < 23)))


def test_where_no_start_is_allowed_random_cells_are_asked_until_one_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """20,000 are asked at most: all miss with a chance of 1e-17."""
    monkeypatch.setattr(grid_search, "NUMPY_EFFORT", Effort(0, 8))
    assert (1.0 - 5**3 / 40**3) ** grid_search.MAX_ASKED < 2e-17
    incumbents = np.zeros((1, 3), dtype=np.int64)
    grid = Grid(SIZES, set(), incumbents, is_feasible)
    found = search_grid(Sum(), grid, np.random.default_rng(seeded(0)))
    assert found.at is not None
    assert is_feasible(found.at)
    assert found.score == found.at.sum()
