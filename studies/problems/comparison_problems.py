"""The problems of `bktf compare`, and which half each belongs to.

The split was fixed before any setting was tuned on these problems. Settings are chosen on the development half alone; what is published is
the test half. The halves are alike in kind: each has grids of the paper with their shifted controls, classic functions shifted and rotated
in few and in many dimensions, emulators, mixed spaces, noise, and tables of real hyperparameters. A function and its control, which teach
the same, are in the same half. No function is in both but the families of Griewank, Levy, Ackley, Rastrigin and Rosenbrock, which differ
there in dimension, place and rotation, and Branin and Hartmann, which return with noise or in a mixed space.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from bktf.test_functions import hartmann6 as hartmann
from studies.problems import emulators
from studies.problems.classics import CLASSICS, moved
from studies.problems.grid_problems import PROBLEMS
from studies.problems.loss_tables import TABLES, load_table
from studies.problems.mixed import MIXED
from studies.problems.paper_functions import branin

Floats = NDArray[np.float64]
Params = Mapping[str, Any]
DEVELOPMENT, TEST = "development", "test"
N_START = 10  # points given to every method
N_RANGE = 1_000  # random points that a problem's range is estimated from


@dataclass(frozen=True, eq=False, kw_only=True)
class Contest:
    """A function to minimise on a search space, and what is known of its optimum."""

    name: str
    half: str  # "development" or "test"
    kind: str  # "continuous", "grid" or "mixed"
    group: str  # "paper", "classic", "emulator", "mixed", "noisy" or "table"
    space: Mapping[str, BaseDistribution]
    function: Callable[[Params], float]  # without noise
    minimum: float  # the least value on the space
    budget: int  # evaluations after the start
    noise_std: float = 0.0

    @property
    def n_dims(self) -> int:
        """D."""
        return len(self.space)

    @property
    def value_range(self) -> float:
        """Median of random points minus the minimum: the unit of "within one per cent"."""
        return _median_value(self.name) - self.minimum


def sample(space: Mapping[str, BaseDistribution], rng: np.random.Generator) -> dict[str, Any]:
    """A random point, uniform in each parameter (in its logarithm where it is logarithmic)."""
    return {name: _draw(distribution, float(rng.random())) for name, distribution in space.items()}


def _draw(distribution: BaseDistribution, u: float) -> Any:
    """The parameter's value at the quantile u in [0, 1)."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(u * len(distribution.choices))]
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    if isinstance(distribution, IntDistribution) and not distribution.log:
        return int(low + int(u * ((high - low) // int(step or 1) + 1)) * int(step or 1))
    if step is not None and not distribution.log:
        return float(low + int(u * (round((high - low) / step) + 1)) * step)
    if distribution.log:
        value = math.exp(math.log(low) + u * (math.log(high) - math.log(low)))
        return round(value) if isinstance(distribution, IntDistribution) else value
    return float(low + u * (high - low))


@cache
def _median_value(name: str) -> float:
    contest = CONTESTS[name]
    rng = np.random.default_rng(0)
    return float(np.median([contest.function(sample(contest.space, rng)) for _ in range(N_RANGE)]))


def start_points(contest: Contest, seed: int) -> list[dict[str, Any]]:
    """The points that every method is given; random and different where the space has enough of them."""
    rng = np.random.default_rng([seed, 7])
    points: list[dict[str, Any]] = []
    for _ in range(100 * N_START):
        point = sample(contest.space, rng)
        if point not in points:
            points.append(point)
        if len(points) == N_START:
            break
    return points


def _budget(n_dims: int) -> int:
    return 25 if n_dims <= 3 else 40


def _paper(name: str, half: str) -> Contest:
    """One of the paper's grids, or its control."""
    problem = PROBLEMS[name]
    space: dict[str, BaseDistribution] = {
        f"x{d}": IntDistribution(0, m - 1) for d, m in enumerate(problem.sizes)
    }  # places on the axes: steps such as 15 / 13 are no round numbers

    def function(p: Params) -> float:
        return float(problem.function(problem.points(np.array([[p[k] for k in space]])))[0])

    return Contest(name=f"grid-{name}", half=half, kind="grid", group="paper", space=space, function=function,
                   minimum=problem.best_grid_value, budget=_budget(problem.n_dims))  # fmt: skip


def _of_points(name: str, half: str, group: str, ranges: Mapping[str, tuple[float, float]], function: Callable[[Floats], Floats],
               minimum: float, noise_std: float = 0.0) -> Contest:  # fmt: skip
    """A continuous box and a function of points (n, D)."""
    space: dict[str, BaseDistribution] = {k: FloatDistribution(a, b) for k, (a, b) in ranges.items()}
    return Contest(name=name, half=half, kind="continuous", group=group, space=space, minimum=minimum, budget=_budget(len(space)),
                   function=lambda p: float(function(np.array([[p[k] for k in space]]))[0]), noise_std=noise_std)  # fmt: skip


def _classic(name: str, n_dims: int, half: str, seed: int, rotate: bool = True, stay: bool = False, noise_std: float = 0.0) -> Contest:
    """A classic function, shifted and (where its name ends in r) rotated; `stay` where its formula holds on its own box only."""
    classic = CLASSICS[name]
    function = classic.function if stay else moved(classic, n_dims, seed, rotate)[0]
    title = f"{name}{n_dims}{'r' if rotate and not stay else ''}{'-noisy' if noise_std else ''}"
    ranges = {f"x{d}": (float(classic.low), float(classic.high)) for d in range(n_dims)}
    return _of_points(title, half, "noisy" if noise_std else "classic", ranges, function, classic.minimum(n_dims), noise_std)


def _mixed(name: str, half: str) -> Contest:
    """A space with categories, whole numbers or logarithms."""
    problem = MIXED[name]
    return Contest(name=name, half=half, kind="mixed", group="mixed", space=problem.space, function=problem.function,
                   minimum=problem.minimum, budget=_budget(len(problem.space)))  # fmt: skip


def _table(name: str, half: str) -> Contest:
    """A table of real losses; numbers are ordered places, strings categories."""
    task, losses = TABLES[name], load_table(name)
    space: dict[str, BaseDistribution] = {
        k: CategoricalDistribution(v) if isinstance(v[0], str) else IntDistribution(0, len(v) - 1) for k, v in task.grid.items()
    }
    places = {k: {v: i for i, v in enumerate(values)} if isinstance(values[0], str) else None for k, values in task.grid.items()}

    def function(p: Params) -> float:
        return float(losses[tuple(p[k] if (own := places[k]) is None else own[p[k]] for k in space)])

    kind = "mixed" if any(isinstance(d, CategoricalDistribution) for d in space.values()) else "grid"
    return Contest(name=f"table-{name}", half=half, kind=kind, group="table", space=space, function=function, minimum=float(losses.min()),
                   budget=_budget(len(space)))  # fmt: skip


_HARTMANN_BOX = {f"x{d}": (0.0, 1.0) for d in range(6)}
_BRANIN_BOX = {"a": (-5.0, 10.0), "b": (0.0, 15.0)}


def _development() -> list[Contest]:
    half = DEVELOPMENT
    return [
        *(_paper(f"{name}{suffix}", half) for name in ("branin", "damavandi", "griewank3") for suffix in ("", "-shifted")),
        _classic("ackley", 5, half, 11),
        _classic("levy", 4, half, 12),
        _classic("rastrigin", 4, half, 13, rotate=False),
        _classic("rosenbrock", 4, half, 14),
        _classic("styblinski", 6, half, 15, rotate=False),
        _classic("michalewicz", 5, half, 0, stay=True),
        _classic("rosenbrock", 10, half, 18),
        _classic("levy", 12, half, 16),
        _of_points("piston", half, "emulator", emulators.PISTON, emulators.piston, 0.16422884916253186),
        _of_points("wing-weight", half, "emulator", emulators.WING, emulators.wing_weight, 123.25367170091785),
        _mixed("tilted-branin", half),
        _mixed("stepped-ackley", half),
        _mixed("controller", half),
        _of_points("branin-noisy", half, "noisy", _BRANIN_BOX, branin, 0.39788735772973816, noise_std=2.0),
        _classic("ackley", 3, half, 17, noise_std=0.5),
        _table("svm-digits", half),
        _table("boosting-diabetes", half),
        _table("forest-wine", half),
    ]  # fmt: skip


def _test() -> list[Contest]:
    half = TEST
    return [
        *(_paper(f"{name}{suffix}", half) for name in ("schaffer", "griewank4", "hartmann6") for suffix in ("", "-shifted")),
        _classic("ackley", 8, half, 21),
        _classic("levy", 6, half, 22),
        _classic("rastrigin", 3, half, 23),
        _classic("rosenbrock", 6, half, 24),
        _classic("alpine", 5, half, 25),
        _classic("eggholder", 2, half, 0, stay=True),
        _classic("shekel", 4, half, 26),
        _classic("cosine", 8, half, 27),
        _classic("rastrigin", 10, half, 30),
        _classic("ackley", 16, half, 28),
        _of_points("borehole", half, "emulator", emulators.BOREHOLE, emulators.borehole, 7.819676328755232),
        _of_points("circuit", half, "emulator", emulators.CIRCUIT, emulators.circuit, 2.60371484584685),
        _of_points("robot-arm", half, "emulator", emulators.ARM, emulators.robot_arm, -4.0),
        _mixed("permuted-hartmann", half),
        _mixed("pressure-vessel", half),
        _mixed("network-like", half),
        _of_points("hartmann-noisy", half, "noisy", _HARTMANN_BOX, hartmann, -3.322368011415515, noise_std=0.1),
        _classic("rastrigin", 2, half, 29, noise_std=1.0),
        _table("svm-breast-cancer", half),
        _table("forest-diabetes", half),
        _table("mlp-digits", half),
    ]  # fmt: skip


CONTESTS: dict[str, Contest] = {contest.name: contest for contest in (*_development(), *_test())}
