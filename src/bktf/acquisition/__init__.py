"""Choosing the next point: scores of draws × searches over grids and boxes."""

from bktf.acquisition.choice import Choice, choose, choose_batch
from bktf.acquisition.choose_arguments import ACQUISITIONS, check_acquisition, check_beta
from bktf.acquisition.component_scores import component_score
from bktf.acquisition.draws_protocol import Draws
from bktf.acquisition.improvement import expected_excess, improvement_beyond
from bktf.acquisition.path_choice import WHOLE_FUNCTIONS
from bktf.acquisition.path_search import PathMaxima, maximise_paths
from bktf.acquisition.posterior_view import PosteriorLike, PosteriorView, points_of
from bktf.acquisition.search_domain import DomainPart, SearchDomain

__all__ = [
    "ACQUISITIONS",
    "WHOLE_FUNCTIONS",
    "Choice",
    "DomainPart",
    "Draws",
    "PathMaxima",
    "PosteriorLike",
    "PosteriorView",
    "SearchDomain",
    "check_acquisition",
    "check_beta",
    "choose",
    "choose_batch",
    "component_score",
    "expected_excess",
    "improvement_beyond",
    "maximise_paths",
    "points_of",
]
