"""Test functions of the paper's experiments: values (n,) at points (n, D), to be minimised.

Formulas are those of the literature where the paper prints a number wrongly
(docs/paper_deviations.md).
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def introductory(X: Floats) -> Floats:
    """The 2-D function of the paper's introduction, negated: the paper maximises it."""
    a, b = X.T

    def rising(x: Floats) -> Floats:
        return np.asarray(x * (np.sin(2 * x) + 2))

    def rooted(x: Floats) -> Floats:
        return np.asarray(0.2 * x * np.sqrt(99 * (x + 1) + 4))

    waves = np.cos(4 * (rising(a) + rooted(b))) + np.sin(4 * (rising(b) - rooted(a))) - 1
    return np.asarray(-waves * np.exp(-((a - 0.5) ** 2) + (b - 1) ** 2 / 5))


def branin(X: Floats) -> Floats:
    """Branin: a parabola's valley with three minima of equal depth."""
    a, b = X.T
    valley = b - 5.1 / (4 * math.pi**2) * a**2 + 5 / math.pi * a - 6
    return np.asarray(valley**2 + 10 * (1 - 1 / (8 * math.pi)) * np.cos(a) + 10)


def damavandi(X: Floats) -> Floats:
    """Damavandi: a wide bowl around (7, 7) and a needle at (2, 2); 0/0 at 2 is the limit."""
    needle = np.abs(np.sinc(X[:, 0] - 2) * np.sinc(X[:, 1] - 2)) ** 5
    return np.asarray((1 - needle) * (2 + (X[:, 0] - 7) ** 2 + 2 * (X[:, 1] - 7) ** 2))


def schaffer(X: Floats) -> Floats:
    """Schaffer: rings around the origin, each hardly worse than the next."""
    square = (X**2).sum(axis=1)
    return np.asarray(0.5 + (np.sin(np.sqrt(square)) ** 2 - 0.5) / (1 + 0.001 * square) ** 2)


def griewank(X: Floats) -> Floats:
    """Griewank in any number of dimensions: a product of cosines on a shallow bowl."""
    waves = np.cos(X / np.sqrt(np.arange(1, X.shape[1] + 1))).prod(axis=1)
    return np.asarray(1 + (X**2).sum(axis=1) / 4000 - waves)
