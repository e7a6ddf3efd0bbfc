"""One step of a coordinate ascent on any function of cells or points, past those not allowed.

Which cells are allowed is asked last, and only of those that would win: the question may be slow.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Values = Callable[[NDArray[Any]], Floats]  # of cells or points (n, D)
IsAllowed = Callable[[NDArray[Any]], bool]  # of one of them (D,)
Valued = tuple[NDArray[Any], float]  # a cell or point (D,) and its value

MAX_PASSES = 30  # over all axes; ascents end by themselves after three or four


def best_allowed(
    places: NDArray[Any],
    values: Floats,
    is_allowed: IsAllowed,
    above: float | None = None,
) -> Valued | None:
    """The allowed one of places (n, D) with the largest value, above a level where one is given."""
    top = int(values.argmax())
    if above is not None and not values[top] > above:
        return None
    if is_allowed(places[top]):  # nearly always, and then nothing needs sorting
        return places[top], float(values[top])
    for i in np.argsort(-values, kind="stable")[1:]:
        if above is not None and not values[i] > above:
            return None
        if is_allowed(places[i]):
            return places[i], float(values[i])
    return None


def best_few_allowed(
    places: NDArray[Any],
    values: Floats,
    is_allowed: IsAllowed,
    n_most: int,
) -> list[Valued]:
    """The allowed ones of places (n, D) with the largest values, best first."""
    best_first = np.argsort(-values, kind="stable")
    allowed = (i for i in best_first if is_allowed(places[i]))
    return [(places[i], float(values[i])) for i in itertools.islice(allowed, n_most)]


def climb_once(
    values: Values,
    lines: Sequence[tuple[int, NDArray[Any]]],
    start: Valued,
    is_allowed: IsAllowed,
) -> Valued:
    """Move along each of some axes to the best allowed coordinate, one axis after the other.

    lines: axes, each with the coordinates that may be taken on it.
    """
    at, value = start
    for d, coordinates in lines:
        line = np.repeat(at[None], len(coordinates), axis=0)
        line[:, d] = coordinates
        better = best_allowed(line, values(line), is_allowed, value)
        if better is not None:
            at, value = better
    return at, value
