"""Which kind of surrogate a suggestion uses, and its fit.

    process       a Gaussian process of plain or of warped values
    components    a sum of products of factors, the paper's model, of plain values: a warp does not
                  keep sums and products
    both          components and a Gaussian process of what they leave over, sampled together
    auto          a process where a parameter is continuous, where most parameters are unordered
                  categories, and in long studies of large finite spaces. On other finite spaces
                  the same coordinates come again, and what components learn at one point they know
                  of a whole row: there the two alternate

The cost of a process is cubic, so it sees a subset of more than MAX_PROCESS_POINTS observations;
components see all. docs/model_choices.md has the measurements behind these rules.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bktf.engine.settings import EngineSettings, Objective
from bktf.engine.subset import choose_subset
from bktf.gaussian_process.process_draws import LocalDraws
from bktf.spaces import Parameter, n_points
from bktf.surrogate.fitting import fit, make_axes
from bktf.surrogate.posterior import Posterior
from bktf.surrogate.warping import Warp

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_FOLDS = 5
MAX_PROCESS_POINTS = 200  # observations that a process sees at most
EARLY_POINTS = 20  # up to which a process chooses more often: it needs fewer points to be of use
EARLY_PERIOD, LATER_PERIOD = 2, 6  # suggestions of which the process makes one
LARGE_SPACE = 1e5  # points of a finite space beyond which coordinates seldom come again
LARGE_SPACE_POINTS = 100  # from which on only a process chooses on such a space
SHOWN_SWEEPS, SHOWN_CHAINS = 64, 4  # of a process that is shown: quantiles need more draws


@dataclass(frozen=True, eq=False)
class Observations:
    """What a surrogate is fitted to, and the random numbers of the fit."""

    axes: Sequence[Floats]
    X: Floats  # (n, D)
    y: Floats  # (n,) oriented: larger is better
    objective: Objective
    seed: int
    kernels: str | Sequence[str] = "matern32"
    log: bool | Sequence[bool] = False
    warm_start: Posterior | None = None  # oriented; only components use it
    n_threads: int | None = None  # of the chains; by default as many as there are processors


def settings_to_show(settings: EngineSettings) -> EngineSettings:
    """Settings of the surrogate that people see: one kind, plain values, more draws."""
    return replace(
        settings,
        compress=False,
        model="process" if settings.model == "auto" else settings.model,
        process_sweeps=SHOWN_SWEEPS,
        process_chains=SHOWN_CHAINS,
    )


def surrogate_kind(
    settings: EngineSettings,
    parameters: Sequence[Parameter],
    n_started: int,
) -> str:
    """The kind of surrogate for a suggestion after `n_started` points were tried or are pending.

    Max over draws and Thompson sampling need whole surfaces, which only components have.
    """
    if settings.acquisition not in ("ei", "ucb"):
        return "components"
    if settings.model != "auto":
        return settings.model
    size = n_points(parameters)
    is_long = size > LARGE_SPACE and n_started >= LARGE_SPACE_POINTS
    mostly_unordered = 2 * sum(p.is_unordered for p in parameters) > len(parameters)
    if size == math.inf or mostly_unordered or is_long:
        return "process"
    period = EARLY_PERIOD if n_started < EARLY_POINTS else LATER_PERIOD
    return "components" if n_started % period else "process"


def fit_surrogate(kind: str, settings: EngineSettings, data: Observations) -> Posterior:
    """The oriented surrogate of this kind.

    A process sees plain or warped values, whichever predict left-out observations better.
    """
    warp = Warp.of(data.y) if settings.compress else None  # of all values, also those left out
    if kind != "components" and len(data.y) > MAX_PROCESS_POINTS:
        data = _subset(data)
    if kind != "process":
        return fit_oriented(
            data,
            data.y,
            settings,
            rank=settings.rank,
            active=active_dimensions(settings, data.X.shape[1]),
            adapt_rank=settings.adapt_rank,
            offsets=settings.offsets,
            local=kind == "both",
            warm_start=data.warm_start,
            n_sweeps=settings.n_sweeps,
            n_burn_in=settings.n_burn_in,
            n_chains=settings.n_chains,
        )
    process: dict[str, Any] = {
        "rank": 0,
        "local": True,
        "n_sweeps": settings.process_sweeps,
        "n_burn_in": settings.process_burn_in,
        "n_chains": settings.process_chains,
    }
    if warp is None:
        return fit_oriented(data, data.y, settings, **process)
    warped = fit_oriented(data, warp.forward(data.y), settings, **process)
    if len(data.y) < 2 * N_FOLDS:
        return warped
    plain = fit_oriented(data, data.y, settings, **process)
    return warped if warped_score_gain(warped, plain, warp, data.seed) > 0.0 else plain


def fit_oriented(
    data: Observations,
    y: Floats,
    settings: EngineSettings,
    **model: Any,
) -> Posterior:
    """The oriented posterior of a model given y (n,); `model` are further arguments of `fit`.

    The fit itself sees values in the user's direction. The draws of components given −y are not
    the mirror image of those given y, so this choice keeps the suggestions of a seed what they
    have been, and the surrogate that people see is the fit of their own values.
    """
    warm_start = model.pop("warm_start", None)
    if warm_start is not None:
        model["warm_start"] = data.objective.orient_posterior(warm_start)
    posterior = fit(
        data.axes,
        data.X,
        data.objective.to_user(y),
        seed=data.seed,
        kernel=data.kernels,
        log=data.log,
        priors=settings.priors,
        noise_std=settings.noise_std,
        n_threads=data.n_threads,
        **model,
    )
    return data.objective.orient_posterior(posterior)


def active_dimensions(settings: EngineSettings, n_dims: int) -> Sequence[Collection[int]] | None:
    """The components' dimensions, main effects first; None where all are active everywhere."""
    if not settings.main_effects or n_dims == 1:
        return None
    return [(d,) for d in range(n_dims)] + [tuple(range(n_dims))] * settings.rank


def _subset(data: Observations) -> Observations:
    """The observations that a process sees of many."""
    grid = make_axes(data.axes, data.kernels, data.log)
    on_levels = np.array([axis.kernel.on_levels for axis in grid])
    scaled = np.stack([axis.scale(data.X[:, d]) for d, axis in enumerate(grid)], axis=1)
    kept = choose_subset(scaled, on_levels, data.y, MAX_PROCESS_POINTS)
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
    assert process.local is not None
    mean, variance = leave_out(process.local, left_out)
    total = mean.var(axis=0) + variance.mean(axis=0)
    error = process.standardisation.to_model(process.y)[left_out] - mean.mean(axis=0)
    log_density = -0.5 * error**2 / total - 0.5 * np.log(2.0 * np.pi * total)
    return float(np.sum(log_density - math.log(process.standardisation.scale)))


def leave_out(process: LocalDraws, left_out: Ints) -> tuple[Floats, Floats]:
    """Mean and variance (K, m) of observations that are left out together, within each draw.

    Noise is included. With Q the inverse of the observations' covariance, those left out are
    normal around y − Q_mm⁻¹·(Q·y)_m with covariance Q_mm⁻¹.
    """
    roots = process.roots[:, left_out]  # (n, m, K)
    block = np.linalg.inv(np.einsum("aik,ajk->kij", roots, roots))
    error = np.einsum("kij,jk->ki", block, process.coefficients[left_out])
    return process.residuals[:, left_out] - error, np.diagonal(block, axis1=1, axis2=2)
