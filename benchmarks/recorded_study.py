"""The command line of a small study: runs that are missing are made, then its tables written."""

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.lines import Line, RunKey
from studies.runner import run_missing

TABLES = Path(__file__).parents[1] / "studies" / "results" / "tables"


@dataclass(frozen=True)
class RecordedStudy:
    """What a study runs, where its lines are, and the tables of what is recorded."""

    description: str
    option: str  # what may be chosen, as "--methods"
    choices: Sequence[str]
    n_seeds: int
    lines: Path
    all_runs: Callable[[Sequence[str], int], list[RunKey]]  # of some choices and so many seeds
    run_one: Callable[[RunKey], Line]
    tables: Callable[[], dict[str, str]]  # by name

    def main(self) -> None:
        """Make the runs that are missing and write the tables."""
        parser = argparse.ArgumentParser(
            description=self.description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        add, choices = parser.add_argument, list(self.choices)
        add(
            self.option,
            dest="chosen",
            nargs="+",
            choices=choices,
            default=choices,
            help="only these",
        )
        add("--seeds", type=int, default=self.n_seeds, help=f"of each (default: {self.n_seeds})")
        add("--jobs", type=int, default=2, help="runs at a time")
        add("--tables", action="store_true", help="tables of what is recorded, run nothing")
        asked = parser.parse_args()
        warnings.simplefilter("ignore")
        if not asked.tables:
            runs = self.all_runs(asked.chosen, asked.seeds)
            run_missing(self.lines, runs, self.run_one, asked.jobs)
        for name, table in self.tables().items():
            print(table)
            (TABLES / f"{name}.md").write_text(table + "\n", encoding="utf-8")
