"""Factors over unordered levels: fast equals dense, and what a fit says of them."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from test_state_space import assert_moments

import bktf
from bktf.axis_kernels import categorical as levels
from seeds import seeded

Floats = NDArray[np.float64]


def covariance(odds: float, m: int) -> Floats:
    rho = odds / (1 + odds)
    return rho * np.ones((m, m)) + (1 - rho) * np.eye(m)


def information(m: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seeded(seed))
    precisions = rng.gamma(1.0, 3.0, m) * (rng.random(m) < 0.7)
    return precisions, np.where(precisions > 0, rng.normal(0, 2, m), 0.0)


@pytest.mark.parametrize("odds", [1e-3, 0.3, 1.0, 40.0, 1e3])
@pytest.mark.parametrize("m", [1, 2, 7])
def test_the_evidence_is_the_dense_one(odds: float, m: int) -> None:
    precisions, targets = information(m, 1)
    seen = precisions > 0
    fast = levels.log_evidence(odds, precisions, targets) - levels.log_evidence(
        1.0, precisions, targets
    )
    dense = [
        stats.multivariate_normal(cov=covariance(o, m)[np.ix_(seen, seen)] + np.diag(1 / precisions[seen])).logpdf(targets[seen])
        for o in (odds, 1.0)
    ] if seen.any() else [0.0, 0.0]  # fmt: skip
    assert fast == pytest.approx(dense[0] - dense[1], rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("odds", [0.1, 2.0, 100.0])
def test_the_factor_draw_has_the_dense_posterior_moments(odds: float) -> None:
    m, n = 5, 40_000
    precisions, targets = information(m, 2)
    rng = np.random.default_rng(seeded(3))
    out = np.empty((n, m, 1))
    for draw in out:
        levels.draw_factor(odds, precisions, targets, draw, rng)
    expected_cov = np.linalg.inv(np.linalg.inv(covariance(odds, m)) + np.diag(precisions))
    expected_mean = expected_cov @ (precisions * targets)
    assert_moments(out[..., 0], expected_mean, expected_cov)


@pytest.mark.parametrize("odds", [0.1, 5.0])
def test_draws_and_moments_at_further_levels_are_the_dense_conditionals(odds: float) -> None:
    known, new, n = 3, 2, 40_000
    rng = np.random.default_rng(seeded(4))
    states = rng.normal(size=(known, 1))
    K = covariance(odds, known + new)
    weights = np.linalg.solve(K[:known, :known], K[:known, known:]).T
    expected_mean = weights @ states[:, 0]
    expected_cov = K[known:, known:] - weights @ K[:known, known:]
    means, variances = np.empty(new), np.empty(new)
    levels.moments_between(odds, states, means, variances)
    np.testing.assert_allclose(means, expected_mean, rtol=1e-12)
    np.testing.assert_allclose(variances, np.diag(expected_cov), rtol=1e-12)
    out = np.empty((n, new, 1))
    for draw in out:
        levels.draw_between(odds, states, draw, rng)
    assert_moments(out[..., 0], expected_mean, expected_cov)


def statistics_of(matrices: Floats, root: Floats) -> list[Floats]:
    return [
        matrices[:, 0, 0],
        matrices[:, 1, 2],
        np.linalg.slogdet(matrices)[1],
        (matrices @ root).sum(axis=(1, 2)),
    ]


def test_the_inverse_wishart_draw_agrees_with_scipy() -> None:
    rng = np.random.default_rng(seeded(5))
    root = rng.normal(size=(3, 3))
    factors = rng.normal(size=(2, 3, 1))
    draws = np.empty((6000, 3, 3))
    for draw in draws:
        levels.draw_covariance(factors, np.array([1, 1]), 0, draw, rng)
    scale = (levels.EXTRA_DOF - 1.0) * np.eye(3) + sum(np.outer(f, f) for f in factors[:, :, 0])
    theirs = np.asarray(
        stats.invwishart(df=3 + levels.EXTRA_DOF + 2, scale=scale).rvs(6000, random_state=seeded(6))
    )
    for ours, other in zip(statistics_of(draws, root), statistics_of(theirs, root), strict=True):
        assert (
            stats.ks_2samp(ours, other).pvalue > 1e-4 / 4
        )  # four statistics: one false alarm in ten thousand


def effect_data(n: int, seed: int) -> tuple[list[Floats], Floats, Floats]:
    """Two of four levels behave alike; a third is their opposite; the fourth is never observed.

    The others all along the axis.
    """
    rng = np.random.default_rng(seeded(seed))
    axes = [np.linspace(0, 1, 21), np.arange(4.0)]
    stretch = 21 // (n // 3)  # every level has one point in each stretch of the axis
    X = np.array(
        [
            [axes[0][stretch * i + rng.integers(stretch)], level]
            for i in range(n // 3)
            for level in range(3)
        ]
    )
    rng.shuffle(X)
    return (
        axes,
        X,
        np.sin(5 * X[:, 0]) * np.array([1.0, 0.9, -1.0])[X[:, 1].astype(int)]
        + rng.normal(0, 0.02, n),
    )


@pytest.mark.parametrize("kernel", ["categorical", "wishart"])
@pytest.mark.parametrize("shared", [False, True])
def test_a_fit_learns_what_levels_do_and_doubts_the_level_it_never_saw(
    kernel: str, shared: bool
) -> None:
    axes, X, y = effect_data(24, 7)
    posterior = bktf.fit(
        axes,
        X,
        y,
        seed=seeded(1),
        kernel=["matern32", kernel],
        n_chains=2,
        shared_lengthscales=shared,
    )
    where = np.array([[0.3, level] for level in range(4)])
    mean, std = posterior.mean(where), posterior.std(where)
    # Errors of at most 0.03 and a ratio of at least 9, exp(3.1 ± 0.3), in 36 fits to nine data
    # sets.
    np.testing.assert_allclose(mean[:3], np.sin(1.5) * np.array([1.0, 0.9, -1.0]), atol=0.25)
    assert std[3] > 2 * std[:3].max()
    assert posterior.draws.components.states[1].shape == (400, 2, 4, 1)


def test_correlations_and_covariances_can_be_asked_for(tmp_path: object) -> None:
    axes, X, y = effect_data(12, 8)
    equal = bktf.fit(
        axes, X, y, seed=seeded(1), kernel=["matern32", "categorical"], n_sweeps=60, n_burn_in=20
    )
    assert np.isnan(equal.correlations[..., 0]).all()
    assert np.all((equal.correlations[..., 1] > 0) & (equal.correlations[..., 1] < 1))
    with pytest.raises(ValueError, match="axis 1 does not learn a covariance"):
        equal.level_covariance(1)
    full = bktf.fit(
        axes, X, y, seed=seeded(1), kernel=["matern32", "wishart"], n_sweeps=60, n_burn_in=20
    )
    learned = full.level_covariance(1)
    assert np.linalg.eigvalsh(learned).min() > 0
    assert np.isnan(full.lengthscales[..., 1]).all()
    full.save(f"{tmp_path}/fit.npz")
    np.testing.assert_array_equal(bktf.load(f"{tmp_path}/fit.npz").mean(X), full.mean(X))


@pytest.mark.parametrize("kernel", ["categorical", "wishart"])
def test_a_warm_start_goes_on_with_levels(kernel: str) -> None:
    axes, X, y = effect_data(24, 9)
    first = bktf.fit(axes, X[:12], y[:12], seed=seeded(1), kernel=["matern32", kernel])
    second = bktf.fit(
        axes,
        X,
        y,
        seed=seeded(2),
        kernel=["matern32", kernel],
        warm_start=first,
        n_sweeps=60,
        n_burn_in=10,
    )
    assert np.abs(second.mean(X) - y).max() < 0.3  # at most 0.05 in 18 fits
    with pytest.raises(ValueError, match="same levels"):
        bktf.fit(
            [axes[0], np.arange(5.0)],
            X,
            y,
            seed=seeded(2),
            kernel=["matern32", kernel],
            warm_start=first,
        )


def test_a_point_between_levels_and_too_many_levels_are_refused() -> None:
    axes, X, y = effect_data(6, 10)
    with pytest.raises(ValueError, match=r"axis 1 has levels, so X\[:, 1\] must be points"):
        bktf.fit(axes, X + np.array([0, 0.5]), y, kernel=["matern32", "categorical"])
    with pytest.raises(ValueError, match="at most 20 levels; axis 1 has 21"):
        bktf.fit([axes[0], np.arange(21.0)], X, y, kernel=["matern32", "wishart"])


def test_a_logarithmic_axis_is_the_axis_of_logarithms() -> None:
    rng = np.random.default_rng(seeded(11))
    points = np.geomspace(1e-6, 1e2, 33)
    X = rng.choice(points, (10, 1))
    y = np.sin(np.log(X[:, 0]))
    plain = bktf.fit([np.log(points)], np.log(X), y, seed=seeded(3))
    log = bktf.fit([points], X, y, seed=seeded(3), log=True)
    new = np.geomspace(2e-6, 90, 7)[:, None]
    np.testing.assert_allclose(log.mean(new), plain.mean(np.log(new)), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        np.log(log.argmax("ei", exclude=X)), plain.argmax("ei", exclude=np.log(X)), rtol=1e-6
    )
    with pytest.raises(
        ValueError, match="axis 0 is logarithmic, so its points must be positive; got 0"
    ):
        bktf.fit([np.linspace(0, 1, 5)], [[0.5]], [1.0], log=True)
    with pytest.raises(ValueError, match="log must be True or False"):
        bktf.fit([np.linspace(1, 2, 5)], [[1.5]], [1.0], log=[True, False])
