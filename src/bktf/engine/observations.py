"""What a surrogate is fitted to, and the fit in the user's direction."""

from collections.abc import Sequence
from dataclasses import dataclass

from bktf._typing import Floats
from bktf.engine.history import RelatedValues
from bktf.engine.settings import Objective
from bktf.surrogate import ModelSpec, Posterior, ProcessStart, RunOptions, fit_model


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
    n_threads: int | None = None  # of the chains; by default as many as there are processors


def fit_oriented(data: Observations, spec: ModelSpec) -> Posterior:
    """The oriented posterior of a model.

    The fit itself sees values in the user's direction. The draws of components given −y are not
    the mirror image of those given y. So a seed keeps its suggestions, and the surrogate that
    people see is the fit of their own values.
    """
    orient = data.objective.orient_posterior
    warm_start: Posterior | ProcessStart | None = None
    if spec.is_process:
        warm_start = data.start
    elif data.warm_start is not None:
        warm_start = orient(data.warm_start)
    values, options = data.objective.to_user(data.y), RunOptions(data.n_threads)
    return orient(fit_model(spec, data.axes, data.X, values, data.seed, warm_start, options))
