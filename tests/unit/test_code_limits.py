"""Limits that keep the code readable: arguments of a function, lines of a file, entries at the top."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

PACKAGE = ROOT / "src" / "bktf"
FOLDERS = (PACKAGE, ROOT / "studies", ROOT / "benchmarks")

MAX_ARGUMENTS = 7  # self included
MAX_LINES = 400
MAX_ENTRIES = 27  # files and folders at the top of the package: what docs/architecture.md lists

COMPILED = {"compiled", "compiled_part", "operation"}  # decorators of compiled functions
# Their keywords are what users know; each is explained in the docstring.
FRONT_DOORS = {
    "surrogate.fitting.fit",
    "optimize.front_door.minimize",
    "optimize.front_door.maximize",
    "optimize.suggest_from.suggest_from",
    "optuna_sampler.sampler.BKTFSampler.__init__",
    "integrations.sklearn.BKTFSearchCV.__init__",
    "acquisition.choice.choose",
    "acquisition.choice.choose_batch",
}

FILES = sorted(path for folder in FOLDERS for path in folder.rglob("*.py"))
NAMES = [path.relative_to(ROOT).as_posix() for path in FILES]

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_in(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    """Every function below a node, with its dotted name."""
    for child in ast.iter_child_nodes(node):
        name = f"{prefix}.{child.name}" if isinstance(child, Function | ast.ClassDef) else prefix
        if isinstance(child, Function):
            yield name, child
        yield from functions_in(child, name)


def n_arguments(function: Function) -> int:
    """The number of arguments, self, *args and **kwargs included."""
    given = function.args
    named = (*given.posonlyargs, *given.args, *given.kwonlyargs)
    return len(named) + sum(star is not None for star in (given.vararg, given.kwarg))


def is_compiled(function: Function) -> bool:
    """Whether a decorator compiles the function: @compiled, @compiled_part or @operation(…)."""
    calls = (d.func if isinstance(d, ast.Call) else d for d in function.decorator_list)
    return any(isinstance(d, ast.Name) and d.id in COMPILED for d in calls)


def too_many_arguments(source: str, module: str) -> list[str]:
    """The functions of a module that break the limit."""
    found = []
    for name, function in functions_in(ast.parse(source), module):
        is_free = is_compiled(function) or name in FRONT_DOORS
        if n_arguments(function) > MAX_ARGUMENTS and not is_free:
            found.append(f"{name} has {n_arguments(function)}")
    return found


def module_of(path: Path) -> str:
    """The dotted name of a file, below the package where it is in it."""
    folder = PACKAGE if path.is_relative_to(PACKAGE) else ROOT
    return ".".join(path.relative_to(folder).with_suffix("").parts)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_function_has_too_many_arguments(path: Path) -> None:
    assert not too_many_arguments(path.read_text(encoding="utf-8"), module_of(path))


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_file_has_too_many_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_the_top_of_the_package_has_few_entries() -> None:
    entries = [path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= MAX_ENTRIES, sorted(entries)


def test_every_front_door_that_is_excepted_exists() -> None:
    trees = {module_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
    names = {name for module in trees for name, _ in functions_in(trees[module], module)}
    assert names >= FRONT_DOORS


def test_the_limit_sees_methods_keywords_and_decorators() -> None:
    arguments = "a, b, c, d, e, f, *, g"
    method = f"class C:\n    def f(self, {arguments}): ..."
    nested = f"def f({arguments}):\n    def g({arguments}, **h): ..."
    assert too_many_arguments(method, "m") == ["m.C.f has 8"]
    assert too_many_arguments(nested, "m") == ["m.f.g has 8"]
    assert not too_many_arguments(f"def f({arguments}): ...", "m")
    for decorator in ("compiled", "compiled_part", "operation(VOID)"):
        assert not too_many_arguments(f"@{decorator}\ndef f({arguments}, h): ...", "m")
    assert too_many_arguments(f"@other\ndef f({arguments}, h): ...", "m")
