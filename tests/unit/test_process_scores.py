"""Scores under a process with given parameters, against dense formulas; no chain is run."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from bktf.acquisition import choose
from bktf.acquisition.choose_arguments import Question, make_domain
from bktf.acquisition.posterior_view import PosteriorView
from bktf.acquisition.process_scores import given_pending, process_box_score
from bktf.axis_kernels.axes import Axis
from bktf.axis_kernels.kernel_spec import resolve_kernels
from bktf.gaussian_process import ProcessDraws, condition_process
from bktf.gaussian_process.conditional_process import MIN_VARIANCE_SHARE
from bktf.surrogate.observed_values import Standardisation
from seeds import seeded

Floats = NDArray[np.float64]
PENDING = np.array([[3.3, 1.0], [1.2, 2.0]])


@dataclass(frozen=True, eq=False)
class Fit:
    """What the acquisitions read of a posterior, with parameters that were chosen by hand."""

    grid: tuple[Axis, ...]
    X: Floats
    y: Floats
    seed: int
    standardisation: Standardisation
    draws: ProcessDraws


def fit_with(noise_precision: float = 1e4) -> Fit:
    """Three draws of a process on axes from 0 to 4 and from 0 to 2, given ten observations."""
    points = np.linspace(0, 4, 9), np.arange(3.0)
    resolved = resolve_kernels(["matern32", "categorical"], [9, 3])
    grid = tuple(Axis(p, kernel) for p, kernel in zip(points, resolved, strict=True))
    X: Floats = np.stack((np.linspace(0.1, 3.9, 10), np.arange(10) % 3), axis=1).astype(float)
    y: Floats = np.asarray(5.0 + np.sin(X[:, 0]) + 0.3 * X[:, 1])
    scale = Standardisation.of(y)
    logs = np.array([[-2.0, 0.9, 0.2, -1.0], [-1.8, -1.2, 0.0, -2.0], [-2.2, 2.0, 0.5, -1.5]])
    scaled = np.stack([axis.scale(X[:, d]) for d, axis in enumerate(grid)], axis=1)
    on_levels = np.array([axis.kernel.on_levels for axis in grid])
    residuals = np.repeat(scale.to_model(y)[None], 3, axis=0)
    precisions = np.full(3, noise_precision)
    process = condition_process(scaled, on_levels, logs, precisions, residuals)
    return Fit(grid, X, y, seeded(0), scale, ProcessDraws(grid, process, seeded(0)))


def question(**more: Any) -> Question:
    """Expected improvement over a box, unless it is said otherwise."""
    asked: dict[str, Any] = {
        "acquisition": "ei", "beta": 2.0, "integrate_weights": False, "feasible": None,
        "chance": None, "fixed": {}, "within": {}, "best": None, "free": frozenset({0}), "seed": 0,
    }  # fmt: skip
    return Question(**asked | more)


def improvement(mean: Floats, variance: Floats, thresholds: Floats) -> Floats:
    """EI (n,) of draws with these moments (K, n), each from its threshold (K,)."""
    deviation = np.sqrt(variance)
    u = (mean - thresholds[:, None]) / deviation
    return np.asarray((deviation * (u * stats.norm.cdf(u) + stats.norm.pdf(u))).mean(axis=0))


@pytest.mark.parametrize("best", [-10.0, 0.5, 10.0])
def test_a_draw_must_exceed_the_best_value_and_what_it_draws_at_pending_points(best: float) -> None:
    view = PosteriorView(fit_with())
    assert view.process is not None
    drawn = view.process.draw_at(view.scaled(PENDING), np.random.default_rng(seeded(1)))
    given = given_pending(view, best, PENDING, np.random.default_rng(seeded(1)))
    assert given.thresholds.tolist() == np.maximum(best, drawn.max(axis=1)).tolist()
    assert given.kept.tolist() == [0, 1, 2]


def test_each_draw_has_observed_what_it_draws_at_pending_points() -> None:
    """With hardly any noise its mean there is what it drew, and next to no variance is left."""
    view = PosteriorView(fit_with(noise_precision=1e8))
    assert view.process is not None
    scaled = view.scaled(PENDING)
    drawn = view.process.draw_at(scaled, np.random.default_rng(seeded(2)))
    given = given_pending(view, 0.0, PENDING, np.random.default_rng(seeded(2)))
    moments = given.process.moments_at(scaled)
    np.testing.assert_allclose(moments.mean, drawn, atol=1e-3)
    assert moments.variance.max() < 1e-6
    assert view.process.moments_at(scaled).variance.min() > 1e-2
    before = view.process.moments_at(view.process.observed)
    after = given.process.moments_at(view.process.observed)
    np.testing.assert_allclose(after.mean, before.mean, atol=1e-3)


def test_log_ei_in_a_box_with_levels_is_that_of_the_moments() -> None:
    process = fit_with().draws.process
    rng, thresholds = np.random.default_rng(seeded(3)), np.array([-2.0, 0.0, 1.0])
    points = np.stack((rng.random(30), rng.integers(0, 3, 30)), axis=1).astype(float)
    found = process_box_score(process, thresholds).values(points)
    mean, variance = process.moments_at(points)
    expected = np.log(improvement(mean, variance, thresholds))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("above", [-0.5, 0.7])
def test_in_a_box_improvement_counts_from_the_value_that_is_given(above: float) -> None:
    fit = fit_with()
    best = float(fit.y.max() + above)
    choice = choose(fit, "ei", exclude=fit.X, best=best, free=(0,))
    assert choice.point is not None
    mean, variance = fit.draws.moments_by_draw(choice.point[None])
    threshold = np.full(3, fit.standardisation.to_model(np.array([best]))[0])
    expected = fit.standardisation.scale * improvement(mean, variance, threshold)[0]
    assert choice.value == pytest.approx(expected, rel=1e-8)


def test_no_taken_point_is_allowed_in_a_box() -> None:
    fit = fit_with()
    view = PosteriorView(fit)
    box = make_domain(view, question(), fit.X).box()
    scaled = view.scaled(fit.X)
    assert not any(box.is_allowed(point) for point in scaled)
    step = np.array([1e-6, 0.0])
    assert all(box.is_allowed(point + step) for point in scaled)


def test_a_variance_never_falls_below_what_double_precision_can_tell() -> None:
    """Noise of 1e-16 of the variance leaves less than that at an observation."""
    logs = np.array([[-1.0, 0.0, -1.0], [-0.5, math.log(9.0), -2.0]])
    observed = np.array([[0.1], [0.6]])
    residuals = np.ones((2, 2))
    precisions = 1e16 / np.exp(logs[:, 1])
    process = condition_process(observed, np.array([False]), logs, precisions, residuals)
    variance = process.moments_at(observed).variance
    assert np.all(variance >= MIN_VARIANCE_SHARE * process.prior_variances[:, None])
    score = process_box_score(process, np.full(2, 2.0))
    assert np.all(np.isfinite(score.values(observed)))
