"""Slices and marginals: f along one or two parameters, the others fixed or averaged out.

A slice is f along parameters where the others stay. A marginal is the average of f over the others.
Both come with the mean, the standard deviation and bands; within each draw of the parameters of the
model f is normal, so bands are quantiles of a mixture of normal distributions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bktf._typing import Bools, Floats
from bktf.analysis.averaged_draws import average_by_draw, average_over_points
from bktf.analysis.densities import measures_of
from bktf.analysis.explained import check_observed
from bktf.analysis.normal_mixture import NormalMixture
from bktf.analysis.slice_points import Along, Lines, Values, fixed_point, lines_along
from bktf.analysis.spread_points import points_at_units, respect_conditions, spread_units
from bktf.product_forms import AxisMeasure, Moments
from bktf.surrogate import Posterior

LEVELS = (0.5, 0.9)  # of the bands


@dataclass(frozen=True, eq=False)
class Curve:
    """f along one parameter (u,), or along two (u, v), in the units of y.

    Levels are coordinates by their index; `values` has what the user calls them.
    """

    names: tuple[str, ...]
    coordinates: tuple[Floats, ...]  # (u,) of each parameter
    values: tuple[list[Any], ...]  # the same as the user's values
    mean: Floats
    std: Floats
    bands: Mapping[float, tuple[Floats, Floats]]  # by level 0.5 and 0.9, low and high
    observed: Floats  # (n, 1 or 2) coordinates of the observations
    y: Floats  # (n,) what was observed


@dataclass(frozen=True, eq=False)
class Slice(Curve):
    """f where the other parameters stay; `at` has their values."""

    at: dict[str, Any]
    is_inactive: Bools  # where a parameter of the slice is inactive, so that it has no effect


@dataclass(frozen=True, eq=False)
class Marginal(Curve):
    """f averaged over the other parameters."""

    error: Floats | None  # standard errors of the mean by quadrature; None: the average is exact


def slice_along(
    posterior: Posterior,
    along: Along,
    at: Mapping[str, Any] | ArrayLike | None = None,
    values: Values = None,
) -> Slice:
    """The function along one or two parameters, where the others stay.

    Args:
        posterior: a fit of any rank.
        along: the name of a parameter, or of two.
        at: what gives the others: a dictionary of values by name, or a point (D,). The default is
            the tried point of the best posterior mean where a direction is known, otherwise the
            middle of the box and the level that was tried most often.
        values: a list of values of the parameter, or two lists. By default all values of a finite
            parameter; of others 41, or 21 of each of two, even on the scale of the axis.
    """
    check_posterior(posterior)
    point = fixed_point(posterior, at)
    lines = lines_along(posterior, along, values, point)
    points = respect_conditions(posterior, lines.points(point), lines.axes)
    within = posterior.draws.moments_by_draw(points)
    is_inactive = np.isinf(points[:, list(lines.axes)]).any(axis=1)
    moving = [posterior.names[d] for d in lines.axes]
    fixed = {
        name: value for name, value in posterior.meaning.params(point).items() if name not in moving
    }
    return Slice(
        **_curve(posterior, lines, within), at=fixed, is_inactive=is_inactive.reshape(lines.shape)
    )


def marginal_of(
    posterior: Posterior,
    along: Along,
    densities: Mapping[str, Any] | None = None,
    values: Values = None,
) -> Marginal:
    """The function along one or two parameters, averaged over all others.

    The average is exact: nothing is sampled. Only in a conditional space, where a parameter counts
    for some values of others, it is one over 256 evenly spread points, and `error` is its error.
    There all parameters are drawn independently and have no effect where they are inactive.
    The deviation has an error too, about 10 %.

    Args:
        posterior: a fit of any rank.
        along: the name of a parameter, or of two.
        densities: by name, how a parameter is spread: (centre, standard deviation), a dictionary
            from levels to weights, or an object with a method `pdf`. The others are even on their
            scale, whole numbers and levels over their values.
        values: as for `slice_along`.
    """
    check_posterior(posterior)
    lines, measures = averaged_lines(posterior, along, densities, values)
    points = lines.points(np.array([axis.points[0] for axis in posterior.grid]))
    if posterior.meaning.point_at is None:
        over = {d: measure for d, measure in enumerate(measures) if d not in lines.axes}
        within = average_by_draw(posterior.draws, over, points)
        return Marginal(**_curve(posterior, lines, within), error=None)
    units, found, errors = spread_units(posterior), [], []
    for row in points:
        fixed = {d: float(row[d]) for d in lines.axes}
        flat = points_at_units(posterior, measures, units.reshape(-1, units.shape[2]), fixed)
        moments, error_here = average_over_points(posterior, flat.reshape(units.shape))
        found.append(moments)
        errors.append(error_here)
    within = Moments(*(np.concatenate(part, axis=1) for part in zip(*found, strict=True)))
    error = posterior.standardisation.scale * np.array(errors).reshape(lines.shape)
    return Marginal(**_curve(posterior, lines, within), error=error)


def averaged_lines(
    posterior: Posterior, along: Along, densities: Mapping[str, Any] | None, values: Values
) -> tuple[Lines, list[AxisMeasure]]:
    """The values along parameters, and how all parameters are spread; refuses what is neither."""
    check_observed(posterior, "an average")
    lines, measures = lines_along(posterior, along, values, None), measures_of(posterior, densities)
    for name in densities or {}:
        if posterior.meaning.axis(name) in lines.axes:
            raise ValueError(f"densities are of parameters to average over; {name!r} is not one")
    if densities and posterior.meaning.point_at is not None:
        raise ValueError("densities are not supported in a conditional space; leave them out")
    return lines, measures


def check_posterior(posterior: object) -> None:
    """Refuse what is no posterior."""
    if not isinstance(posterior, Posterior):
        raise ValueError(f"a slice is one of a bktf.Posterior; got {type(posterior).__name__}")


def shown_values(posterior: Posterior, lines: Lines) -> tuple[list[Any], ...]:
    """The coordinates along parameters as the user's values."""
    pairs = zip(lines.axes, lines.coordinates, strict=True)
    return tuple([posterior.meaning.value(d, x) for x in line.tolist()] for d, line in pairs)


def _curve(posterior: Posterior, lines: Lines, within: Moments) -> dict[str, Any]:
    """The fields of a curve, from the moments (K, ·) within each draw, in the model's units."""
    units, n_draws = posterior.standardisation, len(within.mean)
    weights = np.full(within.mean.shape, 1.0 / n_draws)
    mixture = NormalMixture(weights, within.mean, np.sqrt(within.variance))
    mean, std = mixture.moments()
    bands = {}
    for level in LEVELS:
        ends = [mixture.quantile(0.5 * (1.0 + sign * level)) for sign in (-1.0, 1.0)]
        low, high = (units.to_user(end).reshape(lines.shape) for end in ends)
        bands[level] = (low, high)
    return {
        "names": tuple(posterior.names[d] for d in lines.axes),
        "coordinates": lines.coordinates,
        "values": shown_values(posterior, lines),
        "mean": units.to_user(mean).reshape(lines.shape),
        "std": (units.scale * std).reshape(lines.shape),
        "bands": bands,
        "observed": posterior.X[:, list(lines.axes)],
        "y": posterior.y,
    }
