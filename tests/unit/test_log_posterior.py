"""The density of a process's parameters, its gradient and mode, and chains around the mode."""

import math
import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import bktf
from bktf._compiled import Progress
from bktf.gaussian_process import Laplace, LogPosterior, ProcessProblem, run_elliptical_chain
from bktf.gaussian_process.log_posterior import MIN_CURVATURE, MODE_TOLERANCE
from bktf.surrogate import uses_mode
from bktf.surrogate.fit_process import (
    MAX_SLICE_WORK,
    ProcessStart,
    divide_chains,
    make_process_problem,
)
from bktf.surrogate.model_spec import ModelSpec, make_axes
from bktf.surrogate.observed_values import Data
from seeds import seeded

Floats = NDArray[np.float64]
NOISE = 50.0


def problem_of(
    n: int, kernels: list[str | None], priors: bktf.Priors | None = None, known: bool = False
) -> ProcessProblem:
    """A rough function of random points; on levels of three values."""
    rng = np.random.default_rng(seeded(n))
    spec = ModelSpec(rank=math.inf, kernel=kernels, priors=priors or bktf.Priors())
    points = [np.arange(3.0) if kernel else np.linspace(0, 1, 5) for kernel in kernels]
    X = np.stack(
        [rng.integers(0, 3, n) if kernel else rng.random(n) for kernel in kernels], axis=1
    ).astype(float)
    axes = make_axes(spec, points)
    grid = tuple(axis.with_coordinates(X[:, d]) for d, axis in enumerate(axes))
    y = np.sin(6 * X).sum(axis=1) + 0.2 * rng.standard_normal(n)
    return make_process_problem(
        spec, Data(grid, X, (y - y.mean()) / y.std(), NOISE if known else None)
    )


def slow_density(problem: ProcessProblem, logs: Floats, log_precision: float) -> float:
    """The log density as it is written down, up to a constant."""
    model, n = problem.model, problem.values.size
    first, second = np.triu_indices(n)
    K = np.full((n, n), math.exp(logs[-2]))
    share = 1 / (1 + math.exp(-logs[-1]))
    for d, distances in enumerate(model.separations):
        apart = np.zeros((n, n))
        apart[first, second] = apart[second, first] = distances
        if model.on_levels[d]:
            K *= np.where(apart > 0, 1 / (1 + math.exp(-logs[d])), 1.0)
        else:
            r = math.sqrt(5) * apart / math.exp(logs[d])
            K *= share + (1 - share) * (1 + r + r * r / 3) * np.exp(-r)
    C = K + np.eye(n) * math.exp(-log_precision)
    evidence = stats.multivariate_normal(np.zeros(n), C).logpdf(problem.values)
    prior = stats.norm(model.log_means, np.sqrt(model.log_vars)).logpdf(logs).sum()
    if not problem.noise_known:
        prior += problem.noise_shape * log_precision - problem.noise_rate * math.exp(log_precision)
    return float(evidence + prior)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("kernels", [[None], [None, "categorical", None]])
def test_value_and_gradient_are_those_of_the_density_as_written(
    kernels: list[str | None], known: bool
) -> None:
    problem = problem_of(14, kernels, known=known)
    density = LogPosterior.of(problem, NOISE)
    rng = np.random.default_rng(seeded(1))
    points = 0.5 * rng.standard_normal((3, len(density.bounds)))
    offsets = []
    for x in points:
        logs, log_precision = density.parameters(x)
        value, gradient = density.value_and_gradient(x)
        assert density.value(x) == value
        offsets.append(value - slow_density(problem, logs, log_precision))
        for i in range(x.size):
            step = np.zeros(x.size)
            step[i] = 1e-5
            slope = (density.value(x + step) - density.value(x - step)) / 2e-5
            assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(density.point(logs, math.exp(log_precision)), x, atol=1e-12)
    assert np.ptp(offsets) < 1e-9  # a constant


def test_a_density_is_zero_outside_its_bounds() -> None:
    density = LogPosterior.of(problem_of(6, [None]), NOISE)
    for i, (low, high) in enumerate(density.bounds):
        for outside in (low - 0.1, high + 0.1):
            x = np.zeros(len(density.bounds))
            x[i] = outside
            assert density.value(x) == -math.inf


def test_the_mode_is_a_maximum_and_the_spread_its_curvature() -> None:
    density = LogPosterior.of(problem_of(40, [None, None]), NOISE)
    laplace = density.laplace(density.find_mode(np.zeros(5)))
    top = density.value(laplace.mode)
    rng = np.random.default_rng(seeded(2))
    for direction in rng.standard_normal((20, 5)):
        unit = direction / np.linalg.norm(direction)
        assert density.value(laplace.mode + 0.3 * laplace.spread @ unit) < top + MODE_TOLERANCE
    precision = np.linalg.inv(laplace.spread @ laplace.spread.T)
    assert np.linalg.eigvalsh(precision).min() >= MIN_CURVATURE * (1 - 1e-9)
    for i in range(5):
        step = np.zeros(5)
        step[i] = 1e-3
        sides = density.value(laplace.mode + step) + density.value(laplace.mode - step)
        second = -(sides - 2 * top) / 1e-6
        assert precision[i, i] == pytest.approx(max(second, MIN_CURVATURE), rel=0.1, abs=0.05)


def chains(density: LogPosterior, n_chains: int, n_updates: int) -> Floats:
    """The last log parameters (N, D + 2) of short chains, each with its own random numbers."""
    laplace = density.laplace(density.find_mode(np.zeros(len(density.bounds))))
    progress = Progress(threading.Event(), lambda _: None)
    ends = []
    for k in range(n_chains):
        rng = np.random.default_rng([seeded(3), k])
        chain = run_elliptical_chain(density, laplace, (n_updates, n_updates - 1), rng, progress)
        assert chain.logs.shape == (1, density.n_logs)
        ends.append(chain.logs[0])
    return np.array(ends)


# Priors that leave only length-scales open, so that the posterior can be integrated.
TIGHT: dict[str, Any] = {"process_size_log_var": 1e-8, "process_share_logit_var": 1e-8}


def test_draws_of_one_length_scale_are_those_of_quadrature() -> None:
    density = LogPosterior.of(problem_of(8, [None], bktf.Priors(**TIGHT), known=True), NOISE)
    grid = np.linspace(-6.0, 6.0, 1201)
    log_density = np.array([density.value(np.array([x, 0.0, 0.0])) for x in grid])
    weights = np.exp(log_density - log_density.max())
    cdf = np.cumsum(weights) / weights.sum()
    centre, unit = density.scales
    drawn = (chains(density, 800, 12)[:, 0] - centre[0]) / unit[0]
    # The chains start at a draw of the normal approximation, which is not the posterior.
    assert stats.kstest(drawn, lambda x: np.interp(x, grid, cdf)).pvalue > 1e-4


def test_draws_of_two_length_scales_are_those_of_quadrature() -> None:
    density = LogPosterior.of(problem_of(8, [None, None], bktf.Priors(**TIGHT), known=True), NOISE)
    grid = np.linspace(-5.0, 5.0, 81)
    log_density = np.array(
        [[density.value(np.array([a, b, 0.0, 0.0])) for b in grid] for a in grid]
    )
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    centre, unit = density.scales
    drawn = ((chains(density, 600, 12) - centre) / unit)[:, :2]
    half = 0.5 * (grid[1] - grid[0])
    for d in range(2):
        cdf = np.cumsum(weights.sum(axis=1 - d))
        found = stats.kstest(drawn[:, d], lambda x, c=cdf: np.interp(x - half, grid, c))
        assert found.pvalue > 1e-4 / 3
    # Dependence: the mean product against its exact mean and standard error.
    product = np.outer(grid, grid)
    exact = (weights * product).sum()
    error = math.sqrt(((weights * product**2).sum() - exact**2) / len(drawn))
    assert abs((drawn[:, 0] * drawn[:, 1]).mean() - exact) < 4.5 * error


def test_chains_are_divided_by_the_masses_of_the_modes() -> None:
    even, better = [0.0, 0.0], [0.0, math.log(3.0)]
    assert divide_chains(even, 2) == [0, 1]
    assert divide_chains(better, 4) == [0, 1, 1, 1]
    assert divide_chains([0.0, -50.0], 4) == [0, 0, 0, 0]
    assert divide_chains([-1e5, -1e5 + 9.0], 2) == [1, 1]
    assert divide_chains([-3.0], 3) == [0, 0, 0]


def test_the_other_explanation_is_looked_for_at_the_other_size_of_the_noise() -> None:
    density = LogPosterior.of(problem_of(10, [None, None]), NOISE)
    for precision, other in ((2.0, 1e5), (1e6, 3.0)):
        mode = density.point(np.zeros(4), precision)
        logs, log_precision = density.parameters(density.other_start(mode))
        assert math.exp(log_precision) == pytest.approx(other)
        np.testing.assert_allclose(logs, density.scales[0][:-1])


def test_the_mass_around_a_mode_is_that_of_a_normal_distribution() -> None:
    density = LogPosterior.of(problem_of(30, [None, "categorical"]), NOISE)
    first = density.find_mode(np.zeros(5))
    for mode in (first, density.find_mode(density.other_start(first))):
        laplace = density.laplace(mode)
        log_det = np.linalg.slogdet(laplace.spread)[1]
        assert laplace.log_mass == pytest.approx(density.value(mode) + log_det, abs=1e-6)


def test_chains_move_around_the_modes_that_were_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two modes of one mass each chain has its own; beyond MAX_TWO_MODES there is one."""
    rng = np.random.default_rng(seeded(12))
    X, axes = rng.random((90, 2)), [np.linspace(0, 1, 5)] * 2
    y = np.sin(9 * X).sum(axis=1)
    centres = np.zeros(5), np.array([2.0, 0.0, 0.0, 0.0, 0.0])
    found = iter(centres * 2)

    def laplace(_: LogPosterior, mode: Floats) -> Laplace:
        return Laplace(mode, 1e-9 * np.eye(5), 0.0)

    monkeypatch.setattr(LogPosterior, "find_mode", lambda *_: next(found))
    monkeypatch.setattr(LogPosterior, "laplace", laplace)
    monkeypatch.setattr("bktf.surrogate.fit_process.MAX_LOSS", math.inf)
    settings: dict[str, Any] = {"rank": math.inf, "seed": 0, "n_sweeps": 2, "n_burn_in": 1}
    lengths = np.log(bktf.fit(axes, X, y, **settings).lengthscales[:, 0])
    assert lengths[1] - lengths[0] == pytest.approx(2.0, abs=1e-3)
    monkeypatch.setattr("bktf.surrogate.fit_process.MAX_TWO_MODES", 80)
    lengths = np.log(bktf.fit(axes, X, y, **settings).lengthscales[:, 0])
    assert lengths[1] == pytest.approx(lengths[0], abs=1e-3)


def test_few_observations_keep_slice_updates_and_many_use_the_mode() -> None:
    assert not uses_mode(6, 64)
    assert uses_mode(6, 65)
    assert uses_mode(100, 40)
    assert not uses_mode(2, 70)
    assert MAX_SLICE_WORK == 9 * 64**3


def test_both_ways_to_sample_agree_on_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means and deviations at new points, by slice updates and around the mode, 60 observations."""
    rng = np.random.default_rng(seeded(5))
    X = rng.random((60, 2))
    y = np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1]) + 0.1 * rng.standard_normal(60)
    points = rng.random((30, 2))
    axes = [np.linspace(0, 1, 5)] * 2
    found = []
    for limit in (math.inf, 0):
        monkeypatch.setattr("bktf.surrogate.fit_process.MAX_SLICE_WORK", limit)
        found.append(
            bktf.fit(
                axes, X, y, rank=math.inf, seed=seeded(6), n_sweeps=240, n_burn_in=40, n_chains=2
            )
        )
    slices, around = found
    difference = np.abs(slices.mean(points) - around.mean(points)) / slices.std(points)
    ratio = around.std(points) / slices.std(points)
    # The extremes of 12 seeds: 0.13, and 0.95 to 1.05.
    assert difference.max() < 0.5
    assert ratio.min() > 0.7
    assert ratio.max() < 1.4


def test_a_warm_start_at_infinite_rank_starts_at_the_parameters_of_the_fit() -> None:
    rng = np.random.default_rng(seeded(7))
    X, axes = rng.random((80, 2)), [np.linspace(0, 1, 5)] * 2
    y = np.sin(5 * X[:, 0]) + X[:, 1]
    first = bktf.fit(axes, X, y, rank=math.inf, seed=seeded(8), n_sweeps=8, n_burn_in=4)
    draws = first.draws
    assert draws.process is not None
    start = ProcessStart.of(draws)  # type: ignore[arg-type]
    np.testing.assert_allclose(start.logs, draws.process.logs.mean(axis=0))
    again = bktf.fit(
        axes, X, y, rank=math.inf, seed=seeded(8), n_sweeps=8, n_burn_in=4, warm_start=first
    )
    difference = np.abs(again.mean(X) - first.mean(X))
    assert difference.max() < 0.05


def test_a_stopped_chain_ends_at_once() -> None:
    density = LogPosterior.of(problem_of(10, [None]), NOISE)
    stop = threading.Event()
    stop.set()
    laplace = density.laplace(np.zeros(4))
    with pytest.raises(KeyboardInterrupt):
        run_elliptical_chain(
            density, laplace, (5, 1), np.random.default_rng(seeded(9)), Progress(stop, print)
        )
