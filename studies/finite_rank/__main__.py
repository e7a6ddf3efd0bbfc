"""The finite-rank model's inference: makes the runs that are missing, then the tables.

python -m studies.finite_rank [--parts mixing rank rules] [--jobs 2] [--tables]
python -m studies.finite_rank --parts screen --screen file.csv
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from studies.finite_rank import mixing, ranks, rules, screen
from studies.lines import Line, RunKey, read_lines
from studies.pages import ROOT, TABLES
from studies.runner import run_missing

LINES = ROOT / "studies" / "results" / "finite_rank.jsonl"


class Part(NamedTuple):
    """One part of the study: its runs, and the tables of its lines by name."""

    runs: Callable[[], list[RunKey]]
    run_one: Callable[..., Line]
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
    "rules": Part(rules.rule_runs, rules.run_rule, {"rank_rules": rules.rules_table}),
    "screen": Part(screen.screen_runs, screen.run_screen, {"rank_screen": screen.screen_table}),
}


def tables(lines: Sequence[Line], parts: Sequence[str] = tuple(PARTS)) -> dict[str, str]:
    """The tables of these parts by name."""
    return {
        name: make([line for line in lines if line["experiment"] == part])
        for part in parts
        for name, make in PARTS[part].tables.items()
    }


def main() -> int:
    """Make the runs that are missing and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--screen", type=Path, help="table of a complete screen, for that part")
    parser.add_argument("--tables", action="store_true", help="only write tables of what is there")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if not asked.tables:
        for name in asked.parts:
            run_one = PARTS[name].run_one
            if name == "screen":
                if asked.screen is None:
                    continue
                run_one = partial(screen.run_screen, asked.screen)
            run_missing(LINES, PARTS[name].runs(), run_one, asked.jobs)
    for name, text in tables(read_lines(LINES), asked.parts).items():
        print(f"{name}\n\n{text}\n")
        (TABLES / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
