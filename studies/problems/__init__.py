"""The problems of both studies: a search space, a function to minimise, a known optimum."""

from studies.problems.comparison_problems import (
    COMPARISON_PROBLEMS,
    DEVELOPMENT,
    TEST,
    ComparisonProblem,
)
from studies.problems.grid import Grid, GridProblem, on_cells
from studies.problems.paper_problems import (
    CONTROLS,
    INTRO,
    INTRO_CONTROL,
    PAPER,
    PAPER_PROBLEMS,
    PaperProblem,
)
from studies.problems.problem import Floats, Params, Problem, Space, UnitCube, sample
from studies.problems.tuning import TASKS, Task, TuningProblem, tuning_problem

__all__ = [
    "COMPARISON_PROBLEMS",
    "CONTROLS",
    "DEVELOPMENT",
    "INTRO",
    "INTRO_CONTROL",
    "PAPER",
    "PAPER_PROBLEMS",
    "TASKS",
    "TEST",
    "ComparisonProblem",
    "Floats",
    "Grid",
    "GridProblem",
    "PaperProblem",
    "Params",
    "Problem",
    "Space",
    "Task",
    "TuningProblem",
    "UnitCube",
    "on_cells",
    "sample",
    "tuning_problem",
]
