"""The local component against dense formulas, its draws against exact moments, choosing against looking at every cell."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import bktf
from bktf import acquisition, local, local_draws
from bktf.ensemble import Shape, fit_ensemble, merge, stack

Floats = NDArray[np.float64]
LEVELS = np.array([False, True, False])


def example(n: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Points with levels in the middle, parameters, residuals."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    X[:, 1] = rng.integers(0, 3, n)
    return X, np.append(rng.normal(-0.5, 0.5, 3), 0.3), rng.standard_normal(n)


def covariance(A: Floats, B: Floats, logs: Floats) -> Floats:
    """The kernel as it is written down."""
    K = np.full((len(A), len(B)), math.exp(logs[-1]))
    for d in range(A.shape[1]):
        apart = np.abs(A[:, None, d] - B[None, :, d])
        if LEVELS[d]:
            K *= np.where(apart > 0, 1 / (1 + math.exp(-logs[d])), 1.0)
        else:
            r = math.sqrt(5) * apart / math.exp(logs[d])
            K *= (1 + r + r * r / 3) * np.exp(-r)
    return K


def pairs(X: Floats) -> Floats:
    first, second = np.triu_indices(len(X))
    apart = np.abs(X[first] - X[second]).T
    return np.ascontiguousarray(np.where(LEVELS[:, None], apart > 0, apart).astype(float))


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_the_log_evidence_is_that_of_a_normal_vector(n: int) -> None:
    X, logs, r = example(n)
    C, solved, room = np.empty((n, n)), np.empty(n), np.empty((2, n * (n + 1) // 2))
    found = local.log_evidence(pairs(X), LEVELS.astype(np.int64), logs, 20.0, r, room, C, solved)
    expected = stats.multivariate_normal(np.zeros(n), covariance(X, X, logs) + np.eye(n) / 20.0).logpdf(r)
    assert found == pytest.approx(expected + 0.5 * n * math.log(2 * math.pi), rel=1e-11)


def test_values_at_the_observations_are_drawn_with_the_exact_moments() -> None:
    X, logs, r = example(5)
    rng, out = np.random.default_rng(1), np.empty(5)
    draws = np.empty((4000, 5))
    for k in range(len(draws)):
        local.draw_values(pairs(X), LEVELS.astype(np.int64), logs, 3.0, r, out, rng)
        draws[k] = out
    K = covariance(X, X, logs)
    C = K + np.eye(5) / 3.0
    mean, spread = K @ np.linalg.solve(C, r), K - K @ np.linalg.solve(C, K)
    white = np.linalg.solve(np.linalg.cholesky(spread), (draws - mean).T)
    for row in white:
        assert stats.kstest(row, "norm").pvalue > 1e-4
    assert stats.kstest((white**2).sum(axis=0), stats.chi2(5).cdf).pvalue > 1e-4


def test_moments_and_joint_draws_at_points_are_those_of_the_conditional_normal() -> None:
    X, logs, r = example(12)
    points = example(4, seed=3)[0]
    several = np.stack([logs, logs - 0.4])
    found = local_draws.local_draws(X, LEVELS, several, np.array([20.0, 50.0]), np.stack([r, -r]))
    moments = found.moments_at(points)
    for k, (own, tau, residual) in enumerate(zip(several, (20.0, 50.0), (r, -r), strict=True)):
        cross, C = covariance(X, points, own), covariance(X, X, own) + np.eye(12) / tau
        spread = covariance(points, points, own) - cross.T @ np.linalg.solve(C, cross)
        np.testing.assert_allclose(moments.mean[k], cross.T @ np.linalg.solve(C, residual), atol=1e-10)
        np.testing.assert_allclose(moments.variance[k], np.diag(spread), atol=1e-10)
        draws = np.stack([found.draw_at(points, np.random.default_rng(s))[k] for s in range(1500)])
        white = np.linalg.solve(np.linalg.cholesky(spread), (draws - moments.mean[k]).T)
        assert stats.kstest((white**2).sum(axis=0), stats.chi2(4).cdf).pvalue > 1e-4


def smooth(**more: Any) -> bktf.Posterior:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (12, 2)) / 5
    y = np.sin(4 * (X[:, 0] + 0.7 * X[:, 1])) + 0.05 * rng.standard_normal(12)
    settings: dict[str, Any] = {"rank": 1, "local": True, "n_sweeps": 60, "n_burn_in": 30, "n_chains": 2} | more
    return bktf.fit([np.linspace(0, 1, 6)] * 2, X, y, seed=1, **settings)


@pytest.mark.parametrize("rank", [0, 1])
def test_mean_and_std_are_those_of_the_draws(rank: int) -> None:
    posterior = smooth(rank=rank, n_sweeps=1030)
    points = np.array([[0.1, 0.35], [0.4, 0.4], [0.9, 0.05]])
    draws = posterior.draws_at(points)
    error = draws.std(axis=0) / math.sqrt(len(draws) / 20)  # draws of a chain are not independent
    assert (np.abs(draws.mean(axis=0) - posterior.mean(points)) < 4 * error).all()
    np.testing.assert_allclose(draws.std(axis=0), posterior.std(points), rtol=0.15)


@pytest.mark.parametrize("chosen", ["ei", "ucb"])
def test_the_choice_is_the_best_cell_by_definition(chosen: str) -> None:
    posterior = smooth(n_sweeps=38)  # sixteen draws: all take part
    cells = np.array([[a, b] for a in posterior.axes[0] for b in posterior.axes[1]])
    free = np.array([not (np.abs(posterior.X - c).max(axis=1) < 1e-9).any() for c in cells])
    mean, variance = posterior.moments_by_draw(cells)
    if chosen == "ei":
        std = np.sqrt(variance)
        u = (mean - posterior.y.max()) / std
        score = (std * (u * stats.norm.cdf(u) + stats.norm.pdf(u))).mean(axis=0)
    else:
        score = mean.mean(axis=0) + 2.0 * np.sqrt(mean.var(axis=0) + variance.mean(axis=0))
    choice = acquisition.choose(posterior, chosen, exclude=posterior.X)
    assert choice.point is not None
    np.testing.assert_allclose(choice.point, cells[np.where(free, score, -np.inf).argmax()])
    assert choice.value == pytest.approx(score[free].max(), rel=1e-9)


def test_pending_points_are_not_chosen_again_nor_crowded() -> None:
    posterior = smooth(rank=0)
    first = acquisition.choose(posterior, "ei", exclude=posterior.X)
    assert first.point is not None
    second = acquisition.choose(posterior, "ei", exclude=posterior.X, pending=first.point[None])
    assert second.point is not None
    assert np.abs(first.point - second.point).max() > 0.1
    assert second.value < first.value


def test_other_acquisitions_are_refused_and_so_is_no_model_at_all() -> None:
    with pytest.raises(ValueError, match='must be "ei" or "ucb"'):
        acquisition.choose(smooth(), "thompson")
    with pytest.raises(ValueError, match="rank must be a whole number of at least 1"):
        smooth(rank=0, local=False)


def test_stacking_finds_the_shape_that_predicts() -> None:
    rng = np.random.default_rng(0)
    good, bad = stats.norm.pdf(rng.standard_normal(60)), np.full(60, 0.05)
    weights = stack(np.stack([good, bad]))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > 0.8
    np.testing.assert_allclose(stack(np.stack([good, good])), [0.5, 0.5])


def test_merged_draws_are_those_of_the_members() -> None:
    members = [smooth(rank=0), smooth(local=False, rank=2)]
    merged = merge(members, np.array([0.25, 0.75]), 80)
    points = np.array([[0.2, 0.6], [0.8, 0.0]])
    mean, variance = merged.moments_by_draw(points)
    assert mean.shape == (80, 2)
    own, own_variance = members[0].moments_by_draw(points)
    picked = np.linspace(0, members[0].n_draws - 1, 20).round().astype(int)
    np.testing.assert_allclose(mean[:20], own[picked], atol=1e-9)
    np.testing.assert_allclose(variance[:20], own_variance[picked], atol=1e-9)
    assert not variance[20:].any()
    choice = acquisition.choose(merged, "ei", exclude=merged.X)
    assert choice.point is not None


def test_an_ensemble_prefers_what_predicts() -> None:
    """A wave across the axes is nothing for one product of factors; a product of two waves is."""
    rng = np.random.default_rng(5)
    X = rng.random((30, 2))
    shapes = [Shape(rank=0, local=True, n_sweeps=40, n_burn_in=20, n_chains=2), Shape(rank=1, n_sweeps=150, n_burn_in=100, n_chains=2)]
    axes = [np.linspace(0, 1, 9)] * 2
    across = fit_ensemble(axes, X, np.sin(5 * (X[:, 0] + X[:, 1])), shapes, seed=0)
    apart = fit_ensemble(axes, X, np.sin(20 * X[:, 0]) * np.sin(20 * X[:, 1]), shapes, seed=0)
    for posterior in (across, apart):
        assert posterior.local is not None
    share = [float((p.local.sizes > 0).mean()) for p in (across, apart) if p.local is not None]
    assert share[0] > 0.9
    assert share[1] < share[0]
