"""The value of a pruned trial, estimated from its last intermediate value.

Reported and returned values need not be on one scale, or related at all. All values are oriented:
larger is better. With x_j what completed trial j reported at the last step of the pruned trial
that MIN_PAIRS completed ones share, and y_j what it returned:

    no trial has completed          the intermediate value: there is nothing to compare it with
    fewer than MIN_PAIRS pairs      as TPE ranks them: worse than every completed trial, those that
                                    got further first
    y_j follows x_j                 the line through the pairs, never better than the best
                                    completed value
    y_j does not follow x_j         nothing: the trial is left out

"Follows" means that the line, fitted without pair j, predicts y_j: the share of the variance it
explains is at least MIN_EXPLAINED.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bktf._typing import Floats

Reports = Mapping[int, float]  # finite intermediate values by step
Line = Callable[[float], float]

MIN_PAIRS = 5
MIN_EXPLAINED = 0.5
MAX_PREDICTED = 1e300  # of a value that a line predicts


def values_of_pruned(
    pruned: Sequence[Reports],
    completed: Sequence[Reports],
    returned: Sequence[float],
) -> list[float | None]:
    """A value for each pruned trial, None where its reports do not determine one.

    Args:
        pruned: reports of the pruned trials.
        completed: reports of the completed trials.
        returned: finite values that the completed trials returned.
    """
    if not returned:
        return [reports[max(reports)] if reports else None for reports in pruned]
    final = np.array(returned, dtype=float)
    counts = Counter(step for reports in completed for step in reports)
    shared = {step for step, count in counts.items() if count >= MIN_PAIRS}
    steps = [max(shared & reports.keys(), default=None) for reports in pruned]
    lines = {step: _line_at(step, completed, final) for step in steps if step is not None}
    behind = [i for i, step in enumerate(steps) if step is None and pruned[i]]
    values = dict(zip(behind, _values_behind([pruned[i] for i in behind], final), strict=True))
    for i, step in enumerate(steps):
        line = None if step is None else lines[step]
        if step is not None and line is not None:
            values[i] = min(line(pruned[i][step]), float(final.max()))
    return [values.get(i) for i in range(len(pruned))]


def _line_at(step: int, completed: Sequence[Reports], final: Floats) -> Line | None:
    """The line from reports at a step to returned values; None where these do not follow."""
    pairs = [(r[step], value) for r, value in zip(completed, final, strict=True) if step in r]
    x, y = np.array(pairs).T
    x_mean, y_mean = float(x.mean()), float(y.mean())
    x_scale, y_scale = float(np.ptp(x)), float(np.ptp(y))
    if y_scale == 0:
        return lambda _: y_mean
    if x_scale == 0 or not np.isfinite(x_scale + y_scale):
        return None
    u, v = (x - x_mean) / x_scale, (y - y_mean) / y_scale
    slope = float(u @ v / (u @ u))
    leverage = np.minimum(1.0 / len(u) + u**2 / (u @ u), 1.0 - 1e-12)
    missed = (v - slope * u) / (1.0 - leverage)  # errors of the lines through the other pairs
    if 1.0 - float(missed @ missed / (v @ v)) < MIN_EXPLAINED:
        return None

    def predict(report: float) -> float:
        """The value that the line predicts from a report."""
        predicted = y_mean + y_scale * slope * (report - x_mean) / x_scale
        return float(np.clip(predicted, -MAX_PREDICTED, MAX_PREDICTED))

    return predict


def _values_behind(pruned: Sequence[Reports], final: Floats) -> list[float]:
    """Values worse than every completed one: those that got further first, then by reports."""
    last = [(max(reports), reports[max(reports)]) for reports in pruned]  # step and report
    best_first = sorted(range(len(last)), key=lambda i: (-last[i][0], -last[i][1]))
    worst, width = float(final.min()), float(np.ptp(final)) or abs(float(final[0])) or 1.0
    values = [0.0] * len(pruned)
    for rank, i in enumerate(best_first, start=1):
        values[i] = worst - 0.5 * width * rank / len(pruned)
    return values
