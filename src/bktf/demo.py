"""`bktf demo`: the Hartmann function in six dimensions, a standard test with a narrow optimum and several false ones."""

import sys
from typing import Any

import numpy as np

from bktf.optimize import Result, minimize

# Hartmann-6 as tabulated in the literature on test functions; the paper prints two of these numbers wrongly (docs/paper_deviations.md).
_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_WIDTHS = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)  # fmt: skip
_CENTRES = 1e-4 * np.array(
    [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
     [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]
)  # fmt: skip
OPTIMUM = -3.32237
SPACE = {f"x{d + 1}": (0.0, 1.0) for d in range(6)}


def hartmann6(params: dict[str, Any]) -> float:
    """The Hartmann function of x1 … x6 in [0, 1]."""
    x = np.array([params[name] for name in SPACE])
    return float(-(_HEIGHTS * np.exp(-(_WIDTHS * (x - _CENTRES) ** 2).sum(axis=1))).sum())


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
