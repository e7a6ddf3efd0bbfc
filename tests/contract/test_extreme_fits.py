"""Fits at the edge of the arithmetic: tiny steps, huge units, vague priors, a change of units."""

from typing import Any

import numpy as np
import pytest

import bktf
from seeds import seeded

AXES = [np.linspace(0, 1, 5), np.linspace(-1, 1, 4)]
X = np.array([[0.0, -1.0], [0.5, 1.0], [1.0, 0.0], [0.25, 1.0]])
Y = np.array([1.0, 2.0, 0.0, 1.5])
SHORT: dict[str, Any] = {"seed": seeded(0), "n_sweeps": 30, "n_burn_in": 10}


def test_a_chain_of_tiny_steps_keeps_every_observation_in_its_place() -> None:
    points = np.array([[3.3], [3.3 + 9e-9], [3.3 + 1.8e-8], [3.3 + 2.7e-8]])
    posterior = bktf.fit([np.linspace(0, 10, 11)], points, [0.0, 0.0, 1.0, 2.0], **SHORT)
    np.testing.assert_allclose(posterior.X, points, atol=1e-8)


def test_a_posteriors_own_axes_are_accepted_again() -> None:
    posterior = bktf.fit(
        [np.linspace(0, 1, 5)], [[0.25 + 1.5e-9], [0.5], [0.75]], [1.0, 2.0, 5.0], **SHORT
    )
    assert bktf.leave_one_out(posterior, index=[1]).mean.shape == (1,)


def test_collinear_components_under_a_vague_prior_stay_finite() -> None:
    for seed in range(10):
        posterior = bktf.fit(
            AXES,
            X[:3],
            Y[:3],
            seed=seeded(seed),
            rank=6,
            n_sweeps=60,
            n_burn_in=30,
            noise_std=0.0,
            priors=bktf.Priors(weight_var=1e6),
        )
        assert np.all(np.isfinite(posterior.mean(X)))


def test_draws_that_overflow_are_an_error_and_not_nan() -> None:
    with pytest.raises(ArithmeticError, match="overflowed"):
        bktf.fit([[0, 1]], [[0.0], [1.0]], [0.0, 1.0], kernel=[1e307 * np.eye(2)], **SHORT)


@pytest.mark.parametrize(("before", "after"), [(1e200, 1e-200), (1e-200, 1e200), (1.0, 1e12)])
def test_a_warm_start_survives_a_change_of_units(before: float, after: float) -> None:
    first = bktf.fit(AXES, X, before * Y, **SHORT)
    second = bktf.fit(AXES, X, after * Y, warm_start=first, **SHORT)
    assert np.all(np.isfinite(second.mean(X)))
    assert np.all(np.isfinite(second.noise_std))


def test_a_warm_start_into_a_far_larger_box_keeps_lengthscales_in_their_range() -> None:
    first = bktf.fit(AXES, X, Y, **SHORT)
    second = bktf.fit(
        [np.linspace(0, 2e6, 5), AXES[1]],
        X,
        Y,
        warm_start=first,
        seed=seeded(0),
        n_sweeps=1,
        n_burn_in=0,
    )
    assert second.lengthscales.min() >= 1e-3


@pytest.mark.parametrize(
    "scale", [2.0**-997, 2.0**-565, 2.0**532, 2.0**997]
)  # powers of two: the chains stay the same to the last bit
def test_diagnostics_and_leave_one_out_do_not_depend_on_the_units(scale: float) -> None:
    plain, scaled = bktf.fit(AXES, X, Y, **SHORT), bktf.fit(AXES, X, scale * Y, **SHORT)
    np.testing.assert_allclose(scaled.diagnostics().ess, plain.diagnostics().ess, rtol=1e-6)
    assert np.all(np.isfinite(scaled.diagnostics().rhat))
    result = bktf.leave_one_out(scaled)
    assert np.all(np.isfinite(result.std))
    assert np.all(result.std > 0)
    assert "inf" not in str(result)


def test_too_few_draws_are_said_to_be_too_few() -> None:
    assert "too few draws to tell" in str(
        bktf.fit(AXES, X, Y, seed=seeded(0), n_sweeps=3, n_burn_in=1).diagnostics()
    )


def test_a_huge_known_noise_is_finite() -> None:
    assert np.all(np.isfinite(bktf.fit(AXES, X, Y, noise_std=1e300, **SHORT).noise_std))
