"""The rank in `space.toml`: what it may be, and that it reaches the surrogate."""

import json
import math
import re
import tomllib
from pathlib import Path

import pytest

from bktf.cli import main
from bktf.engine import fit_surrogate, make_settings
from bktf.lab.example_file import EXAMPLE
from bktf.lab.lab_space import LabError
from bktf.lab.space_file import read_lab_space
from bktf.lab.suggest import Answer, answer, make_engine
from seeds import seeded

SPACE = """
[objective]
name = "y"
direction = "minimize"
[parameters.a]
type = "int"
low = 0
high = 9
[parameters.b]
type = "int"
low = 0
high = 9
"""
TABLE = "a,b,y\n" + "".join(f"{i},{(3 * i) % 10},{(i - 4) ** 2 + (3 * i) % 10}\n" for i in range(7))


def files(folder: Path, model: str) -> tuple[Path, Path]:
    space, table = folder / "space.toml", folder / "results.csv"
    space.write_text(SPACE + model, encoding="utf-8")
    table.write_text(TABLE, encoding="utf-8")
    return space, table


def answered(folder: Path, model: str) -> Answer:
    return answer(*files(folder, model), 1, seeded(0))


@pytest.mark.parametrize(
    ("model", "rank"),
    [
        ("", "auto"),
        ("[model]\n", "auto"),
        ('[model]\nrank = "auto"\n', "auto"),
        ("[model]\nrank = 1\n", 1),
        ("[model]\nrank = 4\n", 4),
        ("[model]\nrank = 10_000\n", 10_000),
        ("[model]\nrank = inf\n", math.inf),
        ("[model]\nrank = +inf\n", math.inf),
    ],
)
def test_a_rank_is_auto_a_whole_number_or_infinite(
    tmp_path: Path, model: str, rank: float | str
) -> None:
    space = read_lab_space(files(tmp_path, model)[0])
    assert space.rank == rank
    assert type(space.rank) is type(rank)
    engine = make_engine(space, 0)
    assert repr(engine.settings) == repr(make_settings("default", {"rank": rank}))


@pytest.mark.parametrize(
    "rank",
    [
        "0",
        "-1",
        "2.5",
        "3.0",
        "true",
        '"3"',
        '"inf"',
        '"infinite"',
        "nan",
        "-inf",
        "[3]",
        "{}",
        "10_001",
    ],
)
def test_what_is_no_rank_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rank: str
) -> None:
    space, table = files(tmp_path, f"[model]\nrank = {rank}\n")
    with pytest.raises(
        LabError,
        match=r'^space.toml: \[model\] rank must be "auto", a whole number from 1 to 10000, or inf; got ',
    ):
        read_lab_space(space)
    assert main(["suggest", str(space), str(table)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    got = tomllib.loads(f"rank = {rank}")["rank"]
    message = f'[model] rank must be "auto", a whole number from 1 to 10000, or inf; got {got!r}'
    assert captured.err == f"bktf suggest: space.toml: {message}\n"


@pytest.mark.parametrize(
    ("model", "optimism"),
    [("", None), ("[model]\noptimism = 0.0\n", 0.0), ("[model]\noptimism = 1\n", 1.0)],
)
def test_optimism_reaches_the_engine(tmp_path: Path, model: str, optimism: float | None) -> None:
    space = read_lab_space(files(tmp_path, model)[0])
    assert make_engine(space, 0).settings.optimism == optimism


@pytest.mark.parametrize("optimism", ["-0.5", "2", '"high"', "nan", "true"])
def test_what_is_no_optimism_is_one_clear_line(tmp_path: Path, optimism: str) -> None:
    space, _ = files(tmp_path, f"[model]\noptimism = {optimism}\n")
    with pytest.raises(LabError, match=r"\[model\] optimism must be a number from 0.0 .*; got "):
        read_lab_space(space)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "[model]\nrnak = 3\n",
            "[model] has an entry 'rnak' that means nothing here; did you mean 'rank'?",
        ),
        (
            '[model]\nrank = 2\nkernel = "matern52"\n',
            "[model] has an entry 'kernel' that means nothing here",
        ),
        ("[[model]]\nrank = 3\n", "the file: 'model' must be a table"),
        (
            "[modle]\nrank = 3\n",
            "the file has an entry 'modle' that means nothing here; did you mean 'model'?",
        ),
    ],
)
def test_other_entries_of_the_model_are_refused(tmp_path: Path, model: str, message: str) -> None:
    with pytest.raises(LabError, match="^space.toml: " + re.escape(message)):
        read_lab_space(files(tmp_path, model)[0])


@pytest.mark.parametrize(
    ("model", "rank"),
    [("[model]\nrank = 2\n", 2), ("[model]\nrank = inf\n", math.inf), ("", math.inf)],
)
def test_the_rank_reaches_the_surrogate_that_is_shown(
    tmp_path: Path, model: str, rank: float
) -> None:
    posterior = answered(tmp_path, model).posterior
    assert posterior is not None
    assert posterior.rank == rank


@pytest.mark.parametrize(
    ("model", "rank"), [("[model]\nrank = 2\n", 2), ("[model]\nrank = inf\n", math.inf), ("", 3)]
)
def test_the_rank_reaches_the_surrogate_that_chooses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, rank: float
) -> None:
    """Seven rows on a finite space: with "auto" it is the components' turn."""
    ranks = []

    def recorded(used: float, *arguments: object, **further: object) -> object:
        ranks.append(used)
        return fit_surrogate(used, *arguments, **further)  # type: ignore[arg-type]

    monkeypatch.setattr("bktf.engine.suggestion.fit_surrogate", recorded)
    answered(tmp_path, model)
    assert ranks[0] == rank


def test_the_example_parses_with_and_without_its_optional_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["suggest", "--init"]) == 0
    written = tmp_path / "space.toml"
    assert written.read_text(encoding="utf-8") == EXAMPLE
    assert read_lab_space(written).rank == "auto"
    assert EXAMPLE.count('# [model]\n# rank = "auto" ') == 1
    for rank, expected in (('"auto"', "auto"), ("inf", math.inf), ("5", 5)):
        text = EXAMPLE.replace("# [model]", "[model]").replace(
            '# rank = "auto" ', f"rank = {rank} "
        )
        written.write_text(text, encoding="utf-8")
        assert read_lab_space(written).rank == expected


# --- when to stop --------------------------------------------------------------------------------


def test_a_rule_to_stop_by_is_read_and_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space, table = files(tmp_path, "[stop]\ntolerance = 50\nconfidence = 0.6\n")
    assert main(["suggest", str(space), str(table)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("converged: the best of 7 values is within 50 of the optimum")
    assert main(["suggest", str(space), str(table), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["optimum"]
    assert found["converged"] is True
    assert found["probability"] >= 0.6
    assert set(found["best"]) == {"a", "b"}


def test_without_a_rule_the_gap_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suggest", *map(str, files(tmp_path, ""))]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("the best tried point may be improved by about")
    assert "[stop]" in last


def test_a_cost_is_compared_with_what_one_more_experiment_should_gain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["suggest", *map(str, files(tmp_path, "[stop]\ncost = 1e6\n"))]) == 0
    assert "should gain" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        ("[stop]\ntolerence = 1\n", "did you mean 'tolerance'"),
        ("[stop]\n", 'needs either "tolerance" or "cost"; it has nothing'),
        ('[stop]\ntolerance = "little"\n', "tolerance must be a finite number"),
        ("[stop]\ntolerance = -1\n", "tolerance must be a finite number of at least 0"),
        ("[stop]\ntolerance = 1\nconfidence = 2\n", r"confidence must lie in \[0.5, 1\)"),
        ("stop = 3\n", "'stop' must be a table"),
    ],
)
def test_a_rule_that_cannot_be_is_one_line(
    stop: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space, table = files(tmp_path, "")
    text = stop + SPACE if stop.startswith("stop") else SPACE + stop
    space.write_text(text, encoding="utf-8")
    assert main(["suggest", str(space), str(table)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert re.search(message, lines[0])
