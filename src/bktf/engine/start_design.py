"""The start design: points that fill the space before there is a model."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bktf.engine.settings import NothingFeasible, Strategy, Suggestion, seed_for
from bktf.spaces.parameters import Parameter, n_points

Floats = NDArray[np.float64]

FEW_TRIES = 200  # random points asked before a small space is looked at whole
MAX_TRIES = 20_000  # random points asked for one that is allowed
ENUMERATE_POINTS = 200_000  # spaces up to this size are searched whole for a point that is left
NOTHING_FOUND = (
    f"no point that `feasible` allows was found among {MAX_TRIES:,} random ones and near to those that were tried. Write the space so that "
    "more of it is feasible: leave out a parameter that the others determine, or make one categorical parameter of the candidates"
)


def start_point(
    parameters: Sequence[Parameter],
    strategy: Strategy,
    number: int,
    seed: int,
    avoid: Floats,
    feasible: Callable[[Floats], bool] | None,
    fixed: Mapping[int, float],
) -> Suggestion:
    """Point `number` of a scrambled Sobol sequence; where that is to be avoided (avoid is (n, D)) or not feasible, a random one.

    Where all feasible points are known, it is the one that is left nearest to that of the sequence.
    """
    taken = {tuple(row) for row in avoid.tolist()}
    rng = np.random.default_rng(seed_for(seed, number))

    def place(units: Floats) -> tuple[float, ...]:
        return tuple(fixed[d] if d in fixed else p.from_unit(float(u)) for d, (p, u) in enumerate(zip(parameters, units, strict=True)))

    def is_good(point: tuple[float, ...], repeats: bool) -> bool:
        return (repeats or point not in taken) and (feasible is None or feasible(np.array(point)))

    wanted = _sobol(len(parameters), number, seed) if strategy.space_filling else rng.random(len(parameters))
    known = getattr(feasible, "points", None)
    if known is not None:
        return _nearest_known(parameters, known, wanted, taken, strategy.allow_repeats, fixed)
    first = place(wanted)
    if is_good(first, strategy.allow_repeats):
        return Suggestion(np.array(first), None, False)
    is_small = n_points(parameters) <= ENUMERATE_POINTS
    for _ in range(FEW_TRIES if is_small else MAX_TRIES):
        point = place(rng.random(len(parameters)))
        if is_good(point, strategy.allow_repeats):
            return Suggestion(np.array(point), None, False)
    left = any_left(parameters, lambda p: is_good(p, False), fixed, rng) if is_small else None
    if left is not None:
        return Suggestion(np.array(left), None, False)
    again = any_left(parameters, lambda p: is_good(p, True), fixed, rng) if is_small else None
    if again is not None:
        return Suggestion(np.array(again), None, True)
    for _ in range(0 if is_small else MAX_TRIES):
        point = place(rng.random(len(parameters)))
        if is_good(point, True):
            return Suggestion(np.array(point), None, True)
    raise NothingFeasible(NOTHING_FOUND)


def _nearest_known(
    parameters: Sequence[Parameter], known: Floats, wanted: Floats, taken: set[tuple[float, ...]], repeats: bool, fixed: Mapping[int, float]
) -> Suggestion:
    """The feasible point nearest to a wanted place (D,) of the unit cube; a repeat where all were tried."""
    kept = known[np.all([known[:, d] == x for d, x in fixed.items()], axis=0)] if fixed else known
    if not len(kept):
        raise NothingFeasible("`feasible` allows no point of the space" + (" with the values that this trial keeps" if fixed else ""))
    new = kept if repeats else kept[[tuple(row) not in taken for row in kept.tolist()]]
    left = new if len(new) else kept
    axes = [np.unique(known[:, d]) for d in range(len(parameters))]
    units = np.stack([(np.searchsorted(axis, left[:, d]) + 0.5) / axis.size for d, axis in enumerate(axes)], axis=1)
    nearest = int(((units - wanted) ** 2).sum(axis=1).argmin())
    return Suggestion(left[nearest], None, not len(new))


def _sobol(n_dims: int, number: int, seed: int) -> Floats:
    """Point `number` of a scrambled Sobol sequence in [0, 1)^D, the scrambling given by the seed."""
    from scipy.stats import qmc  # takes half a second to import, and only a start needs it

    sequence = qmc.Sobol(n_dims, scramble=True, rng=np.random.default_rng(seed_for(seed)))
    if number:
        sequence.fast_forward(number)
    point: Floats = np.asarray(sequence.random(1)[0], dtype=np.float64)
    return np.minimum(point, 1.0 - 2.0**-53)


def any_left(
    parameters: Sequence[Parameter],
    is_good: Callable[[tuple[float, ...]], bool],
    fixed: Mapping[int, float],
    rng: np.random.Generator,
) -> tuple[float, ...] | None:
    """A good point of a small finite space, if there is one, by looking at all of them in random order."""
    free = [d for d in range(len(parameters)) if d not in fixed]
    total = n_points([parameters[d] for d in free])
    sizes = [int(parameters[d].n_values) for d in free]
    for flat in rng.permutation(int(total)):
        units = dict(zip(free, (np.array(np.unravel_index(flat, sizes)) + 0.5) / sizes, strict=True)) if free else {}
        point = tuple(fixed[d] if d in fixed else _value_number(p, units[d]) for d, p in enumerate(parameters))
        if is_good(point):
            return point
    return None


def _value_number(parameter: Parameter, share: float) -> float:
    """The coordinate of the value at this share of a finite parameter's values."""
    if parameter.places is not None:
        return parameter.from_unit(share)
    return float(parameter.axis(np.zeros(0), np.zeros(0)).points[int(share * parameter.n_values)])
