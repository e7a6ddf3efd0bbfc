"""Checks of the sampler's arguments and of the studies that it is given."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study

from bktf.spaces import Choices, Parameter, Pool, Space, parameters_of, read_pool, read_space

NO_CONSTRAINTS = (
    "BKTFSampler does not take outcome constraints (trial.set_constraint) yet; use `feasible` for "
    "constraints between parameters, or return NaN where the outcome is not acceptable"
)
MIN_ANALYSED = 3  # trials with values, without which a study says nothing
WANTED_ORDINAL = "ordinal must be a list of parameter names"
WANTED_SAMPLER = "independent_sampler must be an Optuna sampler, as optuna.samplers.RandomSampler()"
EXAMPLE_SPACE = '{"x": FloatDistribution(0.0, 1.0)}'
WANTED_SPACE = f"search_space must be a dictionary like {EXAMPLE_SPACE}"


def check_seed(seed: object) -> None:
    """Refuse what is neither a seed nor None."""
    is_whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if seed is not None and not (is_whole and seed >= 0):  # type: ignore[operator]
        raise ValueError(f"seed must be a whole number of at least 0, or None; got {seed!r}")


def check_feasible(feasible: object) -> None:
    """Refuse what is neither a function nor None."""
    if feasible is not None and not callable(feasible):
        wanted = "feasible must be a function of the parameters, or None"
        raise ValueError(f"{wanted}; got {feasible!r}")


def parameter_names(ordinal: object) -> tuple[str, ...]:
    """The names given as `ordinal`, checked."""
    if isinstance(ordinal, str):
        raise ValueError(f'{WANTED_ORDINAL}, as in ["{ordinal}"]; got a single string')
    names = tuple(ordinal) if isinstance(ordinal, Iterable) else (ordinal,)
    if not isinstance(ordinal, Iterable) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{WANTED_ORDINAL}; got {ordinal!r}")
    return names


def checked_space(
    search_space: Mapping[str, BaseDistribution] | Sequence[Any] | Space, ordinal: object
) -> Space:
    """The space that was given; refused where it is none, or does not fit `ordinal`."""
    names = parameter_names(ordinal)
    if isinstance(search_space, Space):
        space = search_space
    elif isinstance(search_space, list | tuple) or (
        isinstance(search_space, Mapping)
        and any(isinstance(entry, Choices) for entry in search_space.values())
    ):
        space = read_space(search_space)
    else:
        space = Space(_checked_distributions(search_space), frozenset())
    _check_names(space.distributions, names)
    return space._replace(ordinal=space.ordinal | frozenset(names))


def checked_pool(candidates: object, given: Space | None, ordinal: tuple[str, ...]) -> Pool | None:
    """The candidates, with the space of their columns; None where there is no list."""
    if candidates is None:
        return None
    pool = candidates if isinstance(candidates, Pool) else read_pool(candidates, given)
    _check_names(pool.space.distributions, ordinal)
    ordered = pool.space.ordinal | frozenset(ordinal)
    if ordered != pool.space.ordinal:  # otherwise its rows are not read again
        pool = replace(pool, space=pool.space._replace(ordinal=ordered))
    pool.candidates  # noqa: B018  rows outside the space, and equal ones, are refused here
    return pool


def check_expected_names(space: Space, expected: Mapping[str, Any]) -> None:
    """Refuse a belief about what is no parameter."""
    for name in expected:
        if name not in space.distributions:
            known = ", ".join(map(repr, space.distributions))
            raise ValueError(f"expected_optimum names {name!r}; the space has {known}")


def _check_names(search_space: Mapping[str, BaseDistribution], names: tuple[str, ...]) -> None:
    """Refuse ordinal names that a space does not have, or that are no categories."""
    unknown = sorted(set(names) - set(search_space))
    if unknown:
        wanted = "ordinal must name parameters of the search space"
        raise ValueError(f"{wanted}; {unknown[0]!r} is none")
    check_ordinal(parameters_of(search_space, names))


def _checked_distributions(search_space: object) -> dict[str, BaseDistribution]:
    """The distributions by name; refused where it is no dictionary of Optuna distributions."""
    if not isinstance(search_space, Mapping) or not search_space:
        wanted = f"{WANTED_SPACE} with at least one parameter"
        raise ValueError(f"{wanted}; got {search_space!r}")
    for name, distribution in search_space.items():
        if not isinstance(name, str):
            raise ValueError(f"{WANTED_SPACE}: its names must be strings; got {name!r}")
        if not isinstance(distribution, BaseDistribution):
            raise ValueError(
                f"search_space must hold an Optuna distribution for each name, as {EXAMPLE_SPACE}; "
                f"{name!r} is {distribution!r}. bktf.minimize takes short forms such as (0.0, 1.0)"
            )
    return dict(search_space)


def check_ordinal(parameters: Iterable[Parameter]) -> None:
    """Refuse an ordinal parameter that is no category."""
    for p in parameters:
        if p.ordinal and not isinstance(p.distribution, CategoricalDistribution):
            given = f"{p.name!r} is {p.distribution!r}, which is ordered anyway"
            raise ValueError(f"ordinal names categorical parameters; {given}. Leave it out")


def check_independent(sampler: object, warn: object) -> None:
    """Refuse what is no sampler for conditional parameters, and no answer to whether to warn."""
    if sampler is not None and not isinstance(sampler, BaseSampler):
        raise ValueError(f"{WANTED_SAMPLER}, or None; got {sampler!r}")
    if not isinstance(warn, bool):
        raise ValueError(f"warn_independent_sampling must be True or False; got {warn!r}")


def several_objectives(study: Study) -> ValueError:
    """The error for a study with several objectives."""
    given = f"this one has {len(study.directions)}. Use optuna.samplers.NSGAIISampler"
    return ValueError(f"BKTFSampler takes studies with one objective; {given}")


def check_analysed(parameters: Sequence[Parameter], n_values: int, n_inside: int) -> None:
    """Refuse to analyse a study that says too little, or whose space has changed."""
    if n_values < MIN_ANALYSED:
        raise ValueError(
            f"an analysis needs at least {MIN_ANALYSED} completed trials; the study has {n_values}"
        )
    if not parameters:
        raise ValueError(
            "an analysis needs a parameter that varies; no parameter of this study is in all of "
            "its trials with more than one value"
        )
    if n_inside < MIN_ANALYSED:
        names = ", ".join(repr(p.name) for p in parameters)
        raise ValueError(
            f"an analysis needs at least {MIN_ANALYSED} trials with a finite value in one space; "
            f"{n_inside} of {n_values} completed trials have finite values and lie in today's "
            f"space of {names}. If the space has changed, start a new study, or give the sampler "
            "whose search_space holds the trials"
        )
