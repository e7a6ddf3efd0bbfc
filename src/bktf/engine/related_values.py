"""A process that also sees values related to the objective, where that predicts it better.

Related values have one more coordinate or more, their context: the step at which a running or
pruned trial reported them. The process is fitted to all values over all axes, and asked for where
the objective is. How much a related value says of the objective is learned with the length-scale,
or correlation, along the axes of the context.

Whether related values help is a question to the data: the objective's values of some trials are
predicted from all other trials, with and without related values.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bktf._typing import Floats, Ints
from bktf.engine.fold_scores import N_FOLDS, predictive_score
from bktf.engine.history import RelatedValues
from bktf.engine.observations import Observations
from bktf.surrogate import Posterior, in_context

Fit = Callable[[Observations], Posterior]

MIN_VALUES = 5  # of the objective, before predictions are compared
MAX_VALUES = 200  # of the objective, beyond which related ones are not used


def wide_observations(data: Observations, related: RelatedValues) -> tuple[Observations, Ints]:
    """The objective's values and the related ones over all axes, the former first.

    And which of the observations of `data` they are: without those that only stand for others.
    """
    kept = np.setdiff1d(np.arange(len(data.y)), related.estimates)
    target = np.array([axis.target for axis in related.axes])
    own = np.concatenate((data.X[kept], np.tile(target, (len(kept), 1))), axis=1)
    others = np.concatenate((related.X, related.context), axis=1)
    # A parameter that related values do not have is inactive there.
    lacks = [bool(np.isinf(column).any()) for column in related.X.T]
    axes = [
        np.append(points, np.inf) if is_missing and np.isfinite(points[-1]) else points
        for points, is_missing in zip(data.axes, lacks, strict=True)
    ]
    wide = replace(
        data,
        axes=[*axes, *(axis.points for axis in related.axes)],
        X=np.concatenate((own, others)),
        y=np.concatenate((data.y[kept], related.y)),
        kernels=[*data.kernels, *("categorical" if a.on_levels else None for a in related.axes)],
        log=[*data.log, *(False for _ in related.axes)],
        start=None,
        related=None,
    )
    return wide, kept


def fit_with_related(data: Observations, related: RelatedValues, fit: Fit) -> Posterior:
    """The process that sees all values, as a function of the parameters alone."""
    wide, kept = wide_observations(data, related)
    return in_context(fit(wide), len(kept), [axis.target for axis in related.axes])


def score_gain(wide: Posterior, narrow: Posterior, related: RelatedValues, seed: int) -> float:
    """By how much related values help to predict the objective's, in log density (nats).

    Values of the objective are left out together with all that is of the same trial.
    """
    kept = np.setdiff1d(np.arange(len(narrow.y)), related.estimates)
    n = len(kept)
    fold = np.random.default_rng([seed, n]).permutation(n) % N_FOLDS
    # The fold of each related value; none of those whose trial is not among the kept ones.
    of_row = np.full(len(narrow.y) + 1, -1)
    of_row[kept] = fold
    fold_of_related = of_row[related.rows]
    gain = 0.0
    for f in range(N_FOLDS):
        own = np.flatnonzero(fold == f)
        others = n + np.flatnonzero(fold_of_related == f)
        if own.size:
            gain += predictive_score(wide, np.concatenate((own, others)), own.size)
            gain -= predictive_score(narrow, kept[own])
    return gain


def better_with_related(narrow: Posterior, data: Observations, fit: Fit) -> Posterior:
    """The process with related values where they help; otherwise the given one without them.

    `fit` fits a process to other observations as `narrow` was fitted to `data`.
    """
    related = data.related
    if related is None or len(data.y) > MAX_VALUES:
        return narrow
    is_early = len(data.y) - len(related.estimates) < MIN_VALUES
    if is_early and not related.is_trusted:
        return narrow
    wide = fit_with_related(data, related, fit)
    if is_early:
        return wide
    return wide if score_gain(wide, narrow, related, data.seed) > 0.0 else narrow


def join_related(first: RelatedValues | None, second: RelatedValues | None) -> RelatedValues | None:
    """Two kinds of related values together: each is at the target on the axes of the other."""
    if first is None or second is None:
        return first if second is None else second

    def at_target(values: RelatedValues, n: int) -> Floats:
        """The target on the axes of some values, n times."""
        return np.tile([axis.target for axis in values.axes], (n, 1))

    one = np.concatenate((first.context, at_target(second, len(first.y))), axis=1)
    other = np.concatenate((at_target(first, len(second.y)), second.context), axis=1)
    return RelatedValues(
        X=np.concatenate((first.X, second.X)),
        context=np.concatenate((one, other)),
        y=np.concatenate((first.y, second.y)),
        rows=np.concatenate((first.rows, second.rows)),
        estimates=np.concatenate((first.estimates, second.estimates)),
        axes=(*first.axes, *second.axes),
        is_trusted=first.is_trusted or second.is_trusted,
    )


def of_kept_rows(related: RelatedValues | None, kept: Ints, n: int) -> RelatedValues | None:
    """The same values for a history of which only some of its n observations are kept."""
    if related is None:
        return None
    index = np.full(n + 1, -1)
    index[kept] = np.arange(len(kept))
    estimates = index[related.estimates]
    return related._replace(rows=index[related.rows], estimates=estimates[estimates >= 0])
