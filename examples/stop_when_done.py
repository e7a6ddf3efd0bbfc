"""Stop when the best point is good enough, and see how sure the model is of the optimum.

python examples/stop_when_done.py
"""

import math

import bktf


def loss(p: dict[str, float]) -> float:
    """A smooth valley with its smallest value 0 at (0.3, 20)."""
    return (p["rate"] - 0.3) ** 2 + 0.2 * math.log10(p["width"] / 20) ** 2


def main() -> None:
    """A budget of a hundred evaluations, of which few are needed."""
    stop = bktf.StopWhenConverged(tolerance=0.005)  # in units of the loss; 80 % sure
    space = {"rate": (0.0, 1.0), "width": (1, 100)}
    result = bktf.minimize(loss, space, n_trials=100, seed=0, stop=stop)
    print(f"{result.nfev} of 100 evaluations; {result.message}")

    found = bktf.optimum(result)
    print(found)
    low, high = found.region("rate")[0]
    print(f"for 90 % of the functions the best rate lies between {low:.2f} and {high:.2f}")


if __name__ == "__main__":
    main()
