"""Compiled loops of the Gaussian process: sweeps of a chain, and covariances of observations."""

import math

from bktf._compiled import compiled
from bktf.gaussian_process.covariance import correlate
from bktf.gaussian_process.parameter_updates import update_parameters, write_rows


@compiled
def run_sweeps(problem, logs, noise_precision, chain, n_burn_in, first, count, rng):
    """Do `count` sweeps from sweep number `first`, and store those after burn-in in chain.

    Overwrites logs (D + 2,) and noise_precision (1,).
    """
    model = problem.model
    for sweep in range(first, first + count):
        update_parameters(
            model.separations, model.on_levels, model.log_means, model.log_vars,
            problem.noise_shape, problem.noise_rate, problem.noise_known,
            problem.values, logs, noise_precision, rng,
        )  # fmt: skip
        k = sweep - n_burn_in
        if k >= 0:
            chain.noise_precision[k] = noise_precision[0]
            for p in range(logs.size):
                chain.logs[k, p] = logs[p]


@compiled
def write_covariance(separations, on_levels, logs, noise_precision, along, product, C):
    """Write the covariance of the observations into the upper triangle of C (n, n).

    along (D, P) becomes the correlations along the axes, product (P,) their product Π_d κ_d.
    """
    correlate(separations, on_levels, logs, along, product)
    write_rows(product, math.exp(logs[on_levels.size]), 1.0 / noise_precision, C)
