"""The shapes a surrogate can take, and which one a suggestion uses.

    process       a Gaussian process alone (the local component without components), of plain or of warped values
    components    products of factors, the paper's model, of plain values: a warp would bend sums and products into something else
    both          components and a local component in one sampler
    auto          a process where a parameter is continuous, where most parameters are unordered categories, and in long studies of large
                  finite spaces. On other finite spaces coordinates come again, and what components learn at one point they know of a
                  whole row: there the two take turns

The cost of a process is cubic, so beyond MAX_PROCESS observations it sees a subset of them (`subset`); components see all.

docs/model_choices.md has the measurements behind these rules.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bktf.engine.settings import Strategy
from bktf.engine.subset import choose_subset
from bktf.gaussian_process import ConditionalProcess
from bktf.spaces.parameters import Parameter, n_points
from bktf.surrogate.fitting import fit
from bktf.surrogate.model_spec import ModelSpec, make_axes
from bktf.surrogate.posterior import Posterior
from bktf.surrogate.warping import Warp

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_FOLDS = 5
MAX_PROCESS = 200  # observations that a process or a local component sees at most; their cost is cubic
EARLY = 20  # points up to which a process has every second turn on a finite space: it needs fewer to be of use
EARLY_TURNS, LATER_TURNS = 2, 6  # of which the process has one
LARGE_SPACE = 1e5  # points of a finite space beyond which coordinates seldom come again
LARGE_SPACE_TURNS = 100  # points tried from which on a process has every turn on such a space
SHOWN_SWEEPS, SHOWN_CHAINS = 64, 4  # of a process that is shown, so that quantiles come from enough draws


def shown(strategy: Strategy) -> Strategy:
    """The strategy whose surrogate is shown to people: of plain values, always the same shape, with more draws than choosing needs."""
    model = "process" if strategy.model == "auto" else strategy.model
    return replace(strategy, compress=False, model=model, process_sweeps=SHOWN_SWEEPS, process_chains=SHOWN_CHAINS)


def shape_of(strategy: Strategy, parameters: Sequence[Parameter], turn: int) -> str:
    """The shape where `turn` points were tried or are under way.

    Max over draws and Thompson's draw need whole surfaces, which only components have.
    """
    if strategy.acquisition not in ("ei", "ucb"):
        return "components"
    if strategy.model != "auto":
        return strategy.model
    size = n_points(parameters)
    mostly_unordered = 2 * sum(p.is_unordered for p in parameters) > len(parameters)
    if size == math.inf or mostly_unordered or (size > LARGE_SPACE and turn >= LARGE_SPACE_TURNS):
        return "process"
    return "components" if turn % (EARLY_TURNS if turn < EARLY else LATER_TURNS) else "process"


def fit_shape(
    shape: str, strategy: Strategy, axes: Sequence[ArrayLike], X: Floats, y: Floats, *, maximize: bool, seed: int, **common: Any
) -> Posterior:
    """The surrogate of a strategy in a shape; `common` are further arguments of `fit`. A warm start is for components alone."""
    common |= {"seed": seed, "priors": strategy.priors, "noise_std": strategy.noise_std}
    warp = Warp.of(y, maximize) if strategy.compress else None
    if shape != "components" and len(y) > MAX_PROCESS:
        base = make_axes(ModelSpec(kernel=common.get("kernel"), log=common.get("log", False)), axes)
        on_levels = np.array([axis.kernel.on_levels for axis in base])
        scaled = np.stack([axis.scale(X[:, d]) for d, axis in enumerate(base)], axis=1)
        kept = choose_subset(scaled, on_levels, y if maximize else -y, MAX_PROCESS)
        X, y = X[kept], y[kept]
    if shape == "process":
        common.pop("warm_start", None)
        run = {"n_sweeps": strategy.process_sweeps, "n_burn_in": strategy.process_burn_in, "n_chains": strategy.process_chains}
        return fit_process(axes, X, y, warp, **run, **common)
    return fit(
        axes, X, y, rank=strategy.rank, active=components_of(strategy, X.shape[1]), adapt_rank=strategy.adapt_rank,
        offsets=strategy.offsets, residual_process=shape == "both", n_sweeps=strategy.n_sweeps, n_burn_in=strategy.n_burn_in,
        n_chains=strategy.n_chains, **common,
    )  # fmt: skip


def components_of(strategy: Strategy, n_dims: int) -> Sequence[Collection[int]] | None:
    """The components' dimensions, None where all are active everywhere; main effects first."""
    if not strategy.main_effects or n_dims == 1:
        return None
    return [(d,) for d in range(n_dims)] + [tuple(range(n_dims))] * strategy.rank


def fit_process(axes: Sequence[ArrayLike], X: Floats, y: Floats, warp: Warp | None, *, seed: int, **common: Any) -> Posterior:
    """A Gaussian process alone, of plain or of warped values, whichever predicts better what it has not seen.

    `common` are further arguments of `fit`.
    """
    kernels = common.get("kernel")
    if kernels is not None:  # levels have equal correlation, ordered axes Matérn 5/2
        common["kernel"] = ["categorical" if kernel in ("categorical", "wishart") else None for kernel in kernels]
    settings = {"seed": seed, "rank": math.inf, **common}
    if warp is None:
        return fit(axes, X, y, **settings)
    warped = fit(axes, X, warp.forward(y), **settings)
    if len(y) < 2 * N_FOLDS:
        return warped
    plain = fit(axes, X, y, **settings)
    fold = np.random.default_rng([seed, len(y)]).permutation(len(y)) % N_FOLDS
    lead = float(warp.log_slope(y).sum())  # of the warped one in log predictive density, in nats
    for f in range(N_FOLDS):
        lead += predictive_score(warped, np.flatnonzero(fold == f)) - predictive_score(plain, np.flatnonzero(fold == f))
    return warped if lead > 0.0 else plain


def predictive_score(process: Posterior, left_out: Ints) -> float:
    """Log predictive density of observations as if they had been left out; the parameters are those of the fit to all."""
    assert process.draws.process is not None
    mean, variance = leave_out(process.draws.process, left_out)
    total = mean.var(axis=0) + variance.mean(axis=0)
    miss = process.standardisation.to_model(process.y)[left_out] - mean.mean(axis=0)
    return float(np.sum(-0.5 * miss**2 / total - 0.5 * np.log(2.0 * np.pi * total) - math.log(process.standardisation.scale)))


def leave_out(local: ConditionalProcess, left_out: Ints) -> tuple[Floats, Floats]:
    """Mean and variance (K, m) of observations that are left out together, noise included, within each draw.

    With Q the inverse of their covariance C, the block of those left out is normal around y − Q_mm⁻¹·(Q·y)_m with covariance Q_mm⁻¹.
    """
    own = local.roots[:, left_out]  # (n, m, K)
    block = np.linalg.inv(np.einsum("aik,ajk->kij", own, own))
    miss = np.einsum("kij,jk->ki", block, local.coefficients[left_out])
    return local.residuals[:, left_out] - miss, np.diagonal(block, axis1=1, axis2=2)
