"""Scores of points anywhere, under any acquisition and any kind of draws; the best of a list.

Where all that may be chosen is a list, its points are compared, and nothing is searched. Under a
process a long list is screened with few draws first; the most promising are compared with all.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bktf._typing import Bools, Floats
from bktf.acquisition.choose_arguments import Question
from bktf.acquisition.found import Found
from bktf.acquisition.improvement import expected_excess
from bktf.acquisition.posterior_view import PosteriorView
from bktf.acquisition.process_scores import given_pending, process_box_score
from bktf.acquisition.scores import MIN_CHANCE, BoxScore, thresholds_of_draws

BLOCK = 20_000  # points that are compared together
MAX_UNSCREENED = 2e7  # correlations with observations up to which no screening is done
SCREEN_DRAWS, N_SCREENED = 4, 2000  # draws that screen a list, and how many points stay

Scores = Callable[[Floats], Floats]  # of points (n, D) in the user's units


class PointScores(NamedTuple):
    """An acquisition as a function of points anywhere, weighted by the chance of success."""

    values: Scores
    rough: Scores | None  # the same from few draws, for screening; None where that saves nothing
    n_work: float  # correlations with observations of one point
    is_log: bool

    def plain(self, value: float) -> float:
        """A value that is no logarithm."""
        return math.exp(value) if self.is_log else value


def point_scores(
    view: PosteriorView,
    question: Question,
    pending: Floats,
    draw: int | None,
    rng: np.random.Generator,
) -> PointScores:
    """The acquisition of a question as a function of points."""
    if view.process is None or question.acquisition != "ei":
        score = _score_of_draws(view, question, pending, draw, rng)
        return PointScores(_weighted(question, view, score, is_log=False), None, 0.0, False)
    given = given_pending(view, view.best(question.best), pending, rng)
    few, kept = given.process.thinned(SCREEN_DRAWS)
    all_draws = process_box_score(given.process, given.thresholds)
    few_draws = process_box_score(few, given.thresholds[kept])

    def of(score: BoxScore) -> Scores:
        """A score of points in the user's units."""
        return _weighted(question, view, lambda some: score.values(view.scaled(some)), is_log=True)

    n_work = given.process.coefficients.size * len(view.grid)
    return PointScores(of(all_draws), of(few_draws), n_work, True)


def best_of_list(scores: PointScores, points: Floats) -> Found:
    """The best of points (N, D) in the user's units; its score is no logarithm."""
    if not len(points):
        return Found(None, -math.inf, "nothing allowed")
    is_long = scores.n_work * len(points) > MAX_UNSCREENED and len(points) > N_SCREENED
    if scores.rough is not None and is_long:
        rough = _in_blocks(scores.rough, points)
        points = points[np.argsort(-rough, kind="stable")[:N_SCREENED]]
    values = _in_blocks(scores.values, points)
    best = int(values.argmax())
    return Found(points[best], scores.plain(float(values[best])), "comparison")


def allowed_points(question: Question, taken: Floats) -> Floats:
    """The points (N, D) of the list that are not taken and keep the fixed coordinates."""
    points: Floats = getattr(question.feasible, "points", np.empty((0, 0)))
    keep: Bools = np.ones(len(points), dtype=bool)
    for d, x in question.fixed.items():
        keep &= points[:, d] == x
    known = {tuple(row) for row in taken.tolist()}
    kept = points[keep]
    return kept[[tuple(row) not in known for row in kept.tolist()]]


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


def _weighted(question: Question, view: PosteriorView, score: Scores, is_log: bool) -> Scores:
    """A score weighted by the chance of success, where there is one."""
    chance = question.chance
    if chance is None:
        return score
    worst = 0.0 if question.acquisition == "ei" else float(view.z.min())

    def weighted(some: Floats) -> Floats:
        """Weighted scores (n,) of points (n, D)."""
        values, weights = score(some), np.clip(chance(some), MIN_CHANCE, 1.0)
        if is_log:
            return np.asarray(values + np.log(weights))
        return np.asarray(np.where(values > worst, worst + (values - worst) * weights, values))

    return weighted
