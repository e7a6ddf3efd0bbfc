"""The best cell of a grid for one acquisition, in the model's units, without building the tensor.

Max and Thompson are exact up to three coordinates (`search`) and certified beyond. EI and B-UCB are enumerated on small grids, in blocks,
and climbed by coordinate ascent on large ones. Under restrictions every score is climbed in plain NumPy (`restrictions`).
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf.acquisition import cell_scores as scores
from bktf.acquisition.restricted_search import Weighted, best_allowed
from bktf.product_forms.best_first_maximum import Found, bound_boxes, maximum_over_draws
from bktf.product_forms.cp_forms import Floats, Forms, Ints, make_forms

ENUMERATE_BELOW = 4_000_000  # cells times draws up to which a grid is enumerated
BLOCK = 2_000_000  # numbers in the largest temporary array of an enumeration
MAX_PASSES = 30  # over all axes, of one ascent
N_RANDOM = 64  # random cells among the starts
NEGLIGIBLE = 1e-9  # expected improvement in standard deviations of y, weighted by the chance of success, that counts as none
N_STARTING_DRAWS = 64  # draws whose maxima are among the starts of EI; UCB takes all
N_CLIMBERS = 32  # starts that climb, the best by score


class Draws(NamedTuple):
    """What an acquisition needs to know of a posterior, in the model's units, larger is better."""

    axes: tuple[Floats, ...]  # points in the user's units
    factors: tuple[Floats, ...]  # per axis (K, R, m_d)
    weights: Floats  # (K, R)
    active: NDArray[np.bool_]  # (R, D)
    free_weights: "Callable[[], FreeWeights]"  # computed only where they are integrated out
    thresholds: Floats  # (K,) what a draw must exceed: the best observed value, or the best draw at a pending point
    worst: float  # the worst observed value
    incumbents: Ints  # (n, D) cells worth starting from, best first


class FreeWeights(NamedTuple):
    """The posterior of the weights given each draw's factors and noise."""

    means: Floats  # (K, R)
    roots: Floats  # (K, R, R) inverse Cholesky factors of the precisions, lower triangular


class Target(NamedTuple):
    """One acquisition on one grid, as `scores` wants it."""

    kind: int
    beta: float
    table: Floats  # (M, R, K)
    starts: Ints  # (D + 1,)
    weights: Floats  # (R, K)
    roots: Floats  # (R, R, K), or (1, 1, 1) where they are not needed
    thresholds: Floats  # (K,)

    def score(self, cells: Ints) -> Floats:
        """Scores of cells (n, D)."""
        return np.asarray(scores.score_cells(*self, np.ascontiguousarray(cells)))


def make_target(draws: Draws, acquisition: str, beta: float, integrate_weights: bool) -> Target:
    """EI, with the weights drawn or integrated out, or UCB."""
    table = np.ascontiguousarray(np.concatenate([f.transpose(2, 1, 0) for f in draws.factors]))
    starts = np.concatenate(([0], np.cumsum([f.shape[2] for f in draws.factors]))).astype(np.int64)
    kind, weights, roots = scores.UCB if acquisition == "ucb" else scores.EI, draws.weights, np.zeros((1, 1, 1))
    if acquisition == "ei" and integrate_weights:
        kind, (weights, roots) = scores.EI_WEIGHTS, draws.free_weights()
        roots = roots.transpose(1, 2, 0)
    return Target(kind, beta, table, starts, np.ascontiguousarray(weights.T), np.ascontiguousarray(roots), draws.thresholds)


class Best(NamedTuple):
    """A cell and its score; exact where all cells were looked at."""

    cell: Ints
    score: float
    exact: bool


def free_cells(starts: Ints, excluded: set[tuple[int, ...]], block: int) -> Iterator[Ints]:
    """All cells that are not excluded, in the order of the grid, at most `block` at a time, (n, D)."""
    sizes = np.diff(starts).tolist()
    n_cells = math.prod(sizes)
    banned = np.array(sorted(int(np.ravel_multi_index(cell, sizes)) for cell in excluded), dtype=np.int64)
    for first in range(0, n_cells, block):
        numbers = np.setdiff1d(np.arange(first, min(first + block, n_cells)), banned, assume_unique=True)
        if numbers.size:
            yield np.stack(np.unravel_index(numbers, sizes), axis=1).astype(np.int64)


def best_by_enumeration(target: Target, excluded: set[tuple[int, ...]]) -> Best:
    """Look at every cell that is not excluded (there must be one), in blocks."""
    found: list[Best] = []
    for cells in free_cells(target.starts, excluded, max(1, BLOCK // target.thresholds.size)):
        values = target.score(cells)
        i = int(values.argmax())
        found.append(Best(cells[i], float(values[i]), True))
    return max(found, key=lambda best: best.score)


def maximum_by_enumeration(forms: Forms, excluded: set[tuple[int, ...]]) -> tuple[Ints, float]:
    """The cell of the largest value of all forms among those not excluded (there must be one), and the value."""
    found: list[tuple[Ints, float]] = []
    for cells in free_cells(forms.starts, excluded, max(1, BLOCK // (forms.coordinates[:, :, 0].size * forms.n_dims))):
        values = forms.values(cells).max(axis=0)
        found.append((cells[int(values.argmax())], float(values.max())))
    return max(found, key=lambda pair: pair[1])


def best_by_ascent(target: Target, excluded: set[tuple[int, ...]], starts: Ints, rng: np.random.Generator) -> Best | None:
    """Climb from the best of the given cells and of random ones."""
    sizes = np.diff(target.starts)
    random = rng.integers(0, sizes, (N_RANDOM, sizes.size))
    cells = np.unique(np.concatenate((starts, random)).astype(np.int64), axis=0)
    values = target.score(cells)
    values[[tuple(c) in excluded for c in cells]] = -np.inf
    top = np.argsort(-values, kind="stable")[:N_CLIMBERS]
    cells, values = np.ascontiguousarray(cells[top]), np.ascontiguousarray(values[top])
    banned = np.array(sorted(excluded), dtype=np.int64).reshape(-1, sizes.size)
    scores.ascend(*target, banned, MAX_PASSES, cells, values)
    free = np.array([tuple(c) not in excluded for c in cells])
    if not free.any():
        return None
    i = int(np.where(free, values, -np.inf).argmax()) if np.any(values[free] > -np.inf) else int(np.argmax(free))
    return Best(cells[i], float(values[i]), False)


class Restriction(NamedTuple):
    """What is known of cells beyond the draws."""

    allowed: Callable[[Ints], bool] | None  # whether a cell (D,) may be tried
    chance: Callable[[Ints], Floats] | None  # the chance that trying each of some cells (n, D) succeeds
    pool: Ints | None = None  # (N, D) all cells that `allowed` holds for, where they are known


def choose_cell(
    draws: Draws,
    acquisition: str,
    beta: float,
    excluded: set[tuple[int, ...]],
    integrate_weights: bool,
    rng: np.random.Generator,
    draw: int | None = None,
    restriction: Restriction | None = None,
) -> tuple[Ints | None, float, str, bool, float]:
    """Cell, score, method, exact and gap of the best cell that is not excluded; the cell is None where nothing is left.

    For "thompson", draw names the draw; otherwise one is picked at random.
    """
    forms = make_forms(draws.factors, draws.weights, draws.active)
    if restriction is not None:
        return choose_restricted(draws, forms, acquisition, beta, excluded, integrate_weights, rng, draw, restriction)
    n_cells = math.prod(axis.size for axis in draws.axes)
    if len(excluded) >= n_cells:
        return None, -math.inf, "nothing left", True, 0.0
    if acquisition in ("max", "thompson"):
        everyone = np.arange(len(draws.weights))
        one = int(rng.integers(everyone.size)) if draw is None else draw
        subset = everyone if acquisition == "max" else everyone[one : one + 1]
        if forms.coordinates.shape[1] > 2 and n_cells * subset.size <= ENUMERATE_BELOW:
            some = Forms(forms.coordinates[subset], forms.additive, forms.starts)
            cell, value = maximum_by_enumeration(some, excluded)
            return cell, value, "enumeration", True, 0.0
        found = maximum_over_draws(forms, excluded, subset)
        assert found is not None
        gap = max(found.bound - found.value, 0.0)
        name = {1: "hull", 2: "hull", 3: "hull in space"}.get(forms.coordinates.shape[1], "bounded search")
        return found.cell, found.value, name, gap <= 1e-12 * max(1.0, abs(found.value)), gap
    target = make_target(draws, acquisition, beta, integrate_weights)
    best, method = best_cell(draws, target, forms, n_cells, excluded, rng)
    if target.kind == scores.EI and best.score <= 0.0:  # no draw improves anywhere: ask how near the weights come to it
        target = make_target(draws, acquisition, beta, True)
        best, method = best_cell(draws, target, forms, n_cells, excluded, rng)
        method += ", weights integrated out"
    value = math.exp(best.score) if target.kind == scores.EI_WEIGHTS else best.score
    return best.cell, value, method, best.exact, 0.0 if best.exact else math.inf


def choose_restricted(
    draws: Draws,
    forms: Forms,
    acquisition: str,
    beta: float,
    excluded: set[tuple[int, ...]],
    integrate_weights: bool,
    rng: np.random.Generator,
    draw: int | None,
    restriction: Restriction,
) -> tuple[Ints | None, float, str, bool, float]:
    """`choose_cell` where some cells may not be tried or may fail.

    EI is weighted by the chance of success; another score by what it promises beyond the worst observed value.
    """
    score = _restricted_score(draws, forms, acquisition, beta, integrate_weights, restriction.chance, rng, draw)

    def allowed(cell: Ints) -> bool:
        return tuple(cell.tolist()) not in excluded and (restriction.allowed is None or restriction.allowed(cell))

    sizes = np.diff(forms.starts)
    starts = np.concatenate((draw_maxima(forms, N_STARTING_DRAWS), draws.incumbents))
    best = best_allowed(Weighted(score, allowed, sizes, restriction.allowed, restriction.pool), starts, rng)
    method = "restricted "
    if best is not None and acquisition == "ei" and not integrate_weights and best.score <= NEGLIGIBLE:
        score = _restricted_score(draws, forms, acquisition, beta, True, restriction.chance, rng, draw)
        again = Weighted(score, allowed, sizes, restriction.allowed, restriction.pool)
        best = best_allowed(again, np.concatenate((starts, best.cell[None])), rng)
        method, integrate_weights = "weights integrated out, restricted ", True
    if best is None:
        return None, -math.inf, "nothing allowed", True, 0.0
    value = math.exp(best.score) if acquisition == "ei" and integrate_weights else best.score
    method += "enumeration" if best.exact else "walk" if best.thin else "ascent"
    return best.cell, value, method, best.exact, 0.0 if best.exact else math.inf


def _restricted_score(
    draws: Draws,
    forms: Forms,
    acquisition: str,
    beta: float,
    integrate_weights: bool,
    chance: Callable[[Ints], Floats] | None,
    rng: np.random.Generator,
    draw: int | None,
) -> Callable[[Ints], Floats]:
    """The score of cells (n, D), weighted by their chance of success."""
    if acquisition in ("max", "thompson"):
        one = int(rng.integers(len(draws.weights))) if draw is None else draw
        some = forms if acquisition == "max" else Forms(forms.coordinates[one : one + 1], forms.additive, forms.starts)
        step = max(1, BLOCK // (some.coordinates[:, :, 0].size * forms.n_dims))

        def plain(cells: Ints) -> Floats:
            return np.concatenate([some.values(cells[i : i + step]).max(axis=0) for i in range(0, len(cells), step)])
    else:
        plain = make_target(draws, acquisition, beta, integrate_weights).score

    def weighted(cells: Ints) -> Floats:
        value = plain(cells)
        if chance is None:
            return value
        if acquisition == "ei":
            return np.asarray(value + np.log(chance(cells)) if integrate_weights else value * chance(cells))
        return np.asarray(np.where(value > draws.worst, draws.worst + (value - draws.worst) * chance(cells), value))

    return weighted


def best_cell(
    draws: Draws, target: Target, forms: Forms, n_cells: int, excluded: set[tuple[int, ...]], rng: np.random.Generator
) -> tuple[Best, str]:
    """The best cell that is not excluded (there is one) and the name of the method that the size of the grid allows."""
    if n_cells * len(draws.weights) <= ENUMERATE_BELOW:
        return best_by_enumeration(target, excluded), "enumeration"
    starts = starting_cells(target, forms, draws.incumbents)
    best = best_by_ascent(target, excluded, starts, rng)
    if best is None:  # every start was walled in by excluded cells
        cell = _any_free(forms, excluded).cell
        best = Best(cell, float(target.score(cell[None])[0]), False)
    return best, "coordinate ascent"


def draw_maxima(forms: Forms, most: int) -> Ints:
    """The cells of the maxima of at most so many draws, evenly spaced (for forms with more than two coordinates, of their largest part)."""
    n_draws = len(forms.coordinates)
    some = np.unique(np.linspace(0, n_draws - 1, min(n_draws, most)).astype(np.int64))
    return bound_boxes(forms, some, np.ones(forms.starts[-1], dtype=bool))[1]


def starting_cells(target: Target, forms: Forms, incumbents: Ints) -> Ints:
    """Where an ascent may start: maxima of draws and incumbents. For EI some draws are enough; UCB once missed its maximum with them."""
    most = len(forms.coordinates) if target.kind == scores.UCB else N_STARTING_DRAWS
    return np.concatenate((draw_maxima(forms, most), incumbents))


def _any_free(forms: Forms, excluded: set[tuple[int, ...]]) -> Found:
    """The best allowed cell of the first draw."""
    found = maximum_over_draws(forms, excluded, np.array([0]))
    assert found is not None
    return found
