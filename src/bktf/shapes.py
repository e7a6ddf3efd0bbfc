"""Which shape of the model to use: components or a Gaussian process, whichever predicts better what it has not seen.

No shape is best everywhere. A few products of factors know periodic and separable functions from a handful of points; a Gaussian process
knows smooth valleys that run across the axes. Both are asked to predict folds of the observations, each left out in turn, and the one with
the larger log predictive density is fitted to all of them. The process leaves a fold out in closed form; components are fitted anew, in
short, and only for as long as they are still in the race.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bktf.fitting import fit
from bktf.local_draws import LocalDraws
from bktf.posterior import Posterior

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_FOLDS = 5
BEHIND = 3.0  # nats by which components may be behind after some folds and still go on
MAX_LOCAL = 300  # observations up to which a Gaussian process is tried; its cost is cubic
LOCAL_RUN: dict[str, Any] = {"n_sweeps": 40, "n_burn_in": 24, "n_chains": 3}  # h is integrated out, so its chains mix in a few sweeps
SHORT_RUN: dict[str, Any] = {"n_sweeps": 90, "n_burn_in": 60, "n_chains": 2}  # of components on what a fold leaves


@dataclass(frozen=True, kw_only=True)
class Components:
    """The shape made of components: arguments of `fit`."""

    rank: int = 3
    n_sweeps: int = 150
    n_burn_in: int = 100
    n_chains: int = 4
    main_effects: bool = False  # one more component for each dimension alone
    adapt_rank: bool = False
    offsets: bool = False

    def arguments(self, n_dims: int) -> dict[str, Any]:
        """What makes the shape, without how long to run."""
        return {"rank": self.rank, "active": self.active(n_dims), "adapt_rank": self.adapt_rank, "offsets": self.offsets}

    def active(self, n_dims: int) -> Sequence[Collection[int]] | None:
        """The components' dimensions, None where all are active everywhere; main effects first."""
        return [(d,) for d in range(n_dims)] + [tuple(range(n_dims))] * self.rank if self.main_effects and n_dims > 1 else None

    @property
    def run(self) -> dict[str, Any]:
        """How long to run."""
        return {"n_sweeps": self.n_sweeps, "n_burn_in": self.n_burn_in, "n_chains": self.n_chains}


def fit_local(axes: Sequence[ArrayLike], X: Floats, y: Floats, *, seed: int, **common: Any) -> Posterior:
    """The Gaussian process alone; `common` are further arguments of `fit`."""
    return fit(axes, X, y, seed=seed, rank=0, local=True, **LOCAL_RUN, **common)


def fit_components(
    axes: Sequence[ArrayLike], X: Floats, y: Floats, shape: Components, *, seed: int, run: dict[str, Any] | None = None, **common: Any
) -> Posterior:
    """Components alone."""
    return fit(axes, X, y, seed=seed, **shape.arguments(X.shape[1]), **(run or shape.run), **common)


def fit_better(axes: Sequence[ArrayLike], X: Floats, y: Floats, shape: Components, *, seed: int, **common: Any) -> Posterior:
    """The shape that predicts better, fitted to everything."""
    if len(y) > MAX_LOCAL:
        return fit_components(axes, X, y, shape, seed=seed, **common)
    process = fit_local(axes, X, y, seed=seed, **common)
    if len(y) < 2 * N_FOLDS:
        return process
    fold = np.random.default_rng([seed, len(y)]).permutation(len(y)) % N_FOLDS
    ends = [0, -1]  # all that fits to folds need of an axis; observed coordinates become points of it
    bare = [axis.points if axis.kernel.on_levels else axis.points[ends] for axis in process.grid]
    lead = 0.0  # of the components, in nats
    for f in range(N_FOLDS):
        left_out = np.flatnonzero(fold == f)
        seen = np.flatnonzero(fold != f)
        fitted = fit_components(bare, process.X[seen], process.y[seen], shape, seed=seed + f + 1, run=SHORT_RUN, **common)
        lead += score_of_components(fitted, process.X[left_out], process.y[left_out]) - score_of_process(process, left_out)
        if lead < -BEHIND:
            return process
    return process if lead < 0.0 else fit_components(axes, X, y, shape, seed=seed, **common)


def score_of_components(posterior: Posterior, X: Floats, y: Floats) -> float:
    """Log predictive density of observations that were left out, as normal variables."""
    return _log_density(y - posterior.mean(X), posterior.std(X) ** 2 + np.mean(posterior.noise_std**2))


def score_of_process(posterior: Posterior, left_out: Ints) -> float:
    """The same of a Gaussian process alone, from its fit to everything: its parameters are kept, the observations are taken out."""
    assert posterior.local is not None
    mean, variance = leave_out(posterior.local, left_out)
    scale = posterior.standardisation.scale
    total = mean.var(axis=0) + variance.mean(axis=0)
    z = posterior.standardisation.to_model(posterior.y)[left_out]
    return _log_density(scale * (z - mean.mean(axis=0)), scale**2 * total)


def leave_out(local: LocalDraws, left_out: Ints) -> tuple[Floats, Floats]:
    """Mean and variance (K, m) of observations that are left out together, noise included, within each draw.

    With Q the inverse of their covariance C, the block of those left out is normal around y − Q_mm⁻¹·(Q·y)_m with covariance Q_mm⁻¹.
    """
    own = local.roots[:, left_out]  # (n, m, K)
    block = np.linalg.inv(np.einsum("aik,ajk->kij", own, own))
    miss = np.einsum("kij,jk->ki", block, local.coefficients[left_out])
    return local.residuals[:, left_out] - miss, np.diagonal(block, axis1=1, axis2=2)


def _log_density(miss: Floats, variance: Floats) -> float:
    return float(np.sum(-0.5 * miss**2 / variance - 0.5 * np.log(2.0 * np.pi * variance)))
