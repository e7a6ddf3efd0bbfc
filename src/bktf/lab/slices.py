"""The posterior along one parameter around a suggestion: numbers, words and a row of bars."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution

from bktf._typing import Floats
from bktf.engine import Objective
from bktf.lab.lab_space import LabSpace, as_text, point_of
from bktf.lab.results_table import settable
from bktf.spaces import Parameter
from bktf.surrogate import Posterior

SMALL_SHARE = 0.1  # of the way from the best result to the median: less hardly matters
SURE = 0.95  # probability with which an effect must be small to be called so
SEPARATION = 1.645  # standard deviations between best and worst value: 95 % sure of the order


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


def slices(
    space: LabSpace,
    posterior: Posterior,
    params: Mapping[str, Any],
    n_points: int = 41,
) -> list[Slice]:
    """The posterior around a suggestion, one active parameter at a time.

    Those that others depend on are left out: with another value other parameters would be active.
    """
    point = np.array(point_of(space.parameters, dict(params)), dtype=float)
    parents = {name for p in space.parameters for name in p.parents}
    made = []
    for d, parameter in enumerate(space.parameters):
        if parameter.name not in params or parameter.name in parents:
            continue
        points = posterior.grid[d].active_points
        if parameter.choice_coordinates is not None or points.size <= n_points:
            coordinates = points
        else:
            low, high = points[0], points[-1]
            spaced = np.geomspace if parameter.log else np.linspace
            even = spaced(low, high, n_points)
            coordinates = np.unique(np.concatenate((np.clip(even, low, high), point[d : d + 1])))
        line = np.repeat(point[None], len(coordinates), axis=0)
        line[:, d] = coordinates
        suggested = int(np.abs(coordinates - point[d]).argmin())
        mean, std, draws = posterior.mean(line), posterior.std(line), posterior.draws_at(line)
        made.append(Slice(parameter, coordinates, mean, std, draws, suggested))
    return made


def effect_along(part: Slice, objective: Objective) -> Effect:
    """The effect of a parameter, from joint draws.

    Values that are uncertain together may still differ by a known amount. The bound comes from the
    largest minus the smallest value of each draw. Where values are uncertain this exceeds the true
    difference on average, which is the safe side for calling an effect small.
    """
    oriented = objective.orient(part.mean)
    best, worst = int(oriented.argmax()), int(oriented.argmin())
    difference = part.draws[:, best] - part.draws[:, worst]
    bound = float(np.quantile(np.ptp(part.draws, axis=1), SURE))
    expected = float(abs(part.mean[best] - part.mean[worst]))
    return Effect(best, worst, expected, float(difference.std()), bound)


def small_difference(results: Floats, objective: Objective) -> float:
    """The difference in results below which a parameter hardly matters."""
    oriented = objective.orient(results)
    return SMALL_SHARE * float(oriented.max() - np.median(oriented))


def in_words(space: LabSpace, part: Slice, results: Floats) -> str:
    """What the model knows of one parameter: a small effect, nothing yet, or its best and worst."""
    unit = f" {space.units[part.parameter.name]}" if space.units[part.parameter.name] else ""
    effect = effect_along(part, space.objective)
    best, worst = effect.best, effect.worst

    def at(j: int) -> str:
        """The value at a coordinate, with its unit."""
        return f"{value_text(space, part.parameter, part.coordinates[j])}{unit}"

    def mean_at(j: int) -> str:
        """The mean at a coordinate."""
        return digits(float(part.mean[j]), float(part.std[j]))

    if effect.upper_bound < small_difference(results, space.objective):
        bound = f"{effect.upper_bound:.2g} ({100 * SURE:.0f} % sure)"
        return f"hardly matters here: no two values differ by more than {bound}"
    if not effect.is_separated:
        known = "the results say nothing about it"
        if best != worst:
            difference = f"{effect.difference:.2g} ± {effect.difference_std:.2g}"
            known = f"{at(best)} is expected to be better than {at(worst)} by {difference}"
        return f"not known yet: {known}; differences may reach {effect.upper_bound:.2g}"
    best_mean = f"{mean_at(best)} ± {part.std[best]:.2g}"
    known = f"best expected at {at(best)} ({best_mean}), worst at {at(worst)} ({mean_at(worst)})"
    doubt = int(part.std.argmax())
    if part.std[doubt] > 2 * part.std.min():
        known += f"; least known at {at(doubt)} (± {part.std[doubt]:.2g})"
    return known


def in_picture(part: Slice, width: int = 41) -> str:
    """The mean along a parameter as a row of bars, one per level, the suggestion in brackets."""
    bars = "▁▂▃▄▅▆▇█"
    if part.parameter.choice_coordinates is not None:
        shown = np.arange(len(part.coordinates))
    else:
        n = len(part.coordinates)
        shown = np.unique(np.linspace(0, n - 1, min(width, n)).astype(int))
        shown = np.unique(np.append(shown, part.suggested))
    mean = part.mean[shown]
    span = float(np.ptp(mean)) or 1.0
    drawn = [bars[min(7, int(8 * (v - mean.min()) / span))] for v in mean]
    here = int(np.flatnonzero(shown == part.suggested)[0])
    return "".join(drawn[:here]) + "[" + drawn[here] + "]" + "".join(drawn[here + 1 :])


def value_text(space: LabSpace, parameter: Parameter, coordinate: float) -> str:
    """The value at a coordinate, with the digits an experiment can set."""
    value = parameter.value(float(coordinate))
    if is_continuous(space, parameter.name):
        value = settable(value, space.distributions[parameter.name])
    return as_text(value)


def is_continuous(space: LabSpace, name: str) -> bool:
    """Whether a parameter takes every number of its range."""
    distribution = space.distributions[name]
    return isinstance(distribution, FloatDistribution) and distribution.step is None


def digits(value: float, error: float) -> str:
    """A number with the digits that its error leaves meaningful, two of the error."""
    if error <= 0 or abs(value) >= 1e15:
        return f"{value:.6g}"
    n_decimals = 1 - math.floor(math.log10(error))
    return f"{value:.{max(n_decimals, 0)}f}" if n_decimals <= 12 else f"{value:.6g}"
