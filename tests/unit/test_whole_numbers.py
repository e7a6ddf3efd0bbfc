"""Parameters of whole numbers: which number a coordinate means, and how likely each one is."""

import math

import numpy as np
import pytest
from optuna.distributions import IntDistribution

from bktf.spaces import Parameter


def test_a_coordinate_means_the_nearest_value() -> None:
    plain = Parameter("n", IntDistribution(-2, 9))
    assert [plain.value(x) for x in (-7.0, -1.6, 3.4, 3.6, 8.9, 30.0)] == [-2, -2, 3, 4, 9, 9]
    stepped = Parameter("n", IntDistribution(10, 30, step=5))
    assert [stepped.value(x) for x in (11.0, 13.0, 21.9, 22.6, 28.0)] == [10, 15, 20, 25, 30]


@pytest.mark.parametrize("high", [2, 8, 100])
def test_on_a_logarithmic_scale_a_number_stands_for_half_a_step_on_each_side(high: int) -> None:
    """Its share is that of the interval from half a step below to half a step above it."""
    parameter, n = Parameter("n", IntDistribution(1, high, log=True)), 4000
    drawn = [parameter.from_unit((i + 0.5) / n) for i in range(n)]
    whole = math.log((high + 0.5) / 0.5)
    for k in range(1, high + 1):
        share = math.log((k + 0.5) / (k - 0.5)) / whole
        assert drawn.count(k) == pytest.approx(n * share, abs=1.01)
    assert np.all(np.diff(drawn) >= 0)
