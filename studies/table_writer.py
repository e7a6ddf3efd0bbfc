"""Tables of both studies: Markdown from rows, printed and written to a file."""

from collections.abc import Sequence
from pathlib import Path


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first column to the left, the others to the right."""
    line = "| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|"
    return "\n".join([line, *("| " + " | ".join(row) + " |" for row in rows)])


def write_table(folder: Path, name: str, title: str, table: str) -> None:
    """Print a table under its title and write it to `folder/tables/name.md`."""
    path = folder / "tables" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table + "\n", encoding="utf-8")
    print(f"\n{title}\n\n{table}\n")
