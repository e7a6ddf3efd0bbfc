"""Files and functions that the documents name exist."""

import importlib
import re
from operator import attrgetter
from pathlib import Path

import pytest

from conftest import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    named = re.findall(r"`([\w./]+/[\w.]+\.py)`", document.read_text(encoding="utf-8"))
    folders = (ROOT, ROOT / "src", ROOT / "src" / "bktf", ROOT / "tests")
    assert [n for n in named if not any((folder / n).is_file() for folder in folders)] == []


def test_every_hop_of_the_documented_suggestion_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    hops = re.findall(r"^ ?\d+ +([\w.]+) +\(([\w.]+)\)", text, flags=re.MULTILINE)
    assert len(hops) > 15
    for function, module in hops:
        assert callable(attrgetter(function)(importlib.import_module(f"bktf.{module}")))
