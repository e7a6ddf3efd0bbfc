"""The paper's problems as frozen records, each also as a shifted control whose optimum lies elsewhere on the grid."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bktf.test_functions import hartmann6
from studies.problems.paper_functions import branin, damavandi, griewank, introductory, schaffer

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Grid:
    """A box and evenly spaced points over it, both ends included."""

    name: str
    title: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    sizes: tuple[int, ...]  # points of each axis

    @property
    def n_dims(self) -> int:
        """D."""
        return len(self.sizes)

    @property
    def n_cells(self) -> int:
        """Points of the grid."""
        return math.prod(self.sizes)

    @property
    def axes(self) -> tuple[Floats, ...]:
        """The points of every axis."""
        return tuple(np.linspace(a, b, m) for a, b, m in zip(self.low, self.high, self.sizes, strict=True))

    def points(self, cells: NDArray[np.int64]) -> Floats:
        """The points (n, D) of cells (n, D)."""
        return np.stack([axis[cells[:, d]] for d, axis in enumerate(self.axes)], axis=1)

    def points_at(self, flat: NDArray[np.int64]) -> Floats:
        """The points (n, D) of flat indices (n,), the last axis running fastest."""
        return self.points(np.stack(np.unravel_index(flat, self.sizes), axis=1))

    def point_at(self, flat: int) -> Floats:
        """The point (D,) of one flat index."""
        return np.asarray(self.points_at(np.array([flat]))[0])

    def cells(self, X: Floats) -> NDArray[np.int64]:
        """The cells (n, D) nearest to points."""
        return np.stack([np.abs(axis[None, :] - X[:, d, None]).argmin(axis=1) for d, axis in enumerate(self.axes)], axis=1)

    def flat(self, X: Floats) -> NDArray[np.int64]:
        """The flat indices (n,) of the cells nearest to points."""
        return np.asarray(np.ravel_multi_index(tuple(self.cells(X).T), self.sizes))


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(Grid):
    """A function to minimise, the paper's grid, and what is known of its optimum."""

    function: Callable[[Floats], Floats]  # values (n,) at points (n, D)
    minimisers: tuple[tuple[float, ...], ...]  # all of them that lie in the box
    minimum: float  # over the box
    best_grid_value: float
    worst_grid_value: float
    n_start: int  # points given at the start
    budget: int  # queries after them
    is_control: bool = False  # whether this is the shifted twin of a problem of the paper

    @property
    def value_range(self) -> float:
        """Worst minus best value on the grid, the unit of tolerances."""
        return self.worst_grid_value - self.best_grid_value

    def grid_values(self, block: int = 1 << 18) -> Floats:
        """Values of all cells, the last axis running fastest."""
        firsts = range(0, self.n_cells, block)
        return np.concatenate([self.function(self.points_at(np.arange(f, min(f + block, self.n_cells)))) for f in firsts])


def start_points(problem: Problem, seed: int) -> Floats:
    """The random cells (n_start, D) that every method is given; drawn again where they hold a best cell."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, problem.n_dims, *problem.sizes]))
    for _ in range(1000):
        points = problem.points_at(rng.choice(problem.n_cells, problem.n_start, replace=False))
        if problem.function(points).min() > problem.best_grid_value + 1e-9 * problem.value_range:
            return points
    raise ValueError(f"no start design without the best cell of {problem.name} in 1000 tries; a grid this small needs fewer start points")


def shifted(problem: Problem, steps: tuple[int, ...], worst_grid_value: float) -> Problem:
    """The control: everything moved by whole grid steps, so that the best cell has the same value at another place.

    Minimisers that are moved out of the box are dropped; none of the functions here has others that would come into it.
    """
    step = [(b - a) / (m - 1) for a, b, m in zip(problem.low, problem.high, problem.sizes, strict=True)]
    shift = np.array(steps) * step
    moved = [tuple(float(v) for v in np.array(point) + shift) for point in problem.minimisers]
    inside = tuple(p for p in moved if all(a <= v <= b for v, a, b in zip(p, problem.low, problem.high, strict=True)))
    if not inside:
        raise ValueError(f"the shift must keep an optimum in the box; {steps} moves all of {problem.name}'s out of it")
    function = problem.function
    return replace(
        problem,
        name=f"{problem.name}-shifted",
        title=f"{problem.title}, shifted",
        function=lambda X: function(X - shift),
        minimisers=inside,
        worst_grid_value=worst_grid_value,
        is_control=True,
    )


def make_griewank(n_dims: int, steps: tuple[int, ...] | None = None) -> Problem:
    """Griewank in `n_dims` dimensions on the paper's grid of 11 points per axis, or its control shifted by so many steps of 2."""
    if n_dims < 1:
        raise ValueError(f"n_dims must be at least 1; got {n_dims}")
    moves = (0,) * n_dims if steps is None else steps
    if len(moves) != n_dims or any(not -5 <= s <= 5 for s in moves):
        raise ValueError(f"steps must hold {n_dims} whole numbers from -5 to 5; got {steps}")
    away = [np.linspace(-10, 10, 11) - 2 * s for s in moves]
    worst = _worst_griewank([np.cos(x / math.sqrt(d + 1)) for d, x in enumerate(away)], [x**2 / 4000 for x in away])
    problem = Problem(
        name=f"griewank{n_dims}", title=f"Griewank ({n_dims})", function=griewank, low=(-10.0,) * n_dims, high=(10.0,) * n_dims,
        sizes=(11,) * n_dims, minimisers=((0.0,) * n_dims,), minimum=0.0, best_grid_value=0.0, worst_grid_value=worst,
        n_start=n_dims, budget=80 if n_dims >= 4 else 50,
    )  # fmt: skip
    return problem if steps is None else shifted(problem, steps, worst)


def _worst_griewank(cosines: list[Floats], squares: list[Floats]) -> float:
    """The largest value on the grid, axis by axis; a pair (sum, product) goes where another has no smaller sum and a product beyond it."""
    sums, products = np.zeros(1), np.ones(1)
    for c, s in zip(cosines, squares, strict=True):
        sums, products = np.add.outer(sums, s).ravel(), np.multiply.outer(products, c).ravel()
        order = np.argsort(-sums, kind="stable")
        lowest, highest = np.minimum.accumulate(products[order]), np.maximum.accumulate(products[order])
        kept = np.ones(order.size, dtype=bool)
        kept[1:] = (products[order][1:] < lowest[:-1]) | (products[order][1:] > highest[:-1])
        sums, products = sums[order[kept]], products[order[kept]]
    return float((1 + sums - products).max())


INTRO = Problem(
    name="intro", title="introductory", function=introductory, low=(1.0, -1.0), high=(2.0, 0.0), sizes=(40, 40),
    minimisers=((1.344241806, -0.089263999),), minimum=-0.6110759840450753,
    best_grid_value=-0.6052770435321595, worst_grid_value=3.9918482145928795, n_start=30, budget=50,
)  # fmt: skip
_BRANIN = Problem(
    name="branin", title="Branin (2)", function=branin, low=(-5.0, 0.0), high=(10.0, 15.0), sizes=(14, 14),
    minimisers=((-math.pi, 12.275), (math.pi, 2.275), (3 * math.pi, 2.475)), minimum=0.39788735772973816,
    best_grid_value=0.4182933182238191, worst_grid_value=308.12909601160663, n_start=2, budget=50,
)  # fmt: skip
_DAMAVANDI = Problem(
    name="damavandi", title="Damavandi (2)", function=damavandi, low=(0.0, 0.0), high=(14.0, 14.0), sizes=(71, 71),
    minimisers=((2.0, 2.0),), minimum=0.0, best_grid_value=0.0, worst_grid_value=149.0, n_start=2, budget=50,
)  # fmt: skip
_SCHAFFER = Problem(
    name="schaffer", title="Schaffer (2)", function=schaffer, low=(-10.0, -10.0), high=(10.0, 10.0), sizes=(11, 11),
    minimisers=((0.0, 0.0),), minimum=0.0, best_grid_value=0.0, worst_grid_value=0.9261635551267313, n_start=2, budget=50,
)  # fmt: skip
_HARTMANN = Problem(
    name="hartmann6", title="Hartmann (6)", function=hartmann6, low=(0.0,) * 6, high=(1.0,) * 6, sizes=(12,) * 6,
    minimisers=((0.2016895, 0.1500107, 0.4768740, 0.2753324, 0.3116516, 0.6573005),), minimum=-3.322368011415515,
    best_grid_value=-3.2145616708266553, worst_grid_value=-2.812450543968651e-08, n_start=6, budget=80,
)  # fmt: skip

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
PROBLEMS = {p.name: p for p in (INTRO, INTRO_CONTROL, *PAPER, *CONTROLS, make_griewank(2), make_griewank(2, (2, -3)))}
