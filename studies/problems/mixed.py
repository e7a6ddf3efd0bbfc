"""Functions of parameters with categories, integers and logarithmic scales; all minimised.

Some are published design problems, some known functions on a mixed space; `controller` is the
simulated plant of `bktf.test_functions`.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution as Category
from optuna.distributions import FloatDistribution as Number
from optuna.distributions import IntDistribution as Whole

from bktf.test_functions import hartmann6, tracking_error
from studies.problems.classics import ackley, levy
from studies.problems.paper_functions import branin
from studies.problems.problem import Params

_TILTS = {
    "flat": (0.0, 0.0),
    "east": (3.0, 0.4),
    "north": (-2.0, 0.9),
    "both": (1.0, -0.3),
}  # offset, slope along the first axis


def tilted_branin(p: Params) -> float:
    """Branin, raised and tilted by a category of four."""
    offset, slope = _TILTS[p["tilt"]]
    return float(branin(np.array([[p["a"], p["b"]]]))[0] + offset + slope * (p["a"] - 2.5))


def stepped_ackley(p: Params) -> float:
    """Ackley in five dimensions, two of them whole numbers, its minimum off the centre."""
    point = np.array([[p["i"] - 3, p["j"] + 2, p["x"] - 4.1, p["y"] + 2.7, p["z"] - 1.6]])
    return float(ackley(point)[0])


def controller(p: Params) -> float:
    """A PID controller whose gains are logarithmic, with a structure that switches terms off."""
    integral = p["integral"] if "I" in p["structure"] else 0.0
    derivative = p["derivative"] if "D" in p["structure"] else 0.0
    return math.log(tracking_error(p["gain"], integral, derivative, p["filter_time"]))


_PERMUTATIONS = {"a": (0, 1, 2, 3, 4, 5), "b": (1, 0, 3, 2, 5, 4), "c": (5, 4, 3, 2, 1, 0)}
_DEPTHS = {"a": 0.85, "b": 1.0, "c": 0.7}


def permuted_hartmann(p: Params) -> float:
    """Hartmann-6 with two coordinates in steps of a tenth.

    A category of three permutes its axes and scales its depth.
    """
    point = np.array([p["i"] / 10, p["j"] / 10, p["u"], p["v"], p["w"], p["x"]])
    return _DEPTHS[p["order"]] * float(hartmann6(point[list(_PERMUTATIONS[p["order"]])][None])[0])


def pressure_vessel(p: Params) -> float:
    """Logarithm of the cost of a pressure vessel.

    Plates come in sixteenths of an inch; violated constraints cost extra in proportion.
    """
    shell, head, radius, length = p["shell"] / 16, p["head"] / 16, p["radius"], p["length"]
    cost = (
        0.6224 * shell * radius * length
        + 1.7781 * head * radius**2
        + 3.1661 * shell**2 * length
        + 19.84 * shell**2 * radius
    )
    violations = (
        (0.0193 * radius - shell) / shell,
        (0.00954 * radius - head) / head,
        1 - (math.pi * radius**2 * length + 4 / 3 * math.pi * radius**3) / 1_296_000,
    )
    return math.log(cost + 200_000 * sum(max(0.0, v) for v in violations))


def network_like_levy(p: Params) -> float:
    """Levy in the coordinates of a network's settings.

    Logarithmic rate and decay, whole layers and units, a category of three.
    """
    bend = {"relu": 0.0, "tanh": 0.6, "gelu": -0.4}[p["activation"]]
    rate, decay = 2.2 * (math.log10(p["rate"]) + 2.6), 1.3 * (math.log10(p["decay"]) + 4.2)
    point = np.array(
        [[1 + rate, 1 + decay + bend, 1 + 0.9 * (p["layers"] - 3), 1 + 0.04 * (p["units"] - 96)]]
    )
    return float(levy(point)[0]) + abs(bend)


class Mixed(NamedTuple):
    """A mixed space, the function on it, and its least value.

    The value was found by enumeration of categories and whole numbers, then local search.
    """

    space: dict[str, BaseDistribution]
    function: Callable[[Params], float]
    minimum: float


MIXED: dict[str, Mixed] = {
    "tilted-branin": Mixed(
        {"a": Number(-5.0, 10.0), "b": Number(0.0, 15.0), "tilt": Category(list(_TILTS))},
        tilted_branin,
        -6.721755208831747,
    ),
    "stepped-ackley": Mixed(
        {
            "i": Whole(-8, 8),
            "j": Whole(-8, 8),
            "x": Number(-8.0, 8.0),
            "y": Number(-8.0, 8.0),
            "z": Number(-8.0, 8.0),
        },
        stepped_ackley,
        0.0,
    ),
    "controller": Mixed(
        {
            "gain": Number(0.1, 20.0, log=True),
            "integral": Number(0.01, 10.0, log=True),
            "derivative": Number(0.01, 5.0, log=True),
            "filter_time": Number(0.02, 0.5, log=True),
            "structure": Category(["P", "PI", "PD", "PID"]),
        },
        controller,
        -1.2243556944951308,
    ),
    "permuted-hartmann": Mixed(
        {
            "i": Whole(0, 10),
            "j": Whole(0, 10),
            "u": Number(0.0, 1.0),
            "v": Number(0.0, 1.0),
            "w": Number(0.0, 1.0),
            "x": Number(0.0, 1.0),
            "order": Category(list(_DEPTHS)),
        },
        permuted_hartmann,
        -3.2941633504742835,
    ),
    "pressure-vessel": Mixed(
        {
            "shell": Whole(1, 99),
            "head": Whole(1, 99),
            "radius": Number(10.0, 200.0),
            "length": Number(10.0, 200.0),
        },
        pressure_vessel,
        8.709417938521312,
    ),
    "network-like": Mixed(
        {
            "rate": Number(1e-4, 1.0, log=True),
            "decay": Number(1e-7, 1e-1, log=True),
            "layers": Whole(1, 8),
            "units": Whole(16, 512, log=True),
            "activation": Category(["relu", "tanh", "gelu"]),
        },
        network_like_levy,
        0.0,
    ),
}
