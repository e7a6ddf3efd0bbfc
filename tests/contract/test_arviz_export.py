"""`Posterior.to_arviz` with a stand-in for ArviZ, in both of its forms, and without it."""

import sys
import types
from typing import Any

import numpy as np
import pytest

import bktf
from seeds import seeded

AXES = [np.linspace(0, 1, 5), np.linspace(-1, 1, 4)]
X = np.array([[0.0, -1.0], [0.5, 1.0], [1.0, 0.0], [0.25, 1.0]])
Y = np.array([1.0, 2.0, 0.0, 1.5])
SHORT: dict[str, Any] = {"seed": seeded(0), "n_sweeps": 30, "n_burn_in": 10}


@pytest.mark.parametrize("new", [False, True])
def test_to_arviz_hands_over_draws_by_chain_in_both_of_its_forms(
    new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def old_form(*, posterior: Any, observed_data: Any, constant_data: Any) -> Any:
        return {
            "posterior": posterior,
            "observed_data": observed_data,
            "constant_data": constant_data,
        }

    def new_form(data: Any) -> Any:
        return data

    arviz = types.ModuleType("arviz")
    arviz.from_dict = new_form if new else old_form  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "arviz", arviz)
    data = bktf.fit(AXES, X, Y, n_chains=3, **SHORT).to_arviz()
    assert data["posterior"]["f"].shape == (3, 20, 4)
    assert data["posterior"]["noise_std"].shape == (3, 20)
    assert data["posterior"]["sorted_lengthscale_1"].shape == (3, 20, 2)
    np.testing.assert_array_equal(data["observed_data"]["y"], Y)


def test_without_arviz_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"bktf\[arviz\]"):
        bktf.fit(AXES, X, Y, **SHORT).to_arviz()
