"""Append lines that were recorded under earlier names of files and experiments.

    python -m studies.migration OLD [NEW]

OLD is a folder of lines in the earlier layout of `results/`: it may have `variants.jsonl` and
`choices.jsonl`, whose names were exchanged. Lines that NEW (default: studies/results) does not have
yet are appended there under the current names. OLD is not changed, so the command can be repeated
while more lines are made elsewhere.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from studies.command_line import RESULTS
from studies.lines import Line, append_line, read_lines

RENAMED_FILES = {"variants": "open_settings", "choices": "bktf_variants"}
RENAMED_EXPERIMENTS = {"variants": "open-settings", "choices": "bktf-variants"}


def translated(line: Line) -> Line:
    """A line under the current names."""
    if line.get("experiment") not in RENAMED_EXPERIMENTS:
        return line
    return line | {"experiment": RENAMED_EXPERIMENTS[line["experiment"]]}


def take_over(old: Path, new: Path) -> dict[str, int]:
    """Append to the files in `new` what they lack; how many lines each file got."""
    taken = {}
    for path in sorted([*old.glob("*.jsonl"), *old.glob("scores/*.jsonl")]):
        name = RENAMED_FILES.get(path.stem, path.stem)
        target = new / path.parent.relative_to(old) / f"{name}.jsonl"
        old_lines = {_text(line): line for line in map(translated, read_lines(path))}
        missing = old_lines.keys() - {_text(line) for line in read_lines(target)}
        for (
            text,
            line,
        ) in old_lines.items():  # in their order: of two lines of a run the later counts
            if text in missing:
                append_line(target, line)
        taken[str(target.relative_to(new))] = len(missing)
    return taken


def _text(line: Line) -> str:
    """What makes two lines equal."""
    return json.dumps(line, sort_keys=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Take over the lines of a folder and say how many."""
    parser = argparse.ArgumentParser(prog="python -m studies.migration", description=__doc__)
    parser.add_argument("old", type=Path, help="the folder of lines under earlier names")
    parser.add_argument("new", type=Path, nargs="?", default=RESULTS, help="where they go")
    options = parser.parse_args(arguments)
    for name, count in take_over(options.old, options.new).items():
        print(f"{name}: {count} lines taken over")
    return 0


if __name__ == "__main__":
    sys.exit(main())
