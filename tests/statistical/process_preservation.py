"""Does the sampler of the Gaussian process leave the prior alone? Independent replicates, as in `prior_preservation`.

The sampler integrates the values of h out. So h is drawn with the parameters before the data are,
and anew after
the sweeps, given the data: parameters, data and h are then again a draw from their joint
    distribution.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from prior_preservation import (
    KNOWN_NOISE_PRECISION,
    PRIORS,
    Floats,
    ks,
    make_data,
    process_p_values,
)
from scipy import stats

from bktf._compiled.numba_options import compiled as compiled
from bktf.axis_kernels import Kernel, resolve_kernels
from bktf.gaussian_process import LogPosterior, ProcessProblem, parameter_updates, run_sweeps
from bktf.gaussian_process.elliptical_chain import elliptical_update, log_ratio_at
from bktf.gaussian_process.process_sampler import ProcessChain
from bktf.surrogate.fit_process import make_process_problem
from bktf.surrogate.model_spec import ModelSpec
from seeds import seeded

N_SWEEPS = 2


class ProcessState(NamedTuple):
    """Where a replicate is."""

    logs: Floats  # (D + 2,)
    noise_precision: Floats  # (1,)
    h: Floats  # (n,) values of the process at the observations


class ProcessRecord(NamedTuple):
    """What is kept of each of N replicates, after the sweeps and, for `fresh`, straight from the joint distribution."""

    noise: Floats  # (N,)
    chi2: Floats  # (N,) noise precision times the sum of squared residuals
    process: Floats  # (N, D + 4) parameters, and the first two values of h
    joint: Floats  # (N, 5) products of data, h and parameters
    fresh: Floats  # (N, 5)
    bookkeeping: Floats  # (N,) largest difference between the last draw that was kept and the state


def make_process_setup(
    *,
    n: int = 9,
    sizes: tuple[int, ...] = (4, 3),
    kernel: Kernel | Sequence[Kernel | None] | None = None,
    noise_known: bool = False,
    inactive: bool = False,
) -> ProcessProblem:
    """A problem with random cells."""
    kernels = resolve_kernels(kernel, sizes, "matern52")
    data = make_data(n, sizes, kernels, noise_known, inactive)
    return make_process_problem(ModelSpec(rank=math.inf, kernel=kernel, priors=PRIORS), data)


@compiled
def draw_joint(problem, state, rng):
    """Parameters and h from the prior, data from the model; writes state and problem.values."""
    model = problem.model
    parameter_updates.draw_prior(
        model.separations, model.on_levels, model.log_means, model.log_vars, state.logs, state.h, rng
    )  # fmt: skip
    state.noise_precision[0] = KNOWN_NOISE_PRECISION
    if not problem.noise_known:
        state.noise_precision[0] = rng.standard_gamma(problem.noise_shape) / problem.noise_rate
    for i in range(state.h.size):
        problem.values[i] = state.h[i] + rng.standard_normal() / math.sqrt(state.noise_precision[0])


@compiled
def write_joint_statistics(problem, state, out):
    """Write products of data, h and parameters into out (5,)."""
    y = problem.values
    product, squares, residuals = 0.0, 0.0, 0.0
    for i in range(y.size):
        product += y[i] * state.h[i]
        squares += y[i] * y[i]
        residuals += (y[i] - state.h[i]) ** 2
    out[0] = y[0] * state.h[0]
    out[1] = product
    out[2] = y[0] * y[1] * state.noise_precision[0]
    out[3] = math.exp(state.logs[0]) * squares
    out[4] = math.log(state.noise_precision[0]) * residuals


@compiled
def replicate_process(problem, state, kept, record, rng):
    """Fill the record with independent replicates."""
    model = problem.model
    n_logs = state.logs.size
    for k in range(record.noise.size):
        draw_joint(problem, state, rng)
        write_joint_statistics(problem, state, record.fresh[k])
        draw_joint(problem, state, rng)
        run_sweeps(problem, state.logs, state.noise_precision, kept, N_SWEEPS - 1, 0, N_SWEEPS, rng)
        parameter_updates.draw_values(
            model.separations, model.on_levels, state.logs, state.noise_precision[0], problem.values, state.h, rng
        )  # fmt: skip
        write_joint_statistics(problem, state, record.joint[k])
        record.noise[k] = state.noise_precision[0]
        record.bookkeeping[k] = abs(kept.noise_precision[0] - state.noise_precision[0])
        for p in range(n_logs):
            record.process[k, p] = state.logs[p]
            record.bookkeeping[k] = max(record.bookkeeping[k], abs(kept.logs[0, p] - state.logs[p]))
        for i in range(2):
            record.process[k, n_logs + i] = state.h[i]
        total = 0.0
        for i in range(state.h.size):
            total += (problem.values[i] - state.h[i]) ** 2
        record.chi2[k] = state.noise_precision[0] * total


def replicate_elliptical(
    problem: ProcessProblem, state: ProcessState, record: ProcessRecord, rng: np.random.Generator
) -> None:
    """The same with updates of all parameters at once, around the mode given each data set."""
    model, n_logs = problem.model, state.logs.size
    for k in range(record.noise.size):
        draw_joint(problem, state, rng)
        write_joint_statistics(problem, state, record.fresh[k])
        draw_joint(problem, state, rng)
        density = LogPosterior.of(problem, KNOWN_NOISE_PRECISION)
        laplace = density.laplace(density.find_mode(np.zeros(len(density.bounds))))
        x = density.point(state.logs, float(state.noise_precision[0]))
        z: Floats = np.linalg.solve(laplace.spread, x - laplace.mode).astype(float)
        log_ratio = log_ratio_at(density, laplace, z)
        for _ in range(N_SWEEPS):
            z, log_ratio = elliptical_update(density, laplace, z, log_ratio, rng)
        state.logs[:], log_precision = density.parameters(laplace.mode + laplace.spread @ z)
        state.noise_precision[0] = math.exp(log_precision)
        parameter_updates.draw_values(
            model.separations, model.on_levels, state.logs, state.noise_precision[0], problem.values, state.h, rng
        )  # fmt: skip
        write_joint_statistics(problem, state, record.joint[k])
        record.noise[k] = state.noise_precision[0]
        record.process[k, :n_logs], record.process[k, n_logs:] = state.logs, state.h[:2]
        record.chi2[k] = state.noise_precision[0] * ((problem.values - state.h) ** 2).sum()


def p_values_of_process(
    problem: ProcessProblem, n_replicates: int, seed: int, *, elliptical: bool = False
) -> dict[str, float]:
    """Exact p-values of everything that must hold after two sweeps, or two elliptical updates."""
    n, n_logs = problem.values.size, problem.model.log_means.size
    one, five = np.zeros(n_replicates), np.zeros((n_replicates, 5))
    record = ProcessRecord(
        one, one.copy(), np.zeros((n_replicates, n_logs + 2)), five, five.copy(), one.copy()
    )
    state = ProcessState(np.zeros(n_logs), np.ones(1), np.zeros(n))
    kept = ProcessChain(np.zeros((1, n_logs)), np.zeros(1))
    rng = np.random.default_rng(seeded(seed))
    if elliptical:
        replicate_elliptical(problem, state, record, rng)
    else:
        replicate_process(problem, state, kept, record, rng)
    p = {
        "bookkeeping": float(record.bookkeeping.max() == 0.0),
        "chi2": ks(record.chi2, stats.chi2(n).cdf),
    }
    if not problem.noise_known:
        p["noise"] = ks(
            record.noise, stats.gamma(problem.noise_shape, scale=1 / problem.noise_rate).cdf
        )
    for k in range(record.joint.shape[1]):
        p[f"joint[{k}]"] = float(stats.ks_2samp(record.joint[:, k], record.fresh[:, k]).pvalue)
    return p | process_p_values(record.process, problem.model)
