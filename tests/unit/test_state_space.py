"""The Markov kernels against dense linear algebra and against extended precision."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import oracles
from bktf.axis_kernels import matern32_filter, matern_transitions
from bktf.axis_kernels import state_space as statespace
from bktf.axis_kernels import state_space_between as between
from bktf.axis_kernels.gaps import plan_between, steps_along
from seeds import seeded

Floats = NDArray[np.float64]
LENGTHSCALES = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]


def fast_log_evidence(
    ls: float, coords: Floats, precisions: Floats, targets: Floats, needed: float = -np.inf
) -> float:
    gaps, steps = steps_along(coords)
    table, kept = (
        np.empty((gaps.size, matern32_filter.COLUMNS)),
        np.empty((coords.size, matern32_filter.MOMENTS)),
    )
    return float(
        matern32_filter.log_evidence(ls, gaps, steps, precisions, targets, needed, table, kept)
    )


def fast_draw_factor(
    ls: float,
    coords: Floats,
    precisions: Floats,
    targets: Floats,
    out: Floats,
    rng: np.random.Generator,
) -> None:
    gaps, steps = steps_along(coords)
    table, kept = (
        np.empty((gaps.size, matern32_filter.COLUMNS)),
        np.empty((coords.size, matern32_filter.MOMENTS)),
    )
    matern32_filter.log_evidence(ls, gaps, steps, precisions, targets, -np.inf, table, kept)
    matern32_filter.draw_factor(steps, table, kept, out, rng)


def make_axis(m: int, regular: bool, rng: np.random.Generator) -> Floats:
    return np.linspace(0.0, 1.0, m) if regular else np.sort(rng.uniform(0.0, 1.0, m))


def make_seen(
    coords: Floats, q: int, noise_precision: float, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Pseudo-observations as a run has them: smooth factors seen with noise, some coordinates not at all.

    (White targets under a tight noise would have evidences near −1e6, where dense double precision
    is the one that errs; the test against extended precision below covers them.)
    """
    m = coords.size
    directions = rng.standard_normal((m, q, q)) if q > 1 else np.ones((m, 1, 1))
    precisions = noise_precision * rng.standard_normal((m, q)) ** 2 * rng.integers(0, 5, (m, q))
    precisions[0] = noise_precision
    factors = np.sin(3 * coords[:, None] + np.arange(q))
    noise = rng.standard_normal((m, q)) / np.sqrt(np.maximum(precisions, 1e-12))
    return (
        directions,
        precisions,
        np.where(precisions > 0, np.einsum("jkc,jc->jk", directions, factors) + noise, 0.0),
    )


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("step", [1e-12, 1e-7, 1e-3, 0.1, 0.24, 0.26, 0.99, 1.01, 3.0, 40.0, 1e3])
def test_transition_equals_extended_precision_entry_by_entry(order: int, step: float) -> None:
    A, L, D = np.zeros((order, order)), np.zeros((order, order)), np.zeros(order)
    matern_transitions.transition(order, step, A, L, D)
    exact_A, exact_Q = oracles.process_noise_extended(order, step)
    with mpmath.workdps(80):
        exact_L, exact_D = mpmath.eye(order), [mpmath.mpf(0)] * order
        for j in range(order):
            exact_D[j] = exact_Q[j, j] - sum(exact_L[j, k] ** 2 * exact_D[k] for k in range(j))
            for i in range(j + 1, order):
                exact_L[i, j] = (
                    exact_Q[i, j]
                    - sum(exact_L[i, k] * exact_L[j, k] * exact_D[k] for k in range(j))
                ) / exact_D[j]
        for i in range(order):
            assert abs(D[i] / exact_D[i] - 1) < 1e-12
            for j in range(order):
                assert abs(A[i, j] - exact_A[i, j]) < 1e-15
                assert abs(L[i, j] - exact_L[i, j]) < 1e-12 * max(1, abs(exact_L[i, j]))


@pytest.mark.parametrize("step", [1e-9, 1e-3, 0.2, 0.2499, 0.2501, 1.0, 7.0, 300.0])
def test_the_fast_step_noise_equals_the_general_one(step: float) -> None:
    A, L, D = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2)
    matern_transitions.transition(2, step, A, L, D)
    np.testing.assert_allclose(
        matern32_filter.step_noise(step, np.exp(-step)),
        [D[0], L[1, 0], D[1]],
        rtol=1e-13,
        atol=1e-300,
    )


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("noise_precision", [1.0, 1e2, 1e4])
def test_log_evidence_and_its_differences_equal_dense_linear_algebra(
    order: int, q: int, noise_precision: float
) -> None:
    rng = np.random.default_rng(seeded(100 * order + 10 * q))
    for m, regular in [
        (2, True),
        (3, False),
        (12, True),
        (30, False),
        (200 // q, True),
        (200 // q, False),
    ]:
        coords = make_axis(m, regular, rng)
        seen = make_seen(coords, q, noise_precision, rng)
        fast = np.array([statespace.log_evidence(order, ls, coords, *seen) for ls in LENGTHSCALES])
        precise = coords.astype(np.longdouble)
        slow = np.array(
            [
                oracles.log_evidence(oracles.matern(order, ls, precise, precise), *seen)
                for ls in LENGTHSCALES
            ]
        )
        assert np.all(np.abs(fast - slow) <= 1e-9 * np.maximum(1, np.abs(slow)))
        assert np.abs(np.diff(fast) - np.diff(slow)).max() <= 1e-6


@pytest.mark.parametrize("noise_precision", [1e-6, 1.0, 1e4, 1e8])
def test_the_fast_matern32_evidence_equals_the_general_one(noise_precision: float) -> None:
    rng = np.random.default_rng(seeded(3))
    for m in (1, 2, 7, 60, 400):
        coords = make_axis(m, False, rng)
        seen = make_seen(coords, 1, noise_precision, rng)
        for ls in [1e-3, *LENGTHSCALES, 1e3]:
            general = statespace.log_evidence(2, ls, coords, *seen)
            fast = fast_log_evidence(ls, coords, seen[1].ravel(), seen[2].ravel())
            assert abs(fast - general) <= 1e-9 * max(1.0, abs(general))


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("noise_precision", [1e4, 1e8])
@pytest.mark.parametrize("lengthscale", [1e-3, 1.0, 1e2, 1e3])
def test_log_evidence_equals_extended_precision_where_double_fails(
    order: int, noise_precision: float, lengthscale: float
) -> None:
    rng = np.random.default_rng(seeded(11))
    for m, regular in [(2, True), (12, True), (15, False)]:
        coords = make_axis(m, regular, rng)
        if not regular:
            coords[3] = coords[2] + 1e-8  # two points almost on top of each other
            coords = np.sort(coords)
        precisions = noise_precision * rng.uniform(0.1, 3.0, m)
        noise = rng.standard_normal(m) / np.sqrt(precisions)
        for targets in (np.sin(3 * coords) + noise, rng.standard_normal(m)):
            exact = oracles.log_evidence_extended(order, lengthscale, coords, precisions, targets)
            fast = statespace.log_evidence(
                order,
                lengthscale,
                coords,
                np.ones((m, 1, 1)),
                precisions[:, None],
                targets[:, None],
            )
            assert abs(fast - exact) <= 1e-12 * max(1, abs(exact))
            if order == 2:
                fast = fast_log_evidence(lengthscale, coords, precisions, targets)
                assert abs(fast - exact) <= 1e-12 * max(1, abs(exact))


def test_the_fast_evidence_gives_up_early_only_when_it_would_end_below_what_is_needed() -> None:
    rng = np.random.default_rng(seeded(4))
    for _ in range(200):
        coords = make_axis(9, False, rng)
        seen = make_seen(coords, 1, 50.0, rng)
        ls = float(np.exp(rng.normal()))
        whole = fast_log_evidence(ls, coords, seen[1].ravel(), seen[2].ravel())
        for needed in (whole - 1e-6, whole + 1e-6, whole + 3.0):
            got = fast_log_evidence(ls, coords, seen[1].ravel(), seen[2].ravel(), needed)
            assert got == whole or (got == -np.inf and whole < needed)


def assert_moments(draws: Floats, mean: Floats, covariance: Floats) -> None:
    """Sample mean and covariance within six standard errors.

    Two-sided, 2e-9 for each normal entry, three times that for a variance of 8,000 draws, whose
    skewness is 0.03; no test asks for more than 1,000 entries, so one in 100,000 fails by chance.
    """
    n = len(draws)
    variance = np.diag(covariance)
    assert np.all(np.abs(draws.mean(axis=0) - mean) <= 6 * np.sqrt(variance / n) + 1e-12)
    error = np.sqrt((covariance**2 + np.outer(variance, variance)) / n)
    assert np.all(np.abs(np.cov(draws.T) - covariance) <= 6 * error + 1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("q", [1, 2])
def test_factor_draws_have_the_dense_posterior_moments(order: int, q: int) -> None:
    rng = np.random.default_rng(seeded(5))
    for m, regular, noise_precision, ls in [
        (2, True, 1.0, 0.5),
        (7, False, 30.0, 0.2),
        (5, True, 1e4, 1.5),
    ]:
        coords = make_axis(m, regular, rng)
        seen = make_seen(coords, q, noise_precision, rng)
        mean, covariance = oracles.factor_posterior(
            oracles.matern(order, ls, coords, coords), *seen
        )
        out, draws = np.zeros((q, m, order)), np.empty((8000, q * m))
        for i in range(len(draws)):
            statespace.draw_factors(order, ls, coords, *seen, out, rng)
            draws[i] = out[:, :, 0].ravel()
        assert_moments(draws, mean, covariance)
        if order == 2 and q == 1:
            for i in range(len(draws)):
                fast_draw_factor(ls, coords, seen[1].ravel(), seen[2].ravel(), out[0], rng)
                draws[i] = out[0, :, 0]
            assert_moments(draws, mean, covariance)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_states_drawn_between_complete_a_prior_draw_of_the_whole_axis(order: int) -> None:
    """Known states from the prior, then the rest given them: together the prior on all points, derivatives included."""
    rng = np.random.default_rng(seeded(6))
    ls = 0.3
    coords = np.array([0.2, 0.5, 0.9])
    new = np.array([0.0, 0.1, 0.25, 0.30, 0.6, 0.95, 1.0])
    every = np.concatenate((coords, new))
    K = oracles.matern(order, ls, every, every)
    nothing = np.zeros((3, 1))
    functions: list[Callable[[Floats, Floats], Any]] = [
        lambda s, o: between.draw_between(order, ls, coords, s, new, o, rng)
    ]
    if order == 2:
        functions.append(
            lambda s, o: matern32_filter.draw_between(
                ls, s, *plan_between(coords, new, joint=True), o, rng
            )
        )
    for draw_between in functions:
        known, out, draws = np.zeros((1, 3, order)), np.zeros((7, order)), np.empty((20000, 10))
        for i in range(len(draws)):
            statespace.draw_factors(
                order, ls, coords, np.ones((3, 1, 1)), nothing, nothing, known, rng
            )
            draw_between(known[0], out)
            draws[i] = np.concatenate((known[0, :, 0], out[:, 0]))
        assert_moments(draws, np.zeros(10), K)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_moments_between_equal_the_moments_of_the_draws_between(order: int) -> None:
    rng = np.random.default_rng(seeded(7))
    ls, coords, new = 0.4, np.array([0.1, 0.3, 0.8]), np.array([0.0, 0.2, 0.5, 0.81, 1.0])
    states = rng.standard_normal((3, order))
    mean, variance, out, draws = (
        np.zeros(5),
        np.zeros(5),
        np.zeros((5, order)),
        np.empty((20000, 5)),
    )
    between.moments_between(order, ls, coords, states, new, mean, variance)
    for i in range(len(draws)):
        between.draw_between(order, ls, coords, states, new, out, rng)
        draws[i] = out[:, 0]
    # Ten numbers, each beyond six standard errors with a chance of 2e-9.
    assert np.all(np.abs(draws.mean(axis=0) - mean) <= 6 * np.sqrt(variance / len(draws)))
    assert np.all(np.abs(draws.var(axis=0) / variance - 1) <= 6 * np.sqrt(2 / len(draws)))
    if order == 2:
        fast_mean, fast_variance = np.zeros(5), np.zeros(5)
        matern32_filter.moments_between(
            ls, states, *plan_between(coords, new, joint=False), fast_mean, fast_variance
        )
        np.testing.assert_allclose(fast_mean, mean, rtol=1e-12)
        np.testing.assert_allclose(fast_variance, variance, rtol=1e-12)


def test_moments_of_an_order_1_factor_between_equal_dense_conditioning() -> None:
    """With one number per state, conditioning on states is conditioning on values, which linear algebra can do."""
    rng = np.random.default_rng(seeded(8))
    coords, new = np.array([0.1, 0.3, 0.8]), np.array([0.0, 0.2, 0.5, 0.81, 1.0])
    values = rng.standard_normal((3, 1))
    every = np.concatenate((coords, new))
    mean, covariance = oracles.conditional(oracles.matern(1, 0.4, every, every), 3, values[:, 0])
    fast_mean, fast_variance = np.zeros(5), np.zeros(5)
    between.moments_between(1, 0.4, coords, values, new, fast_mean, fast_variance)
    np.testing.assert_allclose(fast_mean, mean, rtol=1e-12)
    np.testing.assert_allclose(fast_variance, np.diag(covariance), rtol=1e-11)
