"""From what was tried to what to try next: the surrogate and its acquisition.

A suggestion is a function of the search space, the history, the settings and a seed; nothing is remembered between suggestions.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf.acquisition.choice import Choice, choose
from bktf.engine.history import History
from bktf.engine.model_choice import fit_shape, shape_of, shown
from bktf.engine.outliers import find_outliers
from bktf.engine.settings import NothingFeasible, Strategy, Suggestion, seed_for
from bktf.engine.start_design import NOTHING_FOUND
from bktf.product_forms import cp_tensors as cp
from bktf.spaces.parameters import Parameter
from bktf.surrogate.fitting import fit
from bktf.surrogate.model_spec import ModelSpec, make_axes
from bktf.surrogate.posterior import Posterior

Floats = NDArray[np.float64]

N_INCUMBENTS = 4  # best points around which axes are refined
SHARPNESS = 12.0  # of the step from failure (0) to success (1): the chance at 0 is 0.25 %
LEAST_CAUTION, MOST_CAUTION = 1.0, 400.0  # powers of the chance of success
CAUTION_WINDOW = 30  # latest trials whose share of failures sets the caution


@dataclass(frozen=True, eq=False)
class Chance:
    """The chance of success at points, to the power that caution asks for."""

    success: Posterior  # of 1 where a trial succeeded and 0 where it failed
    power: float

    def __call__(self, points: Floats) -> Floats:
        """The chance (n,) at points (n, D)."""
        return self._of_draws(self.success.draws_at(points))

    def on_axes(self, axes: tuple[Floats, ...]) -> Callable[[NDArray[np.int64]], Floats]:
        """The same as a function of cells (n, D) on axes whose points are all points of the success model; what a search asks often."""
        places = [grid.locate(points) for grid, points in zip(self.success.grid, axes, strict=True)]
        tables = [np.ascontiguousarray(f[:, :, j]) for f, j in zip(self.success.factors, places, strict=True)]
        to_user = self.success.standardisation.to_user
        return lambda cells: self._of_draws(to_user(cp.values(tables, self.success.weights, cells)))

    def _of_draws(self, success: Floats) -> Floats:
        away = np.clip(SHARPNESS * (0.5 - success), -50.0, 50.0)
        return np.asarray((1.0 / (1.0 + np.exp(away))).mean(axis=0) ** self.power)


@dataclass(frozen=True, eq=False)
class Turns:
    """The surrogate when so many more points are under way: on finite spaces its shapes take turns. Each is fitted when first asked for."""

    fit_as: Callable[[str], Posterior]
    shape_at: Callable[[int], str]  # of a turn
    now: int
    fitted: dict[str, Posterior] = field(default_factory=dict)

    def __call__(self, n_more: int) -> Posterior:
        """The surrogate so many turns from now."""
        shape = self.shape_at(self.now + n_more)
        if shape not in self.fitted:
            self.fitted[shape] = self.fit_as(shape)
        return self.fitted[shape]


class Model(NamedTuple):
    """What the history teaches, before the last look at what is under way."""

    posterior: Posterior  # in the user's direction, perhaps of warped values
    chance: Chance | None  # None where nothing failed
    history: History
    free: frozenset[int]  # axes of continuous parameters
    in_turn: Turns
    n_outliers: int  # values that were set aside; see `outliers`


def place_on_axes(
    parameters: Sequence[Parameter], history: History, fixed: Mapping[int, float], incumbents: Floats
) -> tuple[list[Floats], History]:
    """The axes for one suggestion, refined around incumbents (m, D) and holding fixed coordinates, and the history on their points."""
    n, n_tried, n_pending = len(history.X), len(history.tried), len(history.pending)
    held = np.array([[fixed.get(d, math.nan) for d in range(len(parameters))]])
    wanted = np.concatenate((held, history.pending, history.tried, history.X))
    axes, moved = [], np.empty_like(wanted)
    for d, parameter in enumerate(parameters):
        first = 0 if d in fixed else 1
        refined = parameter.axis(wanted[first:, d], incumbents[:, d])
        axes.append(refined.points)
        moved[first:, d] = refined.observed
    tried = moved[1 + n_pending : 1 + n_pending + n_tried]
    return axes, history._replace(X=moved[len(moved) - n :], pending=moved[1 : 1 + n_pending], tried=tried)


def fit_history(
    parameters: Sequence[Parameter],
    history: History,
    strategy: Strategy,
    maximize: bool,
    seed: int,
    fixed: Mapping[int, float],
    warm_start: Posterior | None = None,
    shown_as: Strategy | None = None,
) -> Model:
    """Fit the surrogate to the values, and where something failed a second one to success.

    shown_as: the settings of a surrogate that is shown to people instead of choosing; see `fit_shown`.
    """
    surrogate = strategy if shown_as is None else shown_as
    best_first = np.argsort(-history.y if maximize else history.y, kind="stable")[: N_INCUMBENTS if strategy.refine else 0]
    axes, on_axes = place_on_axes(parameters, history, fixed, history.X[best_first])
    kernels = [p.kernel(strategy.categorical) for p in parameters]
    log = [p.log for p in parameters]
    grid = make_axes(ModelSpec(kernel=kernels, log=log), axes)
    scaled = np.stack([axis.scale(on_axes.X[:, d]) for d, axis in enumerate(grid)], axis=1)
    on_levels = np.array([axis.kernel.on_levels for axis in grid])
    is_outlier = find_outliers(scaled, on_levels, history.y if maximize else -history.y) & strategy.compress
    failed = np.concatenate((history.failed, history.X[is_outlier]))
    on_axes = on_axes._replace(X=on_axes.X[~is_outlier], y=history.y[~is_outlier], failed=failed)
    free = frozenset(d for d, p in enumerate(parameters) if strategy.refine and p.n_values == math.inf)
    fit_as = partial(
        fit_shape, strategy=surrogate, axes=axes, X=on_axes.X, y=on_axes.y, maximize=maximize, seed=seed, kernel=kernels, log=log,
        warm_start=warm_start,
    )  # fmt: skip
    in_turn = Turns(fit_as, partial(shape_of, surrogate, parameters), len(history.tried) + len(history.pending))
    try:
        posterior = in_turn(0)
    except ValueError:
        if warm_start is None:
            raise
        return fit_history(parameters, history, strategy, maximize, seed, fixed)  # the space has changed: begin anew
    n_outliers = int(is_outlier.sum())
    if not len(failed):
        return Model(posterior, None, on_axes, free, in_turn, n_outliers)
    X = np.concatenate((on_axes.X, failed))
    label = np.concatenate((np.ones(len(on_axes.X)), np.zeros(len(failed))))
    success = fit(
        axes, X, label, seed=seed_for(seed, 1), kernel=kernels, log=log, priors=strategy.priors, n_sweeps=150, n_burn_in=100, n_chains=2
    )
    return Model(posterior, Chance(success, caution(history._replace(failed=failed))), on_axes, free, in_turn, n_outliers)


def fit_shown(parameters: Sequence[Parameter], history: History, strategy: Strategy, maximize: bool, seed: int) -> Model:
    """The surrogate that is shown to people; values that were set aside are not in it either, and count as failed."""
    return fit_history(parameters, history, strategy, maximize, seed, {}, shown_as=shown(strategy))


def caution(history: History) -> float:
    """The power to which the chance of success is raised: 12 where a tenth of the latest trials failed, doubling with every 3 % more.

    The model of success is rough and improvement looks largest where nothing has a value, so plain EI × chance spends up to four fifths of
    its trials in a failing quarter; docs/sampler.md has the figures.
    """
    latest = history.tried[-CAUTION_WINDOW:].tolist()
    failed = {tuple(row) for row in history.failed.tolist()}
    share = sum(tuple(row) in failed for row in latest) / max(len(latest), 10)
    return float(np.clip(12.0 * 2.0 ** ((share - 0.1) / 0.03), LEAST_CAUTION, MOST_CAUTION))


def next_point(
    model: Model,
    strategy: Strategy,
    maximize: bool,
    seed: int,
    pending: Floats,
    also_avoid: Floats,
    feasible: Callable[[Floats], bool] | None,
    fixed: Mapping[int, float],
) -> Suggestion:
    """The point to try next given what is under way now; a repeat where everything was tried."""
    signed = model.posterior if maximize else model.posterior.negated()
    inside = _inside(signed, pending)
    best = float(signed.mean(signed.X).max()) if strategy.allow_repeats else None
    avoid = np.concatenate((model.history.tried, model.history.X, _inside(signed, also_avoid)))

    def ask(exclude: Floats | None, waiting: Floats) -> Choice:
        return choose(
            signed, strategy.acquisition, beta=strategy.beta, exclude=exclude, pending=waiting, feasible=feasible, chance=model.chance,
            fixed=fixed, best=best, free=model.free, seed=seed,
        )  # fmt: skip

    choice = ask(None if strategy.allow_repeats else avoid, inside)
    is_repeat = choice.point is None
    if is_repeat and model.free:
        raise NothingFeasible(NOTHING_FOUND)  # a continuous space is never exhausted: feasible points were not found
    if is_repeat:
        choice = ask(None, np.empty((0, len(signed.grid))))
    if choice.point is None:
        raise NothingFeasible(NOTHING_FOUND)
    return Suggestion(choice.point, _plain_improvement(choice, model, strategy), is_repeat, choice.is_poor)


def next_points(
    model: Model, strategy: Strategy, maximize: bool, seed: int, q: int, feasible: Callable[[Floats], bool] | None
) -> list[Suggestion]:
    """The q points to try together, each taking those before as pending; fewer where nothing is left."""
    chosen: list[Suggestion] = []
    nothing = np.empty((0, len(model.posterior.grid)))
    for i in range(q):
        waiting = np.concatenate((model.history.pending, *[s.point[None] for s in chosen]))
        now = model._replace(posterior=model.in_turn(i))
        suggestion = next_point(now, strategy, maximize, seed_for(seed, i), waiting, nothing, feasible, {})
        if suggestion.is_repeat and not strategy.allow_repeats:
            break
        chosen.append(suggestion)
    return chosen


def _plain_improvement(choice: Choice, model: Model, strategy: Strategy) -> float | None:
    """The expected improvement where the trial succeeds, without the weight that failures gave it."""
    if strategy.acquisition != "ei" or choice.point is None:
        return None
    weight = 1.0 if model.chance is None else float(model.chance(choice.point[None])[0])
    return choice.value / weight if weight > 1e-100 else None


def _inside(posterior: Posterior, points: Floats) -> Floats:
    """The points that lie in the box of the posterior, and on a level where an axis has levels."""
    keep = np.ones(len(points), dtype=bool)
    for d, axis in enumerate(posterior.grid):
        keep &= (points[:, d] >= axis.points[0]) & (points[:, d] <= axis.points[-1])
        if axis.kernel.on_levels:
            keep[keep] &= axis.locate(points[keep, d]) >= 0
    return points[keep]
