"""Ctrl-C is heard soon, in one chain and in several."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import bktf
from bktf import gibbs
from bktf.chains import FIRST_CALL, PACE, PER_OBSERVATION
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
    process = subprocess.Popen([sys.executable, "-c", LONG.replace("CHAINS", str(n_chains))], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "started\n"
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)  # the fit would take hours
        assert out == "interrupted\n"
    finally:
        process.kill()


@pytest.mark.parametrize("cost", [2 * PACE, PACE / 1.5, PACE / 2.5, PACE / 100])
def test_a_compiled_call_does_one_step_or_as_many_as_the_pace_allows(cost: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """100,000 observations: Ctrl-C waits for one update of one axis, or for PACE seconds, by a clock that counts steps."""
    rng = np.random.default_rng(seeded(0))
    clock = WorkClock(monkeypatch, cost)
    clock.charge(gibbs, "run", lambda arguments: arguments[7])
    X = rng.integers(0, 50, (100_000, 6)) / 49
    bktf.fit([np.linspace(0, 1, 50)] * 6, X, X.sum(axis=1), seed=seeded(0), n_sweeps=4, n_burn_in=3)
    counts = clock.counts["run"]
    assert sum(counts) == 4 * (2 * 6 + 1)  # steps: two components on six axes, then weights and noise
    assert counts[0] * 100_000 * PER_OBSERVATION <= FIRST_CALL
    assert max(counts[1:]) <= max(1, PACE / cost)


def test_the_first_compiled_call_is_one_step_where_every_coordinate_is_different(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seeded(0))
    clock = WorkClock(monkeypatch, PACE)
    clock.charge(gibbs, "run", lambda arguments: arguments[7])
    X = rng.uniform(0, 1, (100_000, 2))
    bktf.fit([[0.0, 1.0]] * 2, X, X.sum(axis=1), seed=seeded(0), n_sweeps=2, n_burn_in=1)
    assert clock.counts["run"] == [1] * 2 * (2 * 2 + 1)
