"""Choosing from a list of what is on the shelf: four rounds of four solvents each.

`bktf.suggest_from` takes a table of candidates and a table of results, and names the rows to try
next. Nothing outside the list is suggested, and no row twice. pandas is not needed: a list of
dictionaries, or a dictionary of columns, does as well.
"""

import math
import random
from typing import Any

import bktf

Row = dict[str, Any]


def shelf(n: int = 300) -> list[Row]:
    """What is available: numbers that describe each item, and its supplier."""
    pick = random.Random(0)
    return [
        {
            "boiling_point": pick.randint(40, 200),
            "polarity": round(pick.uniform(0.0, 1.0), 3),
            "supplier": pick.choice(["A", "B", "C"]),
        }
        for _ in range(n)
    ]


def measured_yield(row: Row) -> float:
    """The experiment; the best possible yield is 92."""
    heat = ((row["boiling_point"] - 110) / 50) ** 2
    peak: float = 92 * math.exp(-heat - 4 * float(row["polarity"] - 0.6) ** 2)
    return peak - (3.0 if row["supplier"] == "B" else 0.0)


if __name__ == "__main__":
    candidates = shelf()
    results: list[Row] = []
    for number in range(1, 5):
        chosen = bktf.suggest_from(
            candidates, results, target="yield", direction="maximize", n=4, seed=0
        )
        for label in chosen:
            results.append({**candidates[label], "yield": measured_yield(candidates[label])})
        best = max(results, key=lambda row: float(row["yield"]))
        print(f"round {number}: rows {chosen}, best yield {best['yield']:.1f}")
    possible = max(measured_yield(row) for row in candidates)
    print(f"best of all {len(candidates)} candidates: {possible:.1f}")
