"""A mixed space with a constraint between parameters, and runs that fail.

A simulated coating process: the best result needs the right solvent, a moderate temperature and
few, thin layers. Above the solvent's boiling point a run fails (NaN), and thickness times layers
may not exceed what the part can carry.

Run: python examples/mixed_space.py
"""

import math
from typing import Any

from optuna.distributions import FloatDistribution

import bktf

BOILING = {"ethanol": 78.0, "toluene": 111.0, "water": 100.0}
BEST_RATE = {"ethanol": 0.3, "toluene": 0.05, "water": 1.0}


def roughness(params: dict[str, Any]) -> float:
    """Surface roughness in micrometres; smaller is better."""
    solvent = params["solvent"]
    if params["temperature"] >= BOILING[solvent]:
        return math.nan
    dryness = (BOILING[solvent] - params["temperature"] - 15.0) / 20.0
    rate = math.log10(params["rate"] / BEST_RATE[solvent])
    curing = {"none": 0.6, "mild": 0.1, "strong": 0.3}[params["curing"]]
    base = {"ethanol": 0.35, "toluene": 0.2, "water": 0.9}[solvent]
    value = (
        base
        + 0.4 * dryness**2
        + 0.5 * rate**2
        + curing
        + 0.15 * abs(params["layers"] - 3)
        + 0.01 * (params["thickness"] - 20) ** 2 / 20
    )
    return float(value)


def carries(params: dict[str, Any]) -> bool:
    """Whether the part can carry the coating."""
    return bool(params["layers"] * params["thickness"] <= 90)


def main() -> bktf.Result:
    space = {
        "solvent": bktf.choices("ethanol", "toluene", "water"),
        "curing": bktf.choices("none", "mild", "strong", ordered=True),
        "temperature": (40.0, 120.0),
        "rate": FloatDistribution(0.01, 10.0, log=True),
        "layers": (1, 8),
        "thickness": [5, 10, 20, 40],
    }
    result = bktf.minimize(roughness, space, n_trials=50, seed=0, feasible=carries)
    print(result)
    failed = sum(trial.state.name == "FAIL" for trial in result.study.trials)
    respected = "every one respected layers × thickness ≤ 90"
    print(f"{failed} of {len(result.study.trials)} runs failed; {respected}")
    return result


if __name__ == "__main__":
    main()
