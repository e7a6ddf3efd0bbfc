"""Choosing under restrictions that no CP form can express: points that may not be tried, and points that may fail.

The exact and the compiled searches work on factors alone. A predicate of the user's, or a chance of success, is a function of the whole
cell, so here the score is weighted and climbed one axis at a time in plain NumPy, asking the predicate only of cells that would win.

Where hardly any cell is feasible, as where shares must sum to 100 %, a step along one axis always leaves the feasible set. If all feasible
cells are known (`feasibility`) they are compared; otherwise the search walks from feasible cells that were tried, two axes at a time.
"""

import itertools
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
N_PROBES = 4000  # cells asked on a walk through a thin feasible set
MAX_PAIR_CELLS = 4000  # cells compared when two axes move together


class Weighted(NamedTuple):
    """A score to maximise over cells, and which cells may win."""

    score: Callable[[Ints], Floats]  # (n, D) → (n,), not negative
    allowed: Callable[[Ints], bool]  # of one cell (D,); excluded cells are not
    sizes: Ints  # (D,)
    feasible: Callable[[Ints], bool] | None = None  # whether a walk may pass a cell, excluded or not; None: every cell
    pool: Ints | None = None  # (N, D) all feasible cells, where they are known


class BestAllowed(NamedTuple):
    """The best allowed cell that was found and its score."""

    cell: Ints
    score: float
    exact: bool
    thin: bool = False  # whether feasible cells are so rare that the search only saw those near to known ones


def best_allowed(weighted: Weighted, starts: Ints, rng: np.random.Generator) -> BestAllowed | None:
    """The allowed cell with the best score: of all cells on a small grid or in a small pool, by ascent otherwise.

    None where no allowed cell was found: on a small grid there is none, on a large one they are rarer than one in MAX_SEARCH.
    """
    n_cells = math.prod(weighted.sizes.tolist())
    pool = weighted.pool
    if n_cells <= ENUMERATE_CELLS:
        pool = np.stack(np.unravel_index(np.arange(n_cells), weighted.sizes.tolist()), axis=1).astype(np.int64)
    if pool is not None and len(pool) <= ENUMERATE_CELLS:
        found = _first_allowed(weighted, pool, weighted.score(pool), -math.inf) if len(pool) else None
        return None if found is None else BestAllowed(*found, True)
    random = rng.integers(0, weighted.sizes, (N_RANDOM, weighted.sizes.size)) if pool is None else rng.choice(pool, N_RANDOM)
    cells = np.unique(np.concatenate((starts, random)).astype(np.int64), axis=0)
    climbers = _allowed_first(weighted, cells)
    thin = weighted.feasible is not None and (len(climbers) < N_CLIMBERS or pool is not None)
    if thin:
        reached = _walk(weighted, starts, [cell for cell, _ in climbers], rng)
        climbers = _allowed_first(weighted, reached) if len(reached) else climbers
    best: BestAllowed | None = None
    for cell, score in climbers or _search(weighted, rng):
        top, value = _climb(weighted, cell, score, thin, rng)
        if best is None or value > best.score:
            best = BestAllowed(top, value, False, thin and pool is None)
    return best


def _first_allowed(weighted: Weighted, cells: Ints, scores: Floats, above: float) -> tuple[Ints, float] | None:
    """The allowed cell with the best score above a level, if there is one."""
    for i in np.argsort(-scores, kind="stable"):
        if not scores[i] > above:
            return None
        if weighted.allowed(cells[i]):
            return cells[i], float(scores[i])
    return None


def _allowed_first(weighted: Weighted, cells: Ints) -> list[tuple[Ints, float]]:
    """The best allowed ones of some cells, at most N_CLIMBERS."""
    scores = weighted.score(cells)
    chosen: list[tuple[Ints, float]] = []
    for i in np.argsort(-scores, kind="stable"):
        if weighted.allowed(cells[i]):
            chosen.append((cells[i], float(scores[i])))
            if len(chosen) == N_CLIMBERS:
                break
    return chosen


def _search(weighted: Weighted, rng: np.random.Generator) -> list[tuple[Ints, float]]:
    """An allowed cell that turns up at random; nothing where they are too rare."""
    for _ in range(MAX_SEARCH):
        cell = rng.integers(0, weighted.sizes).astype(np.int64)
        if weighted.allowed(cell):
            return [(cell, float(weighted.score(cell[None])[0]))]
    return []


def _walk(weighted: Weighted, starts: Ints, found: list[Ints], rng: np.random.Generator) -> Ints:
    """Feasible cells (N, D) that steps along two axes reach from feasible ones.

    Every second step exchanges: as much is added on one axis as is taken on the other, which keeps the sum of shares.
    """
    assert weighted.feasible is not None
    n_dims = weighted.sizes.size
    known = [cell for cell in [*np.unique(starts, axis=0), *found] if weighted.feasible(cell)]
    seen = {tuple(cell.tolist()) for cell in known}
    for probe in range(N_PROBES if known else 0):
        cell = known[rng.integers(len(known))].copy()
        a, b = rng.choice(n_dims, 2, replace=False) if n_dims > 1 else (0, 0)
        if probe % 2 and n_dims > 1:
            amount = min(cell[b], weighted.sizes[a] - 1 - cell[a])
            step = int(rng.integers(1, amount + 1)) if amount else 0
            cell[a], cell[b] = cell[a] + step, cell[b] - step
        else:
            cell[a] = rng.integers(weighted.sizes[a])
            cell[b] = rng.integers(weighted.sizes[b])
        name = tuple(cell.tolist())
        if name not in seen and weighted.feasible(cell):
            seen.add(name)
            known.append(cell)
    return np.array(known, dtype=np.int64).reshape(-1, n_dims)


def _climb(weighted: Weighted, cell: Ints, score: float, pairs: bool, rng: np.random.Generator) -> tuple[Ints, float]:
    """Move along one axis after the other, where asked along two at a time, to the best allowed cell, until nothing is better."""
    cell = cell.copy()
    for _ in range(MAX_PASSES):
        before = score
        for d, size in enumerate(weighted.sizes):
            line = np.repeat(cell[None], size, axis=0)
            line[:, d] = np.arange(size)
            found = _first_allowed(weighted, line, weighted.score(line), score)
            if found is not None:
                cell, score = found
        if pairs:
            around = _pair_moves(cell, weighted.sizes, rng)
            found = _first_allowed(weighted, around, weighted.score(around), score) if len(around) else None
            if found is not None:
                cell, score = found
        if not score > before:
            break
    return cell, score


def _pair_moves(cell: Ints, sizes: Ints, rng: np.random.Generator) -> Ints:
    """Cells (N, D) that differ on two axes: all of them, or where they are many the exchanges and some others at random."""
    pairs = list(itertools.combinations(range(sizes.size), 2))
    moves: list[Ints] = []
    few = sum(int(sizes[a] * sizes[b]) for a, b in pairs) <= MAX_PAIR_CELLS
    for a, b in pairs:
        if few:
            first, second = (grid.ravel() for grid in np.meshgrid(np.arange(sizes[a]), np.arange(sizes[b])))
        else:
            step = np.arange(-int(min(cell[a], sizes[b] - 1 - cell[b])), int(min(cell[b], sizes[a] - 1 - cell[a])) + 1)
            others = rng.integers(0, (sizes[a], sizes[b]), (MAX_PAIR_CELLS // (2 * len(pairs)) + 1, 2))
            first = np.concatenate((cell[a] + step, others[:, 0]))
            second = np.concatenate((cell[b] - step, others[:, 1]))
        moved = np.repeat(cell[None], first.size, axis=0)
        moved[:, a], moved[:, b] = first, second
        moves.append(moved)
    return np.unique(np.concatenate(moves), axis=0) if moves else cell[None][:0]
