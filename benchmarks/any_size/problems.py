"""The problems of the studies of any size: fixed before the first line, not changed afterwards.

How wide local turns are was looked at on the problems of `AFTER` with seeds 0 to 2. So the recorded
lines have other seeds.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, FloatDistribution

from benchmarks.hard_use.problems import LONG, HardProblem
from bktf.test_functions import hartmann6
from studies.problems.classics import (
    ackley,
    levy,
    rastrigin,
    rosenbrock,
    styblinski_tang,
)

Floats = NDArray[np.float64]

FIRST_SEED = 10
WELL = 39.16616570377142  # per dimension: styblinski_tang's minimum is −WELL·D


def _rotation(n_dims: int) -> Floats:
    """A rotation, the same for all methods."""
    factor, _ = np.linalg.qr(np.random.default_rng([n_dims, 18]).standard_normal((n_dims, n_dims)))
    return np.asarray(factor)


def _shift(n_dims: int, size: float) -> Floats:
    """Where an optimum lies: away from the centre, another place along each axis."""
    return size * np.random.default_rng([n_dims, 81]).uniform(-1.0, 1.0, n_dims)


def _problem(
    n_dims: int, high: float, function: Callable[[Floats], Floats], minimum: float = 0.0
) -> HardProblem:
    """A function of points (1, D) on the box from −high to high."""
    space: dict[str, BaseDistribution] = {
        f"x{d}": FloatDistribution(-high, high) for d in range(n_dims)
    }
    return HardProblem(
        space, lambda params: float(function(np.array([list(params.values())]))[0]), minimum
    )


def _turned(function: Callable[[Floats], Floats], n_dims: int, centre: float) -> HardProblem:
    """A function rotated around its minimiser (centre, …), which is moved."""
    rotation, shift = _rotation(n_dims), _shift(n_dims, 1.5)
    return _problem(n_dims, 5.0, lambda X: function((X - shift) @ rotation.T + centre))


def _camel(X: Floats) -> Floats:
    """The six-hump camel function; its minimum is −1.031628."""
    a, b = X.T
    return np.asarray((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2)


def _griewank(X: Floats) -> Floats:
    """A bowl with waves along every axis."""
    waves = np.cos(X / np.sqrt(np.arange(1, X.shape[1] + 1))).prod(axis=1)
    return np.asarray((X**2).sum(axis=1) / 4000 - waves + 1)


SHIFT_10, SHIFT_20, SHIFT_50 = _shift(10, 1.5), _shift(20, 1.5), _shift(50, 0.3)
SCALES_50 = 10.0 ** np.linspace(0.0, 2.0, 50)

# After long histories made by TPE: the next trials, each evaluated.
AFTER: dict[str, HardProblem] = {
    "rosenbrock6r": LONG["rosenbrock6r"],
    "ackley8": LONG["ackley8"],
    "rosenbrock3": _problem(3, 2.5, rosenbrock),
    "mixed6": LONG["mixed6"],
}
HISTORIES, N_NEXT, AFTER_SEEDS = (280, 320, 700, 3000), 20, 3

# Whole studies: problem, number of trials, number of seeds.
BUDGETS: dict[str, tuple[HardProblem, int, int]] = {
    "rosenbrock10r": (_turned(rosenbrock, 10, 1.0), 150, 5),
    "rastrigin10": (_problem(10, 5.0, lambda X: rastrigin(X - SHIFT_10)), 150, 5),
    "styblinski20": (_problem(20, 5.0, styblinski_tang, -WELL * 20), 150, 5),
    "griewank20": (_problem(20, 50.0, lambda X: _griewank(X - 10 * SHIFT_20)), 150, 5),
    "camel2": (_problem(2, 3.0, _camel, -1.031628453489877), 400, 5),
    "rosenbrock4r": (_turned(rosenbrock, 4, 1.0), 400, 5),
    "hartmann6": (
        HardProblem(
            {f"x{d}": FloatDistribution(0.0, 1.0) for d in range(6)},
            lambda params: float(hartmann6(np.array([list(params.values())]))[0]),
            -3.322368011415515,
        ),
        400,
        5,
    ),
    "levy10r": (_turned(levy, 10, 1.0), 400, 5),
    "rosenbrock5r": (_turned(rosenbrock, 5, 1.0), 1000, 2),
    "ackley6r": (_turned(ackley, 6, 0.0), 1000, 2),
    "hartmann6-in-50": (
        HardProblem(
            {f"x{d}": FloatDistribution(0.0, 1.0) for d in range(50)},
            lambda params: float(hartmann6(np.array([list(params.values())])[:, 4:34:5])[0]),
            -3.322368011415515,
        ),
        200,
        5,
    ),
    "ellipsoid50": (
        _problem(50, 1.0, lambda X: (SCALES_50 * (X - SHIFT_50) ** 2).sum(axis=1)),
        200,
        5,
    ),
}
MAX_GP_TRIALS = 300  # of Optuna's GP: beyond, a study takes too long
