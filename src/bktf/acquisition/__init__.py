"""Choosing the next point: scores and the searches for their maxima."""

from bktf.acquisition.choice import ACQUISITIONS, Choice, choose, choose_batch

__all__ = ["ACQUISITIONS", "Choice", "choose", "choose_batch"]
