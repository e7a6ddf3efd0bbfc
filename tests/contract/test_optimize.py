"""minimize, maximize and their result."""

import io
import itertools
import logging
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import TrialState

import bktf
from bktf.surrogate import Warp
from seeds import seeded

SQUARE = {"x": (-5.0, 5.0), "y": (-5.0, 5.0)}


def bowl(params: dict[str, Any]) -> float:
    return float((params["x"] - 1) ** 2 + (params["y"] + 2) ** 2)


def test_a_bowl_is_minimised_and_the_result_says_so() -> None:
    result = bktf.minimize(bowl, SQUARE, n_trials=30, seed=seeded(0))
    assert (
        result.fun == bowl(result.x) <= 0.05
    )  # at most 1.2e-4 (eight seeds); random search in one run of 22
    assert result.nfev == len(result.study.trials) == 30
    text = str(result).splitlines()
    assert text[0] == f"smallest value {result.fun:.6g} after 30 evaluations; all evaluations made"
    assert text[1].startswith("  x = ")
    assert text[3].startswith("the model puts the function there at ")
    assert any(
        line.startswith("improvement expected of one more evaluation: ") for line in text[4:]
    )


def test_maximize_finds_the_top_and_answers_in_the_users_direction() -> None:
    result = bktf.maximize(lambda p: 10 - bowl(p), SQUARE, n_trials=25, seed=seeded(0))
    assert result.fun > 9.8  # at least 9.9998, and the mean there 9.9994 (eight seeds)
    best = [[result.x["x"], result.x["y"]]]
    assert result.posterior.mean(best)[0] == pytest.approx(10, abs=2)
    assert result.posterior.mean([[-5.0, 5.0]])[0] < 0  # -75 in truth, -63 ± 3 in those runs
    assert str(result).startswith("largest value")


def test_suggest_gives_points_to_try_together() -> None:
    result = bktf.minimize(
        bowl,
        {"x": (-3, 3), "y": (-5.0, 5.0), "unit": bktf.choices("mm")},
        n_trials=20,
        seed=seeded(0),
    )
    batch = result.suggest(4)
    assert len({tuple(p.items()) for p in batch}) == 4
    for params in batch:
        assert list(params) == ["unit", "x", "y"] or set(params) == {"x", "y", "unit"}
        assert isinstance(params["x"], int)
        assert params["unit"] == "mm"
    with pytest.raises(ValueError, match="q must be a whole number"):
        result.suggest(0)


def test_an_exhausted_space_ends_early_and_has_nothing_left_to_suggest() -> None:
    result = bktf.minimize(lambda p: float(p["n"]), {"n": [3, 5, 8]}, n_trials=20, seed=seeded(0))
    assert (result.nfev, result.x, result.message) == (3, {"n": 3}, "every point was tried")
    assert result.suggest(2) == []


def test_columns_of_the_posterior_are_the_parameters_in_their_units() -> None:
    space = {
        "rate": FloatDistribution(1e-5, 1.0, log=True),
        "size": [16, 32, 64],
        "kind": bktf.choices("a", "b"),
    }
    result = bktf.minimize(
        lambda p: abs(math.log10(p["rate"]) + 3) + p["size"] / 64 + (p["kind"] == "a"), space, n_trials=20, seed=seeded(0)
    )  # fmt: skip
    low, high = result.posterior.axes[0][[0, -1]]
    assert (low, high) == pytest.approx((1e-5, 1.0))
    assert result.posterior.axes[1].tolist() == [16, 32, 64]
    assert result.posterior.axes[2].tolist() == [0, 1]
    assert result.posterior.mean([[1e-3, 16, 1], [1.0, 64, 0]]).tolist() == sorted(
        result.posterior.mean([[1e-3, 16, 1], [1.0, 64, 0]])
    )


def test_failures_are_counted_and_a_run_without_any_value_is_an_error() -> None:
    result = bktf.minimize(
        lambda p: math.nan if p["x"] > 0 else p["x"],
        {"x": (-1.0, 1.0)},
        n_trials=15,
        seed=seeded(0),
    )
    assert "that failed" in str(result).splitlines()[0]
    with pytest.raises(RuntimeError, match="none of the 4 evaluations gave a finite value"):
        bktf.minimize(lambda _: math.nan, SQUARE, n_trials=4, seed=seeded(0))


def test_an_exception_ends_the_run_but_loses_nothing_unless_it_is_to_be_caught() -> None:
    calls: list[int] = []

    def breaks(params: dict[str, Any]) -> float:
        calls.append(1)
        if len(calls) == 9:
            raise OSError("disk full")
        return bowl(params)

    with pytest.raises(OSError, match="disk full") as caught:
        bktf.minimize(breaks, SQUARE, n_trials=20, seed=seeded(0))
    assert caught.value.result.nfev == 8  # type: ignore[attr-defined]
    assert "result" in caught.value.__notes__[0]
    calls.clear()
    level = optuna.logging.get_verbosity()
    assert bktf.minimize(breaks, SQUARE, n_trials=12, seed=seeded(0), catch=OSError).nfev == 11
    assert optuna.logging.get_verbosity() == level


def test_a_run_goes_on_from_its_storage(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/run.db"
    first = bktf.minimize(bowl, SQUARE, n_trials=8, seed=seeded(3), storage=storage)
    second = bktf.minimize(bowl, SQUARE, n_trials=6, seed=seeded(3), storage=storage)
    whole = bktf.minimize(bowl, SQUARE, n_trials=14, seed=seeded(3))
    assert (first.nfev, second.nfev) == (8, 14)
    assert [t.params for t in second.study.trials] == [t.params for t in whole.study.trials]
    with pytest.raises(ValueError, match="is there to minimize; give another study_name"):
        bktf.maximize(bowl, SQUARE, n_trials=1, storage=storage)


def test_callbacks_are_called_and_can_stop_the_run() -> None:
    seen: list[int] = []

    def callback(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        seen.append(trial.number)
        if trial.number == 4:
            study.stop()

    result = bktf.minimize(bowl, SQUARE, n_trials=50, seed=seeded(0), callbacks=[callback])
    assert seen == [0, 1, 2, 3, 4]
    assert result.message == "stopped early"


def test_a_timeout_ends_the_run_and_jobs_run_at_the_same_time() -> None:
    calls, together = itertools.count(), threading.Barrier(2, timeout=120)

    def waits_for_another(params: dict[str, Any]) -> float:
        if next(calls) < 2:
            # Breaks, and with it the run, unless two evaluations are under way at the same time
            together.wait()
        return bowl(params)

    result = bktf.minimize(
        waits_for_another, SQUARE, n_trials=None, timeout=2.0, n_jobs=3, seed=seeded(0)
    )
    assert result.message == "the time was up"


def test_eight_threads_try_every_point_of_a_known_space_once() -> None:
    calls, lock, all_eight = [0], threading.Lock(), threading.Barrier(8)

    def together(params: dict[str, Any]) -> float:
        with lock:
            calls[0] += 1
            is_first = calls[0] <= 8
        if is_first:  # nothing has finished before all eight have begun
            all_eight.wait(timeout=60)
        return bowl(params)

    result = bktf.minimize(
        together,
        {"x": (0, 3), "y": (0, 2)},
        n_trials=20,
        n_jobs=8,
        seed=seeded(0),
        n_startup_trials=100,
    )
    done = [tuple(t.params.values()) for t in result.study.trials if t.state == TrialState.COMPLETE]
    assert len(done) == len(set(done)) == 12


def test_the_progress_bar_shows_the_best_value_and_the_expected_gain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    bktf.minimize(bowl, SQUARE, n_trials=10, seed=seeded(0), show_progress_bar=True)
    assert "10/10" in screen.getvalue()
    assert "best=" in screen.getvalue()
    assert "expected gain=" in screen.getvalue()


INTERRUPTED = """
import signal, time, bktf
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts the tests in the background has them ignore it
def fn(p):
    print("evaluated", flush=True)
    time.sleep(0.2)
    return p["x"]
result = bktf.minimize(fn, {"x": (0.0, 1.0)}, n_trials=1000, seed=0)
print(result.message, result.nfev)
"""


def test_ctrl_c_returns_what_there_is() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert process.stdout is not None
    for _ in range(4):
        assert process.stdout.readline() == "evaluated\n"
    process.send_signal(signal.SIGINT)
    *evaluated, last = process.communicate(timeout=120)[0].splitlines()
    begun = 4 + len(evaluated)  # the signal may come late, during the last evaluation or after it
    assert last in (f"interrupted {begun - 1}", f"interrupted {begun}")
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fn": 3}, "fn must be a function"),
        ({"space": {}}, "space must be a dictionary"),
        ({"n_trials": 0}, "n_trials must be a whole number of at least 1"),
        ({"n_trials": None}, "give timeout= as well"),
        ({"acquisition": "pi"}, "acquisition must be one of"),
        ({"fn": lambda _: "much"}, "fn must return a number; got 'much'"),
        ({"fn": lambda _: None}, "fn must return a number; got None"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bktf.minimize(**{"fn": bowl, "space": SQUARE, "n_trials": 2, **arguments})


def test_a_space_with_nothing_to_choose_is_evaluated_and_says_so() -> None:
    result = bktf.minimize(lambda p: float(p["x"]), {"x": (3, 3)}, n_trials=1)
    assert (result.x, result.fun) == ({"x": 3}, 3.0)
    assert "x = 3" in str(result)
    with pytest.raises(ValueError, match="nothing to model"):
        _ = result.posterior


def test_numpy_numbers_are_fine_as_values_and_logging_stays_as_it_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "optuna"):
        result = bktf.minimize(
            lambda p: np.float32(p["x"]), {"x": (0.0, 1.0)}, n_trials=7, seed=seeded(0)
        )
    assert isinstance(result.fun, float)
    assert not caplog.records


def test_a_finite_space_with_a_feasible_function_is_tried_once_and_stops() -> None:
    space = {"a": (0, 4), "b": (0, 4)}
    result = bktf.minimize(
        lambda p: p["a"] + p["b"],
        space,
        n_trials=30,
        feasible=lambda p: bool(p["a"] == p["b"]),
        seed=seeded(0),
    )
    assert len(result.study.trials) == 5
    assert result.message == "every point was tried"
    assert result.suggest(1) == []


def test_a_resumed_run_answers_for_the_space_it_was_given(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/run.db"
    bktf.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, n_trials=6, seed=seeded(0), storage=storage)
    narrower = bktf.minimize(
        lambda p: p["x"], {"x": (0.5, 1.0)}, n_trials=6, seed=seeded(0), storage=storage
    )
    assert narrower.x["x"] >= 0.5
    assert "smallest value" in str(narrower)
    wider = bktf.minimize(
        lambda p: p["x"] + p["y"],
        {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        n_trials=3,
        seed=seeded(0),
        storage=storage,
    )
    assert set(wider.x) == {"x", "y"}
    assert "smallest value" in str(wider)


@pytest.mark.parametrize(
    "entry",
    [
        FloatDistribution(1.0, 1.00000001, log=True),
        FloatDistribution(5.0, 5.0000001),
        IntDistribution(2**53, 2**53 + 6),
    ],
)
def test_a_range_too_narrow_for_its_size_is_drawn_independently(entry: Any) -> None:
    result = bktf.minimize(
        lambda p: float(p["x"]) * 0 + p["y"],
        {"x": entry, "y": (0.0, 1.0)},
        n_trials=10,
        seed=seeded(0),
    )
    assert result.nfev == 10


def test_values_over_hundreds_of_decades_are_compressed() -> None:
    result = bktf.minimize(
        lambda p: 10.0 ** p["x"], {"x": (-200.0, 200.0)}, n_trials=12, seed=seeded(0)
    )
    assert (
        result.fun < 1e-50
    )  # holds for the start alone: one of its first four points lies in the lowest quarter
    for y in ([1e308, -1e308, 0.0], [1e-300, 1e300, 1.0], [2.0, 2.0, 2.0], [5.0]):
        values = np.array(y)
        for oriented in (values, -values):
            squeezed = Warp.of(oriented).forward(oriented)
            assert np.all(np.isfinite(squeezed))
            assert np.array_equal(
                np.argsort(squeezed, kind="stable"), np.argsort(oriented, kind="stable")
            )


def test_what_a_result_says_is_true() -> None:
    exhausted = bktf.minimize(
        lambda p: float(p["a"]), {"a": (0, 3), "b": (0, 3)}, n_trials=20, seed=seeded(0)
    )
    assert "expected of one more" not in str(exhausted)
    stopped = bktf.minimize(
        lambda p: p["x"], {"x": (0.0, 1.0)}, n_trials=9, seed=seeded(0), timeout=1000, callbacks=[lambda study, _: study.stop()]
    )  # fmt: skip
    assert stopped.message == "stopped early"


def test_an_interrupted_evaluation_is_not_a_failure() -> None:
    def interrupted(params: dict[str, Any]) -> float:
        if len(seen) == 7:
            raise KeyboardInterrupt
        seen.append(params)
        return float(params["x"])

    seen: list[dict[str, Any]] = []
    result = bktf.minimize(interrupted, {"x": (0.0, 1.0)}, n_trials=20, seed=seeded(0))
    assert str(result).startswith(
        f"smallest value {result.fun:.6g} after 7 evaluations; interrupted"
    )
    assert result._model.chance is None


def test_a_result_pickles_after_failures_and_questions() -> None:
    result = bktf.minimize(_fails_above, {"x": (0.0, 1.0)}, n_trials=12, seed=seeded(0))
    batch = result.suggest(2)
    assert pickle.loads(pickle.dumps(result)).suggest(2) == batch


def _fails_above(params: dict[str, Any]) -> float:
    return math.nan if params["x"] > 0.6 else float(params["x"])
