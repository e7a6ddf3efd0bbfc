"""Intermediate values as values of one more axis, the step at which they were reported.

All values are oriented: larger is better. Reports need not be on the scale of returned values, so
all of them go through one line: the least-squares line from the last reports of completed trials to
the values that these returned. Where both are the same, it changes nothing. What a report of an
earlier step says of the returned value is learned along the axis (`engine.related_values`).

Of a pruned or running trial the last report counts, at a step that MIN_PAIRS completed trials share
with it. Of completed trials reports at some of these steps count beside the returned value, because
they tell how far reports and returned values agree. The axis is logarithmic in the step: curves
change fast at first.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bktf.engine import ContextAxis, RelatedValues
from bktf.optuna_sampler.pruned_trials import MIN_PAIRS, Reports

Point = tuple[float, ...]

RUNG_QUANTILES = (1 / 6, 1 / 2, 5 / 6)  # of the last steps, at which completed trials count, too
MAX_REPORTS = 150
MAX_RANGES = 10.0  # of returned values, by which a report may lie outside them


def reported_values(
    points: Sequence[Point],
    returned: Mapping[int, float],
    completed: Mapping[int, Reports],
    estimates: Sequence[int],
    unfinished: Sequence[tuple[Point, Reports]],
) -> RelatedValues | None:
    """The reports that say something of returned values; None where there are none.

    Args:
        points: of the observations of the history.
        returned: values that completed trials returned, by observation.
        completed: reports of the same trials, by observation.
        estimates: observations that are pruned trials.
        unfinished: points and reports of pruned and running trials.
    """
    counts = Counter(step for reports in completed.values() for step in reports)
    shared = {step for step, count in counts.items() if count >= MIN_PAIRS}
    last = [max(shared & reports.keys(), default=None) for _, reports in unfinished]
    used = [step for step in last if step is not None]
    line = _line_of_last_reports(completed, returned) if used else None
    if line is None:
        return None
    found: list[tuple[Point, int, float, int]] = [  # point, step, value, observation
        (point, step, line(reports[step]), -1)
        for (point, reports), step in zip(unfinished, last, strict=True)
        if step is not None
    ]
    rungs = np.unique(np.quantile(used, RUNG_QUANTILES, method="nearest")).tolist()
    found = found[-MAX_REPORTS:]
    for row in sorted(completed, reverse=True):
        reports = completed[row]
        of_row = [step for step in rungs if step in reports]
        if len(found) + len(of_row) > MAX_REPORTS:
            break
        found += [(points[row], step, line(reports[step]), row) for step in of_row]
    final = _coordinate(max(max(reports, default=0) for reports in completed.values()) + 1)
    steps = np.array([[_coordinate(step)] for _, step, _, _ in found])
    return RelatedValues(
        X=np.array([point for point, _, _, _ in found]),
        context=steps,
        y=np.array([value for _, _, value, _ in found]),
        rows=np.array([row for _, _, _, row in found]),
        estimates=np.array(estimates, dtype=np.int64),
        axes=(ContextAxis(np.union1d(steps, [final]), final),),
    )


def _coordinate(step: float) -> float:
    """The coordinate of a step on the axis."""
    return math.log1p(step)


def _line_of_last_reports(
    completed: Mapping[int, Reports], returned: Mapping[int, float]
) -> Callable[[float], float] | None:
    """The line from last reports to returned values; None where either are all the same."""
    rows = [row for row, reports in completed.items() if reports]
    x = np.array([completed[row][max(completed[row])] for row in rows])
    y = np.array([returned[row] for row in rows])
    with np.errstate(over="ignore"):
        x_range, y_range = float(np.ptp(x)), float(np.ptp(y))
    if not (0.0 < x_range < math.inf and 0.0 < y_range < math.inf):
        return None
    u = (x - x.mean()) / x_range
    slope = 1.0 if np.array_equal(x, y) else float(u @ (y - y.mean()) / (u @ u)) / x_range
    x_mean, y_mean, reach = float(x.mean()), float(y.mean()), MAX_RANGES * y_range
    low, high = float(y.min()) - reach, float(y.max()) + reach

    def value(report: float) -> float:
        """A report on the scale of returned values."""
        return min(max(y_mean + slope * (report - x_mean), low), high)

    return value
