"""The two conditions of an outlier, each on values of which one can see what they do."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bktf.engine.observation_filters import GAP, STEEPNESS, find_outliers

Floats = NDArray[np.float64]
ORDERED = np.array([False])
LEVELS = np.array([True])

# Seven usual points: the two at the left differ most steeply, by 0.01 over 0.02.
USUAL = np.array([0.0, 0.02, 0.05, 0.1, 0.14, 0.17, 0.2])
LOSSES = np.array([0.0, 0.01, 0.008, 0.006, 0.007, 0.005, 0.007])
STEEPEST = 0.5


def is_outlier(at: float, loss: float) -> bool:
    """Whether one more value, worse than the best by `loss`, is set aside; no other one may be."""
    assert loss > GAP * LOSSES.max()
    found = find_outliers(np.append(USUAL, at)[:, None], ORDERED, -np.append(LOSSES, loss))
    assert not found[:-1].any()
    return bool(found[-1])


def test_a_steep_rise_stays_up_to_a_multiple_of_the_steepest_usual_one() -> None:
    """At 0.7 the farthest usual point is 0.7 away, so the rise is loss / 0.7."""
    limit = STEEPNESS * STEEPEST * 0.7
    assert not is_outlier(0.7, 2.0 * STEEPEST * 0.7)
    assert not is_outlier(0.7, 0.99 * limit)
    assert is_outlier(0.7, 1.01 * limit)


def test_a_value_is_set_aside_only_where_it_rises_steeply_from_every_usual_point() -> None:
    """Steep from the nearest point, 0.02 away, but not from the farthest, 0.22 away."""
    assert 1.0 / 0.02 > STEEPNESS * STEEPEST > 1.0 / 0.22
    assert not is_outlier(0.22, 1.0)


@pytest.mark.parametrize("order", [range(8), [7, 0, 1, 2, 3, 4, 5, 6], [3, 4, 6, 0, 1, 7, 2, 5]])
def test_the_numbers_of_levels_do_not_matter(order: list[int]) -> None:
    """Different levels have the distance 1: usual ones rise by 0.01, the last one by 0.6."""
    levels, losses = np.array(order, dtype=float), np.append(LOSSES, 0.6)
    found = find_outliers(levels[:, None], LEVELS, -losses)
    assert found.tolist() == [False] * 7 + [True]
