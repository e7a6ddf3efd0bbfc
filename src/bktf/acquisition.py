"""Choosing the next point: max over draws, Thompson, B-UCB and expected improvement, without building the tensor.

`choose` picks the method by acquisition and grid size. Max and Thompson are exact up to three coordinates (`search`) and certified
beyond. EI and B-UCB are enumerated on small grids, in blocks, and climbed by coordinate ascent on large ones.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bktf import scores
from bktf.axes import check_points
from bktf.forms import Floats, Forms, Ints, make_forms
from bktf.search import Found, bound_boxes, maximum_over_draws

if TYPE_CHECKING:  # the posterior calls this room; here its name is only for readers and type checkers
    from bktf.posterior import Posterior

ENUMERATE_BELOW = 4_000_000  # cells times draws up to which a grid is enumerated
BLOCK = 2_000_000  # numbers in the largest temporary array of an enumeration
MAX_PASSES = 30  # over all axes, of one ascent
N_RANDOM = 64  # random cells among the starts
N_CLIMBERS = 48  # starts that climb, the best by score
ACQUISITIONS = ("ei", "ucb", "max", "thompson")


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen point and how it was found.

    value: of the acquisition, in the units of y (for EI with the weights integrated out too)
    method: "hull", "hull in space", "bounded search", "enumeration" or "coordinate ascent"; with ", weights integrated out" where plain EI
        is zero at every cell it looked at
    exact: whether no allowed cell is better
    gap: by how much an allowed cell can be better at most, in the units of y; infinity where nothing is known
    """

    point: Floats | None  # (D,) in the user's units; None where every cell is excluded
    value: float
    method: str
    exact: bool
    gap: float


class Draws(NamedTuple):
    """What an acquisition needs to know of a posterior, in the model's units, larger is better."""

    axes: tuple[Floats, ...]  # points in the user's units
    factors: tuple[Floats, ...]  # per axis (K, R, m_d)
    weights: Floats  # (K, R)
    active: NDArray[np.bool_]  # (R, D)
    weight_means: Floats  # (K, R) posterior of the weights given each draw's factors and noise
    weight_roots: Floats  # (K, R, R) inverse Cholesky factors of their precisions, lower triangular
    thresholds: Floats  # (K,) what a draw must exceed: the best observed value, or the best draw at a pending point
    incumbents: Ints  # (n, D) cells worth starting from, best first


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
    integrated = acquisition == "ei" and integrate_weights
    kind = scores.UCB if acquisition == "ucb" else scores.EI_WEIGHTS if integrated else scores.EI
    weights = draws.weight_means if integrated else draws.weights
    roots = draws.weight_roots.transpose(1, 2, 0) if integrated else np.zeros((1, 1, 1))
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


def choose_cell(
    draws: Draws,
    acquisition: str,
    beta: float,
    excluded: set[tuple[int, ...]],
    integrate_weights: bool,
    rng: np.random.Generator,
    draw: int | None = None,
) -> tuple[Ints | None, float, str, bool, float]:
    """Cell, score, method, exact and gap of the best cell that is not excluded; the cell is None where nothing is left.

    For "thompson", draw names the draw; otherwise one is picked at random.
    """
    forms = make_forms(draws.factors, draws.weights, draws.active)
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


def best_cell(
    draws: Draws, target: Target, forms: Forms, n_cells: int, excluded: set[tuple[int, ...]], rng: np.random.Generator
) -> tuple[Best, str]:
    """The best cell that is not excluded (there is one) and the name of the method that the size of the grid allows."""
    if n_cells * len(draws.weights) <= ENUMERATE_BELOW:
        return best_by_enumeration(target, excluded), "enumeration"
    starts = np.concatenate((draw_maxima(forms), draws.incumbents))
    best = best_by_ascent(target, excluded, starts, rng)
    if best is None:  # every start was walled in by excluded cells
        cell = _any_free(forms, excluded).cell
        best = Best(cell, float(target.score(cell[None])[0]), False)
    return best, "coordinate ascent"


def draw_maxima(forms: Forms) -> Ints:
    """The cell of each draw's maximum (for forms with more than two coordinates, of its largest part)."""
    return bound_boxes(forms, np.arange(len(forms.coordinates)), np.ones(forms.starts[-1], dtype=bool))[1]


def _any_free(forms: Forms, excluded: set[tuple[int, ...]]) -> Found:
    """The best allowed cell of the first draw."""
    found = maximum_over_draws(forms, excluded, np.array([0]))
    assert found is not None
    return found


def choose(
    posterior: "Posterior",
    acquisition: str = "ei",
    *,
    beta: float = 2.0,
    exclude: ArrayLike | None = None,
    pending: ArrayLike | None = None,
    integrate_weights: bool = False,
    seed: int = 0,
) -> Choice:
    """The point of the grid to try next, where larger is better (`posterior.argmin` flips the sign).

    Args:
        posterior: a fit.
        acquisition: "ei", "ucb", "max" (over draws, what the paper's experiments use) or "thompson" (one draw's maximum).
        beta: the weight of the standard deviation in "ucb", u + β·√v. (Optuna and BoTorch write √β·σ.)
        exclude: points that must not be chosen, (n, D). Pass `posterior.X` so that nothing is tried twice; where noise makes repeats
            worth while, leave it out.
        pending: points under evaluation: not chosen again, and for "ei" taken into account by what each draw says of them. (With the
            weights integrated out only the threshold sees them, not the weights' distribution.)
        integrate_weights: for "ei", integrate the weights out given each draw's factors, which makes log EI finite everywhere.
        seed: for "thompson" which draw, and for coordinate ascent where its random starts are.

    Paper: sections 3.4 and 6. Differs: D10, D11.
    """
    _check_question(acquisition, beta)
    waiting = points_of(posterior, pending, "pending")
    return _choose(posterior, acquisition, beta, exclude, waiting, integrate_weights, seed, None)


def _check_question(acquisition: str, beta: float) -> None:
    """Refuse an unknown acquisition or an impossible β."""
    if acquisition not in ACQUISITIONS:
        raise ValueError(f"acquisition must be one of {', '.join(map(repr, ACQUISITIONS))}; got {acquisition!r}")
    if not (math.isfinite(beta) and beta >= 0):
        raise ValueError(f"beta must be a number of at least 0; got {beta!r}")


def _choose(
    posterior: "Posterior",
    acquisition: str,
    beta: float,
    exclude: ArrayLike | None,
    waiting: Floats,
    integrate_weights: bool,
    seed: int,
    draw: int | None,
) -> Choice:
    """`choose` with everything checked."""
    draws = draws_of(posterior, waiting)
    excluded = cells_of(posterior, exclude, "exclude") | cells_of(posterior, waiting, "pending")
    rng = np.random.default_rng([seed, posterior.seed])
    cell, score, method, exact, gap = choose_cell(draws, acquisition, beta, excluded, integrate_weights, rng, draw)
    if cell is None:
        return Choice(None, -math.inf, method, True, 0.0)
    point = np.array([axis[j] for axis, j in zip(draws.axes, cell, strict=True)])
    scale = posterior.standardisation.scale
    value = scale * score + (posterior.standardisation.mean if acquisition != "ei" else 0.0)
    return Choice(point, value, method, exact, scale * gap)


def choose_batch(
    posterior: "Posterior",
    q: int,
    acquisition: str = "ei",
    *,
    beta: float = 2.0,
    exclude: ArrayLike | None = None,
    pending: ArrayLike | None = None,
    integrate_weights: bool = False,
    seed: int = 0,
) -> tuple[Choice, ...]:
    """The q points to try together, fewer where the grid has no more: one after the other, each taking those before as pending.

    "ei" is then sequential-greedy EI over the joint draws; "thompson" takes the maxima of different draws.
    """
    if isinstance(q, bool) or not isinstance(q, int | np.integer) or q < 1:
        raise ValueError(f"q must be a whole number of at least 1; got {q!r}")
    _check_question(acquisition, beta)
    waiting = points_of(posterior, pending, "pending")
    order = np.random.default_rng([seed, posterior.seed]).permutation(posterior.n_draws)
    chosen: list[Choice] = []
    for i in range(q):
        draw = int(order[i % order.size])
        choice = _choose(posterior, acquisition, beta, exclude, waiting, integrate_weights, seed, draw)
        if choice.point is None:
            break
        chosen.append(choice)
        waiting = np.vstack((waiting, choice.point))
    return tuple(chosen)


def points_of(posterior: "Posterior", points: ArrayLike | None, what: str) -> Floats:
    """Points (n, D) inside the box; none where None or an empty list was given."""
    if points is None or np.size(points) == 0:
        return np.empty((0, len(posterior.grid)))
    return check_points(points, posterior.grid, what)


def draws_of(posterior: "Posterior", pending: Floats) -> Draws:
    """What the acquisitions need to know of a posterior and of pending points (n, D)."""
    z = posterior.standardisation.to_model(posterior.y)
    at_data = posterior.component_products(posterior.X)  # (K, R, n)
    precision = posterior.noise_precision[:, None, None]
    information = precision * at_data @ at_data.transpose(0, 2, 1) + np.eye(posterior.rank) / posterior.priors.weight_var
    root = np.linalg.cholesky(information)
    inverse_root = np.linalg.solve(root, np.broadcast_to(np.eye(posterior.rank), root.shape))
    means = np.einsum("kar,ka->kr", inverse_root, np.einsum("kar,kr->ka", inverse_root, (precision * at_data @ z[:, None])[:, :, 0]))
    thresholds = np.full(posterior.n_draws, z.max())
    if len(pending):
        at_pending = np.einsum("kr,krn->kn", posterior.weights, posterior.component_products(pending))
        thresholds = np.maximum(thresholds, at_pending.max(axis=1))
    best_first = np.argsort(-z, kind="stable")[:16]
    incumbents = np.stack([axis.locate(posterior.X[best_first, d]) for d, axis in enumerate(posterior.grid)], axis=1)
    return Draws(
        axes=posterior.axes,
        factors=posterior.factors,
        weights=posterior.weights,
        active=posterior.active,
        weight_means=means,
        weight_roots=inverse_root,
        thresholds=thresholds,
        incumbents=incumbents,
    )


def cells_of(posterior: "Posterior", points: ArrayLike | None, what: str) -> set[tuple[int, ...]]:
    """The cells that some points inside the box stand on; a point between axis points stands on none."""
    checked = points_of(posterior, points, what)
    places = np.stack([axis.locate(checked[:, d]) for d, axis in enumerate(posterior.grid)], axis=1)
    return {tuple(int(j) for j in row) for row in places if np.all(row >= 0)}
