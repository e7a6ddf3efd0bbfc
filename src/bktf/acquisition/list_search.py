"""The best of a list of points, under any acquisition and any kind of draws.

Where all that may be chosen is a list, its points are compared, and nothing is searched. Under a
process a long list is screened with few draws first; the most promising are compared with all.
"""

import math
from collections.abc import Callable

import numpy as np

from bktf._typing import Bools, Floats
from bktf.acquisition.choose_arguments import Question
from bktf.acquisition.found import Found
from bktf.acquisition.improvement import expected_excess
from bktf.acquisition.posterior_view import PosteriorView
from bktf.acquisition.process_scores import given_pending, process_box_score
from bktf.acquisition.scores import MIN_CHANCE, thresholds_of_draws

BLOCK = 20_000  # points that are compared together
MAX_UNSCREENED = 2e7  # correlations with observations up to which no screening is done
SCREEN_DRAWS, N_SCREENED = 4, 2000  # draws that screen a list, and how many points stay

Scores = Callable[[Floats], Floats]  # of points (n, D) in the user's units


def best_of_list(
    view: PosteriorView,
    question: Question,
    points: Floats,
    pending: Floats,
    draw: int | None,
    rng: np.random.Generator,
) -> Found:
    """The best of points (N, D) in the user's units; its score is no logarithm."""
    if not len(points):
        return Found(None, -math.inf, "nothing allowed")
    if view.process is not None and question.acquisition == "ei":
        return _best_of_process(view, question, points, pending, rng)
    score = _score_of_draws(view, question, pending, draw, rng)
    values = _weighted(question, view, points, _in_blocks(score, points), is_log=False)
    return _found(points, values)


def allowed_points(question: Question, taken: Floats) -> Floats:
    """The points (N, D) of the list that are not taken and keep the fixed coordinates."""
    points: Floats = getattr(question.feasible, "points", np.empty((0, 0)))
    keep: Bools = np.ones(len(points), dtype=bool)
    for d, x in question.fixed.items():
        keep &= points[:, d] == x
    known = {tuple(row) for row in taken.tolist()}
    kept = points[keep]
    return kept[[tuple(row) not in known for row in kept.tolist()]]


def _best_of_process(
    view: PosteriorView,
    question: Question,
    points: Floats,
    pending: Floats,
    rng: np.random.Generator,
) -> Found:
    """The point with the best log EI, screened where the list is long."""
    given = given_pending(view, view.best(question.best), pending, rng)
    process = given.process
    if process.coefficients.size * points.size > MAX_UNSCREENED and len(points) > N_SCREENED:
        few, kept = process.thinned(SCREEN_DRAWS)
        rough = process_box_score(few, given.thresholds[kept])
        values = _in_blocks(lambda some: rough.values(view.scaled(some)), points)
        values = _weighted(question, view, points, values, is_log=True)
        points = points[np.argsort(-values, kind="stable")[:N_SCREENED]]
    score = process_box_score(process, given.thresholds)
    values = _in_blocks(lambda some: score.values(view.scaled(some)), points)
    values = _weighted(question, view, points, values, is_log=True)
    best = int(values.argmax())
    return Found(points[best], math.exp(values[best]), "comparison")


def _score_of_draws(
    view: PosteriorView,
    question: Question,
    pending: Floats,
    draw: int | None,
    rng: np.random.Generator,
) -> Scores:
    """The score from moments, or draws, of f at the points."""
    draws, acquisition = view.posterior.draws, question.acquisition
    if acquisition == "max":
        return lambda some: np.asarray(draws.draw_each(some, rng).max(axis=0))
    if acquisition == "thompson":
        drawn = int(rng.integers(view.n_draws)) if draw is None else draw
        return lambda some: np.asarray(draws.draw_each(some, rng)[drawn])

    def upper_bound(some: Floats) -> Floats:
        moments = draws.moments(some)
        return np.asarray(moments.mean + question.beta * np.sqrt(moments.variance))

    if acquisition == "ucb":
        return upper_bound
    at_pending = draws.draw_at(pending) if len(pending) else np.empty((view.n_draws, 0))
    thresholds = thresholds_of_draws(view.best(question.best), at_pending)[:, None]

    def improvement(some: Floats) -> Floats:
        mean, variance = draws.moments_by_draw(some)
        return np.asarray(expected_excess(mean - thresholds, np.sqrt(variance)).mean(axis=0))

    return improvement


def _in_blocks(score: Scores, points: Floats) -> Floats:
    """Scores (N,) of points (N, D)."""
    starts = range(0, len(points), BLOCK)
    return np.concatenate([score(points[i : i + BLOCK]) for i in starts])


def _weighted(
    question: Question, view: PosteriorView, points: Floats, values: Floats, is_log: bool
) -> Floats:
    """Scores (N,) weighted by the chance of success, where there is one."""
    if question.chance is None:
        return values
    chance = np.clip(_in_blocks(question.chance, points), MIN_CHANCE, 1.0)
    if is_log:
        return np.asarray(values + np.log(chance))
    worst = 0.0 if question.acquisition == "ei" else float(view.z.min())
    return np.asarray(np.where(values > worst, worst + (values - worst) * chance, values))


def _found(points: Floats, values: Floats) -> Found:
    """The best point."""
    best = int(values.argmax())
    return Found(points[best], float(values[best]), "comparison")
