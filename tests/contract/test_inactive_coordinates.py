"""A coordinate of infinity: the parameter is inactive, mostly as if it were at the middle."""

import math

import numpy as np
import pytest

import bktf
from bktf._typing import Floats
from bktf.acquisition.posterior_view import PosteriorView
from bktf.acquisition.process_scores import given_pending, process_box_score
from bktf.axis_kernels import Axis, resolve_kernels
from bktf.gaussian_process.covariance import MIDDLE_WEIGHT
from bktf.surrogate import ModelSpec
from bktf.surrogate.fit_process import _density, make_process_problem
from bktf.surrogate.fitting import _observed
from seeds import seeded

INF = math.inf
ORDERED = np.append(np.linspace(0.0, 2.0, 5), INF)
LEVELS = np.array([0.0, 1.0, 2.0, INF])


def data(n: int = 25) -> tuple[list[Floats], Floats, Floats, list[str | None]]:
    """Two branches: the first has x, the second a logarithmic z, and both a conditional category."""
    rng = np.random.default_rng(seeded(0))
    kind = rng.integers(0, 2, n).astype(float)
    x = np.where(kind == 0, rng.uniform(0, 2, n), INF)
    z = np.where(kind == 1, 10 ** rng.uniform(-2, 1, n), INF)
    level = np.where(kind == 0, rng.integers(0, 3, n), INF)
    z_axis = np.append(np.geomspace(0.01, 10, 6), INF)
    axes = [np.array([0.0, 1.0]), ORDERED, z_axis, LEVELS]
    first = np.where(kind == 0, np.sin(np.where(kind == 0, x, 0.0)), 0.0)
    second = np.where(kind == 1, np.log10(np.where(kind == 1, z, 1.0)) ** 2, 0.0)
    kernels: list[str | None] = ["categorical", None, None, "categorical"]
    return axes, np.stack([kind, x, z, level], axis=1), first + second, kernels


def test_an_axis_finds_scales_and_unscales_what_is_inactive() -> None:
    for points, kernel, log in (
        (ORDERED, "matern32", False),
        (np.append(np.geomspace(0.1, 9, 4), INF), "matern32", True),
        (LEVELS, "categorical", False),
    ):
        axis = Axis(points, resolve_kernels(kernel, [points.size])[0], log)
        assert axis.has_inactive
        assert axis.locate(points).tolist() == list(range(points.size))
        assert axis.unscale(axis.scale(points)) == pytest.approx(points)
        assert axis.locate(np.array([0.123456])).tolist() == [-1]
        assert np.isfinite(axis.scale(points)).all()


def test_the_kernel_is_that_of_the_dense_definition_and_positive_semi_definite() -> None:
    axes, X, y, kernels = data()
    log = [False, False, True, False]
    posterior = bktf.fit(axes, X, y, rank=INF, kernel=kernels, log=log, seed=seeded(1))
    K = posterior.kernel(X) / posterior.standardisation.scale**2
    lengths, correlations = posterior.lengthscales, posterior.correlations
    shares, sizes = posterior.draws.process.shares, np.exp(posterior.draws.process.logs[:, -2])  # type: ignore[union-attr]
    for k in range(posterior.n_draws):
        expected = np.full((len(X), len(X)), sizes[k])
        for d in range(4):
            a, b = X[:, None, d], X[None, :, d]
            if kernels[d] is not None:
                expected *= np.where(a == b, 1.0, correlations[k, d])
                continue
            scaled = np.log(X[:, d]) if log[d] else X[:, d]
            ends = axes[d][[0, -2]]
            low, high = np.log(ends) if log[d] else ends
            # With the weight w at the middle of the axis, otherwise infinitely far from all active.
            middle = 0.5 * (low + high)
            moved = np.where(np.isinf(X[:, d]), middle, scaled)
            near = math.sqrt(5) * np.abs(moved[:, None] - moved) / (high - low) / lengths[k, d]
            matern = (1 + near + near**2 / 3) * np.exp(-near)
            one = np.isinf(a) != np.isinf(b)
            matern = np.where(one, MIDDLE_WEIGHT * matern, matern)
            expected *= shares[k] + (1 - shares[k]) * matern
        assert K[k] == pytest.approx(expected, rel=1e-9)
        assert np.linalg.eigvalsh(expected)[0] > -1e-9 * sizes[k]


def test_gradients_of_log_ei_with_inactive_observations_are_those_of_differences() -> None:
    axes, X, y, kernels = data()
    log = [False, False, True, False]
    posterior = bktf.fit(axes, X, y, rank=INF, kernel=kernels, log=log, seed=seeded(1))
    view = PosteriorView(posterior)
    given = given_pending(view, 0.0, X[:1], np.random.default_rng(seeded(2)))
    score = process_box_score(given.process, given.thresholds)
    at = view.scaled(np.array([[0.0, 0.83, INF, 1.0], [1.0, INF, 0.2, INF]]))
    _, gradients = score.values_and_gradients(at)
    step = 1e-6
    for i, d in ((0, 1), (1, 2)):
        up, down = at[i : i + 1].copy(), at[i : i + 1].copy()
        up[0, d] += step
        down[0, d] -= step
        slope = (score.values(up)[0] - score.values(down)[0]) / (2 * step)
        assert gradients[i, d] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_the_gradient_of_the_evidence_with_inactive_observations_is_that_of_differences() -> None:
    axes, X, y, kernels = data()
    log = [False, False, True, False]
    spec = ModelSpec(rank=INF, kernel=kernels, log=log)
    found, _, _ = _observed(spec, axes, X, y)
    density = _density(make_process_problem(spec, found), found)
    x = 0.3 * np.random.default_rng(seeded(3)).standard_normal(len(density.bounds))
    _, gradient = density.value_and_gradient(x)
    for i in range(x.size):
        step = np.zeros_like(x)
        step[i] = 1e-5
        slope = (density.value(x + step) - density.value(x - step)) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("rank", [2, INF])
def test_each_branch_is_learned(rank: float) -> None:
    axes, X, y, kernels = data(40)
    log = [False, False, True, False]
    posterior = bktf.fit(axes, X, y, rank=rank, kernel=kernels, log=log, seed=seeded(2))
    rng = np.random.default_rng(seeded(3))
    z = 10 ** rng.uniform(-2, 1, 30)
    new = np.stack([np.ones(30), np.full(30, INF), z, np.full(30, INF)], axis=1)
    error = posterior.mean(new) - np.log10(z) ** 2
    # Less than a tenth of the variance is left
    assert np.mean(error**2) < 0.1 * np.var(np.log10(z) ** 2)


def test_a_choice_is_inactive_only_where_that_is_asked_for() -> None:
    axes, X, y, kernels = data()
    log = [False, False, True, False]
    for rank in (2, INF):
        posterior = bktf.fit(axes, X, y, rank=rank, kernel=kernels, log=log, seed=seeded(4))
        anywhere = bktf.acquisition.choose(posterior, exclude=X)
        assert anywhere.point is not None
        assert np.isfinite(anywhere.point).all()
        fixed = {0: 1.0, 1: INF, 3: INF}
        within = {2: axes[2][2:4]}
        inside = bktf.acquisition.choose(posterior, exclude=X, fixed=fixed, within=within)
        assert inside.point is not None
        assert inside.point[[0, 1, 3]].tolist() == [1.0, INF, INF]
        assert inside.point[2] in axes[2][2:4]
        if rank == INF:
            free = bktf.acquisition.choose(posterior, fixed=fixed, within=within, free=[2])
            assert free.point is not None
            assert axes[2][2] * (1 - 1e-9) <= free.point[2] <= axes[2][3] * (1 + 1e-9)


def test_what_infinity_cannot_mean_is_refused() -> None:
    axes, X, y, kernels = data()
    with pytest.raises(ValueError, match=r"X\[0, 0\] is inf. Where the parameter may be inactive"):
        bktf.fit(axes, np.where(np.arange(4) == 0, INF, X), y, kernel=kernels)
    with pytest.raises(ValueError, match="axis 0 must be finite"):
        bktf.fit([[INF]], [[INF]], [1.0])
    with pytest.raises(ValueError, match="axis 0 must be finite"):
        bktf.fit([[0.0, INF, 1.0]], [[0.0]], [1.0])
    with pytest.raises(ValueError, match="axis 0 is periodic"):
        bktf.fit([[0.0, 1.0, INF]], [[0.0]], [1.0], kernel="periodic")
    posterior = bktf.fit(axes, X, y, kernel=kernels, log=[False, False, True, False], seed=0)
    with pytest.raises(ValueError, match=r"within\[1\] must be points of axis 1"):
        bktf.acquisition.choose(posterior, within={1: [0.3]})
    with pytest.raises(ValueError, match="within must name axes among"):
        bktf.acquisition.choose(posterior, within={7: [0.3]})


def test_a_posterior_with_inactive_coordinates_is_saved_and_read(tmp_path: object) -> None:
    axes, X, y, kernels = data()
    for rank in (2, INF):
        posterior = bktf.fit(
            axes, X, y, rank=rank, kernel=kernels, log=[False, False, True, False], seed=seeded(5)
        )
        path = f"{tmp_path}/fit{rank}.npz"
        posterior.save(path)
        assert bktf.load(path).mean(X) == pytest.approx(posterior.mean(X))
