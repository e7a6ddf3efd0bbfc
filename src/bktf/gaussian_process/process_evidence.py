"""The evidence of a Gaussian process, its parameters integrated out by importance sampling.

Points x of `LogPosterior` are drawn from a mixture of t distributions around the modes and of the
prior. The prior's share bounds the weights where a mode was not found.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bktf._typing import Floats
from bktf.gaussian_process.log_posterior import Laplace, LogPosterior

N_POINTS = 600
PRIOR_SHARE = 0.2  # of the points
DOF = 5.0  # of the t distributions: tails heavier than the posterior's


class Evidence(NamedTuple):
    """The logarithm of the probability density of the data, and its standard error."""

    log: float
    error: float


def process_evidence(
    density: LogPosterior, modes: Sequence[Laplace], rng: np.random.Generator
) -> Evidence:
    """The log evidence in nats, with the constant of the normal density."""
    from scipy.special import gammaln, logsumexp  # heavy: `import bktf` must not pay for it

    problem = density.problem
    shares = _shares(modes)
    n_prior = int(PRIOR_SHARE * N_POINTS)
    numbers = rng.choice(len(modes), size=N_POINTS - n_prior, p=shares)
    points = [_draw_t(modes[i], rng) for i in numbers]
    points += [_draw_prior(density, rng) for _ in range(n_prior)]
    x = np.array(points)
    log_proposal = np.full((len(modes) + 1, N_POINTS), -math.inf)
    for i, mode in enumerate(modes):
        log_proposal[i] = math.log((1.0 - PRIOR_SHARE) * shares[i]) + _log_t(mode, x)
    # The prior of x, normalised, and the joint density of x and the data
    constant = -0.5 * density.n_logs * math.log(2.0 * math.pi)
    if not problem.noise_known:
        a, b = problem.noise_shape, problem.noise_rate
        constant += a * math.log(b) - float(gammaln(a)) + math.log(density.scales[1][-1])
    log_prior = constant + np.array([density.log_prior(row) for row in x])
    log_proposal[-1] = math.log(PRIOR_SHARE) + log_prior
    joint = constant + np.array([density.value(row) for row in x])
    logs = joint - logsumexp(log_proposal, axis=0)
    weights = np.exp(logs - logs.max())
    log_mean = float(logs.max() + np.log(weights.mean()))
    error = float(weights.std(ddof=1) / math.sqrt(N_POINTS) / weights.mean())
    return Evidence(log_mean - 0.5 * problem.values.size * math.log(2.0 * math.pi), error)


def _shares(modes: Sequence[Laplace]) -> Floats:
    """The shares of the modes among the points: those of their masses, none below a tenth."""
    masses = np.exp(np.array([m.log_mass for m in modes]) - max(m.log_mass for m in modes))
    shares = np.maximum(masses / masses.sum(), 0.1)
    return np.asarray(shares / shares.sum())


def _draw_t(mode: Laplace, rng: np.random.Generator) -> Floats:
    """A draw of the t distribution around a mode."""
    z = rng.standard_normal(mode.mode.size) / math.sqrt(rng.chisquare(DOF) / DOF)
    return np.asarray(mode.mode + mode.spread @ z)


def _log_t(mode: Laplace, x: Floats) -> Floats:
    """The log density (N,) of the t distribution around a mode."""
    from scipy.special import gammaln

    p = mode.mode.size
    z = np.linalg.solve(mode.spread, (x - mode.mode).T)
    log_det = np.linalg.slogdet(mode.spread)[1]
    constant = gammaln(0.5 * (DOF + p)) - gammaln(0.5 * DOF) - 0.5 * p * math.log(DOF * math.pi)
    return np.asarray(constant - log_det - 0.5 * (DOF + p) * np.log1p((z * z).sum(axis=0) / DOF))


def _draw_prior(density: LogPosterior, rng: np.random.Generator) -> Floats:
    """A draw of the prior of x; its bounds cut off so little that it is not normalised for them."""
    x = rng.standard_normal(density.n_logs)
    if density.problem.noise_known:
        return np.asarray(x)
    noise = rng.standard_gamma(density.problem.noise_shape) / density.problem.noise_rate
    centre, unit = density.scales
    return np.append(x, (math.log(noise) - centre[-1]) / unit[-1])
