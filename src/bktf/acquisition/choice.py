"""Choosing the next point: a score of the draws, and the search for its maximum.

`choose` and `choose_batch` convert from the user's units to the model's units and back.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bktf._typing import Floats
from bktf.acquisition.box_search import search_box
from bktf.acquisition.choose_arguments import (
    ACQUISITIONS,
    N_NEAR_INCUMBENTS,
    Domain,
    Question,
    check_acquisition,
    check_beta,
    make_domain,
)
from bktf.acquisition.component_scores import component_score, maximum_score
from bktf.acquisition.found import Found
from bktf.acquisition.grid_search import search_grid
from bktf.acquisition.list_search import (
    PointScores,
    allowed_points,
    best_of_list,
    point_scores,
)
from bktf.acquisition.path_choice import WHOLE_FUNCTIONS, choose_by_paths
from bktf.acquisition.posterior_view import PosteriorLike, PosteriorView, points_of
from bktf.acquisition.process_scores import (
    given_pending,
    n_comparable,
    process_box_score,
    process_score,
)
from bktf.acquisition.proposal_search import search_proposals
from bktf.acquisition.scores import BoxScore, ChanceWeighted, GridScore, thresholds_of_draws

__all__ = [
    "ACQUISITIONS",
    "Choice",
    "check_acquisition",
    "check_beta",
    "choose",
    "choose_batch",
    "points_of",
]

NEGLIGIBLE = 1e-9  # expected improvement in standard deviations of y that counts as none


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen point and how it was found.

    value: of the acquisition, in the units of y (for EI with the weights integrated out too, and
        weighted by the chance of success)
    method: "hull", "hull in space", "bounded search", "enumeration", "coordinate ascent",
        "gradient ascent", "comparison" of a list of points, "proposals" or "sample paths";
        ", weights integrated out" is added where plain EI was negligible at every cell that was
        compared; "restricted …" on a grid under restrictions, and "restricted walk" or, on a box,
        "restricted search" where `is_poor`
    exact: whether it is certain that no allowed cell is better
    gap: upper bound on how much better another allowed cell can be, in the units of y; infinity
        without a bound
    is_poor: whether feasible points are so rare that only some near known ones were compared
    """

    point: Floats | None  # (D,) in the user's units; None where every cell is excluded
    value: float
    method: str
    exact: bool
    gap: float
    is_poor: bool = False


def choose(
    posterior: PosteriorLike,
    acquisition: str = "ei",
    *,
    beta: float = 2.0,
    exclude: ArrayLike | None = None,
    pending: ArrayLike | None = None,
    integrate_weights: bool = False,
    feasible: Callable[[Floats], bool] | None = None,
    chance: Callable[[Floats], Floats] | None = None,
    fixed: Mapping[int, float] | None = None,
    within: Mapping[int, ArrayLike] | None = None,
    best: float | None = None,
    free: Collection[int] = (),
    region: ArrayLike | None = None,
    seed: int = 0,
) -> Choice:
    """The next point of the grid to evaluate. Larger is better; `posterior.argmin` negates f.

    Args:
        posterior: a fit.
        acquisition: "ei", "ucb", "max" (over draws, what the paper's experiments use) or
            "thompson" (one draw's maximum).
        beta: the weight of the standard deviation in "ucb", u + β·√v. (Optuna and BoTorch write
            √β·σ.)
        exclude: points that must not be chosen, (n, D). Pass `posterior.X` so that no point is
            evaluated twice; omit it where noise makes repeats useful.
        pending: points under evaluation. They are not chosen again, and "ei" must improve on each
            draw's values there. (With the weights integrated out, only the threshold depends on
            them, not the distribution of the weights.)
        integrate_weights: for "ei", integrate the weights out given each draw's factors, which
            makes log EI finite everywhere.
        feasible: whether a point (D,) may be evaluated; only feasible points are chosen. If it has
            an attribute `points` (N, D), those are all feasible points (None: not known). Up to
            20,000 of them are enumerated instead of searched. With an attribute `is_list` that is
            true they are compared wherever they lie, on axis points or between them. With methods
            as `proposal_search.Proposals` has, it proposes the points that are compared.
        chance: the probabilities (n,) that evaluations at points (n, D) succeed; the acquisition is
            weighted by them. If it has a method on_axes(axes) that returns the same as a function
            of cells, that one is used.
        fixed: axes that must keep a value, as {axis: value}; the value must be a point of the axis.
            Infinity, an inactive parameter, is chosen only where it is given here.
        within: points that an axis may take, as {axis: points}, or the ends of a free axis; all
            must be points of the axis.
        best: the threshold of "ei", in the units of y; by default the best observed value. With
            noise, where repeats are allowed, the best posterior mean at an observed point is the
            better threshold.
        free: axes on which every value between the ends may be chosen, not only the axis points.
            Used at infinite rank, but not for "ucb"; otherwise only axis points are chosen.
        region: lower and upper ends, (2, D), of a box to stay in on ordered axes. Only used for
            "ei" at infinite rank, where not all cells of a grid are compared.
        seed: selects the draw of "thompson" and the random starts of searches.

    Paper: sections 3.4 and 6. Differs: D10, D11.
    """
    question = Question(
        acquisition, beta, integrate_weights, feasible, chance, dict(fixed or {}),
        _as_arrays(within), best,
        frozenset(free), seed, None if region is None else np.asarray(region, dtype=float),
    )  # fmt: skip
    view = PosteriorView(posterior)
    excluded, waiting = view.checked(exclude, "exclude"), view.checked(pending, "pending")
    return _choose(view, question, np.concatenate((excluded, waiting)), waiting, None)


def choose_batch(
    posterior: PosteriorLike,
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
    within: Mapping[int, ArrayLike] | None = None,
    best: float | None = None,
    free: Collection[int] = (),
    seed: int = 0,
) -> tuple[Choice, ...]:
    """The next q points to evaluate together; fewer where the grid has no more.

    They are chosen one after the other, with the previous ones as pending. So "ei" is
    sequential-greedy EI over the joint draws, and "thompson" takes the maxima of different draws.
    """
    if isinstance(q, bool) or not isinstance(q, int | np.integer) or q < 1:
        raise ValueError(f"q must be a whole number of at least 1; got {q!r}")
    question = Question(
        acquisition, beta, integrate_weights, feasible, chance, dict(fixed or {}),
        _as_arrays(within), best,
        frozenset(free), seed,
    )  # fmt: skip
    view = PosteriorView(posterior)
    excluded, waiting = view.checked(exclude, "exclude"), view.checked(pending, "pending")
    order = np.random.default_rng([seed, view.seed]).permutation(view.n_draws)
    chosen: list[Choice] = []
    for i in range(q):
        taken, draw = np.concatenate((excluded, waiting)), int(order[i % order.size])
        choice = _choose(view, question, taken, waiting, draw)
        if choice.point is None:
            break
        chosen.append(choice)
        waiting = np.vstack((waiting, choice.point))
    return tuple(chosen)


def _as_arrays(within: Mapping[int, ArrayLike] | None) -> dict[int, Floats]:
    """The points that axes may take, as arrays."""
    return {d: np.asarray(points, dtype=float) for d, points in (within or {}).items()}


def _choose(
    view: PosteriorView,
    question: Question,
    taken: Floats,
    pending: Floats,
    draw: int | None,
) -> Choice:
    """`choose` with everything checked: taken (n, D) may not be chosen, pending included."""
    rng = np.random.default_rng([question.seed, view.seed])
    is_ei = question.acquisition == "ei"
    domain = make_domain(view, question, taken)
    if view.process is not None and question.acquisition in WHOLE_FUNCTIONS:
        found = choose_by_paths(view, question, taken, draw, rng)
        point = found.at
    elif getattr(question.feasible, "is_list", False):
        scores = point_scores(view, question, pending, draw, rng)
        found = best_of_list(scores, allowed_points(question, taken))
        point = found.at
    elif hasattr(question.feasible, "random_points"):
        scores = point_scores(view, question, pending, draw, rng)
        found = _search_proposals(view, question, scores, taken, rng)
        point = found.at
    elif _is_searched_as_box(domain):
        found = _search_box(domain, pending, rng)
        point = None if found.at is None else domain.unscaled(found.at)
    else:
        found = _search_grid(domain, pending, draw, rng)
        point = None if found.at is None else domain.points(found.at[None])[0]
    if point is None:
        return Choice(None, -math.inf, found.method, found.is_exact, found.gap)
    scale, offset = view.units.scale, 0.0 if is_ei else view.units.mean
    value, gap = scale * found.score + offset, scale * found.gap
    if view.process is not None:  # only a subset of its draws is used, so there is no bound
        return Choice(point, value, found.method, False, math.inf, found.is_thin)
    return Choice(point, value, found.method, found.is_exact, gap, found.is_thin)


def _search_proposals(
    view: PosteriorView,
    question: Question,
    scores: PointScores,
    taken: Floats,
    rng: np.random.Generator,
) -> Found:
    """The best point of a set that proposes its own points."""
    proposals: Any = question.feasible
    incumbents = view.best_points(N_NEAR_INCUMBENTS)
    found = search_proposals(scores.values, proposals, incumbents, taken, question.fixed, rng)
    return found if found.at is None else replace(found, score=scores.plain(found.score))


def _is_searched_as_box(domain: Domain) -> bool:
    """Whether the score has a gradient and its cells cannot all be compared.

    On a grid under restrictions the search of cells is used, which knows feasible cells.
    """
    view, question = domain.view, domain.question
    if view.process is None or view.has_components or question.acquisition != "ei":
        return False
    if domain.free:
        return True
    n_cells = math.prod(axis.size for axis in domain.axes)
    is_restricted = question.feasible is not None or question.chance is not None
    return not is_restricted and n_cells > n_comparable(view.process)


def _search_box(domain: Domain, pending: Floats, rng: np.random.Generator) -> Found:
    """The point of the box with the best EI, for draws of a Gaussian process only."""
    given = given_pending(domain.view, domain.view.best(domain.question.best), pending, rng)
    axes = enumerate(domain.scaled_axes)
    shared = {d: float(axis[0]) for d, axis in axes if axis.size == 1}
    process = given.process.keeping(shared) if shared else given.process
    plain: BoxScore = process_box_score(process, given.thresholds)
    chance = domain.chance_of_points()
    score = plain if chance is None else ChanceWeighted(plain, chance, 0.0)
    return _without_log(search_box(score, domain.box(), rng), is_log=True)


def _search_grid(
    domain: Domain,
    pending: Floats,
    draw: int | None,
    rng: np.random.Generator,
) -> Found:
    """The best cell; where plain EI is negligible, by EI with the weights integrated out."""
    question, grid = domain.question, domain.grid()
    score = _weighted(domain, _grid_score(domain, pending, draw, rng))
    found = _without_log(search_grid(score, grid, rng), score.is_log)
    is_plain_ei = question.acquisition == "ei" and not score.is_log
    if found.at is None or not is_plain_ei or found.score > NEGLIGIBLE:
        return found
    with_integration = replace(domain, question=replace(question, integrate_weights=True))
    score = _weighted(with_integration, _grid_score(with_integration, pending, draw, rng))
    incumbents = np.concatenate((grid.incumbents, found.at[None]))
    found = _without_log(search_grid(score, replace(grid, incumbents=incumbents), rng), True)
    return replace(found, method=f"{found.method}, weights integrated out")


def _grid_score(
    domain: Domain,
    pending: Floats,
    draw: int | None,
    rng: np.random.Generator,
) -> GridScore:
    """The score of cells for the acquisition and the kind of draws."""
    view, question = domain.view, domain.question
    acquisition, best = question.acquisition, view.best(question.best)
    if view.process is not None:
        given = given_pending(view, best, pending, rng)
        grid_components = view.components_on(domain.kept) if view.has_components else None
        beta = question.beta if acquisition == "ucb" else None
        return process_score(given, domain.scaled_axes, grid_components, beta)
    components = view.components_on(domain.kept)
    if acquisition == "max":
        return maximum_score(components)
    if acquisition == "thompson":
        drawn = int(rng.integers(view.n_draws)) if draw is None else draw
        return maximum_score(components, drawn)
    thresholds = thresholds_of_draws(best, view.components_at(pending))
    integrates = acquisition == "ei" and question.integrate_weights
    weights = view.weight_posterior() if integrates else None
    return component_score(components, acquisition, question.beta, thresholds, weights)


def _weighted(domain: Domain, plain: GridScore) -> GridScore | ChanceWeighted[GridScore]:
    """The score weighted by the chance of success, where there is one."""
    chance = domain.chance_of_cells()
    worst = 0.0 if domain.question.acquisition == "ei" else float(domain.view.z.min())
    return plain if chance is None else ChanceWeighted(plain, chance, worst)


def _without_log(found: Found, is_log: bool) -> Found:
    """The same result with the score itself instead of its logarithm."""
    return replace(found, score=math.exp(found.score)) if is_log else found
