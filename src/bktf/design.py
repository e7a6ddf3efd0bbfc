"""The start design: points that fill the space before there is a model."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bktf.space import Parameter, n_points
from bktf.strategy import Strategy, Suggestion, seed_for

Floats = NDArray[np.float64]

MAX_TRIES = 20_000  # random points asked for one that is allowed
ENUMERATE_POINTS = 200_000  # spaces up to this size are searched whole for a point that is left


def start_point(
    parameters: Sequence[Parameter],
    strategy: Strategy,
    number: int,
    seed: int,
    avoid: Floats,
    feasible: Callable[[Floats], bool] | None,
    fixed: Mapping[int, float],
) -> Suggestion:
    """Point `number` of a scrambled Sobol sequence; where that is to be avoided (avoid is (n, D)) or not feasible, a random one."""
    taken = {tuple(row) for row in avoid.tolist()}
    rng = np.random.default_rng(seed_for(seed, number))

    def place(units: Floats) -> tuple[float, ...]:
        return tuple(fixed[d] if d in fixed else p.from_unit(float(u)) for d, (p, u) in enumerate(zip(parameters, units, strict=True)))

    def is_good(point: tuple[float, ...], repeats: bool) -> bool:
        return (repeats or point not in taken) and (feasible is None or feasible(np.array(point)))

    first = place(_sobol(len(parameters), number, seed) if strategy.space_filling else rng.random(len(parameters)))
    if is_good(first, strategy.allow_repeats):
        return Suggestion(np.array(first), None, False)
    for _ in range(MAX_TRIES):
        point = place(rng.random(len(parameters)))
        if is_good(point, strategy.allow_repeats):
            return Suggestion(np.array(point), None, False)
    left = _any_left(parameters, is_good, fixed, rng)
    if left is not None:
        return Suggestion(np.array(left), None, False)
    for _ in range(MAX_TRIES):
        point = place(rng.random(len(parameters)))
        if is_good(point, True):
            return Suggestion(np.array(point), None, True)
    raise ValueError(
        f"no point that `feasible` allows was found among {MAX_TRIES:,} random ones; "
        "it must be true on a part of the space that can be found"
    )


def _sobol(n_dims: int, number: int, seed: int) -> Floats:
    """Point `number` of a scrambled Sobol sequence in [0, 1)^D, the scrambling given by the seed."""
    from scipy.stats import qmc  # takes half a second to import, and only a start needs it

    sequence = qmc.Sobol(n_dims, scramble=True, rng=np.random.default_rng(seed_for(seed)))
    if number:
        sequence.fast_forward(number)
    point: Floats = np.asarray(sequence.random(1)[0], dtype=np.float64)
    return np.minimum(point, 1.0 - 2.0**-53)


def _any_left(
    parameters: Sequence[Parameter],
    is_good: Callable[[tuple[float, ...], bool], bool],
    fixed: Mapping[int, float],
    rng: np.random.Generator,
) -> tuple[float, ...] | None:
    """A point that is left on a small finite space, by looking at all of them in random order."""
    free = [d for d in range(len(parameters)) if d not in fixed]
    total = n_points([parameters[d] for d in free])
    if total > ENUMERATE_POINTS:
        return None
    sizes = [int(parameters[d].n_values) for d in free]
    for flat in rng.permutation(int(total)):
        units = dict(zip(free, (np.array(np.unravel_index(flat, sizes)) + 0.5) / sizes, strict=True)) if free else {}
        point = tuple(fixed[d] if d in fixed else _value_number(p, units[d]) for d, p in enumerate(parameters))
        if is_good(point, False):
            return point
    return None


def _value_number(parameter: Parameter, share: float) -> float:
    """The coordinate of the value at this share of a finite parameter's values."""
    if parameter.places is not None:
        return parameter.from_unit(share)
    return float(parameter.axis(np.zeros(0), np.zeros(0)).points[int(share * parameter.n_values)])
