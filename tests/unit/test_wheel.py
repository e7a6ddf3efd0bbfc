"""What goes into the wheel, by the configuration of its build."""

import tomllib

from setuptools import find_packages

from conftest import ROOT

CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "setuptools"
]


def test_the_wheel_holds_the_package_and_nothing_of_the_studies() -> None:
    (where,) = CONFIGURATION["packages"]["find"]["where"]
    found = find_packages(str(ROOT / where))
    assert "bktf" in found
    assert all(name.split(".")[0] == "bktf" for name in found)
    assert {path.parent.name for path in (ROOT / "src").rglob("*.py")} <= {
        name.split(".")[-1] for name in found
    }
    assert CONFIGURATION["package-data"] == {"bktf": ["py.typed"]}


def test_no_module_of_the_package_imports_the_studies() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import studies" not in text, path
        assert "from studies" not in text, path
