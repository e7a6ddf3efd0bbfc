"""Search spaces: what users write, coordinates on axes, and which points are feasible."""

from bktf.spaces.feasible_points import Feasibility, LinearConstraint
from bktf.spaces.parameters import (
    CATEGORICAL,
    Parameter,
    RefinedAxis,
    can_be_modelled,
    n_points,
    only_value,
    parameters_of,
    refine_axis,
    values_at,
)
from bktf.spaces.user_space import Choices, Space, choices, read_space

__all__ = [
    "CATEGORICAL",
    "Choices",
    "Feasibility",
    "LinearConstraint",
    "Parameter",
    "RefinedAxis",
    "Space",
    "can_be_modelled",
    "choices",
    "n_points",
    "only_value",
    "parameters_of",
    "read_space",
    "refine_axis",
    "values_at",
]
