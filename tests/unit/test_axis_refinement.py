"""Axes that adapt: inside the box, on the parameter's own values, fine where it matters, never too many points."""

import numpy as np
import pytest

from bktf.spaces import refine_axis
from seeds import seeded


def test_the_axis_holds_the_base_grid_the_observations_and_ever_finer_points_around_the_incumbents() -> (
    None
):
    axis = refine_axis(0.0, 1.0, observed=[0.123, 0.777], incumbents=[0.3])
    assert axis.points[0] == 0.0
    assert axis.points[-1] == 1.0
    assert {0.123, 0.777, 0.3} <= set(axis.points.tolist())
    assert np.all(np.diff(axis.points) > 0)
    near = np.abs(axis.points - 0.3)
    assert np.sort(near)[1] < 1e-4
    np.testing.assert_array_equal(axis.observed, [0.123, 0.777])


def test_repeated_refinement_is_not_capped_by_the_grid() -> None:
    """Moving to the best axis point and refining there converges on an optimum that no grid holds."""
    best = 0.9
    for _ in range(12):
        points = refine_axis(0.0, 1.0, observed=[best], incumbents=[best]).points
        best = float(points[np.abs(points - np.pi / 4).argmin()])
    assert abs(best - np.pi / 4) < 1e-5


def test_at_most_512_points_and_old_coordinates_are_snapped() -> None:
    observed = np.random.default_rng(seeded(0)).uniform(0, 1, 2000)
    axis = refine_axis(0.0, 1.0, observed=observed, incumbents=observed[:5])
    assert axis.points.size <= 512
    assert np.all(np.isin(axis.observed, axis.points))
    assert axis.observed[-1] == observed[-1]  # the latest kept its place
    assert np.abs(axis.observed - observed).max() < 1 / 64


def test_integers_and_steps_stay_on_their_own_values() -> None:
    assert refine_axis(1, 10, observed=[3], incumbents=[3], step=1).points.tolist() == list(
        range(1, 11)
    )
    np.testing.assert_allclose(
        refine_axis(0.5, 2.6, observed=[], incumbents=[], step=0.5).points,
        [0.5, 1.0, 1.5, 2.0, 2.5],
    )


def test_an_axis_with_millions_of_values_is_coarse_and_refines() -> None:
    axis = refine_axis(0, 10_000_000, observed=[1234567], incumbents=[1234567], step=1)
    assert axis.points.size <= 512
    assert np.all(axis.points == np.rint(axis.points))
    assert {1234567.0} <= set(axis.points.tolist())
    best = 1234567.0
    for _ in range(40):
        points = refine_axis(0, 10_000_000, observed=[best], incumbents=[best], step=1).points
        best = float(points[np.abs(points - 7654321).argmin()])
    assert best == 7654321


def test_the_last_step_does_not_leave_the_box_and_one_value_is_an_axis() -> None:
    assert refine_axis(0, 0.3, observed=[0.3], incumbents=[], step=0.1).points[-1] == 0.3
    single = refine_axis(2.0, 2.0, observed=[2.0, 2.0], incumbents=[2.0])
    assert single.points.tolist() == [2.0]
    assert single.observed.tolist() == [2.0, 2.0]


def test_bad_axes_get_clear_errors() -> None:
    with pytest.raises(ValueError, match="low ≤ high"):
        refine_axis(1.0, 0.5, observed=[], incumbents=[])
    with pytest.raises(ValueError, match="step must be"):
        refine_axis(0.0, 1.0, observed=[], incumbents=[], step=0)
    with pytest.raises(ValueError, match="n_base must lie in"):
        refine_axis(0.0, 1.0, observed=[], incumbents=[], n_base=600)
