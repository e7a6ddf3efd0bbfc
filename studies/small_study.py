"""The command of a small study: makes the runs that are missing and writes its tables."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from studies.lines import Line, RunKey, read_lines
from studies.pages import TABLES
from studies.runner import run_missing


def run_small_study(
    description: str | None,
    path: Path,
    runs: Sequence[RunKey],
    run_one: Callable[[RunKey], Line],
    tables: Callable[[Sequence[Line]], dict[str, str]],
    n_jobs: int = 2,
) -> int:
    """Make the runs that have no line in a file yet, n_jobs at a time, and write the tables."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", action="store_true", help="only tables of what is there")
    if not parser.parse_args().tables:
        run_missing(path, runs, run_one, n_jobs)
    return write_tables(tables(read_lines(path)))


def write_tables(tables: dict[str, str]) -> int:
    """Print tables, and write each to the file of its name."""
    for name, text in tables.items():
        print(f"{name}\n\n{text}\n")
        (TABLES / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    return 0
