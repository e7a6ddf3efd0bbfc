"""Which shape of the model is used: left-out folds against fits without them, and the shape that should win wins."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bktf import shapes
from bktf.local_draws import local_draws

Floats = NDArray[np.float64]
AXES = [np.linspace(0, 1, 9)] * 2


def points(n: int) -> Floats:
    return np.random.default_rng(5).random((n, 2))


def across(X: Floats) -> Floats:
    """A wave across the axes: nothing for one product of factors."""
    return np.sin(5 * (X[:, 0] + X[:, 1]))


def apart(X: Floats) -> Floats:
    """A product of two columns without any smoothness: nothing for a Gaussian process, everything for one product of factors."""
    rng = np.random.default_rng(3)
    first, second = rng.standard_normal((2, 9))
    return np.asarray(first[np.rint(8 * X[:, 0]).astype(int)] * second[np.rint(8 * X[:, 1]).astype(int)])


def test_a_fold_is_left_out_as_if_it_had_never_been_seen() -> None:
    X = points(12)
    process = shapes.fit_local(AXES, X, across(X), seed=0)
    assert process.local is not None
    left_out = np.array([1, 5, 6])
    seen = np.setdiff1d(np.arange(12), left_out)
    own = process.local
    without = local_draws(own.observed[seen], own.on_levels, own.logs, own.noise_precision, own.residuals[:, seen])
    expected = without.moments_at(own.observed[left_out])
    mean, variance = shapes.leave_out(own, left_out)
    np.testing.assert_allclose(mean, expected.mean, atol=1e-6)
    np.testing.assert_allclose(variance, expected.variance + 1 / own.noise_precision[:, None], rtol=1e-5, atol=1e-8)


def test_the_shape_that_predicts_better_is_used() -> None:
    X = np.unique(np.rint(8 * points(60)) / 8, axis=0)  # cells of the grid
    shape = shapes.Components(rank=1)
    assert shapes.fit_better(AXES, X, across(X), shape, seed=0).rank == 0
    assert shapes.fit_better(AXES, X, apart(X), shape, seed=0).rank == 1


def test_few_observations_are_for_the_process_and_many_for_components(monkeypatch: pytest.MonkeyPatch) -> None:
    X = points(14)
    shape = shapes.Components(rank=1, n_sweeps=10, n_burn_in=5, n_chains=1)
    assert shapes.fit_better(AXES, X[:9], apart(X[:9]), shape, seed=0).rank == 0
    monkeypatch.setattr(shapes, "MAX_LOCAL", 13)
    assert shapes.fit_better(AXES, X, across(X), shape, seed=0).local is None


def test_main_effects_are_components_of_one_dimension() -> None:
    assert shapes.Components(rank=2, main_effects=True).active(3) == [(0,), (1,), (2,), (0, 1, 2), (0, 1, 2)]
    assert shapes.Components(rank=2).active(3) is None
    assert shapes.Components(rank=2, main_effects=True).active(1) is None
