"""Problems to try: the Hartmann function of `bktf demo`, with a narrow optimum and several false ones, and a PID controller."""

import math
import sys
from typing import Any

import numpy as np

from bktf.experiments.functions import hartmann6 as hartmann6_at
from bktf.optimize import Result, minimize

OPTIMUM = -3.32237
SPACE = {f"x{d + 1}": (0.0, 1.0) for d in range(6)}


def hartmann6(params: dict[str, Any]) -> float:
    """The Hartmann function of x1 … x6 in [0, 1]."""
    return float(hartmann6_at(np.array([[params[name] for name in SPACE]]))[0])


def tracking_error(gain: float, integral: float, derivative: float, filter_time: float = 0.05) -> float:
    """How badly a PID controller follows a step: time-weighted absolute error of 10 seconds, plus a penalty on overshoot.

    The plant is 1 / ((s + 1)(0.5 s + 1)(0.2 s + 1)) with its input limited to ±5; an unstable loop gives a large but finite error.
    """
    dt, a, b, c = 0.01, 0.0, 0.0, 0.0
    accumulated, filtered, before, total, highest = 0.0, 0.0, 1.0, 0.0, 0.0
    for step in range(1000):
        error = 1.0 - c
        accumulated += error * dt
        filtered += ((error - before) / dt - filtered) * min(1.0, dt / filter_time)
        before = error
        drive = max(-5.0, min(5.0, gain * error + integral * accumulated + derivative * filtered))
        a += dt * (drive - a)
        b += dt * (a - b) / 0.5
        c += dt * (b - c) / 0.2
        total += dt * math.sqrt(step * dt) * abs(error)
        highest = max(highest, c)
    return total + 5.0 * max(0.0, highest - 1.02)


def run_demo(n_trials: int, seed: int) -> Result:
    """Optimise, say what was found, and how good it is."""
    print(f"bktf demo: find the smallest value of the Hartmann function in six dimensions, {n_trials} evaluations, seed {seed}.")
    print(f"Its optimum is known, {OPTIMUM}, so we can tell how close we come.\n", flush=True)
    result = minimize(hartmann6, SPACE, n_trials=n_trials, seed=seed, show_progress_bar=sys.stderr.isatty() or None)
    rng = np.random.default_rng(seed)
    random = [min(hartmann6(dict(zip(SPACE, x, strict=True))) for x in rng.random((n_trials, 6))) for _ in range(100)]
    best = np.minimum.accumulate([t.value for t in result.study.trials if t.value is not None])
    print("best value so far   " + _sparkline(-best) + f"   {best[0]:.3f} → {best[-1]:.3f}\n")
    print(result)
    print(f"\nthe known optimum    {OPTIMUM:.4f}")
    print(f"found                {result.fun:.4f}   (off by {result.fun - OPTIMUM:.4f})")
    print(f"random search        {np.median(random):.4f}   (median of 100 runs of {n_trials} evaluations)")
    print(
        "\nNext: README.md has the same in fifteen lines for Optuna; examples/ has mixed spaces and parallel workers; "
        "`bktf suggest --help`\nis for experiments run by hand; docs/sampler.md says how a suggestion is made."
    )
    return result


def _sparkline(values: Any) -> str:
    """A small picture of a rising curve."""
    bars = "▁▂▃▄▅▆▇█"
    thinned = np.asarray(values)[np.linspace(0, len(values) - 1, min(len(values), 60)).astype(int)]
    span = float(np.ptp(thinned)) or 1.0
    return "".join(bars[min(7, int(8 * (v - thinned[0]) / span))] for v in thinned)
