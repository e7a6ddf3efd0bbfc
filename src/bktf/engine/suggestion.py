"""`Engine`: from what was tried to what to try next, for every front door.

A suggestion is a function of the search space, the history, the settings and a seed. Nothing is
kept between suggestions. An engine answers in two steps: `learn` fits the model, and `choose` takes
what was tried and is pending by then. A fit takes time, and other workers choose meanwhile.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bktf._typing import Bools, Floats, Ints
from bktf.acquisition import Choice, choose
from bktf.engine.beliefs import Belief, weigh_by_belief
from bktf.engine.branch_search import Part, choose_in_parts, parts_to_search
from bktf.engine.history import History, NothingFeasible, Suggestion
from bktf.engine.history_axes import (
    descriptors_of,
    move_onto_axes,
    on_levels,
    points_inside,
    scaled_points,
)
from bktf.engine.learned_model import Model
from bktf.engine.local_turns import local_region
from bktf.engine.model_choice import (
    MAX_PARAMETER_POINTS,
    MAX_PROCESS_POINTS,
    EarlierProcess,
    fit_surrogate,
    is_process_alone,
    settings_to_show,
    start_at,
    surrogate_rank,
)
from bktf.engine.observation_filters import choose_subset, find_outliers
from bktf.engine.observations import Observations
from bktf.engine.prior_mean import posterior_for_choice
from bktf.engine.related_values import of_kept_rows
from bktf.engine.settings import EngineSettings, Objective, seed_for
from bktf.engine.start_design import (
    ENUMERATE_POINTS,
    MAX_UNTRIED,
    NOTHING_FOUND,
    any_left,
    first_point,
    has_feasible,
    start_point,
    untried_branches,
)
from bktf.engine.success import Chance, caution
from bktf.spaces import Parameter, n_points
from bktf.surrogate import (
    ModelSpec,
    Posterior,
    fit_model,
    uses_mode,
)

N_INCUMBENTS = 4  # best points around which axes are refined
SUCCESS_MODEL = ModelSpec(rank=2, n_sweeps=150, n_burn_in=100, n_chains=2)
N_BESIDE_FIRST = 4  # points that fill the space beside the best ones of earlier campaigns
BRANCH_STREAM = 2  # of a suggestion's seed, for the points that tell branches apart
MIN_WEIGHT = 1e-100  # chance of success below which an improvement is not divided by it


@dataclass(frozen=True, eq=False)
class Engine:
    """What all front doors use to choose the next points."""

    parameters: tuple[Parameter, ...]
    objective: Objective
    settings: EngineSettings
    seed: int
    feasible: Callable[[Floats], bool] | None = None  # whether a point (D,) may be tried
    belief: Belief | None = None  # where the optimum is expected

    def needs_start(self, history: History) -> bool:
        """Whether the next point belongs to the start design."""
        n_startup, n = self.settings.n_startup(len(self.parameters)), len(history.tried)
        if history.related is not None and len(history.first):
            n_startup = min(n_startup, len(history.first) + N_BESIDE_FIRST)
        if not len(history.y) or n < n_startup:
            return True
        return n < n_startup + MAX_UNTRIED and bool(self._untried(history.tried, history.pending))

    def _untried(self, tried: Floats, pending: Floats) -> list[dict[int, float]]:
        """Where a conditional space has branches in which nothing was tried and something may be.

        As coordinates of the parameters that the branch depends on.
        """
        found = untried_branches(self.parameters, np.concatenate((tried, pending)))
        if self.feasible is None:
            return found
        rng = np.random.default_rng(seed_for(self.seed, len(tried)))
        return [at for at in found if has_feasible(self.parameters, self.feasible, at, rng)]

    def learn(
        self,
        history: History,
        number: int,
        fixed: Mapping[int, float] | None = None,
        warm_start: Posterior | EarlierProcess | None = None,
        *,
        to_show: bool = False,
    ) -> Model:
        """Fit the surrogate and, where something failed, a second one of success.

        Args:
            history: what was tried.
            number: of the suggestion: with the seed it gives the random numbers.
            fixed: coordinates that suggestions keep, by axis.
            warm_start: an earlier oriented posterior of components, or what the suggestion before
                published of its process.
            to_show: fit the surrogate that is shown to people, whether or not the start is over.
        """
        settings, fixed = self.settings, dict(fixed or {})
        if self.needs_start(history) and not to_show:
            return Model(history.tried, history, fixed)
        used = settings_to_show(settings) if to_show else settings
        n_started = len(history.tried) + len(history.pending)
        is_outlier = self._outliers(history)
        failed = np.concatenate((history.failed, history.X[is_outlier]))
        kept = np.flatnonzero(~is_outlier)
        if is_process_alone(used, self.parameters, n_started):
            # Before the axes are made: they have room for so many coordinates.
            kept = kept[self._subset(history.X[kept], history.y[kept])]
        n_unseen = len(history.y) - int(is_outlier.sum()) - len(kept)
        y = history.y[kept]
        n_best = N_INCUMBENTS if settings.refine else 0
        best_first = kept[np.argsort(-y, kind="stable")[:n_best]]
        seen = history._replace(X=history.X[kept], y=y)
        if n_unseen:
            seen = seen._replace(tried=seen.X)  # others are compared as they were read
        axes, on_axes = move_onto_axes(self.parameters, seen, fixed, history.X[best_first])
        kernels = [p.kernel(settings.categorical) for p in self.parameters]
        log = [p.log for p in self.parameters]
        X, seed = on_axes.X, seed_for(self.seed, number)
        related = of_kept_rows(history.related, kept, len(history.y))
        if to_show and related is not None and not related.is_trusted:
            related = None
        data = Observations(
            axes, X, y, self.objective, seed, kernels, log,
            related=related, descriptors=descriptors_of(self.parameters),
        )  # fmt: skip
        if isinstance(warm_start, Posterior):
            data = replace(data, warm_start=warm_start)
        elif warm_start is not None:
            data = replace(data, **warm_start._asdict())
        fit_rank = partial(fit_surrogate, settings=used, data=data)
        has_related = related is not None
        rank = surrogate_rank(used, self.parameters, n_started, has_related=has_related)
        try:
            posterior = fit_surrogate(rank, used, data)
        except ValueError:
            if warm_start is None:
                raise
            # The space has changed since the warm start, so the chains start from the prior.
            return self.learn(history, number, fixed)
        chance = None
        if len(failed):
            is_success = np.concatenate((np.ones(len(X)), np.zeros(len(failed))))
            spec = replace(
                SUCCESS_MODEL, kernel=kernels, log=log, priors=settings.components.priors
            )
            points = np.concatenate((X, failed))
            # Another seed, because the two fits must not share their random numbers.
            success = fit_model(spec, axes, points, is_success, seed_for(seed, 1))
            chance = Chance(success, caution(history._replace(failed=failed)))
        n_seen = len(posterior.y)
        if related is not None and posterior.draws.process is not None:
            has_context = posterior.draws.process.context.size > 0
            n_seen += len(related.estimates) if has_context else 0
        return Model(
            tried=history.tried,
            history=on_axes._replace(failed=failed),
            fixed=fixed,
            posterior=posterior,
            chance=chance,
            free=self.free_axes,
            n_outliers=int(is_outlier.sum()),
            n_values=len(kept) + n_unseen,
            n_unseen=n_unseen + len(y) - n_seen,
            has_fewer_for_parameters=rank == math.inf and len(y) > MAX_PARAMETER_POINTS,
            fit_rank=fit_rank,
            fitted={rank: posterior},
        )

    def _outliers(self, history: History) -> Bools:
        """Which values count as failures."""
        if not self.settings.compress:
            return np.zeros(len(history.y), dtype=bool)
        return find_outliers(self._scaled(history.X), on_levels(self.parameters), history.y)

    def _subset(self, X: Floats, y: Floats) -> Ints:
        """The rows of X (n, D) that a process sees."""
        if len(y) <= MAX_PROCESS_POINTS:
            return np.arange(len(y))
        return choose_subset(self._scaled(X), on_levels(self.parameters), y, MAX_PROCESS_POINTS)

    def _scaled(self, X: Floats) -> Floats:
        """Points (n, D) with ordered coordinates scaled to [0, 1]; a level is its index."""
        return scaled_points(self.parameters, self.settings, X)

    def learn_to_show(
        self, history: History, number: int, fixed: Mapping[int, float] | None = None
    ) -> Model:
        """The model that is shown to people; the history must have a value."""
        return self.learn(history, number, fixed, to_show=True)

    def choose(
        self,
        model: Model,
        number: int,
        tried: Floats,
        pending: Floats,
        position: int | None = None,
    ) -> Suggestion:
        """The point to try next; a repeat where everything was tried.

        Args:
            model: what `learn` returned.
            number: of the suggestion, as in `learn`.
            tried: further points (n, D) that are not to be tried again.
            pending: points (n, D) that are being evaluated now.
            position: of the point in a batch; None for a single point.
        """
        settings, posterior = self.settings, model.posterior
        if posterior is None:
            known = np.concatenate((model.tried, tried, pending))
            fixed = model.fixed
            at_first = first_point(self, model.history.first, known, fixed, number)
            if at_first is not None:
                return at_first
            if len(known) >= settings.n_startup(len(self.parameters)):
                untried = self._untried(known, known[:0])
                free = [at for at in untried if all(fixed.get(d, x) == x for d, x in at.items())]
                fixed = {**fixed, **free[0]} if free else fixed
            number += position or 0
            if self.belief is not None:
                believed = self.belief.start_point(number, self.seed, known, self.feasible, fixed)
                if believed is not None:
                    return believed
            return start_point(
                self.parameters, settings, number, self.seed, known, self.feasible, fixed
            )
        seed = seed_for(self.seed, number)
        if position is not None:
            posterior = self._posterior_after(model, position)
            seed = seed_for(seed, position)
        # As read and as moved onto the axes: the search compares points of the axes.
        avoid = np.concatenate((model.tried, tried))
        exclude = np.concatenate(
            (model.history.tried, model.history.X, points_inside(posterior, avoid))
        )
        used = posterior_for_choice(posterior, model.n_values, settings)
        ask = partial(
            choose,
            used,
            settings.acquisition,
            beta=settings.beta,
            feasible=self.feasible,
            chance=weigh_by_belief(model.chance, self.belief, model.n_values),
            best=improvement_baseline(used, settings),
            free=model.free,
            seed=seed,
        )
        inside = points_inside(posterior, pending)
        ask_new = partial(ask, exclude=None if settings.allow_repeats else exclude, pending=inside)
        rng = np.random.default_rng(seed_for(seed, BRANCH_STREAM))
        is_whole = self._is_list or hasattr(self.feasible, "random_points")
        parts = [Part(model.fixed, {})]  # lists and proposals are compared as a whole
        if not is_whole:
            parts = parts_to_search(posterior, self.parameters, model.fixed, rng)
        best_over = partial(choose_in_parts, used, parts, settings, inside, rng)
        region = None if is_whole else local_region(posterior, number + (position or 0))
        choice = best_over(ask_new, region)
        if region is not None and (choice.point is None or choice.is_poor):
            choice = best_over(ask_new, None)
        is_repeat = choice.point is None
        is_endless = any(model.free - part.fixed.keys() for part in parts) and not self._is_list
        if is_repeat and not is_endless:  # a continuous space is never exhausted
            ask_again = partial(ask, exclude=None, pending=None)
            choice, inside = best_over(ask_again, None), inside[:0]
        if choice.point is None:
            raise NothingFeasible(NOTHING_FOUND)
        improvement = None
        has_belief = self.belief is not None  # then the score is weighted by it
        if settings.acquisition == "ei" and (posterior.rank == math.inf or has_belief):
            best = improvement_baseline(posterior, settings)
            improvement = float(posterior.expected_improvement(choice.point[None], best, inside)[0])
        elif settings.acquisition == "ei":
            improvement = _plain_improvement(choice, model)
        return Suggestion(choice.point, improvement, is_repeat, choice.is_poor)

    def choose_batch(self, model: Model, number: int, q: int) -> list[Suggestion]:
        """The q points to try together, each with those before as pending.

        They are fewer where nothing is left.
        """
        chosen: list[Suggestion] = []
        nothing = np.empty((0, len(self.parameters)))
        for i in range(q):
            pending = np.concatenate((model.history.pending, *[s.point[None] for s in chosen]))
            suggestion = self.choose(model, number, nothing, pending, i)
            if suggestion.is_repeat and not self.settings.allow_repeats:
                break
            chosen.append(suggestion)
        return chosen

    def _posterior_after(self, model: Model, n_more: int) -> Posterior:
        """The surrogate to use after `n_more` further pending points; fitted on first use."""
        assert model.fit_rank is not None
        n_started = len(model.history.tried) + len(model.history.pending) + n_more
        rank = surrogate_rank(
            self.settings,
            self.parameters,
            n_started,
            has_related=model.history.related is not None,
        )
        if rank not in model.fitted:
            model.fitted[rank] = model.fit_rank(rank)
        return model.fitted[rank]

    @property
    def free_axes(self) -> frozenset[int]:
        """Axes on which a search may leave the axis points."""
        if not self.settings.refine:
            return frozenset()
        return frozenset(
            d
            for d, p in enumerate(self.parameters)
            if p.n_values == math.inf and p.activations != ()
        )

    @property
    def _is_list(self) -> bool:
        """Whether all that may be tried is a list of points."""
        return bool(getattr(self.feasible, "is_list", False))

    def can_be_exhausted(self, n_started: int) -> bool:
        """Whether `n_started` points, tried or pending, may be all that the space allows."""
        if self._is_list:
            return True
        total = n_points(self.parameters)
        return total <= (n_started if self.feasible is None else ENUMERATE_POINTS)

    def is_exhausted(self, points: Floats) -> bool:
        """Whether these points (n, D) are all that may be tried; for small spaces only."""
        taken = {tuple(row) for row in points.tolist()}
        feasible = self.feasible
        if feasible is None:
            return len(taken) >= n_points(self.parameters)
        known = getattr(feasible, "points", None)
        if known is not None:
            return len(known) > 0 and all(tuple(point) in taken for point in known.tolist())

        def is_new(point: tuple[float, ...]) -> bool:
            """Whether a point may be tried and was not."""
            return point not in taken and feasible(np.array(point))

        rng = np.random.default_rng(self.seed)
        return any_left(self.parameters, is_new, {}, rng) is None

    def without_constraint(self) -> "Engine":
        """The same engine where every point may be tried."""
        return replace(self, feasible=None)


def improvement_baseline(posterior: Posterior, settings: EngineSettings) -> float | None:
    """The value that improvement is measured from; None for the best observed one.

    Where points may repeat, values are noisy and the best one is the luckiest. So the best
    posterior mean at an observed point is used.
    """
    return float(posterior.mean(posterior.X).max()) if settings.allow_repeats else None


def _plain_improvement(choice: Choice, model: Model) -> float | None:
    """The expected improvement if the trial succeeds, not weighted by the chance of success."""
    if model.chance is None:
        return choice.value
    assert choice.point is not None
    weight = float(model.chance(choice.point[None])[0])
    return choice.value / weight if weight > MIN_WEIGHT else None


def process_to_publish(model: Model) -> EarlierProcess | None:
    """What the next suggestion may start from; None where it would not use it."""
    posterior = model.posterior
    if posterior is None or not uses_mode(len(posterior.grid), len(posterior.y)):
        return None
    start = start_at(posterior)
    is_warped = not np.isin(posterior.y, model.history.y).all()
    return None if start is None else EarlierProcess(start, is_warped)
