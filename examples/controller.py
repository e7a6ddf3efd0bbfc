"""A small real problem for the examples: tune a PID controller so that a sluggish plant follows a step, without overshoot."""

import math


def tracking_error(gain: float, integral: float, derivative: float, filter_time: float = 0.05) -> float:
    """Time-weighted absolute error of 10 seconds of step response, plus a penalty on overshoot.

    The plant is 1 / ((s + 1)(0.5 s + 1)(0.2 s + 1)) with its input limited to ±5; an unstable loop gives a large but finite error.
    """
    dt, a, b, c = 0.01, 0.0, 0.0, 0.0
    accumulated, filtered, before, total, highest = 0.0, 0.0, 1.0, 0.0, 0.0
    for step in range(1000):
        error = 1.0 - c
        accumulated += error * dt
        filtered += ((error - before) / dt - filtered) * min(1.0, dt / filter_time)
        before = error
        drive = max(-5.0, min(5.0, gain * error + integral * accumulated + derivative * filtered))
        a += dt * (drive - a)
        b += dt * (a - b) / 0.5
        c += dt * (b - c) / 0.2
        total += dt * math.sqrt(step * dt) * abs(error)
        highest = max(highest, c)
    return total + 5.0 * max(0.0, highest - 1.02)
