"""How parameters are spread for averages over them: evenly, or as a user says.

A density is `(centre, standard deviation)` of a normal distribution, a dictionary from levels to
weights, or an object with a method `pdf`, as for `expected_optimum`. Densities are those of the
parameter in the user's units, also on a logarithmic axis, cut to the range and normalised there.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bktf._typing import Floats
from bktf.axis_kernels import Axis
from bktf.product_forms import AxisMeasure, panel_rule
from bktf.surrogate import Meaning, Posterior, usual_measure

LONGEST_PANEL, N_NODES = 1 / 32, 10  # of an axis, and nodes of a quadrature on it
REACH = 8.0  # standard deviations of a normal density
NORMAL_ENDS = np.linspace(-8.0, 8.0, 17)  # of panels around the centre, in standard deviations


def measures_of(posterior: Posterior, densities: Mapping[str, Any] | None) -> list[AxisMeasure]:
    """How each parameter is spread: as `densities` says by name, otherwise as its meaning does.

    Without a meaning, parameters are uniform on the scale of their axes, and levels equal.
    """
    given: object = {} if densities is None else densities
    if not isinstance(given, Mapping):
        raise ValueError(
            'densities must be a dictionary like {"rate": (0.01, 0.005)}, or None; '
            f"got {densities!r}"
        )
    meaning = posterior.meaning
    measures = [usual_measure(axis, meaning.measure(d)) for d, axis in enumerate(posterior.grid)]
    for name, density in given.items():
        if name not in meaning.names:
            known = ", ".join(map(repr, meaning.names))
            raise ValueError(f"densities must be named after parameters, {known}; got {name!r}")
        d = meaning.axis(name)
        measures[d] = _measure(posterior.grid[d], meaning, d, density, measures[d])
    return measures


def _measure(
    axis: Axis, meaning: Meaning, d: int, density: Any, default: AxisMeasure
) -> AxisMeasure:
    """The measure that a density means on an axis."""
    place = f"densities[{meaning.names[d]!r}]"
    if isinstance(density, Mapping):
        return _weighted_levels(axis, meaning, d, density, default)
    is_normal = isinstance(density, tuple)
    if is_normal:
        if len(density) != 2 or not all(map(_is_number, density)) or not density[1] > 0:
            raise ValueError(
                f"{place} must be (centre, standard deviation), two numbers, the second positive; "
                f"got {density!r}"
            )
    elif not callable(getattr(density, "pdf", None)):
        raise ValueError(
            f"{place} must be (centre, standard deviation), a dictionary from levels to weights, "
            f"or an object with a method pdf; got {density!r}"
        )
    if axis.kernel.on_levels:
        raise ValueError(
            f"{place} must be a dictionary from levels to weights, because "
            f"{meaning.names[d]!r} has levels; got {density!r}"
        )
    if default.coords is not None:
        coords, weights = default.coords, np.ones(default.coords.size)
        shown = [meaning.value(d, x) for x in axis.unscale(coords).tolist()]
        is_numeric = all(map(_is_number, shown))
        values = np.array(shown, dtype=float) if is_numeric else np.arange(float(len(shown)))
    else:
        ends = np.unique(np.clip(np.append(axis.scale(axis.active_points), [0.0, 1.0]), 0.0, 1.0))
        if is_normal:
            around = density[0] + density[1] * NORMAL_ENDS
            low, high = axis.active_points[[0, -1]]
            ends = np.union1d(ends, axis.scale(around[(around > low) & (around < high)]))
        coords, weights = panel_rule(ends, LONGEST_PANEL, N_NODES)
        values = axis.unscale(coords)
        if axis.log:
            weights = weights * values  # d value / d logarithm
    if is_normal:
        exponents = -0.5 * ((values - density[0]) / density[1]) ** 2
        # A density whose range is outside is a mistake; a narrow one between values is none.
        low, high = axis.active_points[[0, -1]]
        is_outside = density[0] + REACH * density[1] < low or density[0] - REACH * density[1] > high
        heights = np.zeros(values.size) if is_outside else np.exp(exponents - exponents.max())
    else:
        heights = np.array([float(density.pdf(x)) for x in values.tolist()])
    masses = weights * heights
    if not np.all(np.isfinite(heights)) or heights.min() < 0 or not masses.sum() > 0:
        low, high = axis.active_points[[0, -1]]
        raise ValueError(
            f"{place} must be finite, not negative, and positive somewhere between {low:g} and "
            f"{high:g}; give another density, or none"
        )
    return AxisMeasure(coords, masses / masses.sum())


def _weighted_levels(
    axis: Axis, meaning: Meaning, d: int, weights: Mapping[Any, Any], default: AxisMeasure
) -> AxisMeasure:
    """The measure of weights by level."""
    name = meaning.names[d]
    place = f"densities[{name!r}]"
    if default.coords is None:
        raise ValueError(f"{place} gives weights to levels, but {name!r} is a number in a range")
    numbers = list(weights.values())
    if not numbers or not all(_is_number(w) and w >= 0 for w in numbers) or not sum(numbers) > 0:
        raise ValueError(
            f"{place} must give each level a weight of at least 0, one of them positive; "
            f"got {dict(weights)!r}"
        )
    levels = [meaning.value(d, x) for x in axis.unscale(default.coords).tolist()]
    for level in weights:
        if level not in levels:
            raise ValueError(f"{place}: {level!r} is no level of {name!r}; there are {levels}")
    masses: Floats = np.array([float(weights.get(level, 0.0)) for level in levels])
    return AxisMeasure(default.coords, masses / masses.sum())


def _is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    is_real = isinstance(value, int | float | np.integer | np.floating)
    return is_real and not isinstance(value, bool) and math.isfinite(value)  # type: ignore[arg-type]
