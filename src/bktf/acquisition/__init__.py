"""Choosing the next point: scores and the searches for their maxima."""

from bktf.acquisition.choice import *  # noqa: F403
