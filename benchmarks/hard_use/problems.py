"""The problems of the studies of hard use: fixed before the first run, not changed afterwards."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from studies.problems import PAPER_PROBLEMS
from studies.problems.classics import ackley, levy, rosenbrock

Floats = NDArray[np.float64]
Params = dict[str, Any]
HARTMANN = PAPER_PROBLEMS["hartmann6"]


@dataclass(frozen=True, eq=False)
class HardProblem:
    """A function to minimise over a space, and its minimum, or a bound of it."""

    space: dict[str, BaseDistribution]
    function: Callable[[Params], float]
    minimum: float = 0.0


def _rotation(n_dims: int, seed: int) -> Floats:
    """A random rotation, the same for all methods."""
    factor, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((n_dims, n_dims)))
    return np.asarray(factor)


def _vector(params: Params) -> Floats:
    """The values of parameters as one point (1, D)."""
    return np.array([list(params.values())], dtype=float)


def _box(n_dims: int, low: float, high: float) -> dict[str, BaseDistribution]:
    return {f"x{d}": FloatDistribution(low, high) for d in range(n_dims)}


def _on_vector(function: Callable[[Floats], Floats]) -> Callable[[Params], float]:
    return lambda params: float(function(_vector(params))[0])


ROTATION_5, ROTATION_6, ROTATION_10 = _rotation(5, 5), _rotation(6, 6), _rotation(10, 10)
ACKLEY_SHIFT = np.array([1.3, -0.7, 0.4, -1.9, 0.9, 1.6, -1.1, 0.2])
GRID_BEST = np.array([17, 4, 11, 20, 7])


def _mixed(p: Params) -> float:
    """Two logarithmic numbers, a whole one, a step and two categories; the minimum is 0."""
    kind = {"a": 0.0, "b": 4.0, "c": 9.0, "d": 2.0}[p["kind"]]
    rate = (math.log10(p["rate"]) + 2.3) ** 2
    decay = (math.log10(p["decay"]) + 4.1) ** 2
    total = (
        40 * rate * (1.5 if p["flag"] else 1.0)
        + 12 * decay
        + 2 * (p["depth"] - 7) ** 2
        + 60 * (p["share"] - 0.3) ** 2
        + 6 * kind
    )
    return float(total)


def _grid(p: Params) -> float:
    """A rippled, coupled bowl on 25 values along each of five axes; the minimum is 0."""
    z = (_vector(p)[0] - GRID_BEST) / 6.0
    coupled = z @ (np.eye(5) + 0.4 * (np.ones((5, 5)) - np.eye(5))) @ z
    return float(coupled + 0.3 * np.sum(1 - np.cos(3.0 * z)))


LONG: dict[str, HardProblem] = {  # after 280, 320 and 700 trials of TPE
    "rosenbrock6r": HardProblem(
        _box(6, -2.5, 2.5), _on_vector(lambda X: rosenbrock(X @ ROTATION_6.T))
    ),
    "ackley8": HardProblem(_box(8, -5.0, 5.0), _on_vector(lambda X: ackley(X - ACKLEY_SHIFT))),
    "mixed6": HardProblem(
        {
            "rate": FloatDistribution(1e-5, 1.0, log=True),
            "decay": FloatDistribution(1e-7, 1e-1, log=True),
            "depth": IntDistribution(1, 20),
            "share": FloatDistribution(0.0, 1.0, step=0.05),
            "kind": CategoricalDistribution(("a", "b", "c", "d")),
            "flag": CategoricalDistribution((False, True)),
        },
        _mixed,
    ),
    "grid25": HardProblem({f"x{d}": IntDistribution(0, 24) for d in range(5)}, _grid),
    "levy10r": HardProblem(
        _box(10, -6.0, 6.0), _on_vector(lambda X: levy((X - 1.0) @ ROTATION_10.T + 1.0))
    ),
    "hartmann6-grid": HardProblem(
        {f"x{d}": IntDistribution(0, 11) for d in range(6)},
        _on_vector(lambda X: HARTMANN.array_function(HARTMANN.grid.points(X.astype(int)))),
        -3.214562,
    ),
}
# Added afterwards: TPE finds the minimum of both other grids before the first suggestion, so no
# suggestion can improve on it there.
LONG["grid25-rosenbrock"] = HardProblem(
    {f"x{d}": IntDistribution(0, 24) for d in range(5)},
    _on_vector(lambda X: rosenbrock((X - 12.0) * (2.5 / 12.0) @ ROTATION_5.T)),
)
HISTORIES = (280, 320, 700)
N_NEXT = 12
LONG_SEEDS = 3

BOWL_3 = np.array([1.7, -2.2, 0.6])
OUTLIERS = HardProblem(_box(3, -5.0, 5.0), _on_vector(lambda X: ((X - BOWL_3) ** 2).sum(axis=1)))
OUTLIER_SHARE = 0.1
OUTLIER_SIZES = (0.0, 1e4, 1e6)  # added to a tenth of the values
OUTLIER_TRIALS, OUTLIER_SEEDS = 50, 10

BOWL_4 = np.array([0.3, -0.2, 0.1, -0.4])
# With the standard deviation of the noise: that of the function over its box.
NOISY: dict[str, tuple[HardProblem, float]] = {
    "bowl4": (
        HardProblem(_box(4, -1.0, 1.0), _on_vector(lambda X: ((X - BOWL_4) ** 2).sum(axis=1))),
        0.6,
    ),
    "hartmann6": (
        HardProblem(_box(6, 0.0, 1.0), _on_vector(HARTMANN.array_function), -3.322368),
        0.38,
    ),
}
NOISY_TRIALS, NOISY_SEEDS = 60, 20

BOWL_PRUNED = np.array([0.7, -0.4, 0.2])
PRUNED = HardProblem(_box(3, -2.0, 2.0), _on_vector(lambda X: ((X - BOWL_PRUNED) ** 2).sum(axis=1)))
PRUNED_STEPS, PRUNED_TRIALS, PRUNED_SEEDS = 10, 50, 10
# Of reported values relative to returned ones.
PRUNED_SCALES = {"smaller": 0.1, "same": 1.0, "unrelated": None}

MIXTURE_STEPS = 20  # four shares in steps of 5 % that sum to 100 %
THIN_SEEDS = 5

CATEGORY_TRIALS, CATEGORY_SEEDS = 50, 30
