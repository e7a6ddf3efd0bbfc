"""The finite-rank model's inference: makes the runs that are missing, then the tables.

python -m studies.finite_rank [--parts mixing rank] [--jobs 2] [--tables]
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

from studies.finite_rank import mixing, ranks
from studies.lines import Line, RunKey, read_lines
from studies.pages import ROOT, TABLES
from studies.runner import run_missing

LINES = ROOT / "studies" / "results" / "finite_rank.jsonl"


class Part(NamedTuple):
    """One part of the study: its runs, and the tables of its lines by name."""

    runs: Callable[[], list[RunKey]]
    run_one: Callable[[RunKey], Line]
    tables: dict[str, Callable[[Sequence[Line]], str]]


PARTS = {
    "mixing": Part(
        lambda: mixing.mixing_runs(list(mixing.METHODS), mixing.N_SETS),
        mixing.run_mixing,
        {"finite_rank_mixing": mixing.mixing_table, "finite_rank_coverage": mixing.coverage_table},
    ),
    "rank": Part(
        ranks.rank_runs,
        ranks.run_rank,
        {"rank_recovery": ranks.recovery_table, "rank_calibration": ranks.calibration_table},
    ),
}


def main() -> int:
    """Make the runs that are missing and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--tables", action="store_true", help="only write tables of what is there")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.parts:
        part = PARTS[name]
        if not asked.tables:
            run_missing(LINES, part.runs(), part.run_one, asked.jobs)
        lines = [line for line in read_lines(LINES) if line["experiment"] == name]
        for table, make in part.tables.items():
            text = make(lines)
            print(f"{table}\n\n{text}\n")
            (TABLES / f"{table}.md").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
