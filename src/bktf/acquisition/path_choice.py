"""Acquisitions "max" and "thompson" at every rank: maxima of whole functions of the posterior."""

import numpy as np

from bktf._typing import Floats
from bktf.acquisition.choose_arguments import Question
from bktf.acquisition.found import Found
from bktf.acquisition.path_search import PathMaxima, maximise_paths
from bktf.acquisition.posterior_view import PosteriorView
from bktf.acquisition.scores import MIN_CHANCE
from bktf.acquisition.search_domain import DomainPart, SearchDomain

WHOLE_FUNCTIONS = ("max", "thompson")  # acquisitions that are maxima of whole functions


def choose_by_paths(
    view: PosteriorView,
    question: Question,
    taken: Floats,
    draw: int | None,
    rng: np.random.Generator,
) -> Found:
    """The best point of one path ("thompson"), or of as many as there are draws ("max").

    The point is in the user's units. taken (n, D) may not be chosen; draw: which path, for a batch.
    """
    paths = view.posterior.draws.paths(view.n_draws, question.seed)
    if question.acquisition == "thompson":
        drawn = int(rng.integers(view.n_draws)) if draw is None else draw
        paths = paths.select([drawn])
    part = DomainPart(question.fixed, question.within)
    domain = SearchDomain((part,), question.feasible, question.free)
    chance, worst = question.chance, float(view.z.min())

    def weigh(values: Floats, points: Floats) -> Floats:
        """The part of values (N, m) above the worst observed one, times the chance of success."""
        assert chance is not None
        weights = np.clip(chance(points), MIN_CHANCE, 1.0)
        return np.where(values > worst, worst + (values - worst) * weights, values)

    found: PathMaxima = maximise_paths(
        view, paths, domain, rng, taken, None if chance is None else weigh
    )
    best = int(found.values.argmax())
    if found.values[best] == -np.inf:
        return Found(None, -np.inf, "nothing allowed", True, 0.0)
    return Found(found.points[best], float(found.values[best]), "sample paths")
