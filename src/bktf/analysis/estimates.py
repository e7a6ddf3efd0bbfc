"""A number that the model does not know exactly: its mean and a 90 % interval."""

import math
from typing import NamedTuple

import numpy as np

from bktf._typing import Floats

LEVEL = 0.9  # of the intervals
MIN_DRAWS = 19  # with fewer the interval would be the range of the draws, and hold less


class Estimate(NamedTuple):
    """Mean over draws, and the ends of the central 90 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: Floats) -> "Estimate":
        """That of draws (n,). A further draw lies in the interval with its probability."""
        tail = (1.0 - LEVEL) / 2.0
        low, high = np.quantile(draws, (tail, 1.0 - tail), method="weibull")
        return cls(float(np.mean(draws)), float(low), float(high))

    def __str__(self) -> str:
        """The mean with as many digits as the interval deserves, and the interval."""
        mean, low, high = (in_digits(value, self) for value in self)
        return f"{mean} ({low} to {high})"


def in_digits(value: float, estimate: Estimate) -> str:
    """A value with two significant digits of the width of an interval."""
    width = abs(estimate.high - estimate.low)
    if not math.isfinite(width) or width == 0.0 or not math.isfinite(value):
        return f"{value:.6g}"
    decimals = 1 - math.floor(math.log10(width))
    size = math.floor(math.log10(max(abs(estimate.low), abs(estimate.high), width)))
    if abs(size) > 5 or decimals > 8:
        return f"{value:.{max(size + decimals, 0) + 1}g}"
    return f"{value:.{max(decimals, 0)}f}"
