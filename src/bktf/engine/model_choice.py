"""Which rank a suggestion uses, and the fit of its surrogate.

    finite        a sum of products of factors, the paper's model. It sees plain values, because a
                  warp does not preserve sums and products
    infinite      a Gaussian process of plain or of warped values
    auto          infinite where a parameter is continuous or conditional, where most are unordered
                  categories, where trials report intermediate values, and in long studies of large
                  finite spaces. On other finite spaces coordinates repeat, and components
                  generalise from one point to all that share a coordinate with it: there the two
                  ranks alternate

The cost of a process is cubic. It sees at most MAX_PROCESS_POINTS observations, components all.
Where it sees more than MAX_PARAMETER_POINTS, its parameters are sampled given a subset and moved to
the mode given all that it sees. docs/model_choices.md has the measurements behind these rules.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bktf.engine.fold_scores import N_FOLDS, fold_score, level_score, warped_score_gain
from bktf.engine.observation_filters import choose_subset
from bktf.engine.observations import Observations, fit_oriented, mode_of
from bktf.engine.related_values import better_with_related
from bktf.engine.settings import AUTO, EngineSettings
from bktf.gaussian_process import Descriptors, ProcessDraws
from bktf.spaces import Parameter, has_conditions, n_points
from bktf.surrogate import (
    ChainLengths,
    ModelSpec,
    Posterior,
    ProcessStart,
    Warp,
    make_axes,
    move_to_mode,
    uses_mode,
)

MAX_PROCESS_POINTS = 400  # observations that a process is conditioned on at most
MAX_PARAMETER_POINTS = 200  # observations given which its parameters are sampled at most
MAX_ROOTS = 2e7  # entries of the factors of all draws' covariances: 160 MB
MIN_KEPT = 4  # draws of a chain
EARLY_POINTS = 20  # up to which a process chooses more often: it needs fewer points to be useful
EARLY_PERIOD, LATER_PERIOD = 2, 6  # suggestions of which a process makes one
LARGE_SPACE = 1e5  # points of a finite space beyond which coordinates seldom repeat
LARGE_SPACE_POINTS = 100  # from so many points on, only a process chooses on such a space
# Of a suggestion, where chains move around the mode; fewer draws where each is expensive
MODE_LENGTHS, LONG_LENGTHS = ChainLengths(12, 4, 2), ChainLengths(8, 4, 2)
LONG_POINTS = 128  # observations from which on draws are fewer
SHOWN_KEPT, SHOWN_CHAINS = 40, 4  # at least, of a process that is shown: quantiles need more draws


class EarlierProcess(NamedTuple):
    """What one suggestion tells the next of its process."""

    start: ProcessStart
    is_warped: bool  # whether warped values predicted better than plain ones


def settings_to_show(settings: EngineSettings) -> EngineSettings:
    """Settings of the surrogate that people see: one rank, plain values, more draws."""
    lengths = settings.process.lengths
    process = replace(
        settings.process,
        n_sweeps=lengths.n_burn_in + max(lengths.n_kept, SHOWN_KEPT),
        n_chains=max(lengths.n_chains, SHOWN_CHAINS),
    )
    rank = math.inf if settings.rank == AUTO else settings.rank
    return replace(settings, compress=False, rank=rank, process=process)


def surrogate_rank(
    settings: EngineSettings,
    parameters: Sequence[Parameter],
    n_started: int,
    *,
    has_related: bool = False,
) -> float:
    """The rank for a suggestion after `n_started` points were tried or are pending.

    Only infinite rank can use values related to the objective, and descriptors.
    """
    finite = settings.components.rank
    assert not isinstance(finite, str)
    if settings.rank != AUTO:
        return math.inf if settings.rank == math.inf else finite
    size = n_points(parameters)
    is_long = size > LARGE_SPACE and n_started >= LARGE_SPACE_POINTS
    mostly_unordered = 2 * sum(p.is_unordered for p in parameters) > len(parameters)
    # Without offsets components of different branches share nothing.
    is_conditional = has_conditions(parameters)
    has_related |= any(p.descriptors is not None for p in parameters)
    if size == math.inf or mostly_unordered or is_long or is_conditional or has_related:
        return math.inf
    period = EARLY_PERIOD if n_started < EARLY_POINTS else LATER_PERIOD
    return finite if n_started % period else math.inf


def fit_surrogate(rank: float, settings: EngineSettings, data: Observations) -> Posterior:
    """The oriented surrogate of this rank.

    A process sees plain or warped values, whichever predict left-out observations better.
    """
    # Of all values, so that the warp does not depend on which of them the subset keeps.
    warp = Warp.of(data.y) if settings.compress else None
    spec = model_at(rank, settings, data)
    if spec.residual_process:
        return fit_oriented(_subset(data, MAX_PARAMETER_POINTS), spec)
    if not spec.is_process:
        return fit_oriented(data, spec)
    if data.descriptors and len(data.y) >= 2 * N_FOLDS:
        data = replace(data, descriptors=_helpful_descriptors(data, spec))
    seen = _subset(data, MAX_PROCESS_POINTS)
    used = _subset(seen, MAX_PARAMETER_POINTS)
    posterior, chosen_warp = _fit_process(used, warp, spec)
    if used is not seen and data.descriptors:
        return posterior  # of the subset: parameters of descriptors are not moved to another mode
    if used is seen:

        def fit_alike(other: Observations) -> Posterior:
            """The process of other observations, with the same warp."""
            y = other.y if chosen_warp is None else chosen_warp.forward(other.y)
            return fit_oriented(replace(other, y=y), model_at(rank, settings, other))

        return better_with_related(posterior, data, fit_alike)
    values = seen.y if chosen_warp is None else chosen_warp.forward(seen.y)
    start = start_at(posterior) if seen.start is None else seen.start
    return move_to_mode(posterior, mode_of(replace(seen, y=values, start=start), spec))


def _helpful_descriptors(data: Observations, spec: ModelSpec) -> tuple[Descriptors, ...]:
    """The descriptors where they help to predict levels and values that are left out, or none."""
    few = _subset(data, MAX_PARAMETER_POINTS)

    def score(process: Posterior) -> float:
        """How well a process predicts what is left out: some values, and whole levels."""
        by_level = [level_score(process, axis, data.seed) for axis, _ in data.descriptors]
        return fold_score(process, data.seed) + sum(by_level) / len(by_level)

    described, bare = fit_oriented(few, spec), fit_oriented(replace(few, descriptors=()), spec)
    return data.descriptors if score(described) >= score(bare) else ()


def _fit_process(
    data: Observations, warp: Warp | None, spec: ModelSpec
) -> tuple[Posterior, Warp | None]:
    """The process of plain or of warped values, and the warp where they are warped."""
    if warp is None:
        return fit_oriented(data, spec), None
    in_warp = replace(data, y=warp.forward(data.y))
    if uses_mode(data.X.shape[1], len(data.y)):
        # Only the better one of the two modes is sampled.
        is_warped, start = data.is_warped, data.start
        if is_warped is None:
            first = mode_of(in_warp, spec)
            second = mode_of(replace(data, start=start_at(first)), spec)
            is_warped = warped_score_gain(first, second, warp, data.seed) > 0.0
            start = start_at(first if is_warped else second)
        chosen = replace(in_warp if is_warped else data, start=start)
        return fit_oriented(chosen, spec), warp if is_warped else None
    warped = fit_oriented(in_warp, spec)
    if len(data.y) < 2 * N_FOLDS:  # too few to compare predictions
        return warped, warp
    plain = fit_oriented(data, spec)
    is_warped = warped_score_gain(warped, plain, warp, data.seed) > 0.0
    return (warped, warp) if is_warped else (plain, None)


def start_at(posterior: Posterior) -> ProcessStart | None:
    """Where a search for the most probable parameters may start; None at finite rank."""
    draws = posterior.draws
    return ProcessStart.of(draws) if isinstance(draws, ProcessDraws) else None


def model_at(rank: float, settings: EngineSettings, data: Observations) -> ModelSpec:
    """The model of this rank on these axes. A process has equal correlation on all levels."""
    if rank == math.inf:
        kernels = [None if kernel is None else "categorical" for kernel in data.kernels]
        spec = replace(settings.process, kernel=kernels, log=data.log)
        return replace(spec, **_lengths(spec, data)._asdict())
    active = active_dimensions(settings, data.X.shape[1])
    return replace(settings.components, active=active, kernel=data.kernels, log=data.log)


def _lengths(spec: ModelSpec, data: Observations) -> ChainLengths:
    """How long the chains of a process are: as given, or by the cost of a draw."""
    n, lengths = len(data.y), spec.lengths
    is_default = spec.n_sweeps is None and spec.n_burn_in is None and spec.n_chains is None
    if is_default and uses_mode(data.X.shape[1], n):
        return LONG_LENGTHS if n > LONG_POINTS else MODE_LENGTHS
    n_roots = lengths.n_chains * min(n, MAX_PROCESS_POINTS) ** 2
    n_kept = min(lengths.n_kept, max(int(MAX_ROOTS / n_roots), MIN_KEPT))
    return lengths._replace(n_sweeps=lengths.n_burn_in + n_kept)


def active_dimensions(settings: EngineSettings, n_dims: int) -> Sequence[Collection[int]] | None:
    """The components' dimensions, main effects first; None where all are active everywhere."""
    if not settings.main_effects or n_dims == 1:
        return None
    everywhere = [tuple(range(n_dims))] * int(settings.components.rank)
    return [(d,) for d in range(n_dims)] + everywhere


def is_process_alone(settings: EngineSettings, parameters: Sequence[Parameter], n: int) -> bool:
    """Whether all suggestions from here on use infinite rank."""
    return all(surrogate_rank(settings, parameters, n + i) == math.inf for i in range(LATER_PERIOD))


def _subset(data: Observations, size: int) -> Observations:
    """The observations that a process sees where there are more than `size`."""
    if len(data.y) <= size:
        return data
    grid = make_axes(ModelSpec(kernel=data.kernels, log=data.log), data.axes)
    on_levels = np.array([axis.kernel.on_levels for axis in grid])
    scaled = np.stack([axis.scale(data.X[:, d]) for d, axis in enumerate(grid)], axis=1)
    kept = choose_subset(scaled, on_levels, data.y, size)
    return replace(data, X=data.X[kept], y=data.y[kept])
