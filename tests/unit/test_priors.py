"""The sampler's priors are those that `Priors` documents.

Prior preservation draws from the same `Problem` that the updates read, so a wrong number in it
would go unnoticed there. Here every formula
of the documentation is written out again: for the numbers in `Problem`, and for the distribution of
    draws from the prior.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from bktf._compiled.numba_options import compiled
from bktf.axis_kernels.axes import Axis
from bktf.axis_kernels.kernel_spec import resolve_kernels
from bktf.components import gibbs
from bktf.components.chain_state import Problem, State
from bktf.gaussian_process import ProcessProblem
from bktf.surrogate.fit_components import make_component_problem, new_state
from bktf.surrogate.fit_process import make_process_problem
from bktf.surrogate.model_spec import ModelSpec
from bktf.surrogate.observed_values import Data
from bktf.surrogate.priors import Priors
from seeds import seeded

Floats = NDArray[np.float64]

# every number another, none its own square or root, so that no two can be mistaken for each other
UNUSUAL = Priors(
    lengthscale_log_mean=math.log(0.3), lengthscale_log_var=0.7, noise_shape=2.5, noise_rate=0.2, weight_var=2.2, shrinkage_first=1.7,
    shrinkage_rest=4.3, offset_mean=0.6, offset_var=0.4, correlation_logit_mean=-0.9, correlation_logit_var=1.6,
    process_lengthscale_log_mean=math.log(0.8), process_lengthscale_log_var=0.35, process_noise_rate=0.03, process_size_log_mean=0.45,
    process_size_log_var=0.55, process_share_logit_mean=-0.25, process_share_logit_var=2.9,
)  # fmt: skip
SPACES = {
    "one ordered axis": ["matern32"],
    "three ordered axes": ["matern32", "matern52", "squared_exponential"],
    "levels among ordered axes": ["matern12", "categorical", "matern32"],
    "levels only": ["categorical", "categorical"],
    "eight axes": ["matern32"] * 5 + ["categorical"] + ["matern32"] * 2,
}


def problem_of(
    kernels: list[str], priors: Priors, active: list[tuple[int, ...]] | None = None, **settings: Any
) -> Problem:
    """A problem with three observations on axes of three points.

    Components of all dimensions, or with these active ones.
    """
    return make_component_problem(
        ModelSpec(active=active, priors=priors, **settings), data_of(kernels)
    ).problem


def process_problem_of(kernels: list[str], priors: Priors) -> ProcessProblem:
    """The same observations at infinite rank."""
    return make_process_problem(ModelSpec(rank=math.inf, priors=priors), data_of(kernels))


def data_of(kernels: list[str]) -> Data:
    """Three observations on axes of three points."""
    resolved = resolve_kernels(kernels, [3] * len(kernels))
    axes = tuple(
        Axis(np.array([0.0, 1.0, 2.0]) if k.on_levels else np.array([10.0, 14.0, 30.0]), k)
        for k in resolved
    )
    X = np.stack([axis.points[[0, 1, 2]] for axis in axes], axis=1)
    return Data(axes, X, np.zeros(3), None)


# --- the numbers
# -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernels", SPACES.values(), ids=SPACES.keys())
@pytest.mark.parametrize("priors", [Priors(), UNUSUAL], ids=["default", "unusual"])
@pytest.mark.parametrize("infinite_rank", [False, True])
def test_priors_of_lengthscales_and_correlations_are_those_documented(
    kernels: list[str], priors: Priors, infinite_rank: bool
) -> None:
    problem = problem_of(kernels, priors, residual_process=True)
    process = process_problem_of(kernels, priors).model if infinite_rank else problem.process
    for d, name in enumerate(kernels):
        if (
            name == "categorical"
        ):  # log ρ / (1 − ρ) ~ N(mean, var), in the components and in the process
            assert problem.log_means[d] == process.log_means[d] == priors.correlation_logit_mean
            assert problem.log_vars[d] == process.log_vars[d] == priors.correlation_logit_var
        else:  # log l ~ N(mean, var); log l / √D ~ N(mean, var) in the process
            assert problem.log_means[d] == priors.lengthscale_log_mean
            assert problem.log_vars[d] == priors.lengthscale_log_var
            l_over_root_d = math.exp(process.log_means[d]) / len(kernels) ** 0.5
            assert math.log(l_over_root_d) == pytest.approx(
                priors.process_lengthscale_log_mean, abs=1e-12
            )
            assert process.log_vars[d] == priors.process_lengthscale_log_var
            start, end = problem.starts[d : d + 2]
            np.testing.assert_allclose(
                problem.coords[start:end], [0.0, 0.2, 1.0]
            )  # inputs scaled to [0, 1]


@pytest.mark.parametrize("kernels", SPACES.values(), ids=SPACES.keys())
@pytest.mark.parametrize("priors", [Priors(), UNUSUAL], ids=["default", "unusual"])
@pytest.mark.parametrize("infinite_rank", [False, True])
def test_priors_of_size_and_share_of_the_process_are_those_documented(
    kernels: list[str], priors: Priors, infinite_rank: bool
) -> None:
    n_dims = len(kernels)
    own = (
        process_problem_of(kernels, priors).model
        if infinite_rank
        else problem_of(kernels, priors, residual_process=True).process
    )
    assert own.log_means.shape == own.log_vars.shape == (n_dims + 2,)
    assert own.log_means[n_dims] == priors.process_size_log_mean
    assert own.log_vars[n_dims] == priors.process_size_log_var
    odds_over_d = math.exp(own.log_means[n_dims + 1]) / n_dims  # D counts axes of levels too
    assert math.log(odds_over_d) == pytest.approx(priors.process_share_logit_mean, abs=1e-12)
    assert own.log_vars[n_dims + 1] == priors.process_share_logit_var


@pytest.mark.parametrize("n_dims", [1, 2, 8, 50])
def test_by_default_the_odds_of_the_constant_share_are_half_the_number_of_axes(n_dims: int) -> None:
    own = process_problem_of(["matern52"] * n_dims, Priors()).model
    assert math.exp(own.log_means[-1]) == pytest.approx(n_dims / 2)


def test_the_centre_of_the_prior_of_the_share_stays_inside_its_range() -> None:
    """Log odds of the share lie in (−8, 8).

    Where log D would push the centre beyond 7 it stays at 7.
    """
    assert (
        process_problem_of(["matern52"] * 30, Priors(process_share_logit_mean=3.9)).model.log_means[
            -1
        ]
        == 7.0
    )
    below = process_problem_of(
        ["matern52"] * 20, Priors(process_share_logit_mean=3.9)
    ).model.log_means[-1]
    assert below == pytest.approx(3.9 + math.log(20))


@pytest.mark.parametrize("priors", [Priors(), UNUSUAL], ids=["default", "unusual"])
@pytest.mark.parametrize("residual_process", [False, True])
def test_priors_of_noise_weights_and_offsets_are_those_documented(
    priors: Priors, residual_process: bool
) -> None:
    problem = problem_of(
        ["matern32", "categorical"],
        priors,
        residual_process=residual_process,
        offsets=True,
        adapt_rank=True,
    )
    assert problem.noise_shape == priors.noise_shape
    assert problem.noise_rate == (
        priors.process_noise_rate if residual_process else priors.noise_rate
    )
    assert problem.weight_var == priors.weight_var
    assert (problem.shrinkage_first, problem.shrinkage_rest) == (
        priors.shrinkage_first,
        priors.shrinkage_rest,
    )
    assert (problem.offset_mean, problem.offset_var) == (priors.offset_mean, priors.offset_var)
    assert problem.offset.all()
    assert problem.shrunk.all()
    assert not problem.noise_known


@pytest.mark.parametrize("priors", [Priors(), UNUSUAL], ids=["default", "unusual"])
def test_priors_of_noise_at_infinite_rank_are_those_documented(priors: Priors) -> None:
    problem = process_problem_of(["matern52", "categorical"], priors)
    assert (problem.noise_shape, problem.noise_rate, problem.noise_known) == (
        priors.noise_shape,
        priors.process_noise_rate,
        0,
    )


def test_the_documented_defaults_are_the_defaults() -> None:
    default = Priors()
    assert (default.noise_shape, default.noise_rate) == (1.0, 0.01)
    assert (default.correlation_logit_mean, default.correlation_logit_var) == (0.0, 2.0)
    rho = stats.norm(0, math.sqrt(2)).cdf(
        np.log(np.arange(1, 10) / np.arange(9, 0, -1))
    )  # chance of ρ < 0.1, 0.2, …, 0.9
    np.testing.assert_allclose(
        rho, np.arange(1, 10) / 10, atol=0.06
    )  # spread almost evenly over (0, 1)


# --- draws from the prior
# ----------------------------------------------------------------------------------------------

N = 4000
# Of at most 70 p-values in this file: one is below it by chance with a probability of 7e-5
LEVEL = 1e-6


class PriorDraws(NamedTuple):
    """Independent draws of everything from the prior."""

    log_lengthscales: Floats  # (N, R, D), or of odds
    weights: Floats  # (N, R)
    shrinkage: Floats  # (N, R)
    offsets: Floats  # (N, R, D)
    noise_precision: Floats  # (N,)
    process_logs: Floats  # (N, D + 2)
    process: Floats  # (N,) the residual process at the first observation


def draw_many(problem: Problem, seed: int) -> PriorDraws:
    n_components, n_dims = problem.active.shape
    per_axis = (N, n_components, n_dims)
    draws = PriorDraws(
        np.empty(per_axis), np.empty((N, n_components)), np.empty((N, n_components)), np.empty(per_axis), np.empty(N),
        np.empty((N, n_dims + 2)), np.empty(N),
    )  # fmt: skip
    fill_with_draws(problem, new_state(problem), draws, np.random.default_rng(seeded(seed)))
    return draws


@compiled
def fill_with_draws(
    problem: Problem, state: State, draws: PriorDraws, rng: np.random.Generator
) -> None:
    """Write draws from the prior into draws.

    Compiled, because to hand over a problem takes longer than a draw.
    """
    n_components, n_dims = problem.active.shape
    for k in range(draws.noise_precision.size):
        gibbs.draw_prior(problem, state, rng)
        for c in range(n_components):
            draws.weights[k, c] = state.weights[c]
            draws.shrinkage[k, c] = state.shrinkage[c]
            for d in range(n_dims):
                draws.log_lengthscales[k, c, d] = math.log(state.lengthscales[c, d])
                draws.offsets[k, c, d] = state.offsets[c, d]
        draws.noise_precision[k] = state.noise_precision[0]
        for place in range(n_dims + 2):
            draws.process_logs[k, place] = state.process_logs[place]
        draws.process[k] = state.process_values[0]


def normal_cut(mean: float, var: float, low: float, high: float) -> Any:
    """N(mean, var) given that it lies between two numbers."""
    std = math.sqrt(var)
    return stats.truncnorm((low - mean) / std, (high - mean) / std, mean, std)


def check(draws: Floats, distribution: Any, what: str) -> None:
    p = float(stats.kstest(draws, distribution.cdf).pvalue)
    assert p > LEVEL, f"{what}: p = {p:.1e}"


WIDE = Priors(  # so wide that the ranges of length-scales and odds cut off a part that shows
    lengthscale_log_mean=math.log(100.0), lengthscale_log_var=6.0, correlation_logit_mean=-5.0, correlation_logit_var=5.0,
    process_lengthscale_log_mean=3.0, process_lengthscale_log_var=7.0, noise_shape=0.6, noise_rate=3.0, weight_var=0.3,
)  # fmt: skip


@pytest.mark.parametrize("priors", [Priors(), UNUSUAL, WIDE], ids=["default", "unusual", "wide"])
def test_draws_of_components_are_distributed_as_documented(priors: Priors) -> None:
    draws = draw_many(problem_of(["matern32", "categorical"], priors), 1)
    low, high = math.log(1e-3), math.log(1e3)
    for c in range(2):
        lengthscale = normal_cut(priors.lengthscale_log_mean, priors.lengthscale_log_var, low, high)
        check(draws.log_lengthscales[:, c, 0], lengthscale, f"length-scale of component {c}")
        odds = normal_cut(priors.correlation_logit_mean, priors.correlation_logit_var, low, high)
        check(draws.log_lengthscales[:, c, 1], odds, f"odds of component {c}")
        check(
            draws.weights[:, c],
            stats.norm(0, math.sqrt(priors.weight_var)),
            f"weight of component {c}",
        )
    check(
        draws.noise_precision,
        stats.gamma(priors.noise_shape, scale=1 / priors.noise_rate),
        "noise precision",
    )
    assert not draws.offsets.any()


@pytest.mark.parametrize("priors", [Priors(), UNUSUAL, WIDE], ids=["default", "unusual", "wide"])
def test_draws_of_the_residual_process_are_distributed_as_documented(priors: Priors) -> None:
    draws = draw_many(
        problem_of(
            ["matern32", "categorical", "matern32"], priors, [(0, 1, 2)], residual_process=True
        ),
        2,
    )
    low, high = math.log(1e-3), math.log(1e3)
    lengthscale = normal_cut(
        priors.process_lengthscale_log_mean + math.log(math.sqrt(3)),
        priors.process_lengthscale_log_var,
        low,
        high,
    )
    check(draws.process_logs[:, 0], lengthscale, "length-scale of the first axis")
    check(draws.process_logs[:, 2], lengthscale, "length-scale of the third axis")
    check(
        draws.process_logs[:, 1],
        normal_cut(priors.correlation_logit_mean, priors.correlation_logit_var, low, high),
        "odds",
    )
    check(
        draws.process_logs[:, 3],
        stats.norm(priors.process_size_log_mean, math.sqrt(priors.process_size_log_var)),
        "log variance",
    )
    check(draws.process_logs[:, 4] - math.log(3), normal_cut(
        priors.process_share_logit_mean, priors.process_share_logit_var, -8 - math.log(3), 8 - math.log(3)), "share")  # fmt: skip
    check(
        draws.process / np.exp(draws.process_logs[:, 3] / 2),
        stats.norm(),
        "values by their standard deviation",
    )
    check(
        draws.noise_precision,
        stats.gamma(priors.noise_shape, scale=1 / priors.process_noise_rate),
        "noise precision",
    )


@pytest.mark.parametrize("priors", [Priors(), UNUSUAL], ids=["default", "unusual"])
def test_draws_of_shrunk_weights_are_distributed_as_documented(priors: Priors) -> None:
    draws = draw_many(
        problem_of(
            ["matern32", "matern32"], priors, [(0, 1), (0,), (0, 1), (0, 1)], adapt_rank=True
        ),
        3,
    )
    delta = stats.gamma(priors.shrinkage_first), stats.gamma(priors.shrinkage_rest)
    product = np.ones(N)
    for place, c in enumerate([0, 2, 3]):
        check(draws.shrinkage[:, c], delta[min(place, 1)], f"shrinkage of component {c}")
        product = product * draws.shrinkage[:, c]
        check(
            draws.weights[:, c] * np.sqrt(product / priors.weight_var),
            stats.norm(),
            f"weight of component {c}",
        )
    check(
        draws.weights[:, 1],
        stats.norm(0, math.sqrt(priors.weight_var)),
        "weight of the component of one dimension",
    )


@pytest.mark.parametrize("priors", [Priors(), UNUSUAL], ids=["default", "unusual"])
def test_draws_of_offsets_are_distributed_as_documented(priors: Priors) -> None:
    draws = draw_many(problem_of(["matern32", "categorical"], priors, offsets=True), 4)
    for c in range(2):
        for d in range(2):
            check(
                draws.offsets[:, c, d],
                stats.norm(priors.offset_mean, math.sqrt(priors.offset_var)),
                f"offset of {c}, {d}",
            )
