"""Functions whose Sobol indices are known: of the surrogate's prior, and three fixed ones.

All have inputs in [0, 1], or levels 0, 1, …. Fixed before the first line was recorded.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bktf import Priors
from bktf._typing import Floats
from bktf.analysis.importance import variances_of_paths
from bktf.gaussian_process import (
    LOG_ODDS_HIGH,
    ProcessPaths,
    condition_process,
    draw_process_paths,
)
from bktf.product_forms import UNIFORM

N_TRIALS = 60
N_POINTS = 11  # of an ordered axis
N_WAVES = 1024  # of a function drawn from the prior: nearly normal
MAX_MEAN, MAX_LOG_STD = 0.2, 0.2  # of y that was drawn from the prior


class Indices(NamedTuple):
    """Sobol indices of a function."""

    first: Floats  # (D,)
    total: Floats  # (D,)
    pairs: Floats  # (D, D) the interaction alone; what is below the diagonal counts


class DataSet(NamedTuple):
    """Observations of a function, and its indices."""

    X: Floats  # (n, D)
    y: Floats  # (n,)
    n_levels: tuple[int, ...]  # of each axis; 0: ordered
    indices: Indices


def prior_data(n_dims: int, seed: int) -> DataSet:
    """A function drawn from the surrogate's default prior, observed with noise.

    A fit z-scores y, so its prior is that of z-scored functions. Functions are therefore drawn
    until mean and standard deviation of y are near 0 and 1. That is a condition on the data alone,
    so it leaves the posterior given the data as it is.
    """
    rng = np.random.default_rng([seed, n_dims])
    while True:
        path, noise_std = _prior_path(n_dims, rng)
        X = rng.random((N_TRIALS, n_dims))
        y = path.values(X)[0] + noise_std * rng.standard_normal(N_TRIALS)
        if abs(y.mean()) < MAX_MEAN and abs(math.log(y.std())) < MAX_LOG_STD:
            break
    parts = variances_of_paths(path, [UNIFORM] * n_dims, True)[0]
    indices = Indices(*(part / parts.variance for part in (parts.first, parts.total, parts.pairs)))
    return DataSet(X, y, (0,) * n_dims, indices)


def _prior_path(n_dims: int, rng: np.random.Generator) -> tuple[ProcessPaths, float]:
    """A function with parameters of the prior, and the standard deviation of the noise."""
    priors = Priors()

    def normal(mean: float, var: float) -> float:
        return mean + math.sqrt(var) * float(rng.standard_normal())

    lengths = [
        normal(priors.process_lengthscale_log_mean, priors.process_lengthscale_log_var)
        + 0.5 * math.log(n_dims)
        for _ in range(n_dims)
    ]
    size = normal(priors.process_size_log_mean, priors.process_size_log_var)
    share = normal(priors.process_share_logit_mean, priors.process_share_logit_var)
    share = float(np.clip(share + math.log(n_dims), -LOG_ODDS_HIGH, LOG_ODDS_HIGH))
    precision = rng.gamma(priors.noise_shape) / priors.process_noise_rate
    logs = np.array([[*lengths, size, share]])
    on_levels = np.zeros(n_dims, dtype=bool)
    nowhere, nothing = np.full((1, n_dims), 0.5), np.zeros((1, 1))
    process = condition_process(nowhere, on_levels, logs, np.array([precision]), nothing)
    path = draw_process_paths(process, [N_POINTS] * n_dims, 1, N_WAVES, rng)
    # Without the update to an observation: only the waves are left
    bare = replace(path, coefficients=np.zeros_like(path.coefficients))
    return bare, 1.0 / math.sqrt(precision)


class Function(NamedTuple):
    """A fixed function."""

    values: Callable[[Floats], Floats]
    n_levels: tuple[int, ...]
    variances: dict[tuple[int, ...], float]  # by axes that act together; the others are 0

    @property
    def indices(self) -> Indices:
        """The Sobol indices."""
        n_dims, whole = len(self.n_levels), sum(self.variances.values())
        first, total = np.zeros(n_dims), np.zeros(n_dims)
        pairs = np.zeros((n_dims, n_dims))
        for axes, variance in self.variances.items():
            share = variance / whole
            total[list(axes)] += share
            if len(axes) == 1:
                first[axes[0]] = share
            if len(axes) == 2:
                pairs[axes[0], axes[1]] = pairs[axes[1], axes[0]] = share
        return Indices(first, total, pairs)

    def data(self, seed: int) -> DataSet:
        """Observations without noise at random points."""
        rng = np.random.default_rng([seed, 7])
        X = rng.random((N_TRIALS, len(self.n_levels)))
        for d, n in enumerate(self.n_levels):
            if n:
                X[:, d] = np.floor(n * X[:, d])
        return DataSet(X, self.values(X), self.n_levels, self.indices)


def ishigami() -> Function:
    """Of Ishigami, with a = 7 and b = 0.1, on [−π, π]³."""
    a, b = 7.0, 0.1

    def values(X: Floats) -> Floats:
        x = math.pi * (2.0 * X - 1.0)
        s = np.sin(x[:, 0])
        return np.asarray(s + a * np.sin(x[:, 1]) ** 2 + b * x[:, 2] ** 4 * s)

    pi4 = math.pi**4
    variances: dict[tuple[int, ...], float] = {
        (0,): 0.5 * (1.0 + b * pi4 / 5.0) ** 2,
        (1,): a**2 / 8.0,
        (0, 2): b**2 * pi4**2 * (1.0 / 18.0 - 1.0 / 50.0),
    }
    return Function(values, (0, 0, 0), variances)


def g_function() -> Function:
    """Π (|4·x − 2| + a) / (1 + a), with a of 0, 1, 4.5 and 9; it has kinks."""
    a = np.array([0.0, 1.0, 4.5, 9.0])

    def values(X: Floats) -> Floats:
        return np.asarray(np.prod((np.abs(4.0 * X - 2.0) + a) / (1.0 + a), axis=1))

    own = 1.0 / (3.0 * (1.0 + a) ** 2)
    subsets = (s for k in range(1, 5) for s in itertools.combinations(range(4), k))
    return Function(values, (0, 0, 0, 0), {s: float(np.prod(own[list(s)])) for s in subsets})


def mixed_function() -> Function:
    """sin(2πx₀)·g(level) + h(level) + x₁², the levels on axis 2; x₃ has no effect."""
    g, h = np.array([1.0, 0.5, -0.5]), np.array([0.0, 0.5, 1.0])

    def values(X: Floats) -> Floats:
        level = X[:, 2].astype(int)
        return np.asarray(np.sin(2.0 * math.pi * X[:, 0]) * g[level] + h[level] + X[:, 1] ** 2)

    variances: dict[tuple[int, ...], float] = {
        (0,): 0.5 * float(g.mean()) ** 2,
        (1,): 4.0 / 45.0,
        (2,): float(h.var()),
        (0, 2): 0.5 * float(g.var()),
    }
    return Function(values, (0, 0, 3, 0), variances)


FUNCTIONS = {"ishigami": ishigami(), "g-function": g_function(), "mixed": mixed_function()}
PRIORS = {"prior-3": 3, "prior-5": 5}


def data_of(problem: str, seed: int) -> DataSet:
    """The data set of a problem and a seed."""
    if problem in PRIORS:
        return prior_data(PRIORS[problem], seed)
    return FUNCTIONS[problem].data(seed)
