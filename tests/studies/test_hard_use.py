"""The tables of hard use in the docs are those of the recorded lines."""

import re

from benchmarks.hard_use.__main__ import LINES, tables
from conftest import ROOT
from studies.lines import read_lines


def test_the_tables_of_hard_use_are_those_of_the_lines() -> None:
    page = (ROOT / "docs" / "model_choices.md").read_text(encoding="utf-8")
    found = tables(read_lines(LINES))
    shown = re.findall(r"<!-- table: hard_use_(\w+) -->\n(.*?)\n<!-- end -->", page, re.DOTALL)
    assert len(shown) >= 6
    for name, table in shown:
        assert table == found[name], (
            f"{name} is stale; run python -m benchmarks.hard_use --tables, then studies.pages"
        )


def test_lines_of_hard_use_can_be_replayed() -> None:
    for line in read_lines(LINES):
        assert line["commit"]
        assert not line["commit"].endswith("+")
        assert line["processor"]
        assert line["method"] == "random" or line["points"]
