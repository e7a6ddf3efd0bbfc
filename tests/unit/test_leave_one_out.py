"""Leave-one-out: the closed form against deleting rows, its weights against refits, its scores."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

import bktf
from bktf.analysis.leave_one_out import allowed_counts, max_pareto_k
from bktf.analysis.left_out_draws import change_of_units, left_out_draws
from bktf.analysis.normal_mixture import NormalMixture
from bktf.gaussian_process import LogPosterior, ProcessDraws, condition_process
from bktf.surrogate import in_context
from bktf.surrogate.fit_process import make_process_problem
from bktf.surrogate.fitting import _observed
from seeds import seeded

Floats = NDArray[np.float64]
AXES = [np.linspace(0, 1, 5), np.linspace(0, 1, 5)]


def observations(n: int = 9, seed: int = 0) -> tuple[Floats, Floats]:
    """Points in the unit square and noisy values that do not have mean 0."""
    rng = np.random.default_rng(seeded(seed))
    X = rng.random((n, 2))
    return X, 3.0 + np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.standard_normal(n)


def fitted(n: int = 9, seed: int = 0, **settings: Any) -> bktf.Posterior:
    """A posterior at infinite rank with 32 draws, unless told otherwise."""
    X, y = observations(n, seed)
    return bktf.fit(AXES, X, y, seed=seeded(seed), rank=math.inf, **settings)


def with_heavy_weights(posterior: bktf.Posterior) -> bktf.Posterior:
    """The same posterior with draws that differ so much that one of them has all weight."""
    draws = posterior.draws
    assert isinstance(draws, ProcessDraws)
    old = draws.process
    n_draws = len(old.logs)
    logs = np.repeat(old.logs[:1], n_draws, axis=0)
    noise = np.geomspace(1.0, 1e5, n_draws)
    process = condition_process(old.observed, old.on_levels, logs, noise, old.residuals)
    process = process._replace(context=old.context)
    return replace(posterior, draws=replace(draws, process=process))


def in_a_context(n: int = 6) -> bktf.Posterior:
    """A posterior that shows n of its nine observations and keeps its second axis fixed."""
    return in_context(fitted(), n, [0.5])


# --- the closed form -----------------------------------------------------------------------------


def test_left_out_moments_are_those_of_a_process_without_the_row() -> None:
    process = fitted().draws.process
    assert process is not None
    mean, variance = process.left_out_moments()
    for i in range(len(process.observed)):
        rest = np.delete(np.arange(len(process.observed)), i)
        without = condition_process(
            process.observed[rest],
            process.on_levels,
            process.logs,
            process.noise_precision,
            process.residuals[:, rest],
        )
        at = without.moments_at(process.observed[i : i + 1])
        np.testing.assert_allclose(mean[:, i], at.mean[:, 0], atol=1e-8)
        of_noise = 1.0 / process.noise_precision
        np.testing.assert_allclose(variance[:, i], at.variance[:, 0] + of_noise, rtol=1e-8)


@pytest.mark.parametrize("settings", [{}, {"noise_std": 0.3}])
def test_weights_turn_the_posterior_into_the_one_of_a_refit(settings: dict[str, Any]) -> None:
    """The oracle is the density that a fit without the observation would sample from."""
    posterior = fitted(**settings)
    process, spec, units = posterior.draws.process, posterior.spec, posterior.standardisation
    assert process is not None
    found = left_out_draws(posterior, process)

    def log_density(rows: NDArray[np.intp]) -> tuple[Floats, float]:
        """The log density of every draw given some observations, and the scale of their units."""
        X, y = posterior.X[rows], posterior.y[rows]
        data, _, own = _observed(spec, posterior.axes, X, y)
        shift = 2.0 * math.log(own.scale / units.scale)
        problem, values = make_process_problem(spec, data), []
        for logs, precision in zip(process.logs, process.noise_precision, strict=True):
            moved = logs.copy()
            moved[-2] -= shift
            in_units = precision * math.exp(shift)
            density = LogPosterior.of(problem, in_units)
            values.append(density.value(density.point(moved, in_units)))
        return np.array(values), own.scale

    every = np.arange(len(posterior.y))
    before, _ = log_density(every)
    for i in every:
        after, _ = log_density(np.delete(every, i))
        difference = found.log_weights[:, i] - (after - before)
        assert np.ptp(difference) < 1e-6  # up to a constant


def test_a_left_out_mean_falls_back_to_the_mean_of_the_others() -> None:
    posterior = fitted()
    process = posterior.draws.process
    assert process is not None
    found, shift = left_out_draws(posterior, process), change_of_units(posterior).shift
    units = posterior.standardisation
    for i in range(len(posterior.y)):
        rest = np.delete(np.arange(len(posterior.y)), i)
        assert units.to_user(shift[i]) == pytest.approx(posterior.y[rest].mean())
        without = condition_process(
            process.observed[rest],
            process.on_levels,
            process.logs,
            process.noise_precision,
            process.residuals[:, rest] - shift[i],
        )
        at = without.moments_at(process.observed[i : i + 1]).mean[:, 0] + shift[i]
        np.testing.assert_allclose(found.mean[:, i], at, atol=1e-8)


def test_units_that_are_not_those_of_y_stay() -> None:
    posterior = in_a_context()
    units = change_of_units(posterior)
    assert not units.shift.any()
    assert not units.log_ratio.any()
    process = posterior.draws.process
    assert process is not None
    found = left_out_draws(posterior, process)
    z = posterior.standardisation.to_model(posterior.y)
    log_density = stats.norm(found.mean, np.sqrt(found.variance)).logpdf(z)
    np.testing.assert_allclose(found.log_weights + log_density, -0.5 * math.log(2 * math.pi))


# --- agreement with refits -----------------------------------------------------------------------


def one_axis() -> tuple[list[Floats], Floats, Floats, dict[str, Any]]:
    """A curve with a known noise."""
    x = np.linspace(0, 1, 8)
    return [x], x[:, None], np.cos(4 * x) + 0.3 * np.cos(40 * x), {"noise_std": 0.3}


def two_axes() -> tuple[list[Floats], Floats, Floats, dict[str, Any]]:
    """A bowl over random points."""
    rng = np.random.default_rng(0)
    X = rng.random((8, 2))
    return AXES, X, X.sum(axis=1) ** 2 + 0.2 * rng.standard_normal(8), {"noise_std": 0.2}


def levels() -> tuple[list[Floats], Floats, Floats, dict[str, Any]]:
    """A curve for each of two levels."""
    rng = np.random.default_rng(2)
    X = np.column_stack((np.linspace(0, 1, 8), np.arange(8.0) % 2))
    y = np.exp(X[:, 0]) + 0.4 * X[:, 1] + 0.2 * rng.standard_normal(8)
    settings: dict[str, Any] = {"kernel": [None, "categorical"], "noise_std": 0.2}
    return [AXES[0], np.arange(2.0)], X, y, settings


N_SEEDS = 12
ERROR_PROBABILITY = 1e-3  # of all comparisons below together, if there is no difference


@pytest.mark.parametrize("data", [one_axis, two_axes, levels])
def test_weighted_draws_agree_with_refits(data: Any) -> None:
    """Differences over independent fits have mean 0, as far as their standard error tells."""
    axes, X, y, settings = data()
    differences, shares = [], []
    for seed in range(N_SEEDS):
        posterior = bktf.fit(
            axes,
            X,
            y,
            seed=seeded(seed),
            rank=math.inf,
            n_sweeps=44,
            n_burn_in=20,
            n_chains=8,
            **settings,
        )
        weighted, refitted = (bktf.leave_one_out(posterior, refit=how) for how in (None, True))
        shares.append(weighted.was_refitted.mean())
        assert refitted.was_refitted.all()
        pairs = [(getattr(weighted, f), getattr(refitted, f)) for f in ("mean", "log_density")]
        differences.append([first - second for first, second in pairs])
    assert np.mean(shares) < 0.5  # measured: 0.03 to 0.15
    single = np.array(differences)  # (seeds, 2, n)
    every = np.concatenate((single, single.sum(axis=2, keepdims=True)), axis=2)
    n_comparisons = 3 * every[0].size
    limit = stats.t(N_SEEDS - 1).isf(ERROR_PROBABILITY / n_comparisons / 2)
    error = every.std(axis=0, ddof=1) / math.sqrt(N_SEEDS)
    assert np.all(np.abs(every.mean(axis=0)) <= limit * error)
    # The limit is of use: a predictive deviation, or a nat, would be noticed.
    assert np.all(limit * error[0] < refitted.std.max())
    assert np.all(limit * error[1, :-1] < 1.0)


# --- which observations are refitted -------------------------------------------------------------


def test_observations_with_heavy_weights_are_refitted() -> None:
    posterior = fitted(n_chains=4)
    heavy = with_heavy_weights(posterior)
    found, refitted = bktf.leave_one_out(heavy), bktf.leave_one_out(heavy, refit=True)
    assert found.was_refitted.any()
    np.testing.assert_array_equal(found.was_refitted, ~(found.pareto_k <= max_pareto_k(64)))
    for name in ("mean", "std", "log_density", "pit", "crps"):
        ours, theirs = getattr(found, name), getattr(refitted, name)
        np.testing.assert_array_equal(ours[found.was_refitted], theirs[found.was_refitted])
    never = bktf.leave_one_out(heavy, refit=False)
    assert not never.was_refitted.any()
    np.testing.assert_array_equal(never.is_rough, found.was_refitted)
    assert "predictions are rough" in str(never)
    assert not found.is_rough.any()
    assert "predictions are rough" not in str(found)


def test_an_outlier_that_draws_know_has_a_larger_k_than_the_others() -> None:
    """Of eight fits the average is compared; its k is above those of others by some 0.5."""
    X, y = observations(14)
    y[3] += 8.0
    found = []
    for seed in range(8):
        posterior = bktf.fit(AXES, X, y, seed=seeded(seed), rank=math.inf, n_chains=10)
        found.append(bktf.leave_one_out(posterior, refit=False).pareto_k)
    mean = np.minimum(found, 2.0).mean(axis=0)
    assert mean[3] > np.median(np.delete(mean, 3))


def test_with_too_few_draws_for_k_all_observations_are_refitted() -> None:
    posterior = fitted(n_sweeps=20, n_burn_in=10)
    found, refitted = bktf.leave_one_out(posterior), bktf.leave_one_out(posterior, refit=True)
    assert found.was_refitted.all()
    assert np.isnan(found.pareto_k).all()
    np.testing.assert_array_equal(found.crps, refitted.crps)


def test_the_largest_k_that_is_trusted_grows_with_the_draws() -> None:
    assert max_pareto_k(1) == -math.inf
    assert max_pareto_k(32) == pytest.approx(1 - 1 / math.log10(32))
    assert max_pareto_k(100) == pytest.approx(0.5)
    assert max_pareto_k(10_000) == 0.7


def test_finite_rank_is_refitted_as_before() -> None:
    X, y = observations()
    posterior = bktf.fit(AXES, X, y, seed=seeded(0), rank=1, n_sweeps=30, n_burn_in=20)
    found = bktf.leave_one_out(posterior, index=[2, 4])
    assert found.was_refitted.all()
    assert np.isnan(found.pareto_k).all()
    with pytest.raises(ValueError, match=r"refit=False needs a closed form.* rank 1\. Leave refit"):
        bktf.leave_one_out(posterior, refit=False)


def test_some_observations_are_predicted_as_among_all() -> None:
    posterior = fitted()
    every, some = bktf.leave_one_out(posterior), bktf.leave_one_out(posterior, index=[7, 2])
    for name in ("y", "mean", "std", "log_density", "pit", "crps", "pareto_k", "was_refitted"):
        np.testing.assert_allclose(getattr(some, name), getattr(every, name)[[7, 2]], rtol=1e-12)
    np.testing.assert_array_equal(some.index, [7, 2])


def test_bad_arguments_are_refused() -> None:
    posterior = fitted()
    for refit in ("yes", 1, 0.0):
        with pytest.raises(ValueError, match="refit must be True, False or None"):
            bktf.leave_one_out(posterior, refit=refit)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="index must list observations"):
        bktf.leave_one_out(posterior, index=[9])


def test_what_else_a_process_knows_stays_when_an_observation_is_left_out() -> None:
    posterior = in_a_context()
    found = bktf.leave_one_out(posterior)
    assert found.mean.shape == (6,)
    assert not found.was_refitted.any()
    process = posterior.draws.process
    assert process is not None
    mean = process.left_out_moments().mean[:, :6]
    in_user = posterior.standardisation.to_user(mean)
    assert np.all((found.mean >= in_user.min(axis=0)) & (found.mean <= in_user.max(axis=0)))
    with pytest.raises(ValueError, match="also knows earlier campaigns"):
        bktf.leave_one_out(posterior, refit=True)
    heavy = bktf.leave_one_out(with_heavy_weights(posterior))
    assert not heavy.was_refitted.any()
    assert heavy.is_rough.any()
    assert "predictions are rough" in str(heavy)


# --- scores --------------------------------------------------------------------------------------


def test_scores_are_those_of_the_mixture_by_numerical_integration() -> None:
    rng = np.random.default_rng(seeded(1))
    weights = rng.dirichlet(np.ones(6), 4).T
    mixture = NormalMixture(weights, rng.normal(0, 2, (6, 4)), rng.gamma(2.0, 0.5, (6, 4)) + 0.1)
    y = rng.normal(0, 3, 4)
    mean, std = mixture.moments()
    for i in range(4):
        w, parts = weights[:, i], stats.norm(mixture.mean[:, i], mixture.std[:, i])
        x = np.linspace(-60, 60, 400_001)
        density = sum(
            w[k] * stats.norm(parts.args[0][k], parts.args[1][k]).pdf(x) for k in range(6)
        )
        distribution = sum(
            w[k] * stats.norm(parts.args[0][k], parts.args[1][k]).cdf(x) for k in range(6)
        )
        expected = integrate.trapezoid((distribution - (x >= y[i])) ** 2, x)
        assert mixture.crps(y)[i] == pytest.approx(expected, abs=1e-4)  # the step: 3e-4
        assert mean[i] == pytest.approx(integrate.trapezoid(x * density, x), abs=1e-6)
        variance = integrate.trapezoid((x - mean[i]) ** 2 * density, x)
        assert std[i] == pytest.approx(math.sqrt(variance), abs=1e-6)
        assert mixture.log_density(y)[i] == pytest.approx(math.log(w @ parts.pdf(y[i])))
        assert mixture.distribution(y)[i] == pytest.approx(w @ parts.cdf(y[i]))


def test_crps_of_blocks_is_that_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seeded(2))
    mixture = NormalMixture(np.full((7, 1), 1 / 7), rng.normal(size=(7, 1)), np.ones((7, 1)))
    at_once = mixture.crps(np.array([0.3]))
    monkeypatch.setattr("bktf.analysis.normal_mixture.MAX_PAIRS", 14)
    np.testing.assert_allclose(mixture.crps(np.array([0.3])), at_once)


@pytest.mark.parametrize("scale", [2.0**-990, 2.0**990])
def test_a_change_of_units_changes_nothing_else(scale: float) -> None:
    X, y = observations(12)
    plain, scaled = (
        bktf.leave_one_out(bktf.fit(AXES, X, s * y, seed=seeded(3), rank=math.inf))
        for s in (1.0, scale)
    )
    np.testing.assert_allclose(scaled.pareto_k, plain.pareto_k, rtol=1e-6)
    np.testing.assert_allclose(scaled.pit, plain.pit, rtol=1e-6)
    np.testing.assert_allclose(scaled.crps / scale, plain.crps, rtol=1e-6)
    np.testing.assert_allclose(scaled.std / scale, plain.std, rtol=1e-6)
    assert "inf" not in str(scaled)


@pytest.mark.parametrize("y", [[0.0, 0.0, 1e-200], [5.0, 5.0, 5.0], [1e300, 1e300, -1e300]])
def test_observations_without_which_all_others_are_equal_are_predicted(y: list[float]) -> None:
    X = np.array([[0.1, 0.2], [0.5, 0.9], [0.8, 0.4]])
    posterior = bktf.fit(AXES, X, y, seed=seeded(0), rank=math.inf)
    for refit in (None, False):
        found = bktf.leave_one_out(posterior, refit=refit)
        for name in ("mean", "std", "log_density", "pit", "crps"):
            assert np.isfinite(getattr(found, name)).all()


# --- words ---------------------------------------------------------------------------------------


def result_with(pit: Floats) -> bktf.LeaveOneOut:
    """A result whose predictive distribution functions are these."""
    n, one = len(pit), np.ones(len(pit))
    return bktf.LeaveOneOut(
        index=np.arange(n),
        y=one,
        mean=one,
        std=one,
        log_density=one,
        pit=pit,
        spread=1.0,
        crps=0.25 * one,
        pareto_k=0.1 * one,
        was_refitted=np.arange(n) < 3,
        max_pareto_k=0.7,
    )


def test_the_statement_says_what_the_coverage_means() -> None:
    uniform = (np.arange(40) + 0.5) / 40
    good = result_with(uniform)
    assert good.calibration == (
        "the 90 % intervals hold 90 % and the 50 % intervals 50 % of 40 observations: within what "
        "chance allows"
    )
    narrow = result_with(np.where(np.arange(40) < 12, 0.01, 0.5 + 0.3 * (uniform - 0.5)))
    assert narrow.calibration.startswith(
        "too narrow: the 90 % intervals hold 70 % of 40 observations; chance allows"
    )
    wide = result_with(0.5 + 0.1 * (uniform - 0.5))
    assert "too wide: the 50 % intervals hold 100 % of 40 observations" in wide.calibration
    text = str(good)
    for words in ("root mean square error 0", "CRPS 0.25", "interval 90 %", "calibration: the 90"):
        assert words in text
    assert "3 of 40 observations were left out by a refit" in text


@pytest.mark.parametrize("n", [1, 2, 7, 40, 1500])
def test_allowed_counts_are_those_of_the_exact_binomial_test(n: int) -> None:
    for level in (0.5, 0.9):
        low, high = allowed_counts(n, level, 0.0125)
        counts = stats.binom(n, level)
        assert counts.cdf(low) >= 0.0125
        assert low == 0 or counts.cdf(low - 1) < 0.0125
        assert counts.sf(high - 1) >= 0.0125
        assert high == n or counts.sf(high) < 0.0125
