"""Chains of the parameters of a process by elliptical slice sampling around their mode.

A slice update of one parameter at a time costs some four factorisations for each of them. Here one
update moves all parameters at once on an ellipse around the mode, whose axes are those of a normal
approximation. A better approximation needs fewer proposals; the draws are exact with any
(Murray, Adams and MacKay 2010; Nishihara, Murray and Adams 2014).

The approximation depends on the data alone and not on the state of the chain.
"""

import math

import numpy as np

from bktf._compiled import MAX_SHRINKS, Progress
from bktf._typing import Floats
from bktf.gaussian_process.log_posterior import Laplace, LogPosterior
from bktf.gaussian_process.process_sampler import ProcessChain


def elliptical_update(
    density: LogPosterior, laplace: Laplace, z: Floats, log_ratio: float, rng: np.random.Generator
) -> tuple[Floats, float]:
    """A new state z and its log ratio, from the current ones.

    The parameters are mode + spread·z. The ratio is that of their density to the standard normal
    density of z, up to a constant.
    """
    direction = rng.standard_normal(z.size)
    level = log_ratio + math.log(1.0 - rng.random())
    angle = 2.0 * math.pi * rng.random()
    low, high = angle - 2.0 * math.pi, angle
    for _ in range(MAX_SHRINKS):
        proposal = math.cos(angle) * z + math.sin(angle) * direction
        ratio = log_ratio_at(density, laplace, proposal)
        if ratio > level:
            return proposal, ratio
        low, high = (angle, high) if angle < 0.0 else (low, angle)
        angle = low + (high - low) * rng.random()
    return z, log_ratio


def log_ratio_at(density: LogPosterior, laplace: Laplace, z: Floats) -> float:
    """Log density at mode + spread·z over that of z, which is standard normal."""
    return density.value(laplace.mode + laplace.spread @ z) + 0.5 * float(z @ z)


def run_elliptical_chain(
    density: LogPosterior,
    laplace: Laplace,
    sweeps: tuple[int, int],
    rng: np.random.Generator,
    progress: Progress,
) -> ProcessChain:
    """Run one chain from a draw of the normal approximation, or from the mode where that fails.

    sweeps: the number of updates, and how many of them are burn-in.
    """
    n_sweeps, n_burn_in = sweeps
    z = rng.standard_normal(laplace.mode.size)
    log_ratio = log_ratio_at(density, laplace, z)
    if not math.isfinite(log_ratio):
        z = np.zeros_like(z)
        log_ratio = log_ratio_at(density, laplace, z)
    logs, noise_precision = np.empty((n_sweeps, density.n_logs)), np.empty(n_sweeps)
    for sweep in range(n_sweeps):
        if progress.stop.is_set():
            raise KeyboardInterrupt
        z, log_ratio = elliptical_update(density, laplace, z, log_ratio, rng)
        logs[sweep], log_precision = density.parameters(laplace.mode + laplace.spread @ z)
        noise_precision[sweep] = math.exp(log_precision)
        progress.report(1)
    return ProcessChain(logs[n_burn_in:], noise_precision[n_burn_in:])
