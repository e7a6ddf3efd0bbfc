"""What is asked of a study: which runs, where their lines are, where its tables go."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.lines import Line, RunKey
from studies.runner import run_missing
from studies.table_writer import write_table


@dataclass(frozen=True, kw_only=True)
class Request:
    """What both studies can be asked for."""

    folder: Path
    methods: Sequence[str] = ()  # empty: all
    n_seeds: int | None = None  # None: the study's number
    n_jobs: int = 2
    quick: bool = False
    tables_only: bool = False  # tables and figures of the lines that are there, run nothing

    @property
    def is_partial(self) -> bool:
        """Whether a part of the study was asked for."""
        return bool(self.methods) or self.n_seeds is not None

    @property
    def shown(self) -> Path:
        """Where tables and figures go: those of a part do not replace those of the whole."""
        return self.folder / "partial" if self.is_partial else self.folder

    def path(self, name: str) -> Path:
        """The file of lines of this name."""
        return self.folder / f"{name}.jsonl"

    def lines(
        self, name: str, keys: Sequence[RunKey], work: Callable[[RunKey], Line]
    ) -> list[Line]:
        """The lines of the runs, what is missing made first unless only tables are wanted."""
        found = run_missing(self.path(name), keys, work, self.n_jobs, self.tables_only)
        if not keys:
            print(f"{name}: the methods asked for have no part in it")
        elif not found:
            path = self.path(name)
            print(f"{name}: {path} has no lines of these runs; without --tables they are made")
        return found

    def show(self, name: str, title: str, table: str) -> None:
        """Print a table and write it to its file."""
        write_table(self.shown, name, title, table)

    @property
    def figures(self) -> Path:
        """The folder of the figures."""
        return self.shown / "figures"


def say_drawn(path: Path) -> None:
    """Say which figure was drawn."""
    print(f"drew {path}", flush=True)
