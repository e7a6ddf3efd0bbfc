"""Pareto smoothing: the shape of known tails is found, and light tails are hardly changed."""

import math

import numpy as np
import pytest
from scipy import stats

from bktf.analysis.pareto_smoothing import ParetoFit, fit_pareto, smooth_weights, tail_length
from seeds import seeded


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.3, 0.7, 1.2])
@pytest.mark.parametrize("scale", [1e-3, 5.0])
def test_the_fit_finds_shape_and_scale(shape: float, scale: float) -> None:
    n = 4000
    rng = np.random.default_rng(seeded(0))
    sample = np.sort(stats.genpareto(shape, scale=scale).rvs(n, random_state=rng))
    fit = fit_pareto(sample)
    # Five asymptotic standard errors of the maximum of the likelihood; twenty comparisons fail with
    # a probability of 1e-5.
    assert fit.shape == pytest.approx(shape, abs=5 * (1 + max(shape, 0)) / math.sqrt(n))
    error = math.sqrt(2 * (1 + max(shape, 0)) / n)
    assert math.log(fit.scale / scale) == pytest.approx(0, abs=5 * error)


@pytest.mark.parametrize("shape", [-0.3, 0.0, 1e-12, 0.7])
def test_quantiles_are_those_of_the_distribution(shape: float) -> None:
    p = np.array([0.01, 0.5, 0.99])
    expected = stats.genpareto(shape, scale=2.0).ppf(p)
    np.testing.assert_allclose(ParetoFit(shape, 2.0).quantiles(p), expected, rtol=1e-9)


@pytest.mark.parametrize(("spread", "limit"), [(0.05, 1e-3), (0.3, 1e-2)])
def test_weights_with_a_light_tail_are_hardly_changed(spread: float, limit: float) -> None:
    rng = np.random.default_rng(seeded(1))
    logs = spread * rng.standard_normal((400, 3))
    raw = np.exp(logs) / np.exp(logs).sum(axis=0)
    smooth, k = smooth_weights(logs)
    assert np.all(k < 0.5)
    values = rng.standard_normal((400, 3))
    np.testing.assert_allclose((smooth * values).sum(0), (raw * values).sum(0), atol=limit)


def test_the_shape_of_a_heavy_tail_is_seen() -> None:
    # Weights 1/u^k have a tail of shape k; ten samples, whose mean has an error below 0.1.
    u = np.random.default_rng(seeded(2)).random((4000, 10))
    for shape in (0.3, 0.7, 1.5):
        assert smooth_weights(-shape * np.log(u)).pareto_k.mean() == pytest.approx(shape, abs=0.3)


def test_weights_are_weights_in_the_order_of_the_raw_ones() -> None:
    logs = 2 * np.random.default_rng(seeded(3)).standard_normal((90, 5))
    smooth, k = smooth_weights(logs)
    np.testing.assert_allclose(smooth.sum(axis=0), 1.0)
    assert smooth.min() > 0
    for i in range(5):
        assert np.all(np.diff(smooth[np.argsort(logs[:, i]), i]) >= 0)
    shifted = smooth_weights(logs + np.array([0.0, 1e5, -1e5, 700.0, -800.0]))
    np.testing.assert_allclose(shifted.weights, smooth, rtol=1e-6)
    np.testing.assert_allclose(shifted.pareto_k, k, rtol=1e-6)


def test_edge_cases_have_a_shape_that_says_what_to_do() -> None:
    few = np.random.default_rng(seeded(4)).standard_normal((20, 1))
    weights, k = smooth_weights(few)
    assert np.isnan(k[0])
    np.testing.assert_allclose(weights[:, 0], np.exp(few[:, 0]) / np.exp(few).sum())
    assert smooth_weights(np.zeros((30, 1))).pareto_k[0] == 0.0  # equal weights: nothing to do
    alone = np.zeros((30, 1))
    alone[7] = 900.0
    assert smooth_weights(alone).pareto_k[0] == math.inf
    for bad in (math.nan, -math.inf):
        broken = np.zeros((30, 1))
        broken[7] = bad
        weights, k = smooth_weights(broken)
        assert k[0] == math.inf
        np.testing.assert_allclose(weights, 1 / 30)
    assert smooth_weights(np.zeros((1, 2))).weights.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("n_tail", [5, 7, 36, 100, 110])
def test_equal_excesses_are_fitted(n_tail: int) -> None:
    fit = fit_pareto(np.full(n_tail, 0.25))
    assert math.isfinite(fit.shape)
    assert math.isfinite(fit.scale)


def test_the_tail_is_a_fifth_of_few_weights_and_less_of_many() -> None:
    assert [tail_length(n) for n in (1, 20, 21, 32, 160, 10_000)] == [0, 4, 5, 7, 32, 300]
