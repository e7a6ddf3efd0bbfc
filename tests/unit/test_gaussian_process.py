"""The Gaussian process against dense formulas, its draws against exact moments, choosing against looking at every cell."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import bktf
from bktf import acquisition
from bktf._compiled import slice_sampling
from bktf.acquisition.box_search import Box, search_box
from bktf.acquisition.process_scores import ProcessBoxScore, process_box_score
from bktf.gaussian_process import condition_process, pair_separations, parameter_updates
from bktf.gaussian_process import covariance as process_covariance
from bktf.gaussian_process.conditional_process import correlations_at
from bktf.surrogate.model_spec import FLAGS
from seeds import seeded

Floats = NDArray[np.float64]
LEVELS = np.array([False, True, False])


def example(n: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Points with levels in the middle, parameters, residuals."""
    rng = np.random.default_rng(seeded(seed))
    X = rng.random((n, 3))
    X[:, 1] = rng.integers(0, 3, n)
    return X, np.append(rng.normal(-0.5, 0.5, 3), (0.3, -0.8)), rng.standard_normal(n)


def covariance(A: Floats, B: Floats, logs: Floats) -> Floats:
    """The kernel as it is written down."""
    K = np.full((len(A), len(B)), math.exp(logs[3]))
    share = 1 / (1 + math.exp(-logs[4]))
    for d in range(A.shape[1]):
        apart = np.abs(A[:, None, d] - B[None, :, d])
        if LEVELS[d]:
            K *= np.where(apart > 0, 1 / (1 + math.exp(-logs[d])), 1.0)
        else:
            r = math.sqrt(5) * apart / math.exp(logs[d])
            K *= share + (1 - share) * (1 + r + r * r / 3) * np.exp(-r)
    return K


def pairs(X: Floats) -> Floats:
    first, second = np.triu_indices(len(X))
    apart = np.abs(X[first] - X[second]).T
    return np.ascontiguousarray(np.where(LEVELS[:, None], apart > 0, apart).astype(float))


@pytest.mark.parametrize("n", [1, 2, 9])
def test_distances_of_pairs_are_those_of_numpy(n: int) -> None:
    X = example(n)[0]
    np.testing.assert_array_equal(pair_separations(X, LEVELS), pairs(X))


def test_many_exponentials_at_once_are_those_of_numpy() -> None:
    x = -np.concatenate(
        (
            [0.0, 1e-300, 1e-9, 0.34657, 0.34658, 699.9, 700.0],
            np.random.default_rng(seeded(0)).exponential(20.0, 5000),
        )
    )
    found = x.copy()
    process_covariance.exponentiate(found, np.empty_like(x))
    np.testing.assert_allclose(found, np.exp(x), rtol=5e-16)
    beyond = np.array([-701.0, -1e5, -math.inf])
    process_covariance.exponentiate(beyond, np.empty(3))
    assert (beyond < 1e-300).all()


def test_a_constant_share_near_one_leaves_main_effects() -> None:
    """Differences over two axes at once vanish for a sum of functions of one axis.

    Their variance shows how far the kernel is from that.
    """
    differences, inverse = np.array([0.0, 0.4, 0.4, 0.0]), np.full(2, math.sqrt(5.0))
    at = correlations_at(differences, False, inverse, np.array([0.0, 0.99]))
    table = np.moveaxis(at, 0, 1).reshape(2, 2, 2)
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    K = (
        table[corners[:, None, 0], corners[None, :, 0]]
        * table[corners[:, None, 1], corners[None, :, 1]]
    )
    both, one = np.array([1.0, -1.0, -1.0, 1.0]), np.array([1.0, -1.0, 0.0, 0.0])
    ratio = np.einsum("i,ijk,j->k", both, K, both) / np.einsum("i,ijk,j->k", one, K, one)
    assert ratio[1] < 0.02 * ratio[0]


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_the_log_evidence_is_that_of_a_normal_vector(n: int) -> None:
    X, logs, r = example(n)
    C, solved, product = np.empty((n, n)), np.empty(n), np.empty(n * (n + 1) // 2)
    process_covariance.correlate(
        pairs(X), LEVELS.astype(np.int64), logs, np.empty((3, product.size)), product
    )
    found = parameter_updates.log_evidence(product, math.exp(logs[3]), 1 / 20.0, r, C, solved)
    expected = stats.multivariate_normal(
        np.zeros(n), covariance(X, X, logs) + np.eye(n) / 20.0
    ).logpdf(r)
    assert found == pytest.approx(expected + 0.5 * n * math.log(2 * math.pi), rel=1e-11)


def slice_updates(
    X: Floats, r: Floats, logs: Floats, means: Floats, variances: Floats, noise: float, rng: Any
) -> Floats:
    """One slice update of each parameter as it is written down, nothing kept between trials.

    Then log precision of the noise.
    """
    now = np.append(logs, math.log(noise))
    low, high = slice_sampling.LOG_LENGTHSCALE_LOW, slice_sampling.LOG_LENGTHSCALE_HIGH
    sizes = (parameter_updates.LOG_SIZE_LOW, parameter_updates.LOG_SIZE_HIGH)
    odds = (-process_covariance.LOG_ODDS_HIGH, process_covariance.LOG_ODDS_HIGH)
    bounds = [*[(low, high)] * 3, sizes, odds, sizes]

    def log_density(at: Floats, place: int) -> float:
        C = covariance(X, X, at[:5]) + np.eye(len(X)) * math.exp(-at[5])
        prior = (
            -0.5 * (at[place] - means[place]) ** 2 / variances[place]
            if place < 5
            else at[5] - 1e-3 * math.exp(at[5])
        )
        return float(prior - 0.5 * (np.linalg.slogdet(C)[1] + r @ np.linalg.solve(C, r)))

    for place in range(6):
        width = parameter_updates.SLICE_WIDTH * (math.sqrt(variances[place]) if place < 5 else 1.5)
        level = log_density(now, place) + math.log(1 - rng.random())
        left = now[place] - width * rng.random()
        left, right = max(left, bounds[place][0]), min(left + width, bounds[place][1])
        while True:
            trial = now.copy()
            trial[place] = left + (right - left) * rng.random()
            if log_density(trial, place) > level:
                break
            left, right = (
                (trial[place], right) if trial[place] < now[place] else (left, trial[place])
            )
        now = trial
    return now


@pytest.mark.parametrize("seed", range(8))
def test_updates_that_keep_correlations_are_those_that_keep_nothing(seed: int) -> None:
    X, logs, r = example(9, seed)
    means, variances = np.array([-0.5, 0.0, -0.5, 0.0, 0.3]), np.array([1.0, 2.0, 1.0, 1.0, 4.0])
    expected = slice_updates(
        X, r, logs, means, variances, 20.0, np.random.default_rng(seeded(seed))
    )
    noise = np.array([20.0])
    parameter_updates.update_parameters(
        pairs(X),
        LEVELS.astype(np.int64),
        means,
        variances,
        1.0,
        1e-3,
        0,
        r,
        logs,
        noise,
        np.random.default_rng(seeded(seed)),
    )
    np.testing.assert_allclose(np.append(logs, np.log(noise)), expected, rtol=1e-8)


def test_values_at_the_observations_are_drawn_with_the_exact_moments() -> None:
    X, logs, r = example(5)
    rng, out = np.random.default_rng(seeded(1)), np.empty(5)
    draws = np.empty((4000, 5))
    for k in range(len(draws)):
        parameter_updates.draw_values(pairs(X), LEVELS.astype(np.int64), logs, 3.0, r, out, rng)
        draws[k] = out
    K = covariance(X, X, logs)
    C = K + np.eye(5) / 3.0
    mean, spread = K @ np.linalg.solve(C, r), K - K @ np.linalg.solve(C, K)
    white = np.linalg.solve(np.linalg.cholesky(spread), (draws - mean).T)
    for row in white:
        assert (
            stats.kstest(row, "norm").pvalue > 1e-4 / 6
        )  # six p-values: one false alarm in ten thousand
    assert stats.kstest((white**2).sum(axis=0), stats.chi2(5).cdf).pvalue > 1e-4 / 6


def test_moments_and_joint_draws_at_points_are_those_of_the_conditional_normal() -> None:
    X, logs, r = example(12)
    points = example(4, seed=3)[0]
    several = np.stack([logs, logs - 0.4])
    found = condition_process(X, LEVELS, several, np.array([20.0, 50.0]), np.stack([r, -r]))
    moments = found.moments_at(points)
    for k, (own, tau, residual) in enumerate(zip(several, (20.0, 50.0), (r, -r), strict=True)):
        cross, C = covariance(X, points, own), covariance(X, X, own) + np.eye(12) / tau
        spread = covariance(points, points, own) - cross.T @ np.linalg.solve(C, cross)
        np.testing.assert_allclose(
            moments.mean[k], cross.T @ np.linalg.solve(C, residual), atol=1e-10
        )
        np.testing.assert_allclose(moments.variance[k], np.diag(spread), atol=1e-10)
        draws = np.stack(
            [found.draw_at(points, np.random.default_rng(seeded(s)))[k] for s in range(1500)]
        )
        white = np.linalg.solve(np.linalg.cholesky(spread), (draws - moments.mean[k]).T)
        assert stats.kstest((white**2).sum(axis=0), stats.chi2(4).cdf).pvalue > 1e-4 / 2


def smooth(**more: Any) -> bktf.Posterior:
    rng = np.random.default_rng(seeded(0))
    X = rng.integers(0, 6, (12, 2)) / 5
    y = np.sin(4 * (X[:, 0] + 0.7 * X[:, 1])) + 0.05 * rng.standard_normal(12)
    settings: dict[str, Any] = {"rank": 1, "n_sweeps": 60, "n_burn_in": 30, "n_chains": 2} | more
    settings["residual_process"] = settings["rank"] < math.inf
    return bktf.fit([np.linspace(0, 1, 6)] * 2, X, y, seed=seeded(1), **settings)


@pytest.mark.parametrize("rank", [math.inf, 1])
def test_mean_and_std_are_those_of_the_draws(rank: float) -> None:
    posterior = smooth(rank=rank, n_sweeps=1030)
    points = np.array([[0.1, 0.35], [0.4, 0.4], [0.9, 0.05]])
    mean, variance = posterior.moments_by_draw(points)
    np.testing.assert_allclose(posterior.mean(points), mean.mean(axis=0))
    np.testing.assert_allclose(
        posterior.std(points), np.sqrt(mean.var(axis=0) + variance.mean(axis=0))
    )
    # Given the chain these are independent with mean 0 and variance 1. At infinite rank they are
    # normal, so each of six figures is beyond
    # its limit with a chance below 1e-8; with rank 1 the products of factors might have longer
    # tails: at most 2.4 of the 6 (30 seeds).
    white = (posterior.draws_at(points) - mean) / np.sqrt(variance)
    assert np.all(np.abs(white.mean(axis=0)) < 6 / math.sqrt(len(white)))
    assert np.all(np.abs((white**2).mean(axis=0) - 1) < 6 * math.sqrt(2 / len(white)))


def test_a_constant_share_stays_in_its_range_in_many_dimensions() -> None:
    rng = np.random.default_rng(seeded(0))
    X = rng.random((6, 60))
    priors = bktf.Priors(process_share_logit_mean=3.99, process_share_logit_var=1e-4)
    settings: dict[str, Any] = {"rank": math.inf, "priors": priors, "n_sweeps": 20, "n_burn_in": 10}
    posterior = bktf.fit([np.linspace(0, 1, 3)] * 60, X, X[:, 0], seed=seeded(0), **settings)
    assert posterior.draws.process is not None
    assert (posterior.draws.process.logs[:, -1] < process_covariance.LOG_ODDS_HIGH).all()


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
    posterior = smooth(rank=math.inf)
    first = acquisition.choose(posterior, "ei", exclude=posterior.X)
    assert first.point is not None
    second = acquisition.choose(posterior, "ei", exclude=posterior.X, pending=first.point[None])
    assert second.point is not None
    assert np.abs(first.point - second.point).max() > 0.1
    assert second.value < first.value


def test_no_model_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="rank must be a whole number of at least 1"):
        smooth(rank=0)


def box_score(n: int, threshold: float, seed: int = 0) -> ProcessBoxScore:
    """Log EI under 16 draws in a box with levels in the middle."""
    X, _, r = example(n, seed)
    logs = np.random.default_rng(seeded(seed + 1)).normal(-0.5, 0.5, (16, 5))
    draws = condition_process(X, LEVELS, logs, np.full(16, 1e4), np.repeat(r[None], 16, axis=0))
    return process_box_score(draws, np.full(16, threshold))


def box(score: ProcessBoxScore, is_allowed: Callable[[Floats], bool]) -> Box:
    """The unit square beside three levels, around the first four observations."""
    axes = (np.linspace(0, 1, 11), np.arange(3.0), np.linspace(0, 1, 11))
    return Box(axes, ~LEVELS, ~LEVELS, score.process.observed[:4], is_allowed)


@pytest.mark.parametrize("threshold", [-2.0, 1.0, 3.0, 8.0, 40.0])
def test_the_gradient_of_log_ei_is_its_slope(threshold: float) -> None:
    score = box_score(20, threshold)
    rng = np.random.default_rng(seeded(2))
    X = np.stack([rng.random(5), rng.integers(0, 3, 5), rng.random(5)], axis=1)
    values, gradients = score.values_and_gradients(X)
    np.testing.assert_allclose(values, score.values(X), rtol=1e-12)
    assert np.all(gradients[:, 1] == 0.0)
    for d in (0, 2):
        step = np.zeros(3)
        step[d] = 1e-6
        slopes = (score.values(X + step) - score.values(X - step)) / 2e-6
        np.testing.assert_allclose(gradients[:, d], slopes, rtol=1e-4, atol=1e-6)


def test_the_best_point_between_axis_points_is_not_beaten_by_a_fine_grid() -> None:
    fine = np.linspace(0, 1, 60)
    cells = np.stack(
        [g.ravel() for g in np.meshgrid(fine, np.arange(3.0), fine, indexing="ij")], axis=1
    )
    beaten = 0
    for seed in range(8):
        score = box_score(15, 1.5, seed)
        found = search_box(score, box(score, lambda _: True), np.random.default_rng(seeded(seed)))
        assert found.at is not None
        point, value = found.at, found.score
        assert value == pytest.approx(score.values(point[None])[0], rel=1e-12)
        assert point[1] in (0.0, 1.0, 2.0)
        assert np.all((point >= 0) & (point <= [1, 2, 1]))
        elsewhere = box(score, lambda p, point=point: bool(np.abs(p - point).max() > 1e-3))  # type: ignore[misc]
        away = search_box(score, elsewhere, np.random.default_rng(seeded(seed)))
        assert away.at is not None
        beaten += max(score.values(cells).max(), away.score) > value + 1e-3
    assert beaten <= 3  # none of 60; were it one in 50, four of eight would have a chance of 1e-5


def test_the_kernel_and_the_moments_of_the_whole_grid_know_of_the_process() -> None:
    posterior = smooth(rank=1)
    points = np.array([[0.2, 0.6], [0.8, 0.0], [0.2, 0.6]])
    alone = smooth(rank=math.inf)
    assert alone.draws.process is not None
    between = alone.kernel(points, points[:2])
    scale = alone.standardisation.scale**2
    np.testing.assert_allclose(
        between[:, 0, 0], scale * alone.draws.process.prior_variances, rtol=1e-12
    )
    np.testing.assert_allclose(between[:, 2], between[:, 0], rtol=1e-12)
    assert np.all(between[:, 0, 1] < between[:, 0, 0])
    moments = posterior.grid_moments()
    cell = np.array([[axis[2] for axis in posterior.axes]])
    assert moments.mean[(2,) * len(posterior.axes)] == pytest.approx(posterior.mean(cell)[0])
    assert moments.std[(2,) * len(posterior.axes)] == pytest.approx(posterior.std(cell)[0])


def test_a_fit_with_everything_is_saved_and_comes_back(tmp_path: Any) -> None:
    axes = [np.linspace(0, 1, 5)] * 2
    X = np.random.default_rng(seeded(0)).random((8, 2))
    posterior = bktf.fit(axes, X, X.sum(axis=1), seed=seeded(0), rank=2, residual_process=True, adapt_rank=True, offsets=True,
                         n_sweeps=6, n_burn_in=3)  # fmt: skip
    posterior.save(tmp_path / "fit.npz")
    again = bktf.load(tmp_path / "fit.npz")
    points = np.array([[0.13, 0.77], [0.5, 0.25]])
    for name in ("mean", "std", "draws_at"):
        np.testing.assert_array_equal(
            getattr(again, name)(points), getattr(posterior, name)(points)
        )
    assert again.spec.lengths == posterior.spec.lengths
    assert (
        [getattr(again.spec, name) for name in FLAGS]
        == [getattr(posterior.spec, name) for name in FLAGS]
        == [False, True, True, True, False]
    )
    assert set(posterior.ranks) <= {0, 1, 2}


def test_a_rare_allowed_point_is_found() -> None:
    axes = [np.linspace(0, 1, 9)] * 2
    X = np.random.default_rng(seeded(0)).random((12, 2)) * 0.5
    posterior = bktf.fit(
        axes, X, X.sum(axis=1), seed=seeded(0), rank=math.inf, n_sweeps=8, n_burn_in=4
    )

    def feasible(point: Floats) -> bool:
        return bool(np.all(np.abs(point - [0.9, 0.1]) < 0.01))

    choices = [
        acquisition.choose(
            posterior, "ei", exclude=X, feasible=feasible, free=(0, 1), seed=seeded(k)
        ).point
        for k in range(5)
    ]
    assert all(point is None or feasible(point) for point in choices)
    assert (
        sum(point is not None for point in choices) >= 3
    )  # all of 60; were one in 50 missed, three of five had a chance of 8e-5


def test_a_chance_of_success_draws_the_choice_away() -> None:
    posterior = smooth(rank=math.inf)

    def chance(points: Floats) -> Floats:
        return np.where(points[:, 0] < 0.5, 1.0, 1e-6)

    free = range(len(posterior.axes))
    choice = acquisition.choose(posterior, "ei", exclude=posterior.X, chance=chance, free=free)
    assert choice.point is not None
    assert choice.point[0] < 0.5


@pytest.mark.parametrize("free", [(7,), (True,)])
def test_axes_that_are_not_there_cannot_be_free(free: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="free must name"):
        acquisition.choose(smooth(rank=math.inf), "ei", free=free)


def test_a_warm_start_without_offsets_forgets_those_of_the_fit_before() -> None:
    axes = [np.linspace(0, 1, 5)] * 2
    X = np.random.default_rng(seeded(0)).random((10, 2))
    first = bktf.fit(axes, X, X.sum(axis=1), seed=seeded(0), offsets=True, n_sweeps=6, n_burn_in=3)
    assert first.draws.components.offsets.any()
    second = bktf.fit(
        axes, X, X.sum(axis=1), seed=seeded(0), n_sweeps=6, n_burn_in=3, warm_start=first
    )
    assert not second.draws.components.offsets.any()


def test_leaving_out_knows_the_variance_within_a_draw() -> None:
    axes = [np.linspace(0, 1, 5)] * 2
    X = np.random.default_rng(seeded(0)).random((10, 2))
    posterior = bktf.fit(
        axes, X, np.sin(4 * X.sum(axis=1)), seed=seeded(0), rank=math.inf, n_sweeps=30, n_burn_in=20
    )
    left = bktf.leave_one_out(posterior, index=[2])
    without = bktf.fit(posterior.axes, np.delete(posterior.X, 2, axis=0), np.delete(posterior.y, 2), seed=seeded(0), rank=math.inf,
                       n_sweeps=30, n_burn_in=20)  # fmt: skip
    mean, variance = without.moments_by_draw(posterior.X[2:3])
    density = (
        stats.norm(mean[:, 0], np.sqrt(variance[:, 0] + without.noise_std**2))
        .pdf(posterior.y[2])
        .mean()
    )
    assert left.log_density[0] == pytest.approx(math.log(density), rel=1e-9)


def test_other_kernels_are_refused_where_nothing_would_hear_them() -> None:
    axes = [np.linspace(0, 1, 5)] * 2
    with pytest.raises(ValueError, match="the kernel of axis 1 is another"):
        bktf.fit(axes, [[0.0, 0.0]], [1.0], rank=math.inf, kernel=[None, "periodic"])


def test_a_mirrored_process_is_the_process_of_mirrored_values() -> None:
    posterior = smooth(rank=math.inf)
    points = np.array([[0.2, 0.6], [0.8, 0.0]])
    for mirrored in (posterior.negated(), posterior.negated().negated().negated()):
        np.testing.assert_allclose(mirrored.mean(points), -posterior.mean(points), rtol=1e-9)
        np.testing.assert_allclose(mirrored.std(points), posterior.std(points), rtol=1e-9)
