"""`python -m studies.comparison` in small, and bad input."""

from pathlib import Path

import pytest

from studies.comparison import __main__ as comparison
from studies.lines import processor, read_lines


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one quick run."""
    folder = tmp_path_factory.mktemp("compare")
    assert comparison.main(["--quick", "--jobs", "1", "--results", str(folder)]) == 0
    return folder / "quick"


def test_quick_has_lines_of_three_methods_on_both_halves_and_all_kinds(quick: Path) -> None:
    lines = read_lines(quick / "compare.jsonl")
    assert {line["method"] for line in lines} == {"bktf", "random", "tpe"}
    assert len({line["problem"] for line in lines}) == 7
    assert len(lines) == 3 * 7
    for line in lines:
        assert len(line["values"]) == line["n_start"] + line["settings"]["budget"] == 12
        assert line["cpu_seconds"]["total"] >= 0
        assert "commit" in line
    names = {p.stem for p in (quick / "tables").iterdir()}
    kinds = ("rankings", "differences", "problems", "calibration")
    assert names == {f"{kind}_{half}" for kind in kinds for half in ("development", "test")}
    for half in ("development", "test"):
        assert (quick / "figures" / f"comparison_{half}.png").stat().st_size > 10_000


def test_all_methods_start_from_the_same_points(quick: Path) -> None:
    lines = read_lines(quick / "compare.jsonl")
    for problem in {line["problem"] for line in lines}:
        starts = {
            tuple(line["values"][: line["n_start"]]) for line in lines if line["problem"] == problem
        }
        assert len(starts) == 1


def test_noisy_values_are_recorded_beside_the_true_ones(quick: Path) -> None:
    noisy = [
        line for line in read_lines(quick / "compare.jsonl") if line["problem"] == "ackley3r-noisy"
    ]
    assert all(line["observed"] != line["values"] for line in noisy)
    assert all(
        "observed" not in line
        for line in read_lines(quick / "compare.jsonl")
        if line["problem"] != "ackley3r-noisy"
    )


def test_a_second_time_nothing_is_run_and_a_part_does_not_replace_the_whole(quick: Path) -> None:
    before = {p: p.read_bytes() for p in quick.rglob("*") if p.suffix in (".md", ".jsonl")}
    assert comparison.main(["--quick", "--tables", "--results", str(quick.parent)]) == 0
    assert (
        comparison.main(
            ["--quick", "--methods", "bktf", "--half", "test", "--results", str(quick.parent)]
        )
        == 0
    )
    assert {p: p.read_bytes() for p in before} == before
    assert (quick / "partial" / "tables" / "rankings_test.md").exists()


def test_goals_and_variants_in_small(quick: Path) -> None:
    assert (
        comparison.main(["--quick", "--goals", "--jobs", "1", "--results", str(quick.parent)]) == 0
    )
    goals = read_lines(quick / "goals.jsonl")
    assert {(line["problem"], line["method"]) for line in goals} >= {
        ("griewank4-shifted", "grid"),
        ("hartmann6", "box"),
    }
    assert all(len(line["values"]) <= line["settings"]["budget"] == 12 for line in goals)
    for line in (*goals, *read_lines(quick / "compare.jsonl")):
        assert line["commit"]
        assert line["processor"] == processor()
        assert len(line["points"]) == len(line["values"])
    assert (quick / "tables" / "goals.md").read_text(encoding="utf-8").count("\n") == 2 + len(goals)
    assert (
        comparison.main(["--quick", "--variants", "--jobs", "1", "--results", str(quick.parent)])
        == 0
    )
    variants = read_lines(quick / "bktf_variants.jsonl")
    assert {line["settings"]["strategy"]["model"] for line in variants} == {"process"}
    assert "process, short" in (quick / "tables" / "bktf_variants.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "hyperband"], "a method must be one of"),
        (["--problems", "sphere"], "a problem must be one of"),
        (["--problems", "levy4r", "--half", "test"], "no problem of the test half"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert comparison.main([*arguments, "--results", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_missing_package_is_named_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "smac" else object()
    )
    assert comparison.main(["--methods", "smac", "random", "--results", str(tmp_path)]) == 2
    assert "smac needs smac, which is not installed; install bktf[peers]" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
