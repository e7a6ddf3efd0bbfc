"""Things that once went wrong in the hands of a careful reader."""

import contextlib
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bktf
from bktf._compiled.paced_calls import PACE
from bktf.axis_kernels import between_points
from bktf.components import gibbs
from bktf.components.chains import run_chain
from seeds import seeded
from work_clock import WorkClock

AXES = [np.linspace(0, 1, 5), np.linspace(-1, 1, 4)]
X = np.array([[0.0, -1.0], [0.5, 1.0], [1.0, 0.0], [0.25, 1.0]])
Y = np.array([1.0, 2.0, 0.0, 1.5])
SHORT: dict[str, Any] = {"seed": seeded(0), "n_sweeps": 30, "n_burn_in": 10}


def test_a_chain_of_tiny_steps_keeps_every_observation_in_its_place() -> None:
    points = np.array([[3.3], [3.3 + 9e-9], [3.3 + 1.8e-8], [3.3 + 2.7e-8]])
    posterior = bktf.fit([np.linspace(0, 10, 11)], points, [0.0, 0.0, 1.0, 2.0], **SHORT)
    np.testing.assert_allclose(posterior.X, points, atol=1e-8)


def test_a_posteriors_own_axes_are_accepted_again() -> None:
    posterior = bktf.fit([np.linspace(0, 1, 5)], [[0.25 + 1.5e-9], [0.5], [0.75]], [1.0, 2.0, 5.0], **SHORT)
    assert bktf.leave_one_out(posterior, index=[1]).mean.shape == (1,)


def test_compiled_calls_are_short_with_dense_kernels_and_off_grid_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a step costs with a dense kernel is found out by trying: one step, or one draw, at first, then what fits the pace."""
    rng = np.random.default_rng(seeded(0))
    P = rng.uniform(0, 1, (30, 2))
    clock = WorkClock(monkeypatch, cost=PACE / 3.5)
    clock.charge(gibbs, "run", lambda arguments: arguments[7])
    clock.charge(between_points, "all_moments_between", lambda arguments: arguments[-1] - arguments[-2])
    posterior = bktf.fit([[0.0, 1.0]] * 2, P, P.sum(axis=1), kernel="squared_exponential", **SHORT)
    assert clock.counts["run"][0] == 1
    assert max(clock.counts["run"]) == 3
    posterior.mean(rng.uniform(0, 1, (100, 2)))
    assert clock.counts["all_moments_between"][0] == 1
    assert max(clock.counts["all_moments_between"]) == 3


def test_settings_given_as_numpy_numbers_can_be_saved(tmp_path: Path) -> None:
    posterior = bktf.fit(
        AXES, X, Y, seed=seeded(0), n_sweeps=np.int64(20), n_burn_in=np.int64(10), shared_lengthscales=np.bool_(True),  # type: ignore[arg-type]
        priors=bktf.Priors(noise_rate=np.float32(0.01)),  # type: ignore[arg-type]
    )  # fmt: skip
    posterior.save(tmp_path / "p.npz")
    np.testing.assert_array_equal(bktf.load(tmp_path / "p.npz").weights, posterior.weights)


def test_collinear_components_under_a_vague_prior_stay_finite() -> None:
    for seed in range(10):
        posterior = bktf.fit(
            AXES, X[:3], Y[:3], seed=seeded(seed), rank=6, n_sweeps=60, n_burn_in=30, noise_std=0.0, priors=bktf.Priors(weight_var=1e6)
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
    second = bktf.fit([np.linspace(0, 2e6, 5), AXES[1]], X, Y, warm_start=first, seed=seeded(0), n_sweeps=1, n_burn_in=0)
    assert second.lengthscales.min() >= 1e-3


@pytest.mark.parametrize("scale", [2.0**-997, 2.0**-565, 2.0**532, 2.0**997])  # powers of two: the chains stay the same to the last bit
def test_diagnostics_and_leave_one_out_do_not_depend_on_the_units(scale: float) -> None:
    plain, scaled = bktf.fit(AXES, X, Y, **SHORT), bktf.fit(AXES, X, scale * Y, **SHORT)
    np.testing.assert_allclose(scaled.diagnostics().ess, plain.diagnostics().ess, rtol=1e-6)
    assert np.all(np.isfinite(scaled.diagnostics().rhat))
    result = bktf.leave_one_out(scaled)
    assert np.all(np.isfinite(result.std))
    assert np.all(result.std > 0)
    assert "inf" not in str(result)


def test_too_few_draws_are_said_to_be_too_few() -> None:
    assert "too few draws to tell" in str(bktf.fit(AXES, X, Y, seed=seeded(0), n_sweeps=3, n_burn_in=1).diagnostics())


def test_a_huge_known_noise_is_finite() -> None:
    assert np.all(np.isfinite(bktf.fit(AXES, X, Y, noise_std=1e300, **SHORT).noise_std))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"active": [0, 1]}, "must name dimensions"),
        ({"active": 5}, "active must list"),
        ({"active": [("a", 0)]}, "must name dimensions"),
        ({"active": [(True, False)]}, "must name dimensions"),
        ({"axes": None}, "axes must be a list"),
        ({"axes": 5}, "axes must be a list"),
        ({"n_threads": "a"}, "n_threads must be a whole number"),
        ({"n_threads": -1}, "n_threads must be a whole number"),
        ({"shared_lengthscales": "no"}, "True or False"),
        ({"noise_std": True}, "noise_std must be"),
        ({"y": Y + 1j}, "real numbers"),
        ({"y": np.ma.masked_array(Y, [False, True, False, False])}, "y must be finite"),
        ({"kernel": [np.zeros((5, 5)), "matern32"]}, "positive diagonal"),
    ],
)
def test_more_bad_input_gets_one_clear_error(changed: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"axes": AXES, "X": X, "y": Y, **SHORT, **changed}
    with pytest.raises(ValueError, match=message):
        bktf.fit(arguments.pop("axes"), arguments.pop("X"), arguments.pop("y"), **arguments)


def test_odd_arguments_elsewhere_get_clear_errors() -> None:
    posterior = bktf.fit(AXES, X, Y, **SHORT)
    for period in ("x", None, -1.0):
        with pytest.raises(ValueError, match="the period must be"):
            bktf.Periodic(period)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes a bktf"):
        bktf.leave_one_out(3)  # type: ignore[arg-type]
    for index in ([False, True, False, False], [0.7]):
        with pytest.raises(ValueError, match="index must list"):
            bktf.leave_one_out(posterior, index=index)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="level must lie"):
        bktf.leave_one_out(posterior, index=[0]).coverage(90)


def test_damaged_files_are_refused_and_never_crash_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    bktf.fit(AXES, X, Y, seed=seeded(0), n_sweeps=4, n_burn_in=2).save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(seeded(0))
    for _ in range(200):
        broken = bytearray(whole)
        broken[rng.integers(len(whole))] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(broken))
        with contextlib.suppress(ValueError):
            bktf.load(path)
    np.savez(path, settings=np.array('{"format": 1}'))
    with pytest.raises(ValueError, match="is damaged"):
        bktf.load(path)
    np.savez(path, settings=np.array("[1]"))
    with pytest.raises(ValueError, match="not a posterior"):
        bktf.load(path)


def test_one_failing_chain_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    real, first, finished = run_chain, threading.Event(), threading.Event()

    def failing(*arguments: Any) -> Any:
        if not first.is_set():
            first.set()
            raise RuntimeError("broken")
        result = real(*arguments)
        finished.set()  # after ten million sweeps, which take minutes
        return result

    monkeypatch.setattr("bktf.surrogate.fitting.run_chain", failing)
    with pytest.raises(RuntimeError, match="broken"):
        bktf.fit(AXES, X, Y, seed=seeded(0), n_chains=2, n_threads=2, n_sweeps=10_000_000, n_burn_in=9_999_999)
    assert not finished.is_set()


@pytest.mark.parametrize("new", [False, True])
def test_to_arviz_hands_over_draws_by_chain_in_both_of_its_forms(new: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def old_form(*, posterior: Any, observed_data: Any, constant_data: Any) -> Any:
        return {"posterior": posterior, "observed_data": observed_data, "constant_data": constant_data}

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
