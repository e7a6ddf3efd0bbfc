"""A posterior that knows what its columns and values are to the user, and what may be suggested."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from bktf._typing import Floats
from bktf.acquisition import DomainPart, SearchDomain
from bktf.engine.branch_search import parts_to_search
from bktf.engine.suggestion import Engine
from bktf.product_forms import UNIFORM, AxisMeasure
from bktf.spaces import Parameter, has_conditions, point_at
from bktf.surrogate import Meaning, Posterior


def describe(
    posterior: Posterior, engine: Engine, fixed: Mapping[int, float] | None = None
) -> Posterior:
    """The posterior in the user's direction, with names, values, direction and search domain.

    posterior: oriented; larger is better. fixed: coordinates that suggestions keep, by axis.
    """
    parameters, objective = engine.parameters, engine.objective
    meaning = Meaning(
        names=tuple(p.name for p in parameters),
        direction=objective.direction,
        objective=objective.name,
        unit=objective.unit,
        values={d: p.value for d, p in enumerate(parameters)},
        listed={
            d: tuple(p.ends_or_values().tolist())
            for d, p in enumerate(parameters)
            if not p.is_divisible
        },
        measures={d: measure_of(p, posterior, d) for d, p in enumerate(parameters)},
        domain=domain_of(posterior, engine, fixed or {}),
        point_at=partial(_point_at, parameters) if has_conditions(parameters) else None,
    )
    return replace(objective.orient_posterior(posterior), described=meaning)


def domain_of(posterior: Posterior, engine: Engine, fixed: Mapping[int, float]) -> SearchDomain:
    """What the engine may suggest, on the axes of an oriented posterior."""
    rng = np.random.default_rng(posterior.seed)  # where branches are too many to be listed
    is_whole = getattr(engine.feasible, "is_list", False) or hasattr(
        engine.feasible, "random_points"
    )
    parts = [] if is_whole else parts_to_search(posterior, engine.parameters, fixed, rng)
    named = tuple(DomainPart(part.fixed, part.within) for part in parts)
    return SearchDomain(
        named or (DomainPart(fixed, {}),),
        engine.feasible,
        engine.free_axes,
        engine.settings.allow_repeats,
    )


def measure_of(parameter: Parameter, posterior: Posterior, d: int) -> AxisMeasure:
    """How a parameter is spread over its axis: all its values alike, on its own scale.

    Of whole numbers on a logarithmic scale each counts from half a step below to half a step above.
    """
    if parameter.is_divisible:
        return UNIFORM
    coords = parameter.ends_or_values()
    weights = np.full(coords.size, 1.0 / coords.size)
    if parameter.log and parameter.choice_coordinates is None:
        weights = np.log(coords + 0.5) - np.log(np.maximum(coords - 0.5, 0.5))
        weights /= weights.sum()
    return AxisMeasure(posterior.grid[d].scale(coords), weights)


def _point_at(parameters: Sequence[Parameter], units: Floats) -> Floats:
    """The point (D,) at shares (D,) of the parameters' values, those that are inactive infinite."""
    shares = np.minimum(units, math.nextafter(1.0, 0.0))
    return np.array(point_at(parameters, shares, {}))
