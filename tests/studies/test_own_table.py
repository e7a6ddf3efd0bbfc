"""A user's own table in the comparison, and tables that cannot be one."""

import itertools
from pathlib import Path

import pytest

from studies.comparison import __main__ as comparison
from studies.lines import read_lines
from studies.problems.own_table import read_own_table

BASES, TEMPERATURES = ("KOAc", "CsOPiv", "K2CO3"), (90, 105, 120)


def yield_of(base: str, temperature: float) -> float:
    return 10.0 * BASES.index(base) + temperature / 10


def write_table(path: Path, rows: list[str], head: str = "base,temperature,yield") -> Path:
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def full_rows() -> list[str]:
    pairs = itertools.product(reversed(BASES), TEMPERATURES)
    return [f"{base},{t},{yield_of(base, t)}" for base, t in pairs]


def test_every_cell_has_its_value_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    problem = read_own_table(write_table(tmp_path / "t.csv", full_rows()), None, True, 3)
    assert problem.kind == "mixed"
    assert set(problem.space["base"].choices) == set(BASES)  # type: ignore[attr-defined]
    for base, (i, t) in itertools.product(BASES, enumerate(TEMPERATURES)):
        assert problem.function({"base": base, "temperature": i}) == -yield_of(base, t)
    assert problem.minimum == -yield_of(BASES[-1], TEMPERATURES[-1])
    smallest = read_own_table(tmp_path / "t.csv", "yield", False, 3)
    assert smallest.minimum == yield_of(BASES[0], TEMPERATURES[0])


def test_another_table_of_the_same_name_is_another_problem(tmp_path: Path) -> None:
    first = read_own_table(write_table(tmp_path / "t.csv", full_rows()), None, True, 3)
    changed = full_rows()
    changed[0] = changed[0].rsplit(",", 1)[0] + ",-1"
    second = read_own_table(write_table(tmp_path / "t.csv", changed), None, True, 3)
    assert first.name == second.name
    assert first.title != second.title


def test_the_comparison_runs_on_it_and_leaves_its_own_lines_alone(tmp_path: Path) -> None:
    path = write_table(tmp_path / "screen.csv", full_rows())
    options = ["--quick", "--jobs", "1", "--results", str(tmp_path), "--methods", "tpe"]
    assert comparison.main([*options, "--table", str(path), "--maximize"]) == 0
    folder = tmp_path / "quick"
    lines = read_lines(folder / "own_tables.jsonl")
    assert {line["method"] for line in lines} == {"random", "tpe"}
    assert all(line["problem"] == "own-screen" and line["commit"] for line in lines)
    table = (folder / "partial" / "tables" / "own_screen.md").read_text(encoding="utf-8")
    assert "Optuna TPE" in table
    best = float(table.strip().split("\n")[2].split("|")[5])
    assert 9 <= best <= yield_of(BASES[-1], TEMPERATURES[-1])
    assert not (folder / "compare.jsonl").exists()


@pytest.mark.parametrize(
    ("rows", "head", "target", "message"),
    [
        (full_rows()[1:], "base,temperature,yield", None, "is missing"),
        ([*full_rows(), full_rows()[0]], "base,temperature,yield", None, "is there twice"),
        (full_rows(), "base,temperature,yield", "purity", "'purity'"),
        (full_rows(), "base,base,yield", None, "different column names"),
        ([*full_rows(), "KOAc,90"], "base,temperature,yield", None, "line 11"),
        ([*full_rows()[1:], "K2CO3,90,high"], "base,temperature,yield", None, "finite number"),
        ([], "base,temperature,yield", None, "there are none"),
        ([], "", None, "got nothing"),
        (["KOAc;90;5"], "base;temperature;yield", None, "separated by commas"),
        ([*full_rows()[1:], "K2CO3,,5"], "base,temperature,yield", None, "line 10 has an empty"),
        (["a,1", "b,1", "c,1"], "base,yield", None, "nothing to compare"),
    ],
)
def test_a_table_that_is_none_is_refused_in_one_line(
    rows: list[str],
    head: str,
    target: str | None,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write_table(tmp_path / "t.csv", rows, head)
    extra = [] if target is None else ["--target", target]
    assert comparison.main(["--table", str(path), *extra, "--results", str(tmp_path)]) == 2
    said = capsys.readouterr().err.strip().split("\n")
    assert len(said) == 1
    assert message in said[0]


@pytest.mark.parametrize(
    "arguments", [["--maximize"], ["--target", "yield"], ["--goals", "--table", "t.csv"]]
)
def test_options_of_a_table_need_one_and_nothing_else(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        comparison.main([*arguments, "--results", str(tmp_path)])
    assert ended.value.code == 2
    assert "--table" in capsys.readouterr().err


def test_a_file_in_another_encoding_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("base,Ausbeute\nä,1\n".encode("latin-1"))
    assert comparison.main(["--table", str(path), "--results", str(tmp_path)]) == 2
    assert "latin.csv must be a text file in UTF-8" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--table", str(tmp_path / "nothing.csv"), "--results", str(tmp_path)]
    assert comparison.main(arguments) == 2
    assert "nothing.csv" in capsys.readouterr().err
