"""How well a process predicts observations that are left out, without another fit."""

import math

import numpy as np

from bktf._typing import Floats, Ints
from bktf.gaussian_process import ConditionalProcess
from bktf.surrogate import Posterior, Warp

N_FOLDS = 5


def warped_score_gain(warped: Posterior, plain: Posterior, warp: Warp, seed: int) -> float:
    """By how much warped values predict left-out observations better, in log density (nats)."""
    slopes = float(warp.log_slope(plain.y).sum())  # both as densities of plain values
    return slopes + fold_score(warped, seed) - fold_score(plain, seed)


def fold_score(process: Posterior, seed: int) -> float:
    """Log predictive density of all observations, fold after fold left out."""
    n = len(process.y)
    fold = np.random.default_rng([seed, n]).permutation(n) % N_FOLDS
    return sum(predictive_score(process, np.flatnonzero(fold == f)) for f in range(N_FOLDS))


def level_score(process: Posterior, axis: int, seed: int) -> float:
    """The same with all observations of some levels of an axis left out together.

    It tells how well levels are predicted that nobody has tried.
    """
    levels, of_row = np.unique(process.X[:, axis], return_inverse=True)
    fold = np.random.default_rng([seed, levels.size]).permutation(levels.size) % N_FOLDS
    parts = [np.flatnonzero(fold[of_row] == f) for f in range(min(N_FOLDS, levels.size))]
    return sum(predictive_score(process, part) for part in parts)


def predictive_score(process: Posterior, left_out: Ints, n_scored: int | None = None) -> float:
    """Log predictive density of observations as if they had been left out.

    The kernel parameters are those of the fit to all observations. Only the first n_scored of
    them count, by default all.
    """
    assert process.draws.process is not None
    mean, variance = leave_out(process.draws.process, left_out)
    if n_scored is not None:
        mean, variance, left_out = mean[:, :n_scored], variance[:, :n_scored], left_out[:n_scored]
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
