"""Values and moments of CP forms against plain loops."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

import oracles
from bktf.product_forms import cp_values as cp
from seeds import seeded

Floats = NDArray[np.float64]


def make_form(
    sizes: tuple[int, ...], rank: int, n_draws: int, seed: int
) -> tuple[list[Floats], Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seeded(seed))
    factors = [rng.standard_normal((n_draws, rank, m)) for m in sizes]
    cells = np.array(list(itertools.product(*(range(m) for m in sizes))))
    return factors, rng.standard_normal((n_draws, rank)), cells


@pytest.mark.parametrize(
    ("sizes", "rank"), [((5,), 1), ((4, 3), 2), ((3, 2, 4), 3), ((2, 2, 2, 3), 4)]
)
def test_values_equal_plain_loops(
    sizes: tuple[int, ...], rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    factors, weights, cells = make_form(sizes, rank, 6, 0)
    slow = oracles.cp_values(factors, weights, cells)
    np.testing.assert_allclose(cp.values(factors, weights, cells), slow, atol=1e-12)
    monkeypatch.setattr(cp, "BLOCK", 7)  # a block of one point at a time
    np.testing.assert_allclose(cp.values(factors, weights, cells), slow, atol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "rank"), [((5,), 1), ((4, 3), 2), ((3, 2, 4), 3), ((2, 2, 2, 3), 4)]
)
def test_grid_moments_equal_mean_and_variance_over_draws(sizes: tuple[int, ...], rank: int) -> None:
    factors, weights, cells = make_form(sizes, rank, 9, 1)
    f = oracles.cp_values(factors, weights, cells)
    moments = cp.grid_moments(factors, weights)
    np.testing.assert_allclose(moments.mean.ravel(), f.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(moments.variance.ravel(), f.var(axis=0), atol=1e-11)


def test_grid_variance_is_never_negative() -> None:
    factors, weights, _ = make_form((6, 5), 2, 1, 2)
    assert np.all(cp.grid_moments(factors, weights).variance >= 0)


def test_moments_with_uncertain_factors_equal_simulation() -> None:
    """Draw the factor values from their conditional normals many times: within six standard errors, 2e-9 for each of eight moments."""
    rng = np.random.default_rng(seeded(3))
    n_draws, rank, n = 3, 2, 4
    means = [rng.standard_normal((n_draws, rank, n)) for _ in range(3)]
    variances = [rng.uniform(0, 0.5, (n_draws, rank, n)) for _ in range(3)]
    variances[1][:] = 0.0
    weights = rng.standard_normal((n_draws, rank))
    index = np.repeat(np.arange(n)[:, None], 3, axis=1)
    fast = cp.moments(means, variances, weights, index)
    repeats = 200_000
    samples = np.ones((repeats, n_draws, rank, n))
    for m, v in zip(means, variances, strict=True):
        samples *= m + np.sqrt(v) * rng.standard_normal(samples.shape)
    f = np.einsum("kr,skrn->skn", weights, samples).reshape(-1, n)
    assert np.all(np.abs(f.mean(axis=0) - fast.mean) <= 6 * f.std(axis=0) / np.sqrt(len(f)))
    fourth = np.mean((f - f.mean(axis=0)) ** 4, axis=0)
    assert np.all(np.abs(f.var(axis=0) - fast.variance) <= 6 * np.sqrt(fourth / len(f)))
