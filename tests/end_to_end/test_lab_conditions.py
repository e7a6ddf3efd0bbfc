"""`when` in `space.toml`: cells that stay empty, suggestions inside their branch, clear errors."""

import json
from pathlib import Path

import pytest

from bktf.cli import main
from seeds import seeded

SPACE = """
[objective]
name = "yield"
direction = "maximize"
[parameters.catalyst]
type = "category"
values = ["Pd", "none"]
[parameters.loading]
type = "float"
low = 0.5
high = 10
when = { catalyst = "Pd" }
[parameters.steps]
type = "int"
low = 1
high = 3
[parameters.rest]
type = "ordered"
values = [1, 2, 5, 10]
when = { steps = { at_least = 2 } }
[parameters.solvent]
type = "category"
values = ["water"]
when = { catalyst = "Pd" }
"""
HEADER = "catalyst,loading,steps,rest,solvent,yield\n"


def row(i: int) -> str:
    """Some experiment and its result."""
    steps, rest = 1 + i % 3, (1, 2, 5, 10)[i % 4]
    result = 10 - abs(steps - 2) + (rest == 5 and steps > 1)
    pause = str(rest) if steps >= 2 else ""
    if i % 2:
        return f"Pd,{0.5 + i % 9},{steps},{pause},water,{result + 5 - abs(i % 9 - 4)}\n"
    return f"none,,{steps},{pause},,{result}\n"


def files(folder: Path, space: str = SPACE, rows: str = "") -> list[str]:
    (folder / "space.toml").write_text(space, encoding="utf-8")
    (folder / "results.csv").write_text(HEADER + rows, encoding="utf-8")
    return [str(folder / "space.toml"), str(folder / "results.csv")]


@pytest.mark.parametrize("n_rows", [0, 14])
def test_suggestions_have_the_cells_of_their_branch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], n_rows: int
) -> None:
    paths = files(tmp_path, rows="".join(row(i) for i in range(n_rows)))
    seed = ["--seed", str(seeded(0))]
    assert main(["suggest", *paths, "-n", "4", "--json", *seed]) == 0
    found = json.loads(capsys.readouterr().out)["suggestions"]
    assert len(found) == 4
    for suggestion in found:
        p = suggestion["parameters"]
        assert ("loading" in p) == ("solvent" in p) == (p["catalyst"] == "Pd")
        assert ("rest" in p) == (p["steps"] >= 2)
    assert main(["suggest", *paths, "-n", "4", "--append", "--explain", *seed]) == 0
    assert main(["suggest", *paths, "-n", "1", "--json", *seed]) == 0  # what was appended is read


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("none,3,1,,,5\n", "row 2, column 'loading': must be empty, because with catalyst = none"),
        (
            "Pd,,1,,water,5\n",
            "row 2, column 'loading': is empty; with catalyst = Pd it needs a value",
        ),
        ("none,,2,,,5\n", "row 2, column 'rest': is empty; with steps = 2 it needs a value"),
        (",,2,,,5\n", "row 2, column 'catalyst': is empty"),
    ],
)
def test_a_cell_that_does_not_fit_its_row_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    assert main(["suggest", *files(tmp_path, rows=line)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('catalyst = "Pd" }', 'metal = "Pd" }', "on 'metal' names no parameter"),
        ('catalyst = "Pd" }', 'catalyst = "Au" }', "must be a value of it"),
        ('{ catalyst = "Pd" }', "3", "[parameters.loading] when must be a table like"),
        ("at_least = 2", "at_last = 2", "did you mean 'at_least'?"),
        ("{ at_least = 2 }", "{}", "needs at_least or at_most"),
        ("at_least = 2", "at_least = 7", "no value of 'steps' lies in"),
        ("high = 3\n", "high = 3\nwhen = { rest = 5 }\n", "must not form a cycle"),
    ],
)
def test_a_condition_that_makes_no_sense_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    assert SPACE.count(old) >= 1
    assert main(["suggest", *files(tmp_path, SPACE.replace(old, new, 1))]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "space.toml" in error


def test_the_picture_leaves_places_of_inactive_parameters_empty(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    paths = files(tmp_path, rows="".join(row(i) for i in range(14)))
    picture = tmp_path / "slices.png"
    seed = str(seeded(0))
    assert main(["suggest", *paths, "-n", "3", "--png", str(picture), "--seed", seed]) == 0
    assert picture.stat().st_size > 1000
