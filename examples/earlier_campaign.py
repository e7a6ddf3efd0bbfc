"""A new material, and last year's results with another one: what carries over is learned.

The optimum has moved and the values are on another scale, so last year's best recipe is not the
answer. With its results as `earlier`, the search begins near it and corrects itself.
"""

import random
from typing import Any

import bktf

SPACE = {"temperature": (20.0, 120.0), "time": (1.0, 24.0), "catalyst": bktf.choices("Pd", "Ni")}


def conversion(p: dict[str, Any], temperature: float, time: float) -> float:
    """A reaction with its optimum at a temperature and a time."""
    distance = ((p["temperature"] - temperature) / 40) ** 2 + ((p["time"] - time) / 8) ** 2
    return float(100 / (1 + distance) - 15 * (p["catalyst"] == "Ni"))


def last_year() -> list[dict[str, Any]]:
    """Forty results with the old material, in other units."""
    pick = random.Random(1)
    rows = [
        {
            "temperature": round(pick.uniform(20, 120), 1),
            "time": round(pick.uniform(1, 24), 1),
            "catalyst": pick.choice(["Pd", "Ni"]),
        }
        for _ in range(40)
    ]
    return [{**row, "area": 3.2 * conversion(row, 70, 9) + 40} for row in rows]


if __name__ == "__main__":

    def experiment(p: dict[str, Any]) -> float:
        """The new material: the optimum is 100, at 80 °C and 11 h."""
        return conversion(p, 80, 11)

    earlier = [bktf.earlier(last_year(), target="area")]
    for name, given in (("fresh start", None), ("with last year's results", earlier)):
        found = bktf.maximize(experiment, SPACE, n_trials=10, seed=0, earlier=given)
        print(f"{name}: {found.fun:.1f} after 10 experiments")
