"""One call instead of a study: what was found, how sure the model is, and what to try next.

Run: python examples/minimize_quickstart.py
"""

from typing import Any

from optuna.distributions import FloatDistribution

import bktf
from bktf.test_functions import tracking_error


def error(params: dict[str, Any]) -> float:
    return tracking_error(params["gain"], params["integral"], params["derivative"])


def main() -> bktf.Result:
    space = {
        "gain": FloatDistribution(0.1, 20.0, log=True),
        "integral": FloatDistribution(0.01, 10.0, log=True),
        "derivative": (0.0, 5.0),
    }
    result = bktf.minimize(error, space, n_trials=40, seed=0)
    print(result)
    print("\ntry next, two at a time:")
    for params in result.suggest(2):
        print("  ", {name: round(value, 4) for name, value in params.items()})
    around = [[gain, result.x["integral"], result.x["derivative"]] for gain in (1.0, 2.0, 4.0, 8.0)]
    print("\nthe error as the model sees it, along the gain:")
    for (gain, *_), mean, std in zip(
        around, result.posterior.mean(around), result.posterior.std(around), strict=True
    ):
        print(f"   gain {gain:<4} error {mean:.3f} ± {std:.3f}")
    return result


if __name__ == "__main__":
    main()
