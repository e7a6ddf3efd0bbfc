"""The posterior along one parameter around a suggestion: numbers, words and a row of bars."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import FloatDistribution

from bktf.engine import Objective
from bktf.lab.results_table import settable
from bktf.lab.space_file import LabSpace, as_text
from bktf.spaces import Parameter
from bktf.surrogate.posterior import Posterior

Floats = NDArray[np.float64]

SMALL_SHARE = 0.1  # of the way from the best result to the median: differences below it hardly matter
SURE = 0.95  # probability with which an effect must be small to be called so
SEPARATION = 1.645  # standard deviations by which the best value must exceed the worst: 95 % sure that it is better


@dataclass(frozen=True, eq=False)
class Slice:
    """The posterior along one parameter, the others as suggested."""

    parameter: Parameter
    coordinates: Floats  # (u,)
    mean: Floats  # (u,)
    std: Floats  # (u,)
    draws: Floats  # (K, u) joint along the slice
    suggested: int  # index of the suggestion among the coordinates


@dataclass(frozen=True)
class Effect:
    """What the posterior says of the differences along a slice, in the units of the result."""

    best: int  # index of the best expected value
    worst: int
    difference: float  # expected, best against worst; at least 0
    difference_std: float
    upper_bound: float  # on the difference between any two values, with probability SURE

    @property
    def is_separated(self) -> bool:
        """Whether the best expected value is better than the worst with probability 95 %."""
        return self.difference > SEPARATION * self.difference_std


def slices(space: LabSpace, posterior: Posterior, params: Mapping[str, Any], n_points: int = 41) -> list[Slice]:
    """The posterior around a suggestion, one parameter at a time."""
    point = np.array([p.coordinate(params[p.name]) for p in space.parameters], dtype=float)
    made = []
    for d, parameter in enumerate(space.parameters):
        axis = posterior.grid[d]
        if parameter.choice_coordinates is not None or axis.size <= n_points:
            coordinates = axis.points
        else:
            low, high = axis.points[0], axis.points[-1]
            even = np.geomspace(low, high, n_points) if parameter.log else np.linspace(low, high, n_points)
            coordinates = np.unique(np.concatenate((np.clip(even, low, high), point[d : d + 1])))
        line = np.repeat(point[None], len(coordinates), axis=0)
        line[:, d] = coordinates
        suggested = int(np.abs(coordinates - point[d]).argmin())
        made.append(Slice(parameter, coordinates, posterior.mean(line), posterior.std(line), posterior.draws_at(line), suggested))
    return made


def effect_along(part: Slice, objective: Objective) -> Effect:
    """The effect of a parameter from joint draws: values that are uncertain together may still differ by a known amount.

    The bound comes from the largest minus the smallest value of each draw. Where values are uncertain this exceeds the true difference
    on average, which is the safe side for calling an effect small.
    """
    oriented = objective.orient(part.mean)
    best, worst = int(oriented.argmax()), int(oriented.argmin())
    difference = part.draws[:, best] - part.draws[:, worst]
    bound = float(np.quantile(np.ptp(part.draws, axis=1), SURE))
    return Effect(best, worst, float(abs(part.mean[best] - part.mean[worst])), float(difference.std()), bound)


def small_difference(results: Floats, objective: Objective) -> float:
    """The difference below which a parameter hardly matters: a share of the way from the best result to the median."""
    oriented = objective.orient(results)
    return SMALL_SHARE * float(oriented.max() - np.median(oriented))


def in_words(space: LabSpace, part: Slice, results: Floats) -> str:
    """What the model knows of the effect of one parameter: that it is small, nothing yet, or where it is best and worst."""
    unit = f" {space.units[part.parameter.name]}" if space.units[part.parameter.name] else ""
    effect = effect_along(part, space.objective)
    best, worst = effect.best, effect.worst

    def at(j: int) -> str:
        return f"{value_text(space, part.parameter, part.coordinates[j])}{unit}"

    def mean_at(j: int) -> str:
        return digits(float(part.mean[j]), float(part.std[j]))

    if effect.upper_bound < small_difference(results, space.objective):
        return f"hardly matters here: no two values differ by more than {effect.upper_bound:.2g} ({100 * SURE:.0f} % sure)"
    if not effect.is_separated:
        known = f"{at(best)} is expected to be better than {at(worst)} by {effect.difference:.2g} ± {effect.difference_std:.2g}"
        said = "the results say nothing about it" if best == worst else known
        return f"not known yet: {said}; differences may reach {effect.upper_bound:.2g}"
    said = f"best expected at {at(best)} ({mean_at(best)} ± {part.std[best]:.2g}), worst at {at(worst)} ({mean_at(worst)})"
    doubt = int(part.std.argmax())
    if part.std[doubt] > 2 * part.std.min():
        said += f"; least known at {at(doubt)} (± {part.std[doubt]:.2g})"
    return said


def in_picture(part: Slice, width: int = 41) -> str:
    """The mean along a parameter as a row of bars, the suggestion in brackets; for categories, one bar per level."""
    bars = "▁▂▃▄▅▆▇█"
    if part.parameter.choice_coordinates is not None:
        shown = np.arange(len(part.coordinates))
    else:
        shown = np.unique(np.linspace(0, len(part.coordinates) - 1, min(width, len(part.coordinates))).astype(int))
        shown = np.unique(np.append(shown, part.suggested))
    mean = part.mean[shown]
    span = float(np.ptp(mean)) or 1.0
    drawn = [bars[min(7, int(8 * (v - mean.min()) / span))] for v in mean]
    here = int(np.flatnonzero(shown == part.suggested)[0])
    return "".join(drawn[:here]) + "[" + drawn[here] + "]" + "".join(drawn[here + 1 :])


def value_text(space: LabSpace, parameter: Parameter, coordinate: float) -> str:
    """The value at a coordinate, with the digits an experiment can set."""
    value = parameter.value(float(coordinate))
    return as_text(settable(value, space.distributions[parameter.name]) if is_continuous(space, parameter.name) else value)


def is_continuous(space: LabSpace, name: str) -> bool:
    """Whether a parameter takes every number of its range."""
    distribution = space.distributions[name]
    return isinstance(distribution, FloatDistribution) and distribution.step is None


def digits(value: float, error: float) -> str:
    """A number with the digits that its error leaves meaningful, two of the error."""
    if error <= 0 or abs(value) >= 1e15:
        return f"{value:.6g}"
    places = 1 - math.floor(math.log10(error))
    return f"{value:.{max(places, 0)}f}" if places <= 12 else f"{value:.6g}"
