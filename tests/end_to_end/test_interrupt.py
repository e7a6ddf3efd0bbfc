"""Ctrl-C is heard soon, in one chain and in several."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from bktf import gibbs

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
        began = time.monotonic()
        out, _ = process.communicate(timeout=20)
        assert out == "interrupted\n"
        assert time.monotonic() - began < 3.0  # 0.2 s and a noisy machine
    finally:
        process.kill()


def test_compiled_calls_return_at_least_every_fifth_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """100,000 observations, every coordinate different: the longest single call, in CPU time of this thread."""
    import bktf

    durations = []
    real = gibbs.run

    def timed(*arguments: object) -> None:
        began = time.thread_time()
        real(*arguments)
        durations.append(time.thread_time() - began)

    rng = np.random.default_rng(0)
    bktf.fit([[0.0, 1.0]] * 2, rng.uniform(0, 1, (50, 2)), rng.standard_normal(50), seed=0, n_sweeps=4, n_burn_in=2)
    monkeypatch.setattr(gibbs, "run", timed)
    X = rng.uniform(0, 1, (100_000, 6))
    bktf.fit([[0.0, 1.0]] * 6, X, X.sum(axis=1), seed=0, n_sweeps=6, n_burn_in=5)
    assert max(durations) < 0.2
