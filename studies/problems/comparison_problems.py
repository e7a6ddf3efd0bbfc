"""The problems of the comparison, and which half each belongs to.

The split was fixed before any setting was tuned on these problems. Settings are chosen on the
development half alone; results are published of the test half. The halves have the same kinds of
problems: grids of the paper with shifted controls, classic functions, emulators, mixed spaces,
noise, and tables of real hyperparameters. Classic functions are shifted and rotated, in few and in
many dimensions. A function and its control are in the same half, because one informs about the
other. Griewank, Levy, Ackley, Rastrigin and Rosenbrock are in both halves, but differ in dimension,
position and rotation. Branin and Hartmann are in both, with noise or in a mixed space in one.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache

import numpy as np
from optuna.distributions import FloatDistribution

from bktf.test_functions import hartmann6
from studies.problems import emulators
from studies.problems.classics import CLASSICS, moved
from studies.problems.emulators import Ranges
from studies.problems.grid import on_cells
from studies.problems.loss_tables import TABLES, load_table
from studies.problems.mixed import MIXED
from studies.problems.own_table import table_problem
from studies.problems.paper_functions import branin
from studies.problems.paper_problems import PAPER_PROBLEMS
from studies.problems.problem import Floats, Problem, sample

DEVELOPMENT, TEST = "development", "test"
N_RANGE = 1_000  # random points that a problem's range is estimated from


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparisonProblem(Problem):
    """A problem of one half."""

    half: str  # "development" or "test"
    group: str  # "paper", "classic", "emulator", "mixed", "noisy" or "table"

    @property
    def kind(self) -> str:
        """As of any problem, but "table" where it is one of real losses."""
        return "table" if self.group == "table" else super().kind

    @property
    def value_range(self) -> float:
        """Median of random points minus the minimum: the unit of "within one per cent"."""
        return _median_value(self) - self.minimum


@cache
def _median_value(problem: Problem) -> float:
    """The median value of random points."""
    rng = np.random.default_rng(0)
    points = [sample(problem.space, rng) for _ in range(N_RANGE)]
    return float(np.median(problem.values(points)))


def _budget(n_dims: int) -> int:
    """Evaluations after the start."""
    return 25 if n_dims <= 3 else 40


def _paper(name: str) -> Problem:
    """The grid of one of the paper's problems, or of its control."""
    problem = PAPER_PROBLEMS[name]
    budget, minimum = _budget(problem.n_dims), problem.best_grid_value
    return on_cells(problem, name=f"grid-{name}", minimum=minimum, budget=budget)


def _on_box(
    name: str,
    ranges: Ranges,
    function: Callable[[Floats], Floats],
    minimum: float,
    noise_std: float = 0.0,
) -> Problem:
    """A continuous box and a function of points (n, D)."""
    space = {k: FloatDistribution(low, high) for k, (low, high) in ranges.items()}
    return Problem(
        name=name,
        space=space,
        function=lambda p: float(function(np.array([[p[k] for k in space]]))[0]),
        minimum=minimum,
        budget=_budget(len(space)),
        noise_std=noise_std,
    )


def _classic(name: str, n_dims: int, seed: int, *, rotate: bool, noise_std: float = 0.0) -> Problem:
    """A classic function, shifted and (where its name ends in r) rotated."""
    classic = CLASSICS[name]
    function, _ = moved(classic, n_dims, seed, rotate)
    title = f"{name}{n_dims}{'r' if rotate else ''}{'-noisy' if noise_std else ''}"
    ranges = {f"x{d}": (float(classic.low), float(classic.high)) for d in range(n_dims)}
    return _on_box(title, ranges, function, classic.minimum(n_dims), noise_std)


def _unmoved(name: str, n_dims: int) -> Problem:
    """A classic function whose formula holds on its usual box only."""
    classic = CLASSICS[name]
    ranges = {f"x{d}": (float(classic.low), float(classic.high)) for d in range(n_dims)}
    return _on_box(f"{name}{n_dims}", ranges, classic.function, classic.minimum(n_dims))


def _mixed(name: str) -> Problem:
    """A space with categories, whole numbers or logarithms."""
    space, function, minimum = MIXED[name]
    budget = _budget(len(space))
    return Problem(name=name, space=space, function=function, minimum=minimum, budget=budget)


def _table(name: str) -> Problem:
    """A table of real losses; a number is its index among the values of its axis."""
    grid = TABLES[name].grid
    return table_problem(f"table-{name}", grid, load_table(name), _budget(len(grid)))


_HARTMANN_BOX = {f"x{d}": (0.0, 1.0) for d in range(6)}
_BRANIN_BOX = {"a": (-5.0, 10.0), "b": (0.0, 15.0)}
_DEVELOPMENT_GRIDS, _TEST_GRIDS = (
    [_paper(f"{name}{suffix}") for name in names for suffix in ("", "-shifted")]
    for names in (("branin", "damavandi", "griewank3"), ("schaffer", "griewank4", "hartmann6"))
)

_GROUPS: dict[str, dict[str, list[Problem]]] = {
    DEVELOPMENT: {
        "paper": _DEVELOPMENT_GRIDS,
        "classic": [
            _classic("ackley", 5, 11, rotate=True),
            _classic("levy", 4, 12, rotate=True),
            _classic("rastrigin", 4, 13, rotate=False),
            _classic("rosenbrock", 4, 14, rotate=True),
            _classic("styblinski", 6, 15, rotate=False),
            _unmoved("michalewicz", 5),
            _classic("rosenbrock", 10, 18, rotate=True),
            _classic("levy", 12, 16, rotate=True),
        ],
        "emulator": [
            _on_box("piston", emulators.PISTON, emulators.piston, 0.16422884916253186),
            _on_box("wing-weight", emulators.WING, emulators.wing_weight, 123.25367170091785),
        ],
        "mixed": [_mixed("tilted-branin"), _mixed("stepped-ackley"), _mixed("controller")],
        "noisy": [
            _on_box("branin-noisy", _BRANIN_BOX, branin, 0.39788735772973816, noise_std=2.0),
            _classic("ackley", 3, 17, rotate=True, noise_std=0.5),
        ],
        "table": [
            _table("svm-digits"),
            _table("boosting-diabetes"),
            _table("forest-wine"),
            _table("pipeline-digits"),
            _table("descent-breast-cancer"),
            _table("kernel-diabetes"),
        ],
    },
    TEST: {
        "paper": _TEST_GRIDS,
        "classic": [
            _classic("ackley", 8, 21, rotate=True),
            _classic("levy", 6, 22, rotate=True),
            _classic("rastrigin", 3, 23, rotate=True),
            _classic("rosenbrock", 6, 24, rotate=True),
            _classic("alpine", 5, 25, rotate=True),
            _unmoved("eggholder", 2),
            _classic("shekel", 4, 26, rotate=True),
            _classic("cosine", 8, 27, rotate=True),
            _classic("rastrigin", 10, 30, rotate=True),
            _classic("ackley", 16, 28, rotate=True),
        ],
        "emulator": [
            _on_box("borehole", emulators.BOREHOLE, emulators.borehole, 7.819676328755232),
            _on_box("circuit", emulators.CIRCUIT, emulators.circuit, 2.60371484584685),
            _on_box("robot-arm", emulators.ARM, emulators.robot_arm, -4.0),
        ],
        "mixed": [_mixed("permuted-hartmann"), _mixed("pressure-vessel"), _mixed("network-like")],
        "noisy": [
            _on_box("hartmann-noisy", _HARTMANN_BOX, hartmann6, -3.322368011415515, noise_std=0.1),
            _classic("rastrigin", 2, 29, rotate=True, noise_std=1.0),
        ],
        "table": [
            _table("svm-breast-cancer"),
            _table("forest-diabetes"),
            _table("mlp-digits"),
            _table("pipeline-breast-cancer"),
            _table("descent-digits"),
            _table("pipeline-diabetes"),
        ],
    },
}


def in_half(problem: Problem, half: str, group: str) -> ComparisonProblem:
    """The problem with its half and group."""
    known = {field.name: getattr(problem, field.name) for field in fields(Problem)}
    return ComparisonProblem(**known, half=half, group=group)


COMPARISON_PROBLEMS: dict[str, ComparisonProblem] = {
    problem.name: in_half(problem, half, group)
    for half, groups in _GROUPS.items()
    for group, problems in groups.items()
    for problem in problems
}
