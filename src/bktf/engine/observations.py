"""What a surrogate is fitted to, and the fit in the user's direction."""

from collections.abc import Sequence
from dataclasses import dataclass

from bktf._typing import Floats
from bktf.engine.history import RelatedValues
from bktf.engine.settings import Objective
from bktf.gaussian_process import Descriptors
from bktf.surrogate import (
    ModelSpec,
    Posterior,
    ProcessStart,
    RunOptions,
    add_descriptors,
    fit_mode,
    fit_model,
    fold_descriptors,
)


@dataclass(frozen=True, eq=False)
class Observations:
    """What a surrogate is fitted to, and the seed of the fit."""

    axes: Sequence[Floats]
    X: Floats  # (n, D)
    y: Floats  # (n,) oriented: larger is better
    objective: Objective
    seed: int
    kernels: Sequence[str | None]  # None on an ordered axis
    log: Sequence[bool]
    warm_start: Posterior | None = None  # oriented; only components use it
    start: ProcessStart | None = None  # only a process uses it
    is_warped: bool | None = None  # whether it sees warped values; None: to be found out
    related: RelatedValues | None = None  # only a process uses them
    descriptors: tuple[Descriptors, ...] = ()  # of levels; only a process uses them
    n_threads: int | None = None  # of the chains; by default as many as there are processors


def fit_oriented(data: Observations, spec: ModelSpec) -> Posterior:
    """The oriented posterior of a model.

    The fit itself sees values in the user's direction. The draws of components given −y are not
    the mirror image of those given y. So a seed keeps its suggestions, and the surrogate that
    people see is the fit of their own values.
    """
    orient = data.objective.orient_posterior
    values, options = data.objective.to_user(data.y), RunOptions(data.n_threads)
    if not spec.is_process:
        earlier = None if data.warm_start is None else orient(data.warm_start)
        return orient(fit_model(spec, data.axes, data.X, values, data.seed, earlier, options))
    if not data.descriptors:
        return orient(fit_model(spec, data.axes, data.X, values, data.seed, data.start, options))
    wide, axes, X = add_descriptors(spec, data.axes, data.X, data.descriptors)
    fitted = fit_model(wide, axes, X, values, data.seed, None, options)
    return orient(fold_descriptors(fitted, spec, data.descriptors))


def mode_of(data: Observations, spec: ModelSpec) -> Posterior:
    """The oriented process with the most probable parameters."""
    objective, values = data.objective, data.objective.to_user(data.y)
    if not data.descriptors:
        found = fit_mode(spec, data.axes, data.X, values, data.start)
        return objective.orient_posterior(found)
    wide, axes, X = add_descriptors(spec, data.axes, data.X, data.descriptors)
    found = fold_descriptors(fit_mode(wide, axes, X, values, None), spec, data.descriptors)
    return objective.orient_posterior(found)
