"""Search spaces: what users write, coordinates on axes, and which points are feasible."""

from bktf.spaces.branches import (
    Branch,
    activation_at,
    branch_of,
    deactivate,
    division_ends,
    find_branches,
    has_conditions,
    is_active_at,
    n_points,
    parents_first,
    point_at,
    points_in,
    values_in,
)
from bktf.spaces.candidates import CandidateList, Pool, read_pool, row_values, table_points
from bktf.spaces.conditions import ALWAYS, INACTIVE, Activation, Condition
from bktf.spaces.feasible_points import Feasibility, LinearConstraint
from bktf.spaces.mixtures import Mixture, mixture, sums_to_totals
from bktf.spaces.parameters import (
    CATEGORICAL,
    Parameter,
    RefinedAxis,
    can_be_modelled,
    is_multiple,
    only_value,
    parameters_of,
    refine_axis,
    values_at,
)
from bktf.spaces.proposals import MixtureSpace
from bktf.spaces.user_space import Choices, Space, When, choices, read_space, when
from bktf.spaces.user_tables import UserTable, column_numbers, read_table

__all__ = [
    "ALWAYS",
    "CATEGORICAL",
    "INACTIVE",
    "Activation",
    "Branch",
    "CandidateList",
    "Choices",
    "Condition",
    "Feasibility",
    "LinearConstraint",
    "Mixture",
    "MixtureSpace",
    "Parameter",
    "Pool",
    "RefinedAxis",
    "Space",
    "UserTable",
    "When",
    "activation_at",
    "branch_of",
    "can_be_modelled",
    "choices",
    "column_numbers",
    "deactivate",
    "division_ends",
    "find_branches",
    "has_conditions",
    "is_active_at",
    "is_multiple",
    "mixture",
    "n_points",
    "only_value",
    "parameters_of",
    "parents_first",
    "point_at",
    "points_in",
    "read_pool",
    "read_space",
    "read_table",
    "refine_axis",
    "row_values",
    "sums_to_totals",
    "table_points",
    "values_at",
    "values_in",
    "when",
]
