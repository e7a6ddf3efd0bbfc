"""What a Result says under noise: the point with the best posterior mean beside the luckiest one."""

from typing import Any

import numpy as np
import pytest

import bktf
from seeds import seeded


def noisy_bowl(seed: int) -> Any:
    rng = np.random.default_rng(seeded(seed))
    return lambda p: (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2 + 0.5 * rng.standard_normal()


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_expected_best_is_the_tried_point_with_the_best_posterior_mean(direction: str) -> None:
    sign = 1.0 if direction == "minimize" else -1.0
    fn = noisy_bowl(1)
    space = {"one": (2, 2), "x": (0.0, 1.0), "y": (0.0, 1.0)}
    result = getattr(bktf, direction)(lambda p: sign * fn(p), space, 16, seed=seeded(1))
    X = np.array([[t.params["x"], t.params["y"]] for t in result.study.trials])
    means = sign * result.posterior.mean(X)
    assert result.fun_expected == pytest.approx(sign * means.min())
    assert result.x_expected == result.study.trials[int(means.argmin())].params
    assert result.x_expected["one"] == 2
    assert result.fun == pytest.approx(sign * min(sign * t.value for t in result.study.trials))
    assert sign * result.fun_expected >= sign * result.fun - 1e-9 or result.x_expected == result.x


def test_the_summary_names_the_expected_best_where_it_is_another_point() -> None:
    """The noise is known, and three times the signal. The points differ for 7 of 24 seeds; for none of 40 with a chance of 1e-6."""
    for seed in range(40):
        space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
        result = bktf.minimize(noisy_bowl(seed), space, 14, seed=seeded(seed), n_startup_trials=14, noise_std=0.5)
        if result.x_expected != result.x:
            assert f"{result.fun_expected:.6g} on average" in repr(result)
            return
        assert "on average" not in repr(result)
    pytest.fail("no seed told the luckiest and the best expected point apart")


def test_without_a_parameter_to_choose_the_expected_best_is_the_best() -> None:
    result = bktf.minimize(lambda p: 3.0 + p["a"], {"a": (2, 2)}, 1)
    assert (result.x_expected, result.fun_expected) == ({"a": 2}, 5.0)
