"""An acquisition along one or two parameters, the others fixed or averaged out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bktf._typing import Bools, Floats
from bktf.acquisition import check_beta
from bktf.analysis.averaged_draws import repeat_error
from bktf.analysis.optimum import check_direction
from bktf.analysis.slice_points import Along, Values, fixed_point, lines_along
from bktf.analysis.slices import averaged_lines, check_posterior, shown_values
from bktf.analysis.spread_points import points_at_units, respect_conditions, spread_units
from bktf.surrogate import Direction, Posterior

SCORES = ("ei", "ucb", "max")


@dataclass(frozen=True, eq=False)
class AcquisitionSlice:
    """An acquisition along one parameter (u,), or along two (u, v).

    Larger is better in either direction: to minimise, it is the acquisition of −f.
    """

    acquisition: str
    names: tuple[str, ...]
    coordinates: tuple[Floats, ...]  # (u,) of each parameter
    values: tuple[list[Any], ...]  # the same as the user's values
    score: Floats  # in the units of y
    error: Floats | None  # standard errors of averages; None where parameters are fixed
    at: dict[str, Any] | None  # the fixed parameters; None where they are averaged out
    is_inactive: Bools  # where a parameter of the slice is inactive


@dataclass(frozen=True)
class Score:
    """Which acquisition: "ei" (expected improvement), "ucb" (mean + beta·std) or "max" (mean)."""

    acquisition: str = "ei"
    direction: Direction | None = None  # a study or a Result brings its own
    beta: float = 2.0

    def of(self, posterior: Posterior) -> Callable[[Floats], Floats]:
        """The acquisition as a function of points (m, D), (m,)."""
        if self.acquisition not in SCORES:
            names = ", ".join(map(repr, SCORES))
            raise ValueError(f"acquisition must be one of {names}; got {self.acquisition!r}")
        check_beta(self.beta)
        direction = check_direction(posterior, self.direction)
        oriented = posterior if direction == "maximize" else posterior.negated()
        if self.acquisition == "ei":
            return oriented.expected_improvement
        if self.acquisition == "max":
            return oriented.mean
        return lambda points: oriented.mean(points) + self.beta * oriented.std(points)


def acquisition_along(
    posterior: Posterior,
    along: Along,
    at: Mapping[str, Any] | ArrayLike | None = None,
    values: Values = None,
    score: Score | None = None,
) -> AcquisitionSlice:
    """An acquisition along one or two parameters, where the others stay.

    Arguments as for `slice_along`. score: which acquisition, by default expected improvement.
    """
    check_posterior(posterior)
    chosen = score or Score()
    evaluate, point = chosen.of(posterior), fixed_point(posterior, at)
    lines = lines_along(posterior, along, values, point)
    points = respect_conditions(posterior, lines.points(point), lines.axes)
    params = posterior.meaning.params(point)
    moving = {posterior.names[d] for d in lines.axes}
    return AcquisitionSlice(
        acquisition=chosen.acquisition,
        names=tuple(posterior.names[d] for d in lines.axes),
        coordinates=lines.coordinates,
        values=shown_values(posterior, lines),
        score=evaluate(points).reshape(lines.shape),
        error=None,
        at={name: value for name, value in params.items() if name not in moving},
        is_inactive=np.isinf(points[:, list(lines.axes)]).any(axis=1).reshape(lines.shape),
    )


def average_acquisition(
    posterior: Posterior,
    along: Along,
    densities: Mapping[str, Any] | None = None,
    values: Values = None,
    score: Score | None = None,
) -> AcquisitionSlice:
    """An acquisition along one or two parameters, averaged over the others.

    The average of an acquisition has no closed form. It is one over 256 evenly spread points, and
    `error` is its standard error. Arguments as for `marginal_of` and `acquisition_along`.
    """
    check_posterior(posterior)
    chosen = score or Score()
    evaluate = chosen.of(posterior)
    lines, measures = averaged_lines(posterior, along, densities, values)
    units = spread_units(posterior)
    n_repeats, n_spread, n_dims = units.shape
    means, errors = [], []
    for row in lines.points(np.zeros(n_dims)):
        fixed = {d: float(row[d]) for d in lines.axes}
        spread = points_at_units(posterior, measures, units.reshape(-1, n_dims), fixed)
        found = evaluate(spread).reshape(n_repeats, n_spread)
        means.append(float(found.mean()))
        errors.append(repeat_error(found))
    return AcquisitionSlice(
        acquisition=chosen.acquisition,
        names=tuple(posterior.names[d] for d in lines.axes),
        coordinates=lines.coordinates,
        values=shown_values(posterior, lines),
        score=np.array(means).reshape(lines.shape),
        error=np.array(errors).reshape(lines.shape),
        at=None,
        is_inactive=np.zeros(lines.shape, dtype=bool),
    )
