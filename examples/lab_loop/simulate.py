"""Fill in the pending rows of a table with a simulated reaction, with noise and two failures.

Run: python examples/lab_loop/simulate.py results.csv
The best possible yield is 90 %, at 85 °C, 8 h, 550 rpm, 0.5 mol, Pd.
"""

import csv
import math
import sys
from pathlib import Path

import numpy as np

FAILING_ROWS = (4, 15)  # as a spreadsheet counts them


def reaction(row: dict[str, str]) -> float:
    """The yield in percent, without noise."""
    lost = {"Pd": 0.0, "Ni": 9.0, "Cu": 22.0}[row["catalyst"]]
    best_temperature = {"Pd": 85.0, "Ni": 65.0, "Cu": 95.0}[row["catalyst"]]
    heat = 12 * ((float(row["temperature"]) - best_temperature) / 30) ** 2
    time = 2.5 * math.log2(float(row["time"]) / 8) ** 2
    stirring = 6 * ((float(row["stirring"]) - 550) / 300) ** 2
    return 90 - lost - heat - time - stirring - 5 * abs(math.log2(float(row["dose"]) / 0.5))


def main(path: Path) -> None:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows, start=2):
        if not row["yield"]:
            noise = np.random.default_rng(number).normal(0, 0.5)
            row["yield"] = "failed" if number in FAILING_ROWS else f"{reaction(row) + noise:.1f}"
            print(f"row {number}: {row['yield']}")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
