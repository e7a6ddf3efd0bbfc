"""Each package may import only those that its row names, and only through their `__init__.py`."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

PACKAGE = ROOT / "src" / "bktf"

BASE = {"_typing", "_checks", "_compiled"}
AXES = {*BASE, "product_forms", "axis_kernels"}
DRAWS = {*AXES, "gaussian_process", "components"}
SURROGATE = {*DRAWS, "acquisition", "surrogate"}
ENGINE = {*SURROGATE, "spaces", "engine"}

# One row per package or module at the top: what it may import.
MAY_IMPORT: dict[str, set[str]] = {
    "_version": set(),
    "_typing": set(),
    "_checks": set(),
    "_compiled": {"_typing"},
    "product_forms": BASE,
    "axis_kernels": {*BASE, "product_forms"},
    "gaussian_process": AXES,
    "components": {*AXES, "gaussian_process"},
    "spaces": {*BASE, "axis_kernels"},
    "acquisition": {*DRAWS, "spaces"},
    "surrogate": {*DRAWS, "acquisition"},
    "analysis": SURROGATE,
    "engine": {*SURROGATE, "spaces", "analysis"},
    "optuna_sampler": ENGINE,
    "optimize": {*ENGINE, "optuna_sampler"},
    "study_analysis": {*ENGINE, "analysis", "optuna_sampler", "optimize"},
    "lab": {*ENGINE, "analysis"},
    "integrations": {*ENGINE, "optuna_sampler"},
    "test_functions": {"_typing"},
    "warmup": {*SURROGATE},
    "demo": {"optimize", "test_functions"},
    "cli": {"_version", "demo", "lab"},
    "__main__": {"cli"},
    "": {
        "_version",
        "acquisition",
        "analysis",
        "axis_kernels",
        "surrogate",
        "optimize",
        "optuna_sampler",
        "spaces",
        "study_analysis",
    },
}

# Imports upwards, each inside one method: what it returns is made by an optional extra.
EXCEPTIONS = {("surrogate.posterior", "integrations.arviz")}


def module_name(path: Path) -> str:
    """The dotted name of a file below the package; empty for the package itself."""
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return name.removesuffix("__init__").rstrip(".")


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each import of the package in a file, wherever it stands: the module, and the names taken from it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            if node.module and node.module.split(".")[0] == "bktf":
                yield (
                    node.module.removeprefix("bktf").lstrip("."),
                    tuple(a.name for a in node.names),
                )
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "bktf":
                    yield alias.name.removeprefix("bktf").lstrip("."), ()


def imported_modules(path: Path) -> set[str]:
    """The modules that a file imports."""
    found = set()
    for module, names in imports_of(path):
        inside = {f"{module}.{name}".lstrip(".") for name in names} & MODULES.keys()
        found |= inside
        if not names or len(inside) < len(names):
            found.add(module)
    return found


def top(module: str) -> str:
    """The package or module at the top that a module belongs to."""
    return module.split(".")[0]


def test_every_package_has_a_row() -> None:
    assert {top(module) for module in MODULES} == MAY_IMPORT.keys()


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_its_row_allows(module: str) -> None:
    for other in imported_modules(MODULES[module]):
        if top(other) != top(module) and (module, other) not in EXCEPTIONS:
            assert top(other) in MAY_IMPORT[top(module)], f"{module} imports {other}"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_other_packages_through_their_interface(module: str) -> None:
    for other, _ in imports_of(MODULES[module]):
        if top(other) != top(module) and (module, other) not in EXCEPTIONS:
            assert "." not in other, f"{module} imports past the interface of {top(other)}: {other}"


def test_a_package_exports_what_it_imports_for_others() -> None:
    for module, path in MODULES.items():
        if path.name == "__init__.py" and module:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            imported = {
                alias.asname or alias.name
                for node in tree.body
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            exported = {
                name
                for node in tree.body
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
                for name in ast.literal_eval(node.value)
            }
            assert imported <= exported, f"{module} does not export {sorted(imported - exported)}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module: imported_modules(path) - {module} for module, path in MODULES.items()}
    # A package's interface is loaded with its modules; what matters is what they need of each
    # other.
    graph = {m: {o for o in others if not m.startswith(f"{o}.")} for m, others in graph.items()}
    graph["surrogate.posterior"].discard("integrations.arviz")
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " → ".join((*path[path.index(module) :], module))
        if module not in done:
            for other in graph[module]:
                visit(other, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_no_module_at_the_top_has_the_name_of_a_public_function() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    names = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert {name for name in names if name in MAY_IMPORT} == {
        "acquisition"
    }  # which is public as a package


def test_the_core_import_pulls_in_nothing_heavy() -> None:
    heavy = [
        "scipy.stats", "scipy.optimize", "scipy.spatial", "scipy.special", "optuna", "matplotlib",
        "pandas", "torch", "arviz", "tqdm",
    ]  # fmt: skip
    code = f"import sys, bktf; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
