"""Does an update leave the prior alone? Independent replicates, exact p-values.

Draw parameters from the prior and data from the model, apply the update, and the result is again a
draw from the joint distribution of parameters and data, if the update is right. Marginals alone
would pass an update that ignores the data, so every report also tests joint statistics: the
residuals against χ², the factors against their length-scales, and products of data and f against
fresh joint draws.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import oracles
from bktf._compiled.numba_options import compiled
from bktf.axis_kernels import categorical as levels
from bktf.axis_kernels import dense
from bktf.axis_kernels.axes import Axis
from bktf.axis_kernels.kernel_spec import AxisKernel, Kernel, resolve_kernels
from bktf.components import conjugate_updates as conjugate
from bktf.components import gibbs
from bktf.components.chain_state import Problem
from bktf.components.joint_updates import take_joint_step
from bktf.components.population import make_joint_work
from bktf.gaussian_process import ProcessModel
from bktf.surrogate.fit_components import make_component_problem, new_state
from bktf.surrogate.model_spec import ModelSpec
from bktf.surrogate.observed_values import Data
from bktf.surrogate.priors import Priors
from seeds import seeded

Floats = NDArray[np.float64]
UPDATES = ["axes", "noise", "weights", "two sweeps", "covariances", "shrinkage", "joint sweeps"]
KNOWN_NOISE_PRECISION = 4.0


# Chosen so that data, factors and noise all matter.
PRIORS = Priors(
    lengthscale_log_mean=math.log(0.5), lengthscale_log_var=0.5, noise_shape=4.0, noise_rate=1.0, process_noise_rate=1.0, weight_var=1.5,
    offset_mean=0.7, offset_var=0.6,
)  # fmt: skip


class Setup(NamedTuple):
    """A small problem on which every replicate is made."""

    problem: Problem
    priors: Priors
    power: float = 1.0  # to which the likelihood is raised

    @property
    def drawn(self) -> Problem:
        """The problem under whose prior the noise times `power` is drawn.

        A power of a normal density is that of less precise noise times a power of the precision.
        """
        n = self.problem.values.size
        return self.problem._replace(
            noise_shape=self.problem.noise_shape + 0.5 * (self.power - 1.0) * n,
            noise_rate=self.problem.noise_rate / self.power,
        )


def make_data(
    n: int,
    sizes: tuple[int, ...],
    kernels: tuple[AxisKernel, ...],
    noise_known: bool,
    inactive: bool = False,
) -> Data:
    """Random cells of random axes, every coordinate observed, without values.

    With `inactive` the last point of each axis is infinite: there its parameter is not active.
    """
    rng = np.random.default_rng(seeded(0))
    points = [np.sort(rng.uniform(0, 1, m)) for m in sizes]
    points = [(p - p[0]) / (p[-1] - p[0]) for p in points]
    if inactive:
        points = [np.append(p[:-1], np.inf) for p in points]
    axes = tuple(Axis(p, k) for p, k in zip(points, kernels, strict=True))
    X = np.stack([p[rng.permutation(np.arange(n) % p.size)] for p in points], axis=1)
    return Data(axes, X, np.zeros(n), KNOWN_NOISE_PRECISION if noise_known else None)


def make_setup(
    *,
    n: int = 9,
    sizes: tuple[int, ...] = (4, 3),
    active: list[tuple[int, ...]] | None = None,
    kernel: Kernel | list[Kernel] = "matern32",
    shared: bool = False,
    noise_known: bool = False,
    residual_process: bool = False,
    adapt_rank: bool = False,
    offsets: bool = False,
    power: float = 1.0,
    comparable: bool = False,
    inactive: bool = False,
) -> Setup:
    """A problem with random cells: two components of all dimensions, or those of `active`."""
    data = make_data(n, sizes, resolve_kernels(kernel, sizes), noise_known, inactive)
    spec = ModelSpec(
        rank=2, active=active, priors=PRIORS, shared_lengthscales=shared, residual_process=residual_process, adapt_rank=adapt_rank,
        offsets=offsets, comparable=comparable,
    )  # fmt: skip
    return Setup(make_component_problem(spec, data).problem, PRIORS, power)


class Record(NamedTuple):
    """What is kept of each of N replicates, after the update and, for `fresh`, straight from the joint distribution."""

    noise: Floats  # (N,)
    chi2: Floats  # (N,) noise precision times the sum of squared residuals
    weights: Floats  # (N, R) divided by the standard deviations of their priors
    shrinkage: Floats  # (N, R)
    size: Floats  # (N,) total variance of the components
    offsets: Floats  # (N, R, D)
    lengthscales: Floats  # (N, R, D)
    first: Floats  # (N, R, D) factor at the first coordinate of each axis, around its offset
    second: Floats  # (N, R, D) and at the second
    covariance: Floats  # (N, D, 3) entries 00, 01, 11 of each axis's matrix
    joint: Floats  # (N, 5) products of data, f and parameters
    fresh: Floats  # (N, 5)
    process: Floats  # (N, D + 4) parameters of the residual process, its first two values
    # (N,) largest difference between the residual that was kept and the one computed anew
    bookkeeping: Floats


@compiled
def draw_joint(problem, state, rng):
    """Parameters from the prior and data from the model; writes state and problem.values."""
    state.noise_precision[0] = KNOWN_NOISE_PRECISION
    gibbs.draw_prior(problem, state, rng)
    for i in range(problem.values.size):
        problem.values[i] = 0.0
    gibbs.refresh(problem, state)
    for i in range(problem.values.size):
        problem.values[i] = -state.residual[i] + rng.standard_normal() / math.sqrt(
            state.noise_precision[0]
        )
    gibbs.refresh(problem, state)


@compiled
def joint_statistics(problem, state, out):
    """Write products of data, f and parameters into out (5,)."""
    y = problem.values
    product = 0.0
    squares = 0.0
    residuals = 0.0
    for i in range(y.size):
        product += y[i] * (y[i] - state.residual[i])
        squares += y[i] * y[i]
        residuals += state.residual[i] * state.residual[i]
    out[0] = y[0] * (y[0] - state.residual[0])
    out[1] = product
    out[2] = y[0] * y[1] * state.noise_precision[0]
    out[3] = abs(state.weights[0]) * squares
    out[4] = math.log(state.noise_precision[0]) * residuals


@compiled
def apply(update, problem, state, work, rng):
    """Do one of the updates: 0 all axes, 1 noise, 2 weights, 3 two whole sweeps, 4 covariances, 5 shrinkage, 6 two joint sweeps."""
    n_components, n_dims = problem.active.shape
    if update == 0:
        size = n_components if problem.shared else 1
        for first in range(0, n_components, size):
            gibbs.enter_block(problem, state, work, first, first + size)
            for d in range(n_dims):
                gibbs.update_axis(problem, state, work, first, first + size, d, rng)
            gibbs.leave_block(state, work, first, first + size)
    elif update == 1:
        conjugate.update_noise(
            problem.noise_shape, problem.noise_rate, problem.noise_known, state.residual, state.noise_precision, rng
        )  # fmt: skip
    elif update == 2:
        conjugate.update_weights(
            state.weight_vars, problem.values, state.products, state.weights, state.noise_precision, state.residual, rng
        )  # fmt: skip
    elif update == 4:
        gibbs.update_covariances(problem, state, False, rng)
    elif update == 5:
        conjugate.update_shrinkage(problem, state, rng)
    elif update == 6:
        for _ in range(2):
            for d in range(n_dims):
                take_joint_step(problem, state, work, d, rng)
    else:
        for _ in range(2):
            for position in range(n_dims * (1 if problem.shared else n_components) + 1):
                gibbs.take_step(problem, state, work, position, rng)


@compiled
def replicate(update, drawn, problem, state, work, record, rng):
    """Fill the record with independent replicates; `drawn` differs from problem in the prior of the noise."""
    n_components, n_dims = problem.active.shape
    kept = np.empty(problem.values.size)
    for k in range(record.noise.size):
        draw_joint(drawn, state, rng)
        joint_statistics(problem, state, record.fresh[k])
        draw_joint(drawn, state, rng)
        apply(update, problem, state, work, rng)
        for i in range(kept.size):
            kept[i] = state.residual[i]
        gibbs.refresh(problem, state)
        total = 0.0
        for i in range(kept.size):
            record.bookkeeping[k] = max(record.bookkeeping[k], abs(kept[i] - state.residual[i]))
            total += state.residual[i] * state.residual[i]
        joint_statistics(problem, state, record.joint[k])
        record.noise[k] = state.noise_precision[0]
        for p in range(n_dims + 2):
            record.process[k, p] = state.process_logs[p]
        for i in range(2):
            record.process[k, n_dims + 2 + i] = state.process_values[i]
        record.size[k] = state.weight_vars[0] * problem.n_sized
        record.chi2[k] = state.noise_precision[0] * total
        for c in range(n_components):
            record.weights[k, c] = state.weights[c] / math.sqrt(state.weight_vars[c])
            record.shrinkage[k, c] = state.shrinkage[c]
            for d in range(n_dims):
                matrix = state.covariances[problem.covariance_index[d]]
                record.covariance[k, d, 0] = matrix[0, 0]
                record.covariance[k, d, 1] = matrix[0, 1 % matrix.shape[1]]
                record.covariance[k, d, 2] = matrix[1 % matrix.shape[0], 1 % matrix.shape[1]]
                record.lengthscales[k, c, d] = state.lengthscales[c, d]
                record.offsets[k, c, d] = state.offsets[c, d]
                record.first[k, c, d] = state.factors[c, problem.starts[d], 0] - state.offsets[c, d]
                record.second[k, c, d] = (
                    state.factors[c, problem.starts[d] + 1, 0] - state.offsets[c, d]
                )


def p_values(setup: Setup, update: str, n_replicates: int, seed: int) -> dict[str, float]:
    """Exact p-values of everything that must hold after the update."""
    problem, priors, drawn = setup.problem, setup.priors, setup.drawn
    n_components, n_dims = problem.active.shape
    per_axis = (n_replicates, n_components, n_dims)
    record = Record(
        np.zeros(n_replicates), np.zeros(n_replicates), np.zeros((n_replicates, n_components)), np.zeros((n_replicates, n_components)),
        np.zeros(n_replicates), np.zeros(per_axis), np.zeros(per_axis), np.zeros(per_axis), np.zeros(per_axis), np.zeros((n_replicates, n_dims, 3)),
        np.zeros((n_replicates, 5)), np.zeros((n_replicates, 5)), np.zeros((n_replicates, n_dims + 4)), np.zeros(n_replicates),
    )  # fmt: skip
    state = new_state(problem)
    state.power[0] = setup.power
    replicate(
        UPDATES.index(update),
        drawn,
        problem,
        state,
        make_joint_work(problem),
        record,
        np.random.default_rng(seeded(seed)),
    )
    p = {
        "bookkeeping": float(record.bookkeeping.max() < 1e-9),
        "chi2": ks(record.chi2, stats.chi2(problem.values.size).cdf),
    }
    if not problem.noise_known:
        p["noise"] = ks(
            record.noise, stats.gamma(drawn.noise_shape, scale=1 / drawn.noise_rate).cdf
        )
    for c in range(n_components):
        p[f"weight[{c}]"] = ks(record.weights[:, c], stats.norm().cdf)
    for place, c in enumerate(np.flatnonzero(problem.shrunk).tolist()):
        shape = priors.shrinkage_first if place == 0 else priors.shrinkage_rest
        p[f"shrinkage[{c}]"] = ks(record.shrinkage[:, c], stats.gamma(shape).cdf)
    if problem.size_log_var > 0:
        prior = stats.norm(problem.size_log_mean, math.sqrt(problem.size_log_var))
        p["size"] = ks(np.log(record.size), prior.cdf)
    for k in range(record.joint.shape[1]):
        p[f"joint[{k}]"] = float(stats.ks_2samp(record.joint[:, k], record.fresh[:, k]).pvalue)
    for d in np.flatnonzero(problem.full):
        p |= covariance_p_values(record, int(d))
    if problem.process.log_means.size:
        p |= process_p_values(record.process, problem.process)
    for c, d in zip(*np.nonzero(problem.active), strict=True):
        if problem.offset[d]:
            p[f"offset[{c},{d}]"] = ks(
                record.offsets[:, c, d],
                stats.norm(priors.offset_mean, math.sqrt(priors.offset_var)).cdf,
            )
        first, second, ls = (
            record.first[:, c, d],
            record.second[:, c, d],
            record.lengthscales[:, c, d],
        )
        if problem.full[d]:
            a, b, e = record.covariance[:, d].T
            p[f"factor[{c},{d}]"] = ks(first / np.sqrt(a), stats.norm().cdf)
            p[f"innovation[{c},{d}]"] = ks(
                (second - b / a * first) / np.sqrt(e - b * b / a), stats.norm().cdf
            )
            continue
        if problem.learned[d]:
            p[f"lengthscale[{c},{d}]"] = ks(
                np.log(ls), stats.norm(problem.log_means[d], math.sqrt(problem.log_vars[d])).cdf
            )
        rho = correlation(problem, int(d), ls)
        p[f"factor[{c},{d}]"] = ks(second, stats.norm().cdf)
        p[f"innovation[{c},{d}]"] = ks(
            (second - rho * first) / np.sqrt(1 - rho * rho), stats.norm().cdf
        )
    return p


def corrected(p: dict[str, float]) -> tuple[float, str]:
    """The smallest of several p-values times their number (Bonferroni), and what it is of."""
    worst = min(p, key=p.__getitem__)
    return p[worst] * len(p), worst


def process_p_values(record: Floats, model: ProcessModel) -> dict[str, float]:
    """Of a process, from records (N, D + 4): its parameters, its first value, and the second given the first."""
    n_dims = model.on_levels.size
    logs, first, second = record[:, : n_dims + 2], record[:, n_dims + 2], record[:, n_dims + 3]
    prior = [
        stats.norm(mean, math.sqrt(var))
        for mean, var in zip(model.log_means, model.log_vars, strict=True)
    ]
    p = {f"process parameter[{d}]": ks(logs[:, d], prior[d].cdf) for d in range(n_dims + 2)}
    rho, share = np.ones(len(logs)), 1 / (1 + np.exp(-logs[:, n_dims + 1]))
    for d in range(n_dims):
        apart = model.separations[d, 1]  # the second pair is that of the first two observations
        if model.on_levels[d]:
            rho *= 1 / (1 + np.exp(-logs[:, d])) if apart else 1.0
        else:
            r = math.sqrt(5) * apart * np.exp(-logs[:, d])
            rho *= share + (1 - share) * (1 + r + r * r / 3) * np.exp(-r)
    scale = np.exp(0.5 * logs[:, n_dims])
    p["process value"] = ks(first / scale, stats.norm().cdf)
    p["process innovation"] = ks(
        (second - rho * first) / scale / np.sqrt(1 - rho * rho), stats.norm().cdf
    )
    return p


def covariance_p_values(record: Record, d: int) -> dict[str, float]:
    """The inverse-Wishart prior of a learned covariance, by its first 2 × 2 block: two variances and a regression coefficient.

    The block is inverse Wishart with 2 + EXTRA degrees of freedom and scale (EXTRA − 1)·I, so its
    variances are inverse gamma, what is left of the second after the first is inverse gamma with
    one degree of freedom more, and the coefficient is normal given that.
    """
    a, b, e = record.covariance[:, d].T
    scale = (levels.EXTRA_DOF - 1.0) / 2
    left = e - b * b / a
    return {
        f"variance[{d}]": ks(a, stats.invgamma((levels.EXTRA_DOF + 1) / 2, scale=scale).cdf),
        f"second variance[{d}]": ks(e, stats.invgamma((levels.EXTRA_DOF + 1) / 2, scale=scale).cdf),
        f"left over[{d}]": ks(left, stats.invgamma((levels.EXTRA_DOF + 2) / 2, scale=scale).cdf),
        f"coefficient[{d}]": ks(
            b / a / np.sqrt(left) * math.sqrt(levels.EXTRA_DOF - 1.0), stats.norm().cdf
        ),
    }


def ks(values: Any, cdf: Callable[[Any], Any]) -> float:
    """The exact p-value of a Kolmogorov–Smirnov test."""
    return float(stats.kstest(np.asarray(values), cdf).pvalue)


def correlation(problem: Problem, d: int, ls: Floats) -> Floats:
    """Prior correlation of the factor between the first two coordinates of axis d, for each length-scale."""
    start = problem.starts[d]
    a, b = problem.coords[start : start + 1], problem.coords[start + 1 : start + 2]
    kind = int(problem.kinds[d])
    if kind <= 3:
        return np.array([oracles.matern(kind, x, a, b)[0, 0] for x in ls])
    if kind == 4:
        return np.array([oracles.squared_exponential(x, a, b)[0, 0] for x in ls])
    if kind == 5:
        return np.array([oracles.periodic(float(problem.periods[d]), x, a, b)[0, 0] for x in ls])
    if kind == dense.EQUAL_CORRELATION:
        return ls / (1 + ls)
    return np.full(len(ls), problem.covariances[problem.covariance_index[d], 0, 1])
