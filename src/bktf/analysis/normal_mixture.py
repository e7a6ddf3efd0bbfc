"""Predictions of observations as normal mixtures over draws, and their scores.

Everything is in the model's units, because squares of values near 1e±300 are no numbers.
"""

import math
from typing import NamedTuple

import numpy as np

from bktf._typing import Floats

MAX_Z = 1e150  # its square is a number; larger distances, in standard deviations, count as this one
MAX_QUANTILE = 9.0  # standard deviations from a mean, beyond which no quantile is looked for
N_BISECTIONS = 60  # leave a quantile to the last bits of the range
ROUNDING = 1e-12  # of a sum of weights
MAX_PAIRS = 1_000_000  # of draws, whose differences are in memory together


class NormalMixture(NamedTuple):
    """Predictions of n observations, each a mixture of K normal distributions."""

    weights: Floats  # (K, n) each column sums to 1
    mean: Floats  # (K, n)
    std: Floats  # (K, n)

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation, (n,) each."""
        mean = np.sum(self.weights * self.mean, axis=0)
        variance = np.sum(self.weights * (self.std**2 + (self.mean - mean) ** 2), axis=0)
        return mean, np.sqrt(variance)

    def log_density(self, y: Floats) -> Floats:
        """The logarithm of the density at y (n,), (n,)."""
        from scipy.special import logsumexp  # heavy, and only needed here

        z = np.minimum(np.abs(y - self.mean) / self.std, MAX_Z)
        logs = -0.5 * z**2 - np.log(self.std) - 0.5 * math.log(2 * math.pi)
        return np.asarray(logsumexp(logs, b=self.weights, axis=0))

    def distribution(self, y: Floats) -> Floats:
        """The distribution function at y (n,), (n,)."""
        from scipy.special import ndtr

        z = (y - self.mean) / self.std
        # Sums of weights may exceed 1 by rounding.
        return np.asarray(np.minimum(np.sum(self.weights * ndtr(z), axis=0), 1.0))

    def quantile(self, level: float) -> Floats:
        """The smallest y (n,) whose distribution function reaches the level, by bisection.

        Draws may have a deviation of 0: then they are steps of the distribution function.
        """
        from scipy.special import ndtr

        low = np.min(self.mean - MAX_QUANTILE * self.std, axis=0)
        high = np.max(self.mean + MAX_QUANTILE * self.std, axis=0)
        steps = self.std <= 0.0
        widths = np.where(steps, 1.0, self.std)
        for _ in range(N_BISECTIONS):
            middle = 0.5 * (low + high)
            below = np.where(steps, middle >= self.mean, ndtr((middle - self.mean) / widths))
            is_reached = np.sum(self.weights * below, axis=0) >= level - ROUNDING
            high = np.where(is_reached, middle, high)
            low = np.where(is_reached, low, middle)
        return np.asarray(high)

    def crps(self, y: Floats) -> Floats:
        """The continuous ranked probability score at y (n,), (n,); 0 is best.

        E|Y − y| − ½·E|Y − Y'| for independent Y, Y' of the mixture, in closed form. The second sum
        is over all pairs of draws, so the cost is n·K².

        Source: Grimit, Gneiting, Berrocal and Johnson (2006).
        """
        error = np.sum(self.weights * mean_absolute(y - self.mean, self.std), axis=0)
        columns = zip(self.weights.T, self.mean.T, self.std.T, strict=True)
        half_spread = np.array([0.5 * _mean_difference(*column) for column in columns])
        return np.asarray(np.maximum(error - half_spread, 0.0))


def mean_absolute(mean: Floats, std: Floats) -> Floats:
    """E|Y| of normal Y with this mean and standard deviation."""
    from scipy.special import erf

    z = np.clip(mean / (math.sqrt(2.0) * std), -MAX_Z, MAX_Z)
    return np.asarray(mean * erf(z) + math.sqrt(2.0 / math.pi) * std * np.exp(-(z**2)))


def _mean_difference(weights: Floats, mean: Floats, std: Floats) -> float:
    """E|Y − Y'| of two independent values of one mixture; its parameters are (K,) each."""
    size = max(MAX_PAIRS // weights.size, 1)
    total = 0.0
    for first in range(0, weights.size, size):
        rows = slice(first, first + size)
        pairs = mean_absolute(mean[rows, None] - mean, np.sqrt(std[rows, None] ** 2 + std**2))
        total += float(weights[rows] @ pairs @ weights)
    return total
