"""Does an update leave the prior alone? Independent replicates, exact p-values.

Draw parameters from the prior and data from the model, apply the update, and the result is again a draw from the joint
distribution of parameters and data, if the update is right. Marginals alone would pass an update that ignores the data,
so every report also tests joint statistics: the residuals against χ², the factors against their length-scales, and
products of data and f against fresh joint draws.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bktf import gibbs
from bktf.axes import Axis
from bktf.fitting import make_problem, new_state
from bktf.model import Kernel, Priors, Settings, resolve_kernels

Floats = NDArray[np.float64]
Update = Callable[[gibbs.Problem, gibbs.State, gibbs.Work, np.random.Generator], None]


class Setup(NamedTuple):
    """A small problem on which every replicate is made."""

    problem: gibbs.Problem
    priors: Priors


def make_setup(
    *,
    n: int = 9,
    sizes: tuple[int, ...] = (4, 3),
    active: list[tuple[int, ...]] | None = None,
    kernel: Kernel | list[Kernel] = "matern32",
    shared: bool = False,
    noise_known: bool = False,
) -> Setup:
    """A problem with random cells; priors chosen so that data, factors and noise all matter."""
    rng = np.random.default_rng(0)
    priors = Priors(lengthscale_log_mean=math.log(0.5), lengthscale_log_var=0.5, noise_shape=4.0, noise_rate=1.0, weight_var=1.5)
    points = [np.sort(rng.uniform(0, 1, m)) for m in sizes]
    points = [(p - p[0]) / (p[-1] - p[0]) for p in points]
    axes = tuple(Axis(p, k) for p, k in zip(points, resolve_kernels(kernel, sizes), strict=True))
    X = np.stack([p[rng.permutation(np.arange(n) % p.size)] for p in points], axis=1)  # every coordinate is observed
    dims = active or [tuple(range(len(sizes)))] * 2
    mask = np.array([[d in chosen for d in range(len(sizes))] for chosen in dims])
    settings = Settings(shared_lengthscales=shared)
    problem, _ = make_problem(axes, X, np.zeros(n), mask, priors, settings, 4.0 if noise_known else None)
    return Setup(problem, priors)


def make_work(problem: gibbs.Problem) -> gibbs.Work:
    n_components, n_dims = problem.active.shape
    n = problem.values.size
    return gibbs.Work(np.zeros((n_components, n_dims + 1, n)), np.zeros((n_components, n)), np.zeros((n_components, n)), np.zeros(n))


def draw_joint(problem: gibbs.Problem, state: gibbs.State, rng: np.random.Generator) -> None:
    """Parameters from the prior and data from the model; writes state and problem.values."""
    state.noise_precision[0] = 4.0
    gibbs.draw_prior(problem, state, rng)
    problem.values[:] = 0.0
    gibbs.refresh(problem, state)
    f = -state.residual
    problem.values[:] = f + rng.standard_normal(f.size) / math.sqrt(state.noise_precision[0])
    gibbs.refresh(problem, state)


def statistics(problem: gibbs.Problem, state: gibbs.State) -> list[float]:
    """What is compared between updated and fresh joint draws: products of data, f and parameters."""
    f = problem.values - state.residual
    y = problem.values
    return [
        float(y[0] * f[0]),
        float(y @ f),
        float(y[0] * y[1] * state.noise_precision[0]),
        float(abs(state.weights[0]) * (y @ y)),
        float(np.log(state.noise_precision[0]) * (state.residual @ state.residual)),
    ]


def p_values(setup: Setup, update: Update, n_replicates: int, seed: int) -> dict[str, float]:
    """Exact p-values of everything that must hold after the update."""
    rng = np.random.default_rng(seed)
    problem, priors = setup
    state, work = new_state(problem), make_work(problem)
    n_components, n_dims = problem.active.shape
    collected: dict[str, list[Any]] = {"noise": [], "chi2": [], "weights": [], "joint": [], "fresh": []}
    for c in range(n_components):
        for d in range(n_dims):
            if problem.active[c, d]:
                collected |= {f"lengthscale[{c},{d}]": [], f"factor[{c},{d}]": [], f"innovation[{c},{d}]": []}
    for _ in range(n_replicates):
        draw_joint(problem, state, rng)
        update(problem, state, work, rng)
        before = state.residual.copy()
        gibbs.refresh(problem, state)
        np.testing.assert_allclose(before, state.residual, atol=1e-9)  # the update kept its own books
        collected["noise"].append(state.noise_precision[0])
        collected["chi2"].append(state.noise_precision[0] * float(state.residual @ state.residual))
        collected["weights"].append(state.weights.copy())
        collected["joint"].append(statistics(problem, state))
        for c in range(n_components):
            for d in range(n_dims):
                if problem.active[c, d]:
                    g = state.factors[c, problem.starts[d] : problem.starts[d + 1], 0]
                    ls = state.lengthscales[c, d]
                    collected[f"lengthscale[{c},{d}]"].append(ls)
                    collected[f"factor[{c},{d}]"].append(g[-1])
                    rho = correlation(problem, d, ls)
                    collected[f"innovation[{c},{d}]"].append((g[1] - rho * g[0]) / math.sqrt(1 - rho * rho))
        draw_joint(problem, state, rng)
        collected["fresh"].append(statistics(problem, state))

    p: dict[str, float] = {"chi2": ks(collected["chi2"], stats.chi2(problem.values.size).cdf)}
    if not problem.noise_known:
        p["noise"] = ks(collected["noise"], stats.gamma(priors.noise_shape, scale=1 / priors.noise_rate).cdf)
    weights = np.array(collected["weights"])
    for c in range(n_components):
        p[f"weight[{c}]"] = ks(weights[:, c], stats.norm(scale=math.sqrt(priors.weight_var)).cdf)
    joint, fresh = np.array(collected["joint"]), np.array(collected["fresh"])
    for k in range(joint.shape[1]):
        if np.ptp(fresh[:, k]) > 0:
            p[f"joint[{k}]"] = float(stats.ks_2samp(joint[:, k], fresh[:, k]).pvalue)
    normal = stats.norm().cdf
    for name, values in collected.items():
        d = int(name.split(",")[1][:-1]) if "," in name else -1
        if name.startswith("lengthscale") and problem.learned[d]:
            p[name] = ks(np.log(values), stats.norm(priors.lengthscale_log_mean, math.sqrt(priors.lengthscale_log_var)).cdf)
        elif name.startswith(("factor", "innovation")):
            p[name] = ks(values, normal)
    return p


def ks(values: Any, cdf: Callable[[Any], Any]) -> float:
    """The exact p-value of a Kolmogorov–Smirnov test."""
    return float(stats.kstest(np.asarray(values), cdf).pvalue)


def correlation(problem: gibbs.Problem, d: int, ls: float) -> float:
    """Prior correlation of the factor between the first two coordinates of axis d."""
    first = problem.starts[d]
    gap = float(problem.coords[first + 1] - problem.coords[first])
    kind = int(problem.kinds[d])
    if kind <= 3:
        x = math.sqrt(2 * kind - 1) * gap / ls
        return math.exp(-x) * {1: 1.0, 2: 1 + x, 3: 1 + x + x * x / 3}[kind]
    if kind == 4:
        return math.exp(-0.5 * (gap / ls) ** 2)
    if kind == 5:
        return math.exp(-2 * (math.sin(math.pi * gap / problem.periods[d]) / ls) ** 2)
    return float(problem.given[problem.given_index[d], 0, 1])


# --- the updates -------------------------------------------------------------------------------------------------------


def blocks(problem: gibbs.Problem) -> list[tuple[int, int]]:
    n_components = len(problem.active)
    return [(0, n_components)] if problem.shared else [(c, c + 1) for c in range(n_components)]


def update_axes(problem: gibbs.Problem, state: gibbs.State, work: gibbs.Work, rng: np.random.Generator) -> None:
    """Length-scales and factors of every block and axis, nothing else."""
    for first, last in blocks(problem):
        gibbs.enter_block(problem, state, work, first, last)
        for d in range(problem.cells.shape[0]):
            gibbs.update_axis(problem, state, work, first, last, d, rng)
        gibbs.leave_block(problem, state, work, first, last)


def update_noise(problem: gibbs.Problem, state: gibbs.State, work: gibbs.Work, rng: np.random.Generator) -> None:
    gibbs.update_noise(problem, state, rng)


def update_weights(problem: gibbs.Problem, state: gibbs.State, work: gibbs.Work, rng: np.random.Generator) -> None:
    gibbs.update_weights(problem, state, rng)


def two_sweeps(problem: gibbs.Problem, state: gibbs.State, work: gibbs.Work, rng: np.random.Generator) -> None:
    for _ in range(2):
        for position in range(gibbs.steps_per_sweep(problem)):
            gibbs.take_step(problem, state, work, position, rng)
