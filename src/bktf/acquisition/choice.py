"""Choosing the next point: max over draws, Thompson, B-UCB and expected improvement, without building the tensor.

From points in the user's units to cells and back; `best_cells` finds the cell.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from bktf.acquisition.gradient_search import make_ascent
from bktf.acquisition.grid_choice import Draws, FreeWeights, Restriction, choose_cell
from bktf.acquisition.process_scores import given_pending, make_score
from bktf.acquisition.restricted_search import Weighted, best_allowed
from bktf.axis_kernels.axes import SAME_POINT, check_points
from bktf.product_forms.cp_forms import Floats, Ints

if TYPE_CHECKING:  # the posterior calls this room; here its name is only for readers and type checkers
    from bktf.surrogate.posterior import Posterior

N_INCUMBENTS = 4  # best points around which a search between axis points begins
ACQUISITIONS = ("ei", "ucb", "max", "thompson")


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen point and how it was found.

    value: of the acquisition, in the units of y (for EI with the weights integrated out too, and weighted by the chance of success)
    method: "hull", "hull in space", "bounded search", "enumeration", "coordinate ascent" or "gradient ascent"; with
        ", weights integrated out" where plain EI is zero at every cell it looked at; "restricted …" under restrictions, and
        "restricted walk" or "restricted search" where feasible points are so rare that only some near to known ones were compared
    exact: whether no allowed cell is better
    gap: by how much an allowed cell can be better at most, in the units of y; infinity where nothing is known
    """

    point: Floats | None  # (D,) in the user's units; None where every cell is excluded
    value: float
    method: str
    exact: bool
    gap: float


def choose(
    posterior: "Posterior",
    acquisition: str = "ei",
    *,
    beta: float = 2.0,
    exclude: ArrayLike | None = None,
    pending: ArrayLike | None = None,
    integrate_weights: bool = False,
    feasible: Callable[[Floats], bool] | None = None,
    chance: Callable[[Floats], Floats] | None = None,
    fixed: Mapping[int, float] | None = None,
    best: float | None = None,
    free: Collection[int] = (),
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
        feasible: whether a point (D,) may be tried; only points for which it is true are chosen. If it has an attribute `points` (N, D),
            those are all such points (None: not known); up to 20,000 of them are compared instead of searched for.
        chance: the chance (n,) that trying each of some points (n, D) succeeds at all; what a point promises is weighted by it. If it has
            a method on_axes(axes) that returns the same as a function of cells, that is used.
        fixed: axes that must keep a value, as {axis: value}; the value must be a point of the axis.
        best: what "ei" must exceed, in the units of y; by default the best observed value. With noise, where repeats are allowed, the
            best posterior mean at an observed point is the better mark.
        free: axes on which every value between the ends may be chosen, not only the axis points. Heard where the draws are a Gaussian
            process alone (rank 0 with a local component), for "ei"; otherwise the axis points are all there is.
        seed: for "thompson" which draw, and for coordinate ascent where its random starts are.

    Paper: sections 3.4 and 6. Differs: D10, D11.
    """
    question = _Question(acquisition, beta, integrate_weights, feasible, chance, dict(fixed or {}), best, frozenset(free), seed)
    return _choose(posterior, question, exclude, points_of(posterior, pending, "pending"), None)


def check_acquisition(acquisition: str) -> None:
    """Refuse a name that is no acquisition."""
    if acquisition not in ACQUISITIONS:
        raise ValueError(f"acquisition must be one of {', '.join(map(repr, ACQUISITIONS))}; got {acquisition!r}")


def check_beta(beta: float) -> None:
    """Refuse a weight that is negative or no number."""
    number = isinstance(beta, int | float | np.number) and not isinstance(beta, bool)
    if not number or not math.isfinite(beta) or beta < 0:
        raise ValueError(f"beta must be a number of at least 0; got {beta!r}")


@dataclass(frozen=True)
class _Question:
    """What was asked, beside the points: the arguments of `choose`."""

    acquisition: str
    beta: float
    integrate_weights: bool
    feasible: Callable[[Floats], bool] | None
    chance: Callable[[Floats], Floats] | None
    fixed: dict[int, float]
    best: float | None
    free: frozenset[int]
    seed: int

    def __post_init__(self) -> None:
        check_acquisition(self.acquisition)
        check_beta(self.beta)
        if any(isinstance(d, bool) or not isinstance(d, int | np.integer) for d in self.free):
            raise ValueError(f"free must name axes by their numbers; got {sorted(map(str, self.free))}")
        if self.best is not None and not math.isfinite(self.best):
            raise ValueError(f"best must be a finite number in the units of y, or None; got {self.best!r}")


def _choose(posterior: "Posterior", question: _Question, exclude: ArrayLike | None, waiting: Floats, draw: int | None) -> Choice:
    """`choose` with everything checked."""
    for d in question.free:
        if d not in range(len(posterior.grid)) or posterior.grid[d].kernel.on_levels:
            raise ValueError(f"free must name ordered axes among 0 … {len(posterior.grid) - 1}; got {d!r}")
    draws = draws_of(posterior, waiting, question.best)
    excluded = cells_of(posterior, exclude, "exclude") | cells_of(posterior, waiting, "pending")
    held = _held_places(posterior, question.fixed)
    draws, excluded = _hold(draws, excluded, held)
    restriction = None
    if question.feasible is not None or question.chance is not None:
        restriction = _restriction(draws, question)
    rng = np.random.default_rng([question.seed, posterior.seed])
    if posterior.rank == math.inf and question.acquisition == "ei" and question.free - held.keys():
        return _choose_between(posterior, question, exclude, waiting, draws, held, rng)
    if posterior.draws.process is not None:
        cell, score, method, exact, gap = _choose_with_local(posterior, question, draws, excluded, waiting, restriction, rng)
    else:
        cell, score, method, exact, gap = choose_cell(
            draws, question.acquisition, question.beta, excluded, question.integrate_weights, rng, draw, restriction
        )
    if cell is None:
        return Choice(None, -math.inf, method, True, 0.0)
    scale = posterior.standardisation.scale
    value = scale * score + (posterior.standardisation.mean if question.acquisition != "ei" else 0.0)
    return Choice(_point(draws.axes, cell), value, method, exact, scale * gap)


def _choose_between(
    posterior: "Posterior", question: _Question, exclude: ArrayLike | None, waiting: Floats, draws: Draws, held: dict[int, int],
    rng: np.random.Generator,
) -> Choice:  # fmt: skip
    """The point of the box, free axes and all, with the best EI of draws that are a Gaussian process alone."""
    assert posterior.draws.process is not None
    grid = posterior.grid
    mark = posterior.standardisation.to_model(posterior.y).max() if question.best is None else _in_model(posterior, question.best)
    pending = _scaled(posterior, waiting)
    local, thresholds = given_pending(posterior.draws.process, np.zeros((posterior.n_draws, len(waiting))), pending, float(mark), rng)[:2]
    axes = tuple(axis.scale(points) for axis, points in zip(grid, draws.axes, strict=True))
    free = np.array([d in question.free and d not in held for d in range(len(grid))])
    excluded = np.concatenate((points_of(posterior, exclude, "exclude"), waiting))
    taken = _scaled(posterior, excluded)
    incumbents = _scaled(posterior, posterior.X[np.argsort(-posterior.y, kind="stable")[:N_INCUMBENTS]])
    for d in held:
        incumbents[:, d] = axes[d][0]

    def unscaled(points: Floats) -> Floats:
        return np.stack([axis.unscale(points[:, d]) for d, axis in enumerate(grid)], axis=1)

    def allowed(point: Floats) -> bool:
        is_new = not len(taken) or bool((np.abs(taken - point).max(axis=1) > SAME_POINT).all())
        return is_new and (question.feasible is None or bool(question.feasible(unscaled(point[None])[0])))

    def log_chance(points: Floats) -> Floats:
        assert question.chance is not None
        return np.log(np.clip(question.chance(unscaled(points)), 1e-300, 1.0))

    search = make_ascent(local, thresholds, axes, free)
    found = search.best(incumbents, allowed, rng, None if question.chance is None else log_chance)
    if found is None:
        return Choice(None, -math.inf, "nothing allowed", False, math.inf)
    value = posterior.standardisation.scale * math.exp(found.log_score)
    method = "restricted search" if found.is_rare else "gradient ascent"
    return Choice(unscaled(found.point[None])[0], value, method, False, math.inf)


def _scaled(posterior: "Posterior", points: Floats) -> Floats:
    return np.stack([axis.scale(points[:, d]) for d, axis in enumerate(posterior.grid)], axis=1)


def _in_model(posterior: "Posterior", value: float) -> float:
    return float(posterior.standardisation.to_model(np.array([value]))[0])


def _choose_with_local(
    posterior: "Posterior", question: _Question, draws: Draws, excluded: set[tuple[int, ...]], waiting: Floats,
    restriction: Restriction | None, rng: np.random.Generator,
) -> tuple[Ints | None, float, str, bool, float]:  # fmt: skip
    """`choose_cell` under draws with a local component, by enumeration or coordinate ascent on closed forms."""
    if question.acquisition not in ("ei", "ucb"):
        raise ValueError(
            f'with a local component the acquisition must be "ei" or "ucb"; got {question.acquisition!r}. Fit without it for others'
        )
    assert posterior.draws.process is not None
    scaled = tuple(axis.scale(points) for axis, points in zip(posterior.grid, draws.axes, strict=True))
    at_pending = np.zeros((posterior.n_draws, len(waiting)))
    if posterior.rank < math.inf:
        at_pending = np.einsum("kr,krn->kn", posterior.weights, posterior.component_products(waiting))
    pending = _scaled(posterior, waiting)
    z = posterior.standardisation.to_model(posterior.y)
    mark = float(z.max() if question.best is None else posterior.standardisation.to_model(np.array([question.best]))[0])
    own = make_score(posterior.draws.process, scaled, draws.factors, draws.weights, at_pending, pending, mark, rng)

    def score(cells: Ints) -> Floats:
        if question.acquisition == "ei":
            return own.log_improvement(cells)
        each = own.moments(cells)
        mean, square = each.mean.mean(axis=0), (each.mean**2 + each.variance).mean(axis=0)
        return np.asarray(mean + question.beta * np.sqrt(np.maximum(square - mean**2, 0.0)))

    chance = None if restriction is None else restriction.chance

    def weighted(cells: Ints) -> Floats:
        value = score(cells)
        if chance is None:
            return value
        if question.acquisition == "ei":
            return np.asarray(value + np.log(chance(cells)))
        return np.asarray(np.where(value > draws.worst, draws.worst + (value - draws.worst) * chance(cells), value))

    def allowed(cell: Ints) -> bool:
        open_to = restriction is None or restriction.allowed is None or restriction.allowed(cell)
        return tuple(cell.tolist()) not in excluded and open_to

    sizes = np.array([axis.size for axis in draws.axes])
    feasible, pool = (None, None) if restriction is None else (restriction.allowed, restriction.pool)
    found = best_allowed(Weighted(weighted, allowed, sizes, feasible, pool), draws.incumbents, rng)
    if found is None:
        return None, -math.inf, "nothing allowed", True, 0.0
    value = math.exp(found.score) if question.acquisition == "ei" else found.score
    method = "enumeration" if found.exact else "restricted walk" if found.thin else "coordinate ascent"
    return found.cell, value, method, False, math.inf


def _point(axes: tuple[Floats, ...], cell: Ints) -> Floats:
    """The point a cell (D,) stands for."""
    return np.array([axis[j] for axis, j in zip(axes, cell, strict=True)])


def _held_places(posterior: "Posterior", fixed: dict[int, float]) -> dict[int, int]:
    """The index of the axis point that each fixed axis must keep."""
    held = {}
    for d, value in fixed.items():
        if d not in range(len(posterior.grid)):
            raise ValueError(f"fixed must name axes among 0 … {len(posterior.grid) - 1}; got {d!r}")
        held[d] = int(posterior.grid[d].locate(np.array([value], dtype=float))[0])
        if held[d] < 0:
            raise ValueError(f"fixed[{d}] must be a point of axis {d}; got {value!r}. Add it to the axis before fitting")
    return held


def _hold(draws: Draws, excluded: set[tuple[int, ...]], held: dict[int, int]) -> tuple[Draws, set[tuple[int, ...]]]:
    """The same question on the part of the grid where some axes keep one of their points."""
    if not held:
        return draws, excluded
    incumbents = draws.incumbents.copy()
    incumbents[:, list(held)] = 0
    kept = [cell for cell in excluded if all(cell[d] == j for d, j in held.items())]
    return draws._replace(
        axes=tuple(axis[held[d] : held[d] + 1] if d in held else axis for d, axis in enumerate(draws.axes)),
        factors=tuple(f[:, :, held[d] : held[d] + 1] if d in held else f for d, f in enumerate(draws.factors)),
        incumbents=incumbents,
    ), {tuple(0 if d in held else j for d, j in enumerate(cell)) for cell in kept}


def _restriction(draws: Draws, question: _Question) -> Restriction:
    """The user's questions about points, as questions about cells."""
    feasible, chance = question.feasible, question.chance

    def points(cells: Ints) -> Floats:
        return np.stack([axis[cells[:, d]] for d, axis in enumerate(draws.axes)], axis=1)

    at_cells: Callable[[Ints], Floats] | None = None
    on_axes = getattr(chance, "on_axes", None)
    if on_axes is not None:  # it knows a faster way for points of a grid
        at_cells = on_axes(draws.axes)
    elif chance is not None:
        at_cells = lambda cells: chance(points(cells))  # noqa: E731
    return Restriction(
        None if feasible is None else lambda cell: bool(feasible(_point(draws.axes, cell))),
        None if at_cells is None else lambda cells: np.clip(at_cells(cells), 1e-300, 1.0),
        _cells_on(draws.axes, getattr(feasible, "points", None)),
    )


def _cells_on(axes: tuple[Floats, ...], points: Floats | None) -> Ints | None:
    """The cells of those points (N, D) that lie on axes; None for None."""
    if points is None:
        return None
    places = [np.minimum(np.searchsorted(axis, points[:, d]), axis.size - 1) for d, axis in enumerate(axes)]
    on_axes = [np.isclose(axis[j], points[:, d], rtol=1e-12, atol=0.0) for d, (axis, j) in enumerate(zip(axes, places, strict=True))]
    return np.stack(places, axis=1).astype(np.int64)[np.all(on_axes, axis=0)]


def choose_batch(
    posterior: "Posterior",
    q: int,
    acquisition: str = "ei",
    *,
    beta: float = 2.0,
    exclude: ArrayLike | None = None,
    pending: ArrayLike | None = None,
    integrate_weights: bool = False,
    feasible: Callable[[Floats], bool] | None = None,
    chance: Callable[[Floats], Floats] | None = None,
    fixed: Mapping[int, float] | None = None,
    best: float | None = None,
    free: Collection[int] = (),
    seed: int = 0,
) -> tuple[Choice, ...]:
    """The q points to try together, fewer where the grid has no more: one after the other, each taking those before as pending.

    "ei" is then sequential-greedy EI over the joint draws; "thompson" takes the maxima of different draws.
    """
    if isinstance(q, bool) or not isinstance(q, int | np.integer) or q < 1:
        raise ValueError(f"q must be a whole number of at least 1; got {q!r}")
    question = _Question(acquisition, beta, integrate_weights, feasible, chance, dict(fixed or {}), best, frozenset(free), seed)
    waiting = points_of(posterior, pending, "pending")
    order = np.random.default_rng([seed, posterior.seed]).permutation(posterior.n_draws)
    chosen: list[Choice] = []
    for i in range(q):
        draw = int(order[i % order.size])
        choice = _choose(posterior, question, exclude, waiting, draw)
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


def draws_of(posterior: "Posterior", pending: Floats, best: float | None = None) -> Draws:
    """What the acquisitions need to know of a posterior, of pending points (n, D), and of the mark to exceed."""
    z = posterior.standardisation.to_model(posterior.y)
    mark = z.max() if best is None else posterior.standardisation.to_model(np.array([best]))[0]
    thresholds = np.full(posterior.n_draws, mark)
    if len(pending) and posterior.rank < math.inf:
        at_pending = np.einsum("kr,krn->kn", posterior.weights, posterior.component_products(pending))
        thresholds = np.maximum(thresholds, at_pending.max(axis=1))
    best_first = np.argsort(-z, kind="stable")[:16]
    incumbents = np.stack([axis.locate(posterior.X[best_first, d]) for d, axis in enumerate(posterior.grid)], axis=1)
    n_draws, no_components = posterior.n_draws, posterior.rank == math.inf
    return Draws(
        axes=posterior.axes,
        factors=tuple(np.empty((n_draws, 0, a.size)) for a in posterior.axes) if no_components else posterior.factors,
        weights=np.empty((n_draws, 0)) if no_components else posterior.weights,
        active=np.empty((0, len(posterior.grid)), dtype=bool) if no_components else posterior.active,
        free_weights=lambda: _free_weights(posterior),
        thresholds=thresholds,
        worst=float(z.min()),
        incumbents=incumbents,
    )


def _free_weights(posterior: "Posterior") -> FreeWeights:
    """The posterior of the weights given each draw's factors and noise."""
    z = posterior.standardisation.to_model(posterior.y)
    at_data = posterior.component_products(posterior.X)  # (K, R, n)
    precision = posterior.noise_precision[:, None, None]
    identity = np.eye(len(posterior.active))
    prior = identity / posterior.draws.components.weight_vars[:, :, None]
    root = np.linalg.cholesky(precision * at_data @ at_data.transpose(0, 2, 1) + prior)
    inverse_root = np.linalg.solve(root, np.broadcast_to(identity, root.shape))
    means = np.einsum("kar,ka->kr", inverse_root, np.einsum("kar,kr->ka", inverse_root, (precision * at_data @ z[:, None])[:, :, 0]))
    return FreeWeights(means, inverse_root)


def cells_of(posterior: "Posterior", points: ArrayLike | None, what: str) -> set[tuple[int, ...]]:
    """The cells that some points inside the box stand on; a point between axis points stands on none."""
    checked = points_of(posterior, points, what)
    places = np.stack([axis.locate(checked[:, d]) for d, axis in enumerate(posterior.grid)], axis=1)
    return {tuple(int(j) for j in row) for row in places if np.all(row >= 0)}
