"""Several shapes of the model at once: draws of each, as many as its predictions earned.

No shape is best everywhere: few products of factors know periodic and separable functions from a handful of points, a Gaussian process knows smooth
valleys that run across the axes. Each shape is fitted by itself and scored by the density it gives to observations it has not seen; the weights
are those that make the mixture's score largest (stacking). The result is one posterior whose draws are of different shapes: a draw without a local
component has one of size 0, a draw without components has weights of 0.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bktf.fitting import fit
from bktf.posterior import Posterior

Floats = NDArray[np.float64]

N_FOLDS = 5
N_STACKING = 200  # steps of the fixed-point iteration for the weights
FLOOR = 1e-12  # of a predictive density, in the model's units
MASS = 0.5  # observations' worth of prior weight for each shape, so that none dies of a single bad prediction


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One shape: the arguments of `fit` that make it."""

    rank: int = 2
    main_effects: bool = False  # one more component for each dimension alone
    local: bool = False
    n_sweeps: int = 150
    n_burn_in: int = 100
    n_chains: int = 4

    def active(self, n_dims: int) -> Sequence[Collection[int]] | None:
        """The components' dimensions, None where all are active everywhere."""
        if not self.main_effects:
            return None
        return [(d,) for d in range(n_dims)] + [tuple(range(n_dims))] * self.rank


def fit_ensemble(
    axes: Sequence[ArrayLike], X: Floats, y: Floats, shapes: Sequence[Shape], *, seed: int, n_draws: int = 200, **common: Any
) -> Posterior:
    """A posterior with draws of several shapes; `common` are further arguments of `fit`."""
    members = [_fit(axes, X, y, shape, seed + i, common) for i, shape in enumerate(shapes)]
    if len(members) == 1:
        return members[0]
    rng = np.random.default_rng([seed, len(y)])
    fold = rng.permutation(len(y)) % min(N_FOLDS, len(y))
    densities = np.stack([_densities(axes, m, shape, fold, seed + i, common) for i, (m, shape) in enumerate(zip(members, shapes, strict=True))])
    return merge(members, stack(densities), n_draws)


def _fit(axes: Sequence[ArrayLike], X: Floats, y: Floats, shape: Shape, seed: int, common: dict[str, Any]) -> Posterior:
    return fit(
        axes, X, y, seed=seed, rank=shape.rank, active=shape.active(X.shape[1]), local=shape.local, n_sweeps=shape.n_sweeps,
        n_burn_in=shape.n_burn_in, n_chains=shape.n_chains, **common,
    )  # fmt: skip


def _densities(
    axes: Sequence[ArrayLike], member: Posterior, shape: Shape, fold: NDArray[np.int64], seed: int, common: dict[str, Any]
) -> Floats:
    """The density (n,) that a shape gives to each observation without having seen it, in the model's units.

    A Gaussian process alone leaves each observation out in closed form; other shapes are fitted anew without each fold, in short.
    """
    z = member.standardisation.to_model(member.y)
    if member.rank == 0 and member.local is not None:
        own = member.local
        inverse_variance = np.einsum("ijk,ijk->jk", own.roots, own.roots)  # diagonal of C⁻¹, (n, K)
        miss = own.coefficients / inverse_variance
        return np.maximum(np.mean(_normal(miss, 1.0 / inverse_variance), axis=1), FLOOR)
    short = replace(shape, n_sweeps=max(shape.n_sweeps * 2 // 3, 2), n_burn_in=shape.n_burn_in * 2 // 3, n_chains=min(shape.n_chains, 2))
    out = np.empty(len(z))
    points = [axis.points for axis in member.grid]
    for f in np.unique(fold):
        seen = fold != f
        fitted = _fit(points, member.X[seen], member.y[seen], short, seed + int(f) + 1, common)
        mean, variance = fitted.mean(member.X[~seen]), fitted.std(member.X[~seen]) ** 2 + np.mean(fitted.noise_std**2)
        out[~seen] = _normal(member.y[~seen] - mean, variance) * member.standardisation.scale
    return np.maximum(out, FLOOR)


def _normal(miss: Floats, variance: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * miss**2 / variance) / np.sqrt(2 * np.pi * variance))


def stack(densities: Floats) -> Floats:
    """The weights (S,) that maximise Σ_i log Σ_s w_s·density_si plus MASS·Σ_s log w_s."""
    n_shapes, n = densities.shape
    weights = np.full(n_shapes, 1.0 / n_shapes)
    for _ in range(N_STACKING):
        shares = weights[:, None] * densities
        weights = (MASS + (shares / shares.sum(axis=0)).sum(axis=1)) / (n + n_shapes * MASS)
    return weights


def merge(members: Sequence[Posterior], weights: Floats, n_draws: int) -> Posterior:
    """One posterior with about n_draws draws, of each member as many as its weight says."""
    counts = np.floor(weights * n_draws + 0.5).astype(int)
    chosen = [np.linspace(0, m.n_draws - 1, c).round().astype(int) for m, c in zip(members, counts, strict=True)]
    parts = [(m, k) for m, k in zip(members, chosen, strict=True) if k.size]
    first = parts[0][0]
    rank, n_dims = sum(m.rank for m, _ in parts), len(first.grid)
    total = sum(k.size for _, k in parts)
    draws_weights, lengthscales = np.zeros((total, rank)), np.full((total, rank, n_dims), np.nan)
    states = tuple(np.zeros((total, rank, *s.shape[2:])) for s in first.states)
    for s in states:
        s[..., 0] = 1.0
    logs = np.zeros((total, n_dims + 1))
    logs[:, -1] = -np.inf
    row = column = 0
    for m, k in parts:
        rows, columns = slice(row, row + k.size), slice(column, column + m.rank)
        draws_weights[rows, columns], lengthscales[rows, columns] = m.weights[k], m.lengthscales[k]
        for mine, theirs in zip(states, m.states, strict=True):
            mine[rows, columns] = theirs[k]
        if m.local_logs is not None:
            logs[rows] = m.local_logs[k]
        row, column = row + k.size, column + m.rank
    return replace(
        first,
        active=np.concatenate([m.active for m, _ in parts]),
        lengthscales=lengthscales,
        states=states,
        weights=draws_weights,
        noise_precision=np.concatenate([m.noise_precision[k] for m, k in parts]),
        local_logs=logs if any(m.local_logs is not None for m, _ in parts) else None,
    )
