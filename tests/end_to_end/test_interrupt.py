"""Ctrl-C is heard soon, in one chain and in several, and says nothing of the point that was being tried."""

import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import Trial, TrialState

import bktf
from bktf._compiled.paced_calls import PACE
from bktf.components import gibbs, population
from bktf.components.chains import FIRST_CALL, PER_OBSERVATION
from bktf.engine import History
from bktf.optuna_sampler import TrialConverter, duplicate_avoidance, objective_of, read_all
from bktf.spaces import parameters_of
from seeds import seeded
from work_clock import WorkClock

LONG = """
import signal, sys, time, numpy as np, bktf
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts the tests in the background has them ignore it
rng = np.random.default_rng(0)
axes = [np.linspace(0, 1, 50)] * 6
X = rng.integers(0, 50, (100_000, 6)) / 49
print("started", flush=True)
try:
    bktf.fit(axes, X, X.sum(axis=1), seed=0, n_sweeps=100_000, n_burn_in=99_999, n_chains=CHAINS)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("n_chains", [1, 2])
def test_ctrl_c_ends_a_long_fit_soon(n_chains: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LONG.replace("CHAINS", str(n_chains))],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "started\n"
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)  # the fit would take hours
        assert out == "interrupted\n"
    finally:
        process.kill()


COMPILED = {"gibbs": (gibbs, "run"), "annealed": (population, "sweep_population")}


@pytest.mark.parametrize("inference", list(COMPILED))
@pytest.mark.parametrize("cost", [2 * PACE, PACE / 1.5, PACE / 2.5, PACE / 100])
def test_a_compiled_call_does_one_step_or_as_many_as_the_pace_allows(
    cost: float, inference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100,000 observations: Ctrl-C waits for one update of one axis, or for PACE seconds, by a clock that counts steps."""
    rng = np.random.default_rng(seeded(0))
    clock = WorkClock(monkeypatch, cost)
    module, name = COMPILED[inference]
    clock.charge(module, name, lambda arguments: arguments[7])
    X = rng.integers(0, 50, (100_000, 6)) / 49
    axes, lengths = [np.linspace(0, 1, 50)] * 6, {"n_sweeps": 4, "n_burn_in": 3}
    bktf.fit(axes, X, X.sum(axis=1), seed=seeded(0), inference=inference, **lengths)  # type: ignore[arg-type]
    counts = clock.counts[name]
    # Steps: two components on six axes, weights and noise; annealed, six axes once more
    assert sum(counts) == 4 * (2 * 6 + 1 + (6 if inference == "annealed" else 0))
    assert counts[0] * 100_000 * PER_OBSERVATION <= FIRST_CALL
    assert max(counts[1:]) <= max(1, PACE / cost)


@pytest.mark.parametrize("inference", list(COMPILED))
def test_the_first_compiled_call_is_one_step_where_every_coordinate_is_different(
    inference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seeded(0))
    clock = WorkClock(monkeypatch, PACE)
    module, name = COMPILED[inference]
    clock.charge(module, name, lambda arguments: arguments[7])
    X = rng.uniform(0, 1, (100_000, 2))
    axes, lengths = [[0.0, 1.0]] * 2, {"n_sweeps": 2, "n_burn_in": 1}
    bktf.fit(axes, X, X.sum(axis=1), seed=seeded(0), inference=inference, **lengths)  # type: ignore[arg-type]
    assert clock.counts[name] == [1] * 2 * (2 * 2 + 1 + (2 if inference == "annealed" else 0))


# --- the point that was being tried
# ------------------------------------------------------------------------------

SPACE = {"x": (0, 3), "y": (0, 2)}
GRID: dict[str, BaseDistribution] = {"x": IntDistribution(0, 3), "y": IntDistribution(0, 2)}
SETTINGS: dict[str, Any] = {
    "seed": 0,
    "n_startup_trials": 1000,
}  # start points alone: nothing to fit
N_BEFORE = 5


def history(study: Study) -> History:
    converter = TrialConverter(parameters_of(GRID, ()), objective_of(study))
    return converter.history(read_all(study), -1, datetime.now())


def assert_says_nothing_and_is_tried_again(study: Study, go_on: Callable[[], object]) -> None:
    """The trial after N_BEFORE others was interrupted."""
    lost = study.trials[-1]
    assert (lost.number, lost.state) == (N_BEFORE, TrialState.FAIL)
    assert len(history(study).failed) == 0
    assert len(history(study).tried) == N_BEFORE
    assert len(history(study).pending) == 0
    go_on()
    done = [(t.params["x"], t.params["y"]) for t in study.trials if t.state == TrialState.COMPLETE]
    assert sorted(done) == [(x, y) for x in range(4) for y in range(3)]


def interrupt_after_publishing(monkeypatch: pytest.MonkeyPatch) -> None:
    publish = duplicate_avoidance.publish

    def publish_and_interrupt(study: Any, trial: Any, *rest: Any) -> None:
        publish(study, trial, *rest)
        if trial.number == N_BEFORE:
            raise KeyboardInterrupt

    monkeypatch.setattr(duplicate_avoidance, "publish", publish_and_interrupt)


@pytest.mark.parametrize("moment", ["in the objective", "after publishing"])
@pytest.mark.parametrize("around", [False, True])
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_ctrl_c_in_a_study_says_nothing_of_the_point(
    moment: str, around: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if moment == "after publishing":
        interrupt_after_publishing(monkeypatch)
    sampler: optuna.samplers.BaseSampler = bktf.BKTFSampler(**SETTINGS)
    study = optuna.create_study(
        sampler=optuna.samplers.PartialFixedSampler({}, sampler) if around else sampler
    )

    def objective(trial: Trial) -> float:
        x, y = trial.suggest_int("x", 0, 3), trial.suggest_int("y", 0, 2)
        if trial.number == N_BEFORE:
            raise KeyboardInterrupt
        return float(x + y)

    with pytest.raises(KeyboardInterrupt):
        study.optimize(objective, n_trials=20)
    assert_says_nothing_and_is_tried_again(study, lambda: study.optimize(objective, n_trials=20))


@pytest.mark.parametrize("moment", ["in the objective", "after publishing", "in suggest_int"])
def test_ctrl_c_in_minimize_says_nothing_of_the_point(
    moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if moment == "after publishing":
        interrupt_after_publishing(monkeypatch)
    monkeypatch.setattr(
        "bktf.optuna_sampler.sampler.ends_with_interrupt", lambda: False
    )  # `minimize` does not need it
    suggest_int = Trial.suggest_int

    def suggest_and_interrupt(trial: Trial, name: str, *rest: Any, **further: Any) -> int:
        value = suggest_int(trial, name, *rest, **further)
        if (trial.number, name) == (N_BEFORE, "y"):
            raise KeyboardInterrupt
        return value

    if moment == "in suggest_int":
        monkeypatch.setattr(Trial, "suggest_int", suggest_and_interrupt)
    calls: list[int] = []

    def fn(params: dict[str, Any]) -> float:
        calls.append(1)
        if moment == "in the objective" and len(calls) == N_BEFORE + 1:
            raise KeyboardInterrupt
        return float(params["x"] + params["y"])

    storage = optuna.storages.InMemoryStorage()
    first = bktf.minimize(fn, SPACE, n_trials=20, storage=storage, **SETTINGS)
    assert (first.message, first.nfev) == ("interrupted", N_BEFORE)
    assert_says_nothing_and_is_tried_again(
        first.study, lambda: bktf.minimize(fn, SPACE, n_trials=20, storage=storage, **SETTINGS)
    )


def test_nan_and_caught_exceptions_and_dead_workers_still_count_as_failures() -> None:
    study = optuna.create_study(sampler=bktf.BKTFSampler(search_space=GRID, **SETTINGS))

    def objective(trial: Trial) -> float:
        x = trial.suggest_int("x", 0, 3) + trial.suggest_int("y", 0, 2)
        if trial.number == 1:
            raise OSError("disk full")
        return math.nan if trial.number == 0 else float(x)

    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:  # one that was dealt with before is not that of a trial
        study.optimize(objective, n_trials=3, catch=OSError)
    dead = study.ask(GRID)
    study._storage.set_trial_state_values(
        dead._trial_id, TrialState.FAIL
    )  # what a heartbeat that stopped leads to
    assert len(history(study).failed) == 3
    assert len(history(study).y) == 1
