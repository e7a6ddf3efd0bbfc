"""Earlier campaigns: results from other materials, machines or data sets, as related values.

A campaign is one level of one more category, the target another; how far they agree is the
correlation of that category, which is learned. Every campaign has its own level, scale and noise:

    noise     the campaign is fitted by itself, and its means at its points enter, not its results
    scale     a line maps them to the target's values: least squares between what the campaign's
              surrogate says at the target's points and what the target gave, held near the ratio
              of the spreads while the target has few values

Parameters that only one of the two has are inactive in the other. The best points of the campaigns
are tried first.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bktf._typing import Floats
from bktf.engine.history import ContextAxis, History, RelatedValues
from bktf.engine.observation_filters import choose_subset
from bktf.engine.related_values import join_related
from bktf.engine.settings import Objective
from bktf.spaces import INACTIVE, Parameter, deactivate, is_number, parameters_of
from bktf.surrogate import ModelSpec, Posterior, fit_model

logger = logging.getLogger(__name__)

MAX_ROWS = 100  # of a campaign
MAX_FIRST = 3  # campaigns whose best points are tried first
PRIOR_POINTS = 2.0  # values of the target that the ratio of spreads counts as
MIN_VALUES = 3  # of a campaign that has them


@dataclass(frozen=True, eq=False)
class Campaign:
    """Rows of parameters with a result; larger is better."""

    name: str  # what errors call it
    rows: tuple[Mapping[str, Any], ...]
    y: Floats  # (m,) oriented
    parameters: tuple[Parameter, ...]  # of the campaign, for what the target does not have
    _fits: dict[Any, Any] = field(default_factory=dict, repr=False)  # may be lost at any time

    def fitted(self, parameters: tuple[Parameter, ...]) -> "FittedCampaign":
        """Its surrogate over the target's parameters and its own; kept for the next suggestion."""
        if parameters not in self._fits:
            self._fits.clear()
            self._fits[parameters] = fit_campaign(self, parameters)
        return self._fits[parameters]  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the fits."""
        return {**self.__dict__, "_fits": {}}


@dataclass(frozen=True, eq=False)
class FittedCampaign:
    """A campaign on the target's axes, with its means, and its surrogate."""

    X: Floats  # (m, D) infinite where it does not have a parameter
    own: Floats  # (m, ·) coordinates of parameters that the target does not have
    own_parameters: tuple[Parameter, ...]
    means: Floats  # (m,) of its surrogate at its points
    best: Floats  # (D,) its best point
    posterior: Posterior  # over the axes of both
    n_dims: int

    def predicted(self, points: Floats) -> Floats:
        """What the campaign expects at points (n, D) of the target."""
        known = np.stack([axis.active_points[[0, -1]] for axis in self.posterior.grid], axis=1)
        inside = np.where(
            np.isfinite(points), np.clip(points, known[0, : self.n_dims], known[1, : self.n_dims]),
            points,
        )  # fmt: skip
        lacks = np.isinf(self.X).all(axis=0)
        inside[:, lacks] = np.inf
        typical = np.median(self.own, axis=0) if self.own.size else np.empty(0)
        nearest = [
            axis.points[np.abs(axis.active_points - x).argmin()]
            for axis, x in zip(self.posterior.grid[self.n_dims :], typical, strict=True)
        ]
        return self.posterior.mean(np.column_stack((inside, np.tile(nearest, (len(points), 1)))))


def fit_campaign(campaign: Campaign, parameters: tuple[Parameter, ...]) -> FittedCampaign:
    """The surrogate of a campaign by itself; refused where it says nothing of the target."""
    names = {p.name for p in parameters}
    common = [p for p in parameters if any(p.name in row for row in campaign.rows)]
    if not common:
        theirs = sorted({name for row in campaign.rows for name in row})
        raise ValueError(
            f"{campaign.name} has no parameter in common with this space, which has "
            f"{sorted(names)}; it has {theirs}. Rename its columns, or leave it out"
        )
    own = tuple(p for p in campaign.parameters if p.name not in names)
    points, kept = [], []
    for i, row in enumerate(campaign.rows):
        point = [_coordinate(p, row) for p in (*parameters, *own)]
        if None not in point:
            whole = np.array(point, dtype=float)
            whole[: len(parameters)] = deactivate(parameters, whole[: len(parameters)])
            points.append(whole)
            kept.append(i)
    if len(campaign.rows) < MIN_VALUES:
        n_rows = len(campaign.rows)
        raise ValueError(f"{campaign.name} has {n_rows} results; it needs at least {MIN_VALUES}")
    if len(kept) < len(campaign.rows):
        left_out = len(campaign.rows) - len(kept)
        logger.warning(
            "%d of %d rows of %s lie outside the space and are left out",
            left_out, len(campaign.rows), campaign.name,
        )  # fmt: skip
    if len(kept) < MIN_VALUES:
        never = [p for p in common if all(_coordinate(p, row) is None for row in campaign.rows)]
        outside = never[0] if never else common[0]
        seen = [row[outside.name] for row in campaign.rows if outside.name in row][:3]
        raise ValueError(
            f"{campaign.name}: fewer than {MIN_VALUES} of its {len(campaign.rows)} rows lie in "
            f"this space. Of {outside.name!r} it has {seen}, the space {outside.distribution}; are "
            "the units the same?"
        )
    X, y = np.array(points, dtype=float), campaign.y[kept]
    both = (*parameters, *own)
    chosen = _subset(X, y, both)
    X, y = X[chosen], y[chosen]
    axes = [_axis_points(p, X[:, d]) for d, p in enumerate(both)]
    kernels = ["categorical" if p.is_unordered else None for p in both]
    spec = ModelSpec(rank=math.inf, kernel=kernels, log=[p.log for p in both])
    posterior = fit_model(spec, axes, X, y, 0)
    n_dims = len(parameters)
    best = X[int(y.argmax()), :n_dims]
    return FittedCampaign(
        X[:, :n_dims], X[:, n_dims:], own, posterior.mean(X), best, posterior, n_dims
    )


def _coordinate(p: Parameter, row: Mapping[str, Any]) -> float | None:
    """The coordinate of a parameter in a row; infinity where the row lacks it."""
    value = row.get(p.name)
    if value is None:
        return INACTIVE
    coordinate = p.coordinate(value)
    if coordinate is None and p.has_numeric_coordinates and is_number(value):
        low, high = p.ends_or_values()[[0, -1]]
        if low <= value <= high:  # between the values that the parameter can take
            return p.coordinate(p.value(float(value)))
    return coordinate


def _subset(X: Floats, y: Floats, parameters: Sequence[Parameter]) -> Any:
    """The rows that are used where there are many."""
    on_levels = np.array([p.is_unordered for p in parameters])
    finite = np.where(np.isfinite(X), X, 0.0)
    spread = np.ptp(finite, axis=0)
    scaled = np.where(on_levels, finite, finite / np.where(spread > 0, spread, 1.0))
    return choose_subset(scaled, on_levels, y, MAX_ROWS)


def _axis_points(p: Parameter, column: Floats) -> Floats:
    """The axis of a parameter, with infinity where some rows lack it."""
    refined = p.axis(column[np.isfinite(column)], np.empty(0))
    active = refined.points[np.isfinite(refined.points)]
    may_be_inactive = p.activations is not None or bool(np.isinf(column).any())
    return np.append(active, np.inf) if may_be_inactive else active


def with_campaigns(
    history: History, parameters: tuple[Parameter, ...], campaigns: Sequence[Campaign]
) -> History:
    """The history with the campaigns as related values, and their best points to be tried first."""
    if not campaigns:
        return history
    fitted = [campaign.fitted(parameters) for campaign in campaigns]
    levels = np.arange(len(campaigns) + 1, dtype=float)  # the target is level 0
    own = {p.name: p for f in fitted for p in f.own_parameters}
    axes = [ContextAxis(levels, 0.0, True)]
    columns: dict[str, list[Floats]] = {name: [] for name in own}
    for name, p in own.items():
        for f in fitted:
            names = [q.name for q in f.own_parameters]
            missing = np.full(len(f.X), np.inf)
            columns[name].append(f.own[:, names.index(name)] if name in names else missing)
        together = np.concatenate(columns[name])
        points = _axis_points(p, np.append(together, np.inf))
        axes.append(ContextAxis(points, np.inf, p.is_unordered))
    which = np.concatenate([np.full(len(f.X), i + 1.0) for i, f in enumerate(fitted)])
    context = np.column_stack((which, *(np.concatenate(c) for c in columns.values())))
    X = np.concatenate([f.X for f in fitted])
    related = RelatedValues(
        X=X,
        context=context,
        y=np.concatenate([_on_scale(f, history) for f in fitted]),
        rows=np.full(len(X), -1),
        estimates=np.empty(0, dtype=np.int64),
        axes=tuple(axes),
        is_trusted=True,
    )
    best = np.array([f.best for f in fitted[:MAX_FIRST]])
    first = np.array([deactivate(parameters, point) for point in best])
    return history._replace(related=join_related(history.related, related), first=first)


def _on_scale(f: FittedCampaign, history: History) -> Floats:
    """A campaign's means on the scale of the target's values."""
    y = history.y
    if not len(y):
        return f.means
    expected = f.predicted(history.X.copy())
    spread = float(f.means.std()) or 1.0
    prior = (float(y.std()) or spread) / spread if len(y) > 1 else 1.0
    u, v = expected - expected.mean(), y - y.mean()
    weight = PRIOR_POINTS * spread**2
    slope = (float(u @ v) + weight * prior) / (float(u @ u) + weight)
    slope = max(slope, 0.1 * prior)  # a campaign in which worse is better says nothing
    return np.asarray(y.mean() + slope * (f.means - expected.mean()))


def make_campaign(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    values: Floats,
    distributions: Mapping[str, Any],
    objective: Objective,
) -> Campaign:
    """A campaign from rows of parameters, results in the user's direction, and distributions."""
    modelled = {n: d for n, d in distributions.items() if not d.single()}
    parameters = parameters_of(modelled, ())
    return Campaign(
        name, tuple(rows), objective.orient(np.asarray(values, dtype=float)), parameters
    )
