"""How chains run: in short compiled calls, and in threads that end together."""

import threading
from typing import Any

import numpy as np
import pytest

import bktf
from bktf._compiled.paced_calls import PACE
from bktf.axis_kernels import between_points
from bktf.components import gibbs, population
from bktf.surrogate import fit_components
from seeds import seeded
from work_clock import WorkClock

AXES = [np.linspace(0, 1, 5), np.linspace(-1, 1, 4)]
X = np.array([[0.0, -1.0], [0.5, 1.0], [1.0, 0.0], [0.25, 1.0]])
Y = np.array([1.0, 2.0, 0.0, 1.5])
SHORT: dict[str, Any] = {"seed": seeded(0), "n_sweeps": 30, "n_burn_in": 10}


def test_compiled_calls_are_short_with_dense_kernels_and_off_grid_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a step costs with a dense kernel is found out by trying: one step, or one draw, at first, then what fits the pace."""
    rng = np.random.default_rng(seeded(0))
    P = rng.uniform(0, 1, (30, 2))
    clock = WorkClock(monkeypatch, cost=PACE / 3.5)
    clock.charge(gibbs, "run", lambda arguments: arguments[7])
    clock.charge(
        between_points, "all_moments_between", lambda arguments: arguments[-1] - arguments[-2]
    )
    settings: dict[str, Any] = {**SHORT, "kernel": "squared_exponential"}
    posterior = bktf.fit([[0.0, 1.0]] * 2, P, P.sum(axis=1), inference="gibbs", **settings)
    assert clock.counts["run"][0] == 1
    assert max(clock.counts["run"]) == 3
    clock.charge(population, "sweep_population", lambda arguments: arguments[7])
    bktf.fit([[0.0, 1.0]] * 2, P, P.sum(axis=1), n_chains=2, **settings)
    assert clock.counts["sweep_population"][0] == 1
    assert max(clock.counts["sweep_population"]) == 3
    assert sum(clock.counts["sweep_population"]) == 2 * SHORT["n_sweeps"] * (2 * 2 + 1)
    posterior.mean(rng.uniform(0, 1, (100, 2)))
    assert clock.counts["all_moments_between"][0] == 1
    assert max(clock.counts["all_moments_between"]) == 3


@pytest.mark.parametrize("inference", ["annealed", "gibbs"])
def test_one_failing_chain_stops_the_others(
    inference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "run_population" if inference == "annealed" else "run_chain"
    real = getattr(fit_components, name)
    first, finished = threading.Event(), threading.Event()

    def failing(*arguments: Any) -> Any:
        if not first.is_set():
            first.set()
            raise RuntimeError("broken")
        result = real(*arguments)
        finished.set()  # after ten million sweeps, which take minutes
        return result

    monkeypatch.setattr(fit_components, name, failing)
    with pytest.raises(RuntimeError, match="broken"):
        bktf.fit(
            AXES,
            X,
            Y,
            seed=seeded(0),
            n_chains=fit_components.GROUP + 1,  # in two groups
            n_threads=2,
            inference=inference,
            n_sweeps=10_000_000,
            n_burn_in=9_999_999,
        )
    assert not finished.is_set()
