"""The paper's problems, each also as a shifted control whose optimum lies elsewhere on the grid."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution

from bktf.test_functions import hartmann6
from studies.problems.grid import Grid, GridProblem
from studies.problems.paper_functions import branin, damavandi, griewank, introductory, schaffer
from studies.problems.problem import Floats, Params

MAX_DESIGNS = 1000  # start designs drawn before a grid counts as too small


@dataclass(frozen=True, eq=False, kw_only=True)
class PaperProblem(GridProblem):
    """A function on a box, the paper's grid, and what is known of the best and the worst cell."""

    array_function: Callable[[Floats], Floats]  # values (n,) at points (n, D)
    minimisers: tuple[tuple[float, ...], ...]  # all of them that lie in the box
    best_grid_value: float
    worst_grid_value: float
    is_control: bool = False  # whether this is the shifted twin of a problem of the paper

    @property
    def value_range(self) -> float:
        """Worst minus best value on the grid, the unit of tolerances."""
        return self.worst_grid_value - self.best_grid_value

    def values(self, points: Sequence[Params]) -> list[float]:
        """The values at points, all in one call."""
        if not points:
            return []
        values = self.array_function(np.stack([self.to_row(p) for p in points]))
        return [float(value) for value in values]

    def grid_values(self, block: int = 1 << 18) -> Floats:
        """Values of all cells, the last axis running fastest."""
        n_cells = self.grid.n_cells
        blocks = [np.arange(i, min(i + block, n_cells)) for i in range(0, n_cells, block)]
        return np.concatenate([self.array_function(self.grid.points_at(b)) for b in blocks])

    def is_best_cell(self, value: float) -> bool:
        """Whether this is the value of the best cell, or a better one."""
        return value <= self.best_grid_value + 1e-9 * self.value_range

    def start_points(self, seed: int) -> list[Params]:
        """Random cells; drawn again where they hold a best cell."""
        grid = self.grid
        rng = np.random.default_rng(np.random.SeedSequence([seed, grid.n_dims, *grid.sizes]))
        for _ in range(MAX_DESIGNS):
            X = grid.points_at(rng.choice(grid.n_cells, self.n_start, replace=False))
            if not self.is_best_cell(float(self.array_function(X).min())):
                return [self.to_params(row) for row in X]
        raise ValueError(
            f"no start design without the best cell of {self.name} in {MAX_DESIGNS} tries; "
            "a grid this small needs fewer start points"
        )


def make_problem(
    name: str, grid: Grid, array_function: Callable[[Floats], Floats], **known: Any
) -> PaperProblem:
    """A problem on the box of a grid; `known` are the other fields of the record."""
    space = {
        f"x{d}": FloatDistribution(low, high)
        for d, (low, high) in enumerate(zip(grid.low, grid.high, strict=True))
    }

    def function(params: Params) -> float:
        return float(array_function(np.array([[params[k] for k in space]], dtype=float))[0])

    return PaperProblem(
        name=name, grid=grid, array_function=array_function, space=space, function=function, **known
    )


def shifted(problem: PaperProblem, steps: tuple[int, ...], worst_grid_value: float) -> PaperProblem:
    """The control: everything moved by whole grid steps.

    Its best cell has the same value at another place. Minimisers that are moved out of the box are
    dropped; none of the functions here has others that would come into it.
    """
    grid, original = problem.grid, problem.array_function
    ends = zip(grid.low, grid.high, grid.sizes, strict=True)
    shift = np.array(steps) * [(high - low) / (size - 1) for low, high, size in ends]
    moved = [np.array(point) + shift for point in problem.minimisers]
    inside = [p for p in moved if (p >= grid.low).all() and (p <= grid.high).all()]
    if not inside:
        raise ValueError(
            f"the shift must keep an optimum in the box; {steps} moves all of {problem.name}'s out"
        )
    return make_problem(
        f"{problem.name}-shifted",
        grid,
        lambda X: original(X - shift),
        title=f"{problem.title}, shifted",
        minimisers=tuple(tuple(float(v) for v in point) for point in inside),
        minimum=problem.minimum,
        best_grid_value=problem.best_grid_value,
        worst_grid_value=worst_grid_value,
        n_start=problem.n_start,
        budget=problem.budget,
        is_control=True,
    )


def make_griewank(n_dims: int, steps: tuple[int, ...] | None = None) -> PaperProblem:
    """Griewank on the paper's grid of 11 points per axis, or its control.

    `steps` are those of 2 by which the control is shifted along each axis.
    """
    if n_dims < 1:
        raise ValueError(f"n_dims must be at least 1; got {n_dims}")
    moves = (0,) * n_dims if steps is None else steps
    if len(moves) != n_dims or any(not -5 <= s <= 5 for s in moves):
        raise ValueError(f"steps must hold {n_dims} whole numbers from -5 to 5; got {steps}")
    coordinates = [np.linspace(-10, 10, 11) - 2 * s for s in moves]
    cosines = [np.cos(x / math.sqrt(d + 1)) for d, x in enumerate(coordinates)]
    worst = _worst_griewank(cosines, [x**2 / 4000 for x in coordinates])
    problem = make_problem(
        f"griewank{n_dims}",
        Grid(low=(-10.0,) * n_dims, high=(10.0,) * n_dims, sizes=(11,) * n_dims),
        griewank,
        title=f"Griewank ({n_dims})",
        minimisers=((0.0,) * n_dims,),
        minimum=0.0,
        best_grid_value=0.0,
        worst_grid_value=worst,
        n_start=n_dims,
        budget=80 if n_dims >= 4 else 50,
    )
    return problem if steps is None else shifted(problem, steps, worst)


def _worst_griewank(cosines: list[Floats], squares: list[Floats]) -> float:
    """The largest value on the grid, axis by axis.

    A pair (sum, product) is dropped where another has no smaller sum and a product beyond it.
    """
    sums, products = np.zeros(1), np.ones(1)
    for c, s in zip(cosines, squares, strict=True):
        sums, products = np.add.outer(sums, s).ravel(), np.multiply.outer(products, c).ravel()
        order = np.argsort(-sums, kind="stable")
        sorted_products = products[order]
        lowest = np.minimum.accumulate(sorted_products)[:-1]
        highest = np.maximum.accumulate(sorted_products)[:-1]
        kept = np.ones(order.size, dtype=bool)
        kept[1:] = (sorted_products[1:] < lowest) | (sorted_products[1:] > highest)
        sums, products = sums[order[kept]], products[order[kept]]
    return float((1 + sums - products).max())


INTRO = make_problem(
    "intro",
    Grid(low=(1.0, -1.0), high=(2.0, 0.0), sizes=(40, 40)),
    introductory,
    title="introductory",
    minimisers=((1.344241806, -0.089263999),),
    minimum=-0.6110759840450753,
    best_grid_value=-0.6052770435321595,
    worst_grid_value=3.9918482145928795,
    n_start=30,
    budget=50,
)
_BRANIN = make_problem(
    "branin",
    Grid(low=(-5.0, 0.0), high=(10.0, 15.0), sizes=(14, 14)),
    branin,
    title="Branin (2)",
    minimisers=((-math.pi, 12.275), (math.pi, 2.275), (3 * math.pi, 2.475)),
    minimum=0.39788735772973816,
    best_grid_value=0.4182933182238191,
    worst_grid_value=308.12909601160663,
    n_start=2,
    budget=50,
)
_DAMAVANDI = make_problem(
    "damavandi",
    Grid(low=(0.0, 0.0), high=(14.0, 14.0), sizes=(71, 71)),
    damavandi,
    title="Damavandi (2)",
    minimisers=((2.0, 2.0),),
    minimum=0.0,
    best_grid_value=0.0,
    worst_grid_value=149.0,
    n_start=2,
    budget=50,
)
_SCHAFFER = make_problem(
    "schaffer",
    Grid(low=(-10.0, -10.0), high=(10.0, 10.0), sizes=(11, 11)),
    schaffer,
    title="Schaffer (2)",
    minimisers=((0.0, 0.0),),
    minimum=0.0,
    best_grid_value=0.0,
    worst_grid_value=0.9261635551267313,
    n_start=2,
    budget=50,
)
_HARTMANN = make_problem(
    "hartmann6",
    Grid(low=(0.0,) * 6, high=(1.0,) * 6, sizes=(12,) * 6),
    hartmann6,
    title="Hartmann (6)",
    minimisers=((0.2016895, 0.1500107, 0.4768740, 0.2753324, 0.3116516, 0.6573005),),
    minimum=-3.322368011415515,
    best_grid_value=-3.2145616708266553,
    worst_grid_value=-2.812450543968651e-08,
    n_start=6,
    budget=80,
)

PAPER = (_BRANIN, _DAMAVANDI, _SCHAFFER, make_griewank(3), make_griewank(4), _HARTMANN)
CONTROLS = (
    shifted(_BRANIN, (2, -1), 561.4008989107485),
    shifted(_DAMAVANDI, (17, -6), 244.64),
    shifted(_SCHAFFER, (2, -3), 0.9261635551267313),
    make_griewank(3, (2, -3, 1)),
    make_griewank(4, (2, -3, 1, -2)),
    shifted(_HARTMANN, (6, 7, -3, 6, 5, -5), -2.9599275677226505e-09),
)
INTRO_CONTROL = shifted(INTRO, (-8, -12), 2.2859333510447404)
PAPER_PROBLEMS = {
    problem.name: problem
    for problem in (
        *(INTRO, INTRO_CONTROL),
        *PAPER,
        *CONTROLS,
        *(make_griewank(2), make_griewank(2, (2, -3))),
    )
}
