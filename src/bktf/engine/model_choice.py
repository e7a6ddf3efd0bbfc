"""Which rank a suggestion uses, and the fit of its surrogate.

    finite        a sum of products of factors, the paper's model. It sees plain values, because a
                  warp does not preserve sums and products
    infinite      a Gaussian process of plain or of warped values
    auto          infinite where a parameter is continuous, conditional, where most are unordered
                  categories, and in long studies of large finite spaces. On other finite spaces
                  coordinates repeat, and components generalise from one point to all that share
                  a coordinate with it: there the two ranks alternate

The cost of a process is cubic. It sees at most MAX_PROCESS_POINTS observations, components all.
Where it sees more than MAX_PARAMETER_POINTS, its parameters are sampled given a subset and moved to
the mode given all that it sees. docs/model_choices.md has the measurements behind these rules.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bktf._typing import Floats, Ints
from bktf.engine.observation_filters import choose_subset
from bktf.engine.settings import AUTO, NEEDS_WHOLE_DRAWS, EngineSettings, Objective
from bktf.gaussian_process import ConditionalProcess, ProcessDraws
from bktf.spaces import Parameter, has_conditions, n_points
from bktf.surrogate import (
    ChainLengths,
    ModelSpec,
    Posterior,
    ProcessStart,
    RunOptions,
    Warp,
    fit_mode,
    fit_model,
    make_axes,
    move_to_mode,
    uses_mode,
)

N_FOLDS = 5
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
    n_threads: int | None = None  # of the chains; by default as many as there are processors


def settings_to_show(settings: EngineSettings) -> EngineSettings:
    """Settings of the surrogate that people see: one rank, plain values, more draws."""
    lengths = settings.process.lengths
    process = replace(
        settings.process,
        n_sweeps=lengths.n_burn_in + max(lengths.n_kept, SHOWN_KEPT),
        n_chains=max(lengths.n_chains, SHOWN_CHAINS),
    )
    rank = math.inf if settings.rank == AUTO and not _needs_components(settings) else settings.rank
    return replace(settings, compress=False, rank=rank, process=process)


def _needs_components(settings: EngineSettings) -> bool:
    """Whether the acquisition searches whole surfaces, which only components have."""
    return settings.acquisition in NEEDS_WHOLE_DRAWS


def surrogate_rank(
    settings: EngineSettings,
    parameters: Sequence[Parameter],
    n_started: int,
) -> float:
    """The rank for a suggestion after `n_started` points were tried or are pending."""
    finite = settings.components.rank
    assert not isinstance(finite, str)
    if _needs_components(settings):
        return finite
    if settings.rank != AUTO:
        return math.inf if settings.rank == math.inf else finite
    size = n_points(parameters)
    is_long = size > LARGE_SPACE and n_started >= LARGE_SPACE_POINTS
    mostly_unordered = 2 * sum(p.is_unordered for p in parameters) > len(parameters)
    # Without offsets components of different branches share nothing.
    is_conditional = has_conditions(parameters)
    if size == math.inf or mostly_unordered or is_long or is_conditional:
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
    seen = _subset(data, MAX_PROCESS_POINTS)
    used = _subset(seen, MAX_PARAMETER_POINTS)
    posterior, chosen_warp = _fit_process(used, warp, spec)
    if used is seen:
        return posterior
    values = seen.y if chosen_warp is None else chosen_warp.forward(seen.y)
    start = start_at(posterior) if seen.start is None else seen.start
    return move_to_mode(posterior, mode_of(replace(seen, y=values, start=start), spec))


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


def mode_of(data: Observations, spec: ModelSpec) -> Posterior:
    """The oriented process with the most probable parameters."""
    objective = data.objective
    found = fit_mode(spec, data.axes, data.X, objective.to_user(data.y), data.start)
    return objective.orient_posterior(found)


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


def warped_score_gain(warped: Posterior, plain: Posterior, warp: Warp, seed: int) -> float:
    """By how much warped values predict left-out observations better, in log density (nats)."""
    n = len(plain.y)
    fold = np.random.default_rng([seed, n]).permutation(n) % N_FOLDS
    gain = float(warp.log_slope(plain.y).sum())  # both as densities of plain values
    for f in range(N_FOLDS):
        left_out = np.flatnonzero(fold == f)
        gain += predictive_score(warped, left_out) - predictive_score(plain, left_out)
    return gain


def predictive_score(process: Posterior, left_out: Ints) -> float:
    """Log predictive density of observations as if they had been left out.

    The kernel parameters are those of the fit to all observations.
    """
    assert process.draws.process is not None
    mean, variance = leave_out(process.draws.process, left_out)
    total = mean.var(axis=0) + variance.mean(axis=0)
    error = process.standardisation.to_model(process.y)[left_out] - mean.mean(axis=0)
    log_density = -0.5 * error**2 / total - 0.5 * np.log(2.0 * np.pi * total)
    return float(np.sum(log_density - math.log(process.standardisation.scale)))


def leave_out(process: ConditionalProcess, left_out: Ints) -> tuple[Floats, Floats]:
    """Mean and variance (K, m) of observations that are left out together, within each draw.

    Noise is included. With Q the inverse of the observations' covariance, those left out are
    normal around y − Q_mm⁻¹·(Q·y)_m with covariance Q_mm⁻¹.
    """
    roots = process.roots[:, :, left_out]  # (K, n, m)
    block = np.linalg.inv(roots.transpose(0, 2, 1) @ roots)
    error = (block @ process.coefficients[:, left_out, None])[:, :, 0]
    return process.residuals[:, left_out] - error, np.diagonal(block, axis1=1, axis2=2)
