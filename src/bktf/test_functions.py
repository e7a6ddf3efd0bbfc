"""Test functions: Hartmann's in six dimensions, and the error of a PID controller."""

import math

import numpy as np

from bktf._typing import Floats

_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_WIDTHS = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14],
     [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)  # fmt: skip
_CENTRES = 1e-4 * np.array(
    [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
     [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]
)  # fmt: skip


def hartmann6(X: Floats) -> Floats:
    """Hartmann's function at points (n, 6) in [0, 1], to be minimised: four wells."""
    distances = ((X[:, None, :] - _CENTRES) ** 2 * _WIDTHS).sum(axis=2)
    return np.asarray(-np.exp(-distances) @ _HEIGHTS)


def tracking_error(
    gain: float, integral: float, derivative: float, filter_time: float = 0.05
) -> float:
    """The error of a PID controller that follows a step for 10 s.

    It is the time-weighted absolute error plus a penalty for overshoot. The plant is
    1 / ((s + 1)(0.5 s + 1)(0.2 s + 1)) with its input limited to ±5. An unstable loop gives a large
    but finite error.
    """
    dt, a, b, c = 0.01, 0.0, 0.0, 0.0
    accumulated, filtered, last_error, total, highest = 0.0, 0.0, 1.0, 0.0, 0.0
    for step in range(1000):
        error = 1.0 - c
        accumulated += error * dt
        filtered += ((error - last_error) / dt - filtered) * min(1.0, dt / filter_time)
        last_error = error
        drive = max(-5.0, min(5.0, gain * error + integral * accumulated + derivative * filtered))
        a += dt * (drive - a)
        b += dt * (a - b) / 0.5
        c += dt * (b - c) / 0.2
        total += dt * math.sqrt(step * dt) * abs(error)
        highest = max(highest, c)
    return total + 5.0 * max(0.0, highest - 1.02)
