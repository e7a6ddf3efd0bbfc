"""A mixture of five components that sum to 100 %, at most three of them used, in steps of 5 %.

Every suggestion has the total, the bounds and the steps. The temperature is a parameter beside it.
"""

from typing import Any

import bktf

NAMES = ["resin", "filler", "solvent", "pigment", "hardener"]


def strength(p: dict[str, Any]) -> float:
    """What a test of the material would give; resin with filler and hardener is best."""
    synergy = 0.02 * p["resin"] * p["hardener"] + 0.01 * p["filler"] * p["resin"]
    waste = 0.2 * p["solvent"] + 0.1 * p["pigment"] + 0.003 * (p["temperature"] - 60) ** 2
    return float(synergy - waste)


if __name__ == "__main__":
    space = [
        bktf.mixture(*NAMES, total=100, step=5, max_nonzero=3, bounds={"resin": (20, 70)}),
        {"temperature": (20.0, 90.0)},
    ]
    result = bktf.maximize(strength, space, n_trials=30, seed=0)
    used = {name: result.x[name] for name in NAMES if result.x[name] > 0}
    print(f"strength {result.fun:.1f} with {used} at {result.x['temperature']:.0f} °C")
    print("sum of every blend that was tried:", {
        round(sum(t.params[name] for name in NAMES), 9) for t in result.study.trials
    })  # fmt: skip
