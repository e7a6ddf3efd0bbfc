"""Choosing the next point: scores of draws × searches over grids and boxes."""

from bktf.acquisition.choice import Choice, choose, choose_batch
from bktf.acquisition.choose_arguments import ACQUISITIONS, check_acquisition, check_beta
from bktf.acquisition.component_scores import component_score
from bktf.acquisition.draws_protocol import Draws
from bktf.acquisition.improvement import expected_excess, improvement_beyond
from bktf.acquisition.posterior_view import PosteriorView, points_of

__all__ = [
    "ACQUISITIONS",
    "Choice",
    "Draws",
    "PosteriorView",
    "check_acquisition",
    "check_beta",
    "choose",
    "choose_batch",
    "component_score",
    "expected_excess",
    "improvement_beyond",
    "points_of",
]
