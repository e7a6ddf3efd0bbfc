"""What a pruned trial says of its point: its last intermediate value, translated by what completed trials show.

Reported and returned values need not be on one scale, or related at all. With x_j what completed trial j reported at the last step of
the pruned trial that MIN_PAIRS completed ones share, and y_j what it returned:

    no trial has completed          the intermediate value itself: there is nothing to compare it with
    fewer than MIN_PAIRS pairs      as TPE ranks them: worse than every completed trial, those that got further first
    y_j follows x_j                 the line through the pairs, never better than the best completed value
    y_j does not follow x_j         nothing: the trial is left out

"Follows" means that the line, fitted without pair j, predicts y_j: the share of the variance it explains is at least MIN_EXPLAINED.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from optuna.trial import FrozenTrial

Floats = NDArray[np.float64]

MIN_PAIRS = 5
MIN_EXPLAINED = 0.5
LARGEST = 1e300  # of a value that a line predicts


Line = Callable[[float], float]


def values_of_pruned(pruned: Sequence[FrozenTrial], completed: Sequence[FrozenTrial], maximize: bool) -> list[float | None]:
    """A value for each pruned trial, None where it says nothing. The completed trials have finite values."""
    last = [_finite_reports(trial) for trial in pruned]
    if not completed:
        return [reports[max(reports)] if reports else None for reports in last]
    final = np.array([trial.value for trial in completed], dtype=float)
    reported = [_finite_reports(trial) for trial in completed]
    counts = Counter(step for reports in reported for step in reports)
    steps = [max((s for s in reports if counts[s] >= MIN_PAIRS), default=None) for reports in last]
    lines = {step: _line_at(step, reported, final) for step in steps if step is not None}
    behind = [i for i, step in enumerate(steps) if step is None and last[i]]
    values = dict(zip(behind, _ranked_behind([last[i] for i in behind], final, maximize), strict=True))
    for i, step in enumerate(steps):
        line = None if step is None else lines[step]
        if step is not None and line is not None:
            predicted = line(last[i][step])
            values[i] = min(predicted, final.max()) if maximize else max(predicted, final.min())
    return [values.get(i) for i in range(len(pruned))]


def _finite_reports(trial: FrozenTrial) -> dict[int, float]:
    return {step: value for step, value in trial.intermediate_values.items() if np.isfinite(value)}


def _line_at(step: int, reported: Sequence[dict[int, float]], final: Floats) -> Line | None:
    """The line from what was reported at a step to what was returned; None where the one does not follow the other."""
    x, y = np.array([(reports[step], value) for reports, value in zip(reported, final, strict=True) if step in reports]).T
    x_mean, y_mean, x_scale, y_scale = float(x.mean()), float(y.mean()), float(np.ptp(x)), float(np.ptp(y))
    if y_scale == 0:
        return lambda _: y_mean
    if x_scale == 0 or not np.isfinite(x_scale + y_scale):
        return None
    u, v = (x - x_mean) / x_scale, (y - y_mean) / y_scale
    slope = float(u @ v / (u @ u))
    leverage = np.minimum(1.0 / len(u) + u**2 / (u @ u), 1.0 - 1e-12)
    missed = (v - slope * u) / (1.0 - leverage)  # by the line through the other pairs
    if 1.0 - float(missed @ missed / (v @ v)) < MIN_EXPLAINED:
        return None
    return lambda report: float(np.clip(y_mean + y_scale * slope * (report - x_mean) / x_scale, -LARGEST, LARGEST))


def _ranked_behind(last: Sequence[dict[int, float]], final: Floats, maximize: bool) -> list[float]:
    """Values worse than every completed one: those that got further first, then by what they reported."""
    sign = -1.0 if maximize else 1.0
    order = sorted(range(len(last)), key=lambda i: (-max(last[i]), sign * last[i][max(last[i])]))
    worst, width = float((sign * final).max()), float(np.ptp(final)) or abs(float(final[0])) or 1.0
    values = [0.0] * len(last)
    for place, i in enumerate(order, start=1):
        values[i] = sign * (worst + 0.5 * width * place / len(last))
    return values
