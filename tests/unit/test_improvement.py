"""The expected improvement of a posterior, against its definition."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import bktf
from bktf.acquisition.improvement import expected_excess
from seeds import seeded

Floats = NDArray[np.float64]
AXES = [np.linspace(0, 2, 9), np.array([-1.0, 0.0, 0.2, 1.0, 3.0])]
ON_GRID = np.array([[0.25, 1.0], [2.0, 3.0], [0.0, -1.0], [1.0, 3.0]])
OFF_GRID = np.array([[0.1, 0.1], [1.93, -0.5], [0.6, 2.0], [1.2, 2.9]])


def fitted(**settings: object) -> bktf.Posterior:
    rng = np.random.default_rng(seeded(0))
    X = np.stack([axis[rng.integers(0, axis.size, 10)] for axis in AXES], axis=1)
    y = 10 + 5 * np.sin(2 * X[:, 0]) * X[:, 1] + 0.2 * rng.standard_normal(10)
    return bktf.fit(AXES, X, y, seed=seeded(2), **{"n_sweeps": 120, "n_burn_in": 60, **settings})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def process() -> bktf.Posterior:
    return fitted(rank=math.inf)


@pytest.fixture(scope="module")
def components() -> bktf.Posterior:
    return fitted(rank=3)


def test_the_excess_of_a_normal_is_its_integral() -> None:
    for mean, std in ((0.3, 1.0), (-2.0, 0.7), (5.0, 0.1), (-30.0, 1.0)):
        z = np.linspace(max(mean - 12 * std, 0.0), max(mean + 12 * std, 0.0), 200_001)
        density = np.exp(-0.5 * ((z - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))
        assert expected_excess(np.array(mean), np.array(std)) == pytest.approx(
            np.trapezoid(z * density, z), rel=1e-6, abs=1e-12
        )
    np.testing.assert_array_equal(
        expected_excess(np.array([2.0, -2.0, 0.0]), np.zeros(3)), [2.0, 0.0, 0.0]
    )
    assert expected_excess(np.array(1.0), np.array(1e-300)) == 1.0


def test_improvement_on_axis_points_is_the_mean_over_draws(components: bktf.Posterior) -> None:
    draws = components.draws_at(ON_GRID)
    plain = np.maximum(draws - components.y.max(), 0.0).mean(axis=0)
    np.testing.assert_allclose(
        components.expected_improvement(ON_GRID), plain, rtol=1e-9, atol=1e-12
    )
    beyond = np.maximum(
        draws[:, 2:] - np.maximum(12.0, draws[:, :2].max(axis=1, keepdims=True)), 0.0
    ).mean(axis=0)
    got = components.expected_improvement(ON_GRID[2:], 12.0, ON_GRID[:2])
    np.testing.assert_allclose(got, beyond, rtol=1e-9, atol=1e-12)


def test_improvement_of_a_process_is_that_of_its_normals(process: bktf.Posterior) -> None:
    mean, variance = process.moments_by_draw(OFF_GRID)
    expected = expected_excess(mean - process.y.max(), np.sqrt(variance)).mean(axis=0)
    np.testing.assert_allclose(process.expected_improvement(OFF_GRID), expected, rtol=1e-10)


def test_improvement_beyond_pending_points_is_that_of_joint_values(process: bktf.Posterior) -> None:
    """Against 500 joint values per draw.

    The limit is five standard errors of both sides, error probability 6e-7 per point.
    """
    repeats, best = 500, float(np.median(process.y))
    points = np.array(
        [[0.6, 2.0], [0.8, 2.4], [0.65, 2.2], [1.2, 2.9]]
    )  # near each other, and likely to improve
    rng = np.random.default_rng(seeded(1))
    mean = process.mean_by_draw(points)
    root = np.linalg.cholesky(process.covariances_by_draw(points) + 1e-9 * np.eye(4))
    values = mean[:, None, :] + rng.standard_normal((len(mean), repeats, 4)) @ root.transpose(
        0, 2, 1
    )
    for p in (1, 2, 3):
        gains = np.maximum(
            values[..., p:] - np.maximum(best, values[..., :p].max(axis=2, keepdims=True)), 0.0
        )
        got = process.expected_improvement(points[p:], best, points[:p])
        # only what varies within a draw counts; the other side has 64 values per draw, with no more
        # variance each
        error = math.sqrt(1 / repeats + 1 / 64) * np.sqrt(
            gains.var(axis=1).mean(axis=0) / len(mean)
        )
        assert np.all(np.abs(got - gains.mean(axis=(0, 1))) <= 5 * error)
        assert np.all(got <= process.expected_improvement(points[p:], best))


@pytest.mark.parametrize("name", ["process", "components"])
def test_improvement_is_at_least_what_the_mean_promises(
    name: str, request: pytest.FixtureRequest
) -> None:
    """E max(f − best, 0) ≥ max(E f − best, 0): the two come from the same moments."""
    posterior = request.getfixturevalue(name)
    for points in (ON_GRID, OFF_GRID):
        for best in (None, 5.0, 9.0):
            threshold = posterior.y.max() if best is None else best
            promised = np.maximum(posterior.mean(points) - threshold, 0.0)
            assert np.all(posterior.expected_improvement(points, best) >= promised - 1e-9)


def test_a_pending_point_adds_nothing_to_itself_and_blocks_do_not_matter(
    process: bktf.Posterior,
) -> None:
    alone = process.expected_improvement(OFF_GRID[:1])[0]
    assert process.expected_improvement(OFF_GRID[:1], pending=OFF_GRID[:1])[0] <= 1e-3 * alone
    many = np.repeat(OFF_GRID, 60, axis=0)  # more than one block
    np.testing.assert_allclose(
        process.expected_improvement(many, pending=ON_GRID[:1])[::60],
        process.expected_improvement(OFF_GRID, pending=ON_GRID[:1]),
        rtol=1e-6,
    )
    assert (
        process.expected_improvement(np.empty((0, 2))).shape
        == process.expected_improvement(np.empty((0, 2)), 1.0, ON_GRID).shape
        == (0,)
    )


def test_a_threshold_that_is_no_number_is_refused(process: bktf.Posterior) -> None:
    with pytest.raises(
        ValueError, match="best must be a finite number, in the units of y; got nan"
    ):
        process.expected_improvement(ON_GRID, math.nan)
