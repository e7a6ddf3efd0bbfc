"""Gaps and plans against plain loops."""

import numpy as np
import pytest

from bktf.axis_kernels.gaps import different_gaps, plan_between, steps_along
from seeds import seeded


@pytest.mark.parametrize("m", [2, 12, 71, 1000])
def test_a_regular_axis_has_one_gap_whatever_the_rounding(m: int) -> None:
    gaps, steps = steps_along(np.linspace(0, 1, m))
    assert gaps.size == 1
    assert np.all(steps == 0)


def test_steps_give_back_the_coordinates() -> None:
    coords = np.sort(np.random.default_rng(seeded(0)).uniform(0, 1, 50))
    gaps, steps = steps_along(coords)
    np.testing.assert_allclose(
        coords[0] + np.concatenate(([0.0], np.cumsum(gaps[steps[1:]]))), coords, atol=1e-13
    )


def test_one_point_has_no_gap() -> None:
    gaps, steps = steps_along(np.array([0.3]))
    assert gaps.size == 0
    assert steps.tolist() == [0]


def test_gaps_that_differ_stay_apart() -> None:
    gaps = different_gaps(np.array([1.0, 1.0 + 1e-14, 1.0 + 1e-9, 2.0, 1.0]))
    assert gaps.values.size == 3
    assert gaps.gap_of.tolist() == [0, 0, 1, 2, 0]


@pytest.mark.parametrize("joint", [False, True])
def test_a_plan_names_the_nearest_neighbours_on_both_sides(joint: bool) -> None:
    rng = np.random.default_rng(seeded(1))
    for _ in range(50):
        coords = np.sort(rng.uniform(0.2, 0.8, rng.integers(1, 6)))
        new = np.sort(rng.uniform(0, 1, rng.integers(1, 9)))
        gaps, places = plan_between(coords, new, joint)
        for j, x in enumerate(new):
            left, right, left_gap, right_gap = places[j]
            known_left = [i for i in range(coords.size) if coords[i] <= x]
            lean = coords[known_left[-1]] if known_left else -np.inf
            if joint and j > 0 and new[j - 1] > lean:
                lean = new[j - 1]
                assert left == -1
            elif known_left:
                assert left == known_left[-1]
            assert (left_gap == -1) == (lean == -np.inf)
            if left_gap >= 0:
                assert gaps[left_gap] == pytest.approx(x - lean)
            known_right = [i for i in range(coords.size) if coords[i] > x]
            assert (right_gap == -1) == (not known_right)
            if known_right:
                assert right == known_right[0]
                assert gaps[right_gap] == pytest.approx(coords[known_right[0]] - x)
