"""The dense path against textbook linear algebra."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_state_space import LENGTHSCALES, assert_moments, make_axis, make_seen

import oracles
from bktf._compiled.cholesky import pivoted_root
from bktf.axis_kernels import dense
from seeds import seeded

Floats = NDArray[np.float64]
NONE = np.zeros((1, 1))
PERIOD = 0.7


def slow_covariance(kind: int, ls: float, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return (
        oracles.squared_exponential(ls, a, b)
        if kind == dense.SQUARED_EXPONENTIAL
        else oracles.periodic(PERIOD, ls, a, b)
    )


@pytest.mark.parametrize("kind", [dense.SQUARED_EXPONENTIAL, dense.PERIODIC])
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("noise_precision", [1.0, 1e4])
def test_log_evidence_and_its_differences_equal_textbook_linear_algebra(
    kind: int, q: int, noise_precision: float
) -> None:
    rng = np.random.default_rng(seeded(10 * kind + q))
    for m, regular in [(2, True), (12, True), (40, False), (100 // q, True)]:
        coords = make_axis(m, regular, rng)
        seen = make_seen(coords, q, noise_precision, rng)
        fast = np.array(
            [dense.log_evidence(kind, PERIOD, NONE, ls, coords, *seen) for ls in LENGTHSCALES]
        )
        precise = coords.astype(np.longdouble)
        slow = np.array(
            [
                oracles.log_evidence(slow_covariance(kind, ls, precise, precise), *seen)
                for ls in LENGTHSCALES
            ]
        )
        assert np.all(np.abs(fast - slow) <= 1e-9 * np.maximum(1, np.abs(slow)))
        # Beyond 2,000 nats of misfit, rounding the entries of K already moves the evidence by more
        # than 1e-6.
        near = np.abs(slow) < 2000
        assert np.abs((fast - slow)[near] - (fast - slow)[near][0]).max() <= 1e-6
        assert near.sum() >= 2


def test_a_given_matrix_is_looked_up_by_index_even_when_it_is_singular() -> None:
    rng = np.random.default_rng(seeded(1))
    given = np.cov(rng.standard_normal((6, 3)))  # rank 2
    coords = np.array([0.0, 2.0, 3.0, 5.0])
    K = given[np.ix_([0, 2, 3, 5], [0, 2, 3, 5])]
    seen = make_seen(coords, 1, 50.0, rng)
    assert dense.log_evidence(dense.GIVEN, 1.0, given, 0.0, coords, *seen) == pytest.approx(
        oracles.log_evidence(K, *seen), abs=1e-9
    )


@pytest.mark.parametrize("kind", [dense.SQUARED_EXPONENTIAL, dense.PERIODIC])
@pytest.mark.parametrize("q", [1, 2])
def test_factor_draws_have_the_dense_posterior_moments(kind: int, q: int) -> None:
    rng = np.random.default_rng(seeded(5))
    for m, noise_precision, ls in [(2, 1.0, 0.5), (7, 30.0, 0.2), (6, 1e4, 2.0)]:
        coords = make_axis(m, False, rng)
        seen = make_seen(coords, q, noise_precision, rng)
        mean, covariance = oracles.factor_posterior(
            slow_covariance(kind, ls, coords, coords), *seen
        )
        out, draws = np.zeros((q, m, 1)), np.empty((8000, q * m))
        for i in range(len(draws)):
            dense.draw_factors(kind, PERIOD, NONE, ls, coords, *seen, out, rng)
            draws[i] = out[:, :, 0].ravel()
        assert_moments(draws, mean, covariance)


@pytest.mark.parametrize("kind", [dense.SQUARED_EXPONENTIAL, dense.PERIODIC])
def test_draws_and_moments_between_equal_dense_conditioning(kind: int) -> None:
    rng = np.random.default_rng(seeded(6))
    ls, coords, new = 0.3, np.array([0.1, 0.3, 0.65]), np.array([0.0, 0.2, 0.5, 0.68])
    every = np.concatenate((coords, new))
    values = rng.standard_normal((3, 1))
    mean, covariance = oracles.conditional(slow_covariance(kind, ls, every, every), 3, values[:, 0])
    fast_mean, fast_variance = np.zeros(4), np.zeros(4)
    dense.moments_between(kind, PERIOD, NONE, ls, coords, values, new, fast_mean, fast_variance)
    np.testing.assert_allclose(fast_mean, mean, rtol=1e-9)
    np.testing.assert_allclose(fast_variance, np.diag(covariance), rtol=1e-9)
    out, draws = np.zeros((4, 1)), np.empty((20000, 4))
    for i in range(len(draws)):
        dense.draw_between(kind, PERIOD, NONE, ls, coords, values, new, out, rng)
        draws[i] = out[:, 0]
    assert_moments(draws, mean, covariance)


def test_a_nearly_singular_covariance_is_interpolated_without_jitter() -> None:
    """60 points under a long length-scale have numerical rank 10 or so.

    The fill still follows a smooth curve.
    """
    rng = np.random.default_rng(seeded(2))
    every = np.linspace(0.0, 1.0, 61)
    coords, new = every[::2], every[1::2]
    K = oracles.squared_exponential(1.0, every[::2], every[::2])
    nothing = np.zeros((31, 1))
    out, known = np.zeros((30, 1)), np.zeros((1, 31, 1))
    for _ in range(20):
        dense.draw_factors(
            dense.SQUARED_EXPONENTIAL,
            1.0,
            NONE,
            1.0,
            coords,
            np.ones((31, 1, 1)),
            nothing,
            nothing,
            known,
            rng,
        )
        dense.draw_between(
            dense.SQUARED_EXPONENTIAL, 1.0, NONE, 1.0, coords, known[0], new, out, rng
        )
        middle = (known[0, :-1, 0] + known[0, 1:, 0]) / 2
        assert (
            np.abs(out[:, 0] - middle).max() < 0.01
        )  # the curvature of such a curve over 1/30 is a few 1e-4
    assert np.linalg.matrix_rank(K) < 15


def test_pivoted_root_reproduces_the_matrix_and_separates_the_first_rows() -> None:
    rng = np.random.default_rng(seeded(3))
    for m, n_first in [(1, 1), (5, 5), (8, 3), (30, 10)]:
        coords = rng.uniform(0, 1, m)
        K = oracles.squared_exponential(0.4, coords, coords)
        G, pivots = np.empty((m, m)), np.empty(m, np.int64)
        rank_first, rank = pivoted_root(K.copy(), n_first, G, pivots)
        np.testing.assert_allclose(G @ G.T, K, atol=1e-13)
        assert np.all(pivots[:rank_first] < n_first)
        assert np.all(pivots[rank_first:rank] >= n_first)
        np.testing.assert_allclose(
            G[:n_first, :rank_first] @ G[:n_first, :rank_first].T, K[:n_first, :n_first], atol=1e-13
        )
