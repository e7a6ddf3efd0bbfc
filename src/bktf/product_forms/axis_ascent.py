"""One step of a coordinate ascent on a function of cells or points, some of them not allowed.

Whether a candidate is allowed is checked last, in order of value, because the check may be slow.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bktf._typing import Floats

Values = Callable[[NDArray[Any]], Floats]  # of cells or points (n, D)
IsAllowed = Callable[[NDArray[Any]], bool]  # of one cell or point (D,)
Valued = tuple[NDArray[Any], float]  # a cell or point (D,) and its value

MAX_PASSES = 30  # over all axes; ascents usually converge after three or four


def best_allowed(
    candidates: NDArray[Any],
    values: Floats,
    is_allowed: IsAllowed,
    above: float | None = None,
) -> Valued | None:
    """The allowed candidate (n, D) with the largest value; None where none exceeds `above`."""
    top = int(values.argmax())
    if above is not None and not values[top] > above:
        return None
    if is_allowed(candidates[top]):  # nearly always, and then no sorting is needed
        return candidates[top], float(values[top])
    for i in np.argsort(-values, kind="stable")[1:]:
        if above is not None and not values[i] > above:
            return None
        if is_allowed(candidates[i]):
            return candidates[i], float(values[i])
    return None


def best_few_allowed(
    candidates: NDArray[Any],
    values: Floats,
    is_allowed: IsAllowed,
    n_best: int,
) -> list[Valued]:
    """At most n_best allowed candidates (n, D) with the largest values, best first."""
    best_first = np.argsort(-values, kind="stable")
    allowed = (i for i in best_first if is_allowed(candidates[i]))
    return [(candidates[i], float(values[i])) for i in itertools.islice(allowed, n_best)]


def climb_once(
    values: Values,
    lines: Sequence[tuple[int, NDArray[Any]]],
    start: Valued,
    is_allowed: IsAllowed,
) -> Valued:
    """Move to the best allowed coordinate along one axis after the other.

    lines: pairs of an axis and the coordinates to try on it.
    """
    point, value = start
    for d, coordinates in lines:
        line = np.repeat(point[None], len(coordinates), axis=0)
        line[:, d] = coordinates
        better = best_allowed(line, values(line), is_allowed, value)
        if better is not None:
            point, value = better
    return point, value
