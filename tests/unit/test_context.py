"""A process that was fitted over more axes than it is asked for, against the fit over all of them."""

import math

import numpy as np
import pytest

import bktf
from bktf._typing import Floats
from bktf.acquisition import choose
from bktf.acquisition.posterior_view import PosteriorView
from bktf.acquisition.process_scores import (
    given_pending,
    process_box_score,
    process_score,
)
from bktf.surrogate import Posterior, in_context
from seeds import seeded

TARGET = 3.0
AXES = [np.linspace(0.0, 1.0, 9), np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, TARGET])]


def both(n: int = 12, m: int = 9) -> tuple[Posterior, Posterior]:
    """A fit over x, a category and a context, and the same as a function of the first two."""
    rng = np.random.default_rng(seeded(0))
    X = np.stack(
        (rng.choice(AXES[0], n + m), rng.integers(0, 3, n + m), rng.choice([0.0, 1.0], n + m)), 1
    )
    X[:n, 2] = TARGET
    y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.3 * X[:, 2] + 0.05 * rng.standard_normal(n + m)
    kernels = [None, "categorical", None]
    wide = bktf.fit(AXES, X, y, rank=math.inf, kernel=kernels, seed=seeded(1))
    return wide, in_context(wide, n, [TARGET])


def points(n: int = 7) -> tuple[Floats, Floats]:
    """Points of two axes, and the same in the context of the target."""
    rng = np.random.default_rng(seeded(2))
    narrow = np.stack((rng.random(n), rng.integers(0, 3, n).astype(float)), axis=1)
    return narrow, np.concatenate((narrow, np.full((n, 1), TARGET)), axis=1)


def test_predictions_are_those_over_all_axes_at_the_target() -> None:
    wide, narrow = both()
    P, Q = points()
    assert narrow.mean(P) == pytest.approx(wide.mean(Q), rel=1e-12)
    assert narrow.std(P) == pytest.approx(wide.std(Q), rel=1e-10)
    assert narrow.draws_at(P) == pytest.approx(wide.draws_at(Q), rel=1e-9)
    assert narrow.kernel(P) == pytest.approx(wide.kernel(Q), rel=1e-12)
    assert narrow.lengthscales.shape[1] == narrow.correlations.shape[1] == 2
    assert len(narrow.y) == 12
    assert narrow.X.shape == (12, 2)


def test_improvements_with_pending_points_are_those_over_all_axes() -> None:
    wide, narrow = both()
    P, Q = points()
    best = float(narrow.y.max())
    found = narrow.expected_improvement(P, best, P[:2])
    assert found == pytest.approx(wide.expected_improvement(Q, best, Q[:2]), rel=1e-8)


def test_scores_of_cells_and_gradients_are_those_over_all_axes() -> None:
    wide, narrow = both()
    P, Q = points()
    scores = []
    for posterior, at, waiting in ((narrow, P, P[:1]), (wide, Q, Q[:1])):
        view = PosteriorView(posterior)
        given = given_pending(view, 0.3, waiting, np.random.default_rng(seeded(3)))
        axes = tuple(axis.scale(axis.points) for axis in posterior.grid)
        score = process_score(given, axes, None, None)
        cells = np.zeros((9, len(axes)), dtype=np.int64)
        cells[:, 0], cells[:, 1] = np.arange(9), np.arange(9) % 3
        cells[:, 2:] = 2
        covariance, slopes = given.process.covariances_and_slopes(view.scaled(at))
        scores.append((score.values(cells), covariance, slopes[0]))  # of x, the only ordered axis
    for ours, theirs in zip(*scores, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def test_axes_that_all_points_share_are_looked_at_once() -> None:
    wide, _ = both()
    _, Q = points()
    Q[:, 1] = 2.0
    process, scaled = PosteriorView(wide).process, PosteriorView(wide).scaled(Q)
    assert process is not None
    kept = process.keeping({1: 2.0, 2: float(scaled[0, 2])})
    assert kept.searched_axes == [0]
    for ours, theirs in zip(kept.moments_at(scaled), process.moments_at(scaled), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9)
    few, _ = kept.thinned(3)
    assert few.moments_at(scaled).mean == pytest.approx(process.thinned(3)[0].moments_at(scaled)[0])
    thresholds = np.zeros(len(process.logs))
    gradients = [
        process_box_score(p, thresholds).values_and_gradients(scaled)[1] for p in (kept, process)
    ]
    assert gradients[0][:, 0] == pytest.approx(gradients[1][:, 0], rel=1e-7)
    assert (gradients[0][:, 1:] == 0.0).all()


def test_the_choice_is_that_over_all_axes_at_the_target() -> None:
    wide, narrow = both()
    best = float(narrow.y.max())
    ours = choose(narrow, "ei", best=best, seed=1).point
    theirs = choose(wide, "ei", best=best, fixed={2: TARGET}, seed=1).point
    assert ours is not None
    assert theirs is not None
    assert ours == pytest.approx(theirs[:2])


def test_the_parameters_that_are_published_are_those_of_the_first_axes() -> None:
    from bktf.surrogate import ProcessStart

    wide, narrow = both()
    ours, theirs = ProcessStart.of(narrow.draws), ProcessStart.of(wide.draws)  # type: ignore[arg-type]
    assert ours.logs == pytest.approx(theirs.logs[[0, 1, 3, 4]])
