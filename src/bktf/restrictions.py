"""Choosing under restrictions that no CP form can express: points that may not be tried, and points that may fail.

The exact and the compiled searches work on factors alone. A predicate of the user's, or a chance of success, is a function of the whole
cell, so here the score is weighted and climbed one axis at a time in plain NumPy, asking the predicate only of cells that would win.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENUMERATE_CELLS = 20_000  # grids up to this size are looked at whole
N_RANDOM = 512  # random cells among the starts
N_CLIMBERS = 8
MAX_PASSES = 10
MAX_SEARCH = 20_000  # random cells asked for one that is allowed


class Weighted(NamedTuple):
    """A score to maximise over cells, and which cells may win."""

    score: Callable[[Ints], Floats]  # (n, D) → (n,), not negative
    allowed: Callable[[Ints], bool]  # of one cell (D,); excluded cells are not
    sizes: Ints  # (D,)


class BestAllowed(NamedTuple):
    """The best allowed cell that was found and its score."""

    cell: Ints
    score: float
    exact: bool


def best_allowed(weighted: Weighted, starts: Ints, rng: np.random.Generator) -> BestAllowed | None:
    """The allowed cell with the best score: of all cells on a small grid, by coordinate ascent on a large one.

    None where no allowed cell was found: on a small grid there is none, on a large one they are rarer than one in MAX_SEARCH.
    """
    n_cells = math.prod(weighted.sizes.tolist())
    if n_cells <= ENUMERATE_CELLS:
        cells = np.stack(np.unravel_index(np.arange(n_cells), weighted.sizes.tolist()), axis=1).astype(np.int64)
        found = _first_allowed(weighted, cells, weighted.score(cells), -math.inf)
        return None if found is None else BestAllowed(*found, True)
    random = rng.integers(0, weighted.sizes, (N_RANDOM, weighted.sizes.size))
    cells = np.unique(np.concatenate((starts, random)).astype(np.int64), axis=0)
    climbers = _climbers(weighted, cells, rng)
    best: BestAllowed | None = None
    for cell, score in climbers:
        top, value = _climb(weighted, cell, score)
        if best is None or value > best.score:
            best = BestAllowed(top, value, False)
    return best


def _first_allowed(weighted: Weighted, cells: Ints, scores: Floats, above: float) -> tuple[Ints, float] | None:
    """The allowed cell with the best score above a level, if there is one."""
    for i in np.argsort(-scores, kind="stable"):
        if not scores[i] > above:
            return None
        if weighted.allowed(cells[i]):
            return cells[i], float(scores[i])
    return None


def _climbers(weighted: Weighted, cells: Ints, rng: np.random.Generator) -> list[tuple[Ints, float]]:
    """The best allowed ones of some cells; where none is allowed, any allowed cell that turns up at random."""
    scores = weighted.score(cells)
    chosen: list[tuple[Ints, float]] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(chosen) == N_CLIMBERS:
            return chosen
        if weighted.allowed(cells[i]):
            chosen.append((cells[i], float(scores[i])))
    for _ in range(0 if chosen else MAX_SEARCH):
        cell = rng.integers(0, weighted.sizes).astype(np.int64)
        if weighted.allowed(cell):
            return [(cell, float(weighted.score(cell[None])[0]))]
    return chosen


def _climb(weighted: Weighted, cell: Ints, score: float) -> tuple[Ints, float]:
    """Move along one axis after the other to the best allowed cell, until nothing is better."""
    cell = cell.copy()
    for _ in range(MAX_PASSES):
        before = score
        for d, size in enumerate(weighted.sizes):
            line = np.repeat(cell[None], size, axis=0)
            line[:, d] = np.arange(size)
            found = _first_allowed(weighted, line, weighted.score(line), score)
            if found is not None:
                cell, score = found
        if not score > before:
            break
    return cell, score
