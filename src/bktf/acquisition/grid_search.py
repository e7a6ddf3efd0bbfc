"""The best allowed cell of a grid under any score.

A small grid is enumerated. Otherwise the score's exact maximum is used if it has one, else a
coordinate ascent, compiled or in NumPy. A feasibility predicate, or a chance of success, depends on
the whole cell, so it excludes both exact maxima and compiled code.

Where hardly any cell is feasible, for example where shares must sum to 100 %, a step along one axis
always leaves the feasible set. If all feasible cells are known (the pool) they are compared.
Otherwise the search walks from known feasible cells, two axes at a time.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bktf._typing import Ints
from bktf.acquisition.found import Found
from bktf.acquisition.scores import (
    MAX_COMPARED,
    Cell,
    ChanceWeighted,
    GridScore,
    HasCompiledAscent,
    HasExactMaximum,
)
from bktf.product_forms import MAX_PASSES, best_allowed, best_few_allowed, climb_once

AnyGridScore = GridScore | ChanceWeighted[GridScore]
Valued = tuple[Ints, float]  # a cell (D,) and its score

BLOCK = 20_000  # cells of an enumeration that are in memory together
MAX_ASKED = 20_000  # random cells or points tried until one is allowed
N_PROBES = 4000  # cells tried on a walk through a thin feasible set
MAX_PAIR_CELLS = 4000  # cells compared when two axes move together


class Effort(NamedTuple):
    """The number of random cells among the starts, and the number of ascents."""

    n_random: int
    n_climbers: int


# A step in NumPy is slow, so ascents are few; random cells are many, as few may be feasible.
NUMPY_EFFORT = Effort(512, 8)
# Compiled steps are fast, and the maxima of draws are good starts: random ones only add variety.
COMPILED_EFFORT = Effort(64, 32)


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of a grid, and which of them may be chosen."""

    sizes: tuple[int, ...]  # points on each axis
    excluded: Set[Cell]
    incumbents: Ints  # (n, D) cells worth starting from, best first
    feasible: Callable[[Ints], bool] | None = None  # of one cell (D,); None: all are
    pool: Ints | None = None  # (N, D) all feasible cells, where they are known

    @property
    def n_cells(self) -> int:
        """The number of all cells."""
        return math.prod(self.sizes)

    def is_feasible(self, cell: Ints) -> bool:
        """Whether a cell (D,) may be tried, excluded or not."""
        return self.feasible is None or self.feasible(cell)

    def is_allowed(self, cell: Ints) -> bool:
        """Whether a cell (D,) may be chosen."""
        return tuple(cell.tolist()) not in self.excluded and self.is_feasible(cell)

    def random_cells(self, n: int, rng: np.random.Generator) -> Ints:
        """Random cells (n, D), of the pool where it is known."""
        if self.pool is not None:
            return rng.choice(self.pool, n)
        return rng.integers(0, self.sizes, (n, len(self.sizes)))

    def free_cells(self) -> Iterator[Ints]:
        """All cells that are not excluded, in the order of the grid, (n, D) in blocks."""
        numbers = sorted(int(np.ravel_multi_index(cell, self.sizes)) for cell in self.excluded)
        excluded = np.array(numbers, dtype=np.int64)
        for first in range(0, self.n_cells, BLOCK):
            block = np.arange(first, min(first + BLOCK, self.n_cells))
            block = np.setdiff1d(block, excluded, assume_unique=True)
            if block.size:
                yield np.stack(np.unravel_index(block, self.sizes), axis=1).astype(np.int64)


def search_grid(score: AnyGridScore, grid: Grid, rng: np.random.Generator) -> Found:
    """The allowed cell with the best score; all of them compared, exactly, or by ascent."""
    if len(grid.excluded) >= grid.n_cells:
        return Found(None, -math.inf, "nothing left", True, 0.0)
    plain = score.plain if isinstance(score, ChanceWeighted) else score
    is_restricted = score is not plain or grid.feasible is not None
    if grid.pool is not None and len(grid.pool) <= MAX_COMPARED:
        return _compare(score, grid, [grid.pool] if len(grid.pool) else [], is_restricted)
    if grid.n_cells <= (MAX_COMPARED if is_restricted else plain.n_enumerable):
        return _compare(score, grid, grid.free_cells(), is_restricted)
    if not is_restricted and isinstance(plain, HasExactMaximum):
        return plain.exact_maximum(grid.excluded)
    if not is_restricted and isinstance(plain, HasCompiledAscent):
        best = max(_climb_compiled(plain, grid, rng), key=lambda valued: valued[1])
        return Found(*best, "coordinate ascent")
    return _ascend(score, grid, "restricted ascent" if is_restricted else "coordinate ascent", rng)


def _compare(score: AnyGridScore, grid: Grid, blocks: Iterable[Ints], is_restricted: bool) -> Found:
    """The best allowed one of all cells (n, D) in blocks."""
    best: Valued | None = None
    for cells in blocks:
        level = None if best is None else best[1]
        best = best_allowed(cells, score.values(cells), grid.is_allowed, level) or best
    if best is None:
        return Found(None, -math.inf, "nothing allowed", True, 0.0)
    return Found(*best, "restricted enumeration" if is_restricted else "enumeration", True, 0.0)


def _starts(score: AnyGridScore, grid: Grid, n_random: int, rng: np.random.Generator) -> Ints:
    """Different cells (n, D) to start from: those of the score, incumbents and random ones."""
    plain = score.plain if isinstance(score, ChanceWeighted) else score
    starts = plain.starting_cells(), grid.incumbents, grid.random_cells(n_random, rng)
    return np.unique(np.concatenate(starts).astype(np.int64), axis=0)


def _climb_compiled(score: HasCompiledAscent, grid: Grid, rng: np.random.Generator) -> list[Valued]:
    """Where compiled ascents end; every cell is feasible, and at least one is not excluded."""
    cells = _starts(score, grid, COMPILED_EFFORT.n_random, rng)
    excluded = np.array(sorted(grid.excluded), dtype=np.int64).reshape(-1, len(grid.sizes))
    ends = _ends_of(score, grid, cells, excluded)
    # If every start was surrounded by excluded cells, start from any cell that is not excluded.
    return ends or _ends_of(score, grid, _first_free(grid)[None], excluded)


def _ends_of(score: HasCompiledAscent, grid: Grid, cells: Ints, excluded: Ints) -> list[Valued]:
    """Ends of ascents from the best of cells (n, D), except those that are excluded."""
    values = score.values(cells)
    values[[tuple(cell) in grid.excluded for cell in cells.tolist()]] = -np.inf
    top = np.argsort(-values, kind="stable")[: COMPILED_EFFORT.n_climbers]
    cells, values = score.climb(cells[top], values[top], excluded)
    ends = zip(cells, values.tolist(), strict=True)
    return [(cell, value) for cell, value in ends if grid.is_allowed(cell)]


def _ascend(score: AnyGridScore, grid: Grid, method: str, rng: np.random.Generator) -> Found:
    """The best end of ascents in NumPy from the best allowed starts."""
    starts = _starts(score, grid, NUMPY_EFFORT.n_random, rng)
    climbers = _best_few(score, grid, starts)
    are_few = len(climbers) < NUMPY_EFFORT.n_climbers
    is_thin = grid.feasible is not None and (are_few or grid.pool is not None)
    if is_thin:
        reached = _walk(grid, [cell for cell, _ in climbers], rng)
        climbers = _best_few(score, grid, reached) if len(reached) else climbers
    if not climbers:
        cells = _first_free(grid)[None] if grid.feasible is None else _any_allowed(grid, rng)
        climbers = _best_few(score, grid, cells) if len(cells) else []
    if not climbers:
        return Found(None, -math.inf, "nothing allowed")
    ends = [_climb(score, grid, climber, is_thin, rng) for climber in climbers]
    cell, value = max(ends, key=lambda valued: valued[1])
    if is_thin and grid.pool is None:
        return Found(cell, value, "restricted walk", is_thin=True)
    return Found(cell, value, method)


def _best_few(score: AnyGridScore, grid: Grid, cells: Ints) -> list[Valued]:
    """The best allowed ones of cells (n, D), as many as climb."""
    n_best = NUMPY_EFFORT.n_climbers
    return best_few_allowed(cells, score.values(cells), grid.is_allowed, n_best)


def _first_free(grid: Grid) -> Ints:
    """The first cell (D,) of the grid that is not excluded; there must be one."""
    cells = itertools.product(*map(range, grid.sizes))
    return np.array(next(cell for cell in cells if cell not in grid.excluded), dtype=np.int64)


def _any_allowed(grid: Grid, rng: np.random.Generator) -> Ints:
    """An allowed cell (1, D) that turns up at random; none (0, D) where they are too rare."""
    for _ in range(MAX_ASKED):
        cell = rng.integers(0, grid.sizes).astype(np.int64)
        if grid.is_allowed(cell):
            return cell[None]
    return np.empty((0, len(grid.sizes)), dtype=np.int64)


def _walk(grid: Grid, found: list[Ints], rng: np.random.Generator) -> Ints:
    """Feasible cells (N, D) that steps along two axes reach from incumbents and found ones.

    Every second step is an exchange: it adds to one axis what it subtracts from the other, which
    keeps the sum of shares.
    """
    n_dims = len(grid.sizes)
    known = [c for c in [*np.unique(grid.incumbents, axis=0), *found] if grid.is_feasible(c)]
    seen = {tuple(cell.tolist()) for cell in known}
    for probe in range(N_PROBES if known else 0):
        cell = known[rng.integers(len(known))].copy()
        a, b = rng.choice(n_dims, 2, replace=False) if n_dims > 1 else (0, 0)
        if probe % 2 and n_dims > 1:
            amount = min(cell[b], grid.sizes[a] - 1 - cell[a])
            step = int(rng.integers(1, amount + 1)) if amount else 0
            cell[a], cell[b] = cell[a] + step, cell[b] - step
        else:
            cell[a] = rng.integers(grid.sizes[a])
            cell[b] = rng.integers(grid.sizes[b])
        key = tuple(cell.tolist())
        if key not in seen and grid.is_feasible(cell):
            seen.add(key)
            known.append(cell)
    return np.array(known, dtype=np.int64).reshape(-1, n_dims)


def _climb(
    score: AnyGridScore,
    grid: Grid,
    start: Valued,
    with_pairs: bool,
    rng: np.random.Generator,
) -> Valued:
    """Move along one axis after the other, where asked along two at a time, to a local maximum."""
    lines = [(d, np.arange(size)) for d, size in enumerate(grid.sizes)]
    cell, value = start
    for _ in range(MAX_PASSES):
        before = value
        cell, value = climb_once(score.values, lines, (cell, value), grid.is_allowed)
        moves = _pair_moves(cell, grid.sizes, rng) if with_pairs else cell[None][:0]
        if len(moves):
            better = best_allowed(moves, score.values(moves), grid.is_allowed, value)
            cell, value = better or (cell, value)
        if not value > before:
            break
    return cell, value


def _pair_moves(cell: Ints, sizes: tuple[int, ...], rng: np.random.Generator) -> Ints:
    """Cells (N, D) that differ on two axes: all, or where they are many the exchanges and some."""
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    moves: list[Ints] = []
    are_few = sum(sizes[a] * sizes[b] for a, b in pairs) <= MAX_PAIR_CELLS
    n_random = MAX_PAIR_CELLS // (2 * max(len(pairs), 1)) + 1
    for a, b in pairs:
        if are_few:
            both = np.meshgrid(np.arange(sizes[a]), np.arange(sizes[b]))
            first, second = (grid.ravel() for grid in both)
        else:
            lowest = -int(min(cell[a], sizes[b] - 1 - cell[b]))
            step = np.arange(lowest, int(min(cell[b], sizes[a] - 1 - cell[a])) + 1)
            random_cells = rng.integers(0, (sizes[a], sizes[b]), (n_random, 2))
            first = np.concatenate((cell[a] + step, random_cells[:, 0]))
            second = np.concatenate((cell[b] - step, random_cells[:, 1]))
        moved = np.repeat(cell[None], first.size, axis=0)
        moved[:, a], moved[:, b] = first, second
        moves.append(moved)
    return np.unique(np.concatenate(moves), axis=0) if moves else cell[None][:0]
