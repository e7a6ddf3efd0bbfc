"""How the studies are built: imports go down only, and files stay short."""

import ast
from pathlib import Path

import pytest

from conftest import ROOT

STUDIES = ROOT / "studies"
LAYERS = [  # each may import those before it
    {"lines", "table_writer", "command_line", "plotting", "pages", "recorded_settings"},
    {"migration", "problems"},
    {"methods"},
    {"runner"},
    {"request", "small_study"},
    {"paper", "comparison"},  # these do not know each other
    {"finite_rank", "define_by_run"},  # regrets and runs are those of the comparison
    {"conditional", "pruning", "experimenters", "analysis"},
]
MAX_LINES, MAX_ARGUMENTS = 400, 7
FILES = sorted(STUDIES.rglob("*.py"))
EACH = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(STUDIES)))


def _part(path: Path) -> str:
    """The package or module of studies that a file belongs to."""
    return path.relative_to(STUDIES).parts[0].removesuffix(".py")


def _level(part: str) -> int:
    """The layer of a part."""
    (level,) = (i for i, layer in enumerate(LAYERS) if part in layer)
    return level


@EACH
def test_imports_go_down_only(path: Path) -> None:
    if path == STUDIES / "__init__.py":
        return
    part = _part(path)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("studies."):
            imported = str(node.module).split(".")[1]
            assert imported == part or _level(imported) < _level(part), node.module


@EACH
def test_files_are_short_and_functions_take_few_arguments(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            given = node.args
            assert len(given.args) + len(given.kwonlyargs) <= MAX_ARGUMENTS, node.name
