"""What the model sees of observed values."""

import numpy as np
import pytest

from bktf.surrogate.observed_values import Standardisation


@pytest.mark.parametrize("value", [0.0, -3.5, 7.0, 1e300])
def test_equal_values_become_zeros_and_come_back(value: float) -> None:
    y = np.full(4, value)
    found = Standardisation.of(y)
    assert (found.mean, found.scale) == (value, 1.0)
    assert found.to_model(y).tolist() == [0.0] * 4
    assert found.to_user(np.zeros(4)).tolist() == y.tolist()


def test_values_become_z_scores_and_come_back() -> None:
    y = np.array([3.0, -1.0, 4.0, 1.0, -5.0])
    found = Standardisation.of(y)
    z = found.to_model(y)
    assert (z.mean(), z.std()) == (pytest.approx(0.0, abs=1e-15), pytest.approx(1.0))
    assert found.to_user(z) == pytest.approx(y)
