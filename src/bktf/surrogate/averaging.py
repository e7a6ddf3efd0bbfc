"""Whole functions averaged over some of their parameters."""

from collections.abc import Mapping

import numpy as np

from bktf.axis_kernels import Axis
from bktf.components import ComponentPaths, average_components
from bktf.product_forms import (
    AxisMeasure,
    JoinedPaths,
    ProductPaths,
    SummedPaths,
    average_products,
)
from bktf.surrogate.meaning import Meaning


def average_paths(paths: ProductPaths, over: Mapping[int, AxisMeasure]) -> ProductPaths:
    """Paths averaged over some axes, as functions of the others."""
    if isinstance(paths, ComponentPaths):
        return ComponentPaths(average_components(paths.draws, over))
    if isinstance(paths, SummedPaths):
        return SummedPaths(average_paths(paths.first, over), average_paths(paths.second, over))
    if isinstance(paths, JoinedPaths):
        return JoinedPaths(tuple(average_paths(part, over) for part in paths.parts))
    return average_products(paths, over)


def usual_measure(axis: Axis, stated: AxisMeasure) -> AxisMeasure:
    """How a parameter is spread over its active range: as stated, or evenly, levels too."""
    size = axis.active_points.size
    if stated.coords is None and (axis.kernel.on_levels or size == 1):
        return AxisMeasure(np.arange(float(size)), np.full(size, 1.0 / size))
    return stated


def keep_axes(meaning: Meaning, kept: tuple[int, ...]) -> Meaning:
    """What some of the columns mean."""
    return Meaning(
        names=tuple(meaning.names[d] for d in kept),
        direction=meaning.direction,
        objective=meaning.objective,
        unit=meaning.unit,
        values={i: meaning.values[d] for i, d in enumerate(kept) if d in meaning.values},
        measures={i: meaning.measures[d] for i, d in enumerate(kept) if d in meaning.measures},
    )
