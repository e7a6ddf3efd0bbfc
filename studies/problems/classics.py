"""Classic multimodal functions, vectorised: values (n,) at points (n, D), all minimised.

Formulas, minimisers and minima are those of the literature on test functions (Jamil & Yang, 2013;
Surjanovic & Bingham's collection).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Classic:
    """A function, the box it is used on, and where its minimum is."""

    function: Function
    low: float
    high: float
    minimiser: Callable[[int], Floats]  # of the number of dimensions
    minimum: Callable[[int], float]


def ackley(Z: Floats) -> Floats:
    """A funnel with ripples, flat far from the origin."""
    return np.asarray(
        20
        + math.e
        - 20 * np.exp(-0.2 * np.sqrt((Z**2).mean(axis=1)))
        - np.exp(np.cos(2 * math.pi * Z).mean(axis=1))
    )


def levy(Z: Floats) -> Floats:
    """Waves along every axis, growing away from (1, …, 1)."""
    w = 1 + (Z - 1) / 4
    inner = ((w[:, :-1] - 1) ** 2 * (1 + 10 * np.sin(math.pi * w[:, :-1] + 1) ** 2)).sum(axis=1)
    return np.asarray(
        np.sin(math.pi * w[:, 0]) ** 2
        + inner
        + (w[:, -1] - 1) ** 2 * (1 + np.sin(2 * math.pi * w[:, -1]) ** 2)
    )


def rastrigin(Z: Floats) -> Floats:
    """A bowl with a regular lattice of local minima."""
    return np.asarray(10 * Z.shape[1] + (Z**2 - 10 * np.cos(2 * math.pi * Z)).sum(axis=1))


def rosenbrock(Z: Floats) -> Floats:
    """A curved valley, flat along its floor."""
    return np.asarray((100 * (Z[:, 1:] - Z[:, :-1] ** 2) ** 2 + (1 - Z[:, :-1]) ** 2).sum(axis=1))


def styblinski_tang(Z: Floats) -> Floats:
    """Two wells per axis, one deeper."""
    return np.asarray((Z**4 - 16 * Z**2 + 5 * Z).sum(axis=1) / 2)


def alpine(Z: Floats) -> Floats:
    """Kinked ridges along every axis."""
    return np.asarray(np.abs(Z * np.sin(Z) + 0.1 * Z).sum(axis=1))


def michalewicz(Z: Floats) -> Floats:
    """Steep, narrow valleys and wide plateaus; only on [0, π]."""
    steps = np.arange(1, Z.shape[1] + 1)
    return np.asarray(-(np.sin(Z) * np.sin(steps * Z**2 / math.pi) ** 20).sum(axis=1))


def eggholder(Z: Floats) -> Floats:
    """Two dimensions, deep wells everywhere; only on [−512, 512]."""
    a, b = Z.T
    return np.asarray(
        -(b + 47) * np.sin(np.sqrt(np.abs(b + a / 2 + 47)))
        - a * np.sin(np.sqrt(np.abs(a - (b + 47))))
    )


_SHEKEL_DEPTHS = 0.1 * np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5])
_SHEKEL_CENTRES = np.array(
    [
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
    ]
).T


def shekel(Z: Floats) -> Floats:
    """Ten needles in four dimensions."""
    distances = ((Z[:, None, :] - _SHEKEL_CENTRES) ** 2).sum(axis=2)
    return np.asarray(-(1 / (distances + _SHEKEL_DEPTHS)).sum(axis=1))


def cosine_mixture(Z: Floats) -> Floats:
    """A bowl with shallow waves."""
    return np.asarray((Z**2).sum(axis=1) - 0.1 * np.cos(5 * math.pi * Z).sum(axis=1))


def _at(value: float) -> Callable[[int], Floats]:
    return lambda n_dims: np.full(n_dims, value)


def _value(function: Function, point: Floats) -> float:
    return float(function(point[None])[0])


def _same(value: float) -> Callable[[int], float]:
    return lambda _: value


MICHALEWICZ_5 = np.array(
    [2.202905519, 1.570796327, 1.284991570, 1.923058470, 1.720469772]
)  # separable: every coordinate by itself
SHEKEL_10 = np.array([4.000746868, 3.999509480, 4.000746868, 3.999509480])

CLASSICS = {
    "ackley": Classic(ackley, -10, 10, _at(0.0), _same(0.0)),
    "levy": Classic(levy, -10, 10, _at(1.0), _same(0.0)),
    "rastrigin": Classic(rastrigin, -5.12, 5.12, _at(0.0), _same(0.0)),
    "rosenbrock": Classic(rosenbrock, -2.048, 2.048, _at(1.0), _same(0.0)),
    "styblinski": Classic(
        styblinski_tang, -5, 5, _at(-2.903534018), lambda n_dims: -39.16616570377142 * n_dims
    ),
    "alpine": Classic(alpine, -10, 10, _at(0.0), _same(0.0)),
    "michalewicz": Classic(
        michalewicz,
        0,
        math.pi,
        lambda n_dims: MICHALEWICZ_5[:n_dims],
        lambda n: _value(michalewicz, MICHALEWICZ_5[:n]),
    ),
    "eggholder": Classic(
        eggholder, -512, 512, lambda _: np.array([512.0, 404.2318058]), _same(-959.6406627208506)
    ),
    "shekel": Classic(shekel, 0, 10, lambda _: SHEKEL_10, lambda _: _value(shekel, SHEKEL_10)),
    "cosine": Classic(cosine_mixture, -1, 1, _at(0.0), lambda n_dims: -0.1 * n_dims),
}


def moved(classic: Classic, n_dims: int, seed: int, rotate: bool) -> tuple[Function, Floats]:
    """The function with its minimiser moved and perhaps its axes rotated; and the new minimiser.

    Every coordinate of the minimiser lies 20 to 60 % of the way from the centre to an edge. So no
    method gains by looking at the centre, at an edge or along an axis.
    """
    rng = np.random.default_rng(seed)
    centre, half = (classic.low + classic.high) / 2, (classic.high - classic.low) / 2
    minimiser = centre + half * rng.uniform(0.2, 0.6, n_dims) * rng.choice([-1.0, 1.0], n_dims)
    turn = np.linalg.qr(rng.standard_normal((n_dims, n_dims)))[0] if rotate else np.eye(n_dims)
    origin = classic.minimiser(n_dims)
    return (lambda X: classic.function(origin + (X - minimiser) @ turn.T)), minimiser
