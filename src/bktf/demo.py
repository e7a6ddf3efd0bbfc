"""`bktf demo`: the Hartmann function in six dimensions, which has several local optima."""

import sys
from typing import Any

import numpy as np

from bktf.optimize import Result, minimize
from bktf.test_functions import hartmann6 as hartmann6_at
from bktf.test_functions import tracking_error as tracking_error  # version 0.1 had it here

OPTIMUM = -3.32237
SPACE = {f"x{d + 1}": (0.0, 1.0) for d in range(6)}
NEXT = """
Next: README.md has the same in fifteen lines for Optuna; examples/ has mixed spaces and parallel
workers; `bktf suggest --help` is for experiments run by hand; docs/sampler.md says how a suggestion
is made."""


def hartmann6(params: dict[str, Any]) -> float:
    """The Hartmann function of x1 … x6 in [0, 1]."""
    return float(hartmann6_at(np.array([[params[name] for name in SPACE]]))[0])


def run_demo(n_trials: int, seed: int) -> Result:
    """Optimise, and print what was found and how good it is."""
    task = "find the smallest value of the Hartmann function in six dimensions"
    print(f"bktf demo: {task}, {n_trials} evaluations, seed {seed}.")
    print(f"Its optimum is known, {OPTIMUM}, so we can tell how close we come.\n", flush=True)
    result = minimize(
        hartmann6,
        SPACE,
        n_trials=n_trials,
        seed=seed,
        show_progress_bar=sys.stderr.isatty() or None,
    )
    rng = np.random.default_rng(seed)
    random = [
        min(hartmann6(dict(zip(SPACE, x, strict=True))) for x in rng.random((n_trials, 6)))
        for _ in range(100)
    ]
    best = np.minimum.accumulate([t.value for t in result.study.trials if t.value is not None])
    print("best value so far   " + _sparkline(-best) + f"   {best[0]:.3f} → {best[-1]:.3f}\n")
    print(result)
    print(f"\nthe known optimum    {OPTIMUM:.4f}")
    print(f"found                {result.fun:.4f}   (off by {result.fun - OPTIMUM:.4f})")
    runs = f"median of 100 runs of {n_trials} evaluations"
    print(f"random search        {np.median(random):.4f}   ({runs})")
    print(NEXT)
    return result


def _sparkline(values: Any) -> str:
    """A small picture of a rising curve."""
    bars = "▁▂▃▄▅▆▇█"
    thinned = np.asarray(values)[np.linspace(0, len(values) - 1, min(len(values), 60)).astype(int)]
    span = float(np.ptp(thinned)) or 1.0
    return "".join(bars[min(7, int(8 * (v - thinned[0]) / span))] for v in thinned)
