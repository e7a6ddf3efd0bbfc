"""`bktf suggest`: a campaign by hand, and files that are not what they should be."""

import csv
import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bktf import lab
from bktf.cli import main
from bktf.lab.example_file import EXAMPLE
from bktf.lab.lab_space import LabError
from bktf.lab.results_table import read_table
from bktf.lab.space_file import read_lab_space
from seeds import seeded

SPACE = """
other_columns = ["operator", "note"]
[objective]
name = "yield"
direction = "maximize"
unit = "%"
[parameters.temperature]
type = "float"
low = 20
high = 120
unit = "°C"
[parameters.time]
type = "float"
low = 0.5
high = 48
log = true
[parameters.stirring]
type = "int"
low = 100
high = 1000
step = 50
[parameters.dose]
type = "ordered"
values = [0.1, 0.2, 0.5, 1.0]
[parameters.catalyst]
type = "category"
values = ["Pd", "Ni", "Cu"]
[[constraints]]
factors = { temperature = 1.0, stirring = 0.05 }
at_most = 150
"""
HEADER = "temperature,time,stirring,dose,catalyst,yield,operator,note"
ROWS = [
    "80,6,500,0.5,Pd,71.5,ann,",
    "60,2,300,0.1,Ni,33,bob,first try",
    "100,24,900,1,Cu,failed,,too hot",
    "40,1,100,0.2,Pd,,ann,",
]


def truth(row: dict[str, Any]) -> float:
    """What the simulated experiment yields, without noise.

    The best is 90 at 85 °C, 8 h, 550 rpm, 0.5, Pd.
    """
    catalyst = {"Pd": 0.0, "Ni": 9.0, "Cu": 22.0}[row["catalyst"]]
    shift = {"Pd": 0.0, "Ni": -20.0, "Cu": 10.0}[row["catalyst"]]
    return float(
        90 - catalyst - 12 * ((float(row["temperature"]) - 85 - shift) / 30) ** 2 - 10 * math.log2(float(row["time"]) / 8) ** 2 / 4
        - 6 * ((float(row["stirring"]) - 550) / 300) ** 2 - 5 * abs(math.log2(float(row["dose"]) / 0.5))
    )  # fmt: skip


def write(folder: Path, table: str, space: str = SPACE) -> list[str]:
    (folder / "space.toml").write_text(space, encoding="utf-8")
    (folder / "results.csv").write_text(table, encoding="utf-8")
    return [str(folder / "space.toml"), str(folder / "results.csv")]


def suggest(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["suggest", "--seed", str(seeded(0)), *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_campaign_by_hand_ends_near_the_optimum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(seeded(0))
    files = write(tmp_path, "")
    table = tmp_path / "results.csv"
    done = 0
    for round_ in range(8):
        code, _, err = suggest(capsys, *files, "-n", "4", "--append", "--explain")
        assert code == 0, err
        frame = pd.read_csv(table)
        assert len(frame) == 4 * (round_ + 1)
        assert frame["yield"].isna().sum() == 4
        lines = table.read_text().splitlines()
        for i in range(done + 1, len(lines)):
            row = next(csv.DictReader([lines[0], lines[i]]))
            value = "failed" if i in (3, 14) else f"{truth(row) + rng.normal(0, 0.5):.2f}"
            cells = lines[i].split(",")
            cells[5] = value
            if i == 6:
                cells[0] = "o" + cells[0]  # a typo
            lines[i] = ",".join(cells)
        table.write_text("\n".join(lines) + "\n")
        if round_ == 1:
            code, _, err = suggest(capsys, *files)
            assert code == 2
            assert "row 7, column 'temperature': must be a number; got 'o" in err
            lines[6] = lines[6].removeprefix("o")
            table.write_text("\n".join(lines) + "\n")
            assert suggest(capsys, *files)[0] == 0
        pd.read_csv(table)
        done = len(lines) - 1
    frame = pd.read_csv(table)
    results = pd.to_numeric(frame["yield"], errors="coerce")
    best = frame.loc[results.idxmax()]
    worst = min(
        truth({"temperature": t, "time": h, "stirring": s, "dose": 0.1, "catalyst": "Cu"})
        for t in (20, 120)
        for h in (0.5, 48)
        for s in (100, 1000)
    )
    assert truth(best.to_dict()) > 90 - 0.05 * (90 - worst)
    assert (frame["temperature"] + 0.05 * frame["stirring"] <= 150 + 1e-9).all()
    assert set(frame["reason"]) <= {"start design", "explores", "exploits"}


def test_suggestions_are_printed_appended_and_given_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = write(tmp_path, "\n".join(["# our first day", HEADER, *ROWS]) + "\n")
    before = (tmp_path / "results.csv").read_bytes()
    code, out, _ = suggest(capsys, *files, "-n", "2")
    assert code == 0
    assert out.startswith(
        "2 results, 1 failed, 1 pending; best yield 71.5 % in row 3\ntemperature [°C]  time  "
    )
    assert (tmp_path / "results.csv").read_bytes() == before
    found = json.loads(suggest(capsys, *files, "-n", "2", "--json")[1])
    assert found["rows"] == {"with_result": 2, "failed": 1, "pending": 1}
    assert found["best"] == {
        "row": 3,
        "parameters": {
            "temperature": 80.0,
            "time": 6.0,
            "stirring": 500,
            "dose": 0.5,
            "catalyst": "Pd",
        },
        "result": 71.5,
    }
    assert suggest(capsys, *files, "-n", "2", "--append")[0] == 0
    after = (tmp_path / "results.csv").read_bytes()
    assert after.startswith(before)
    new = list(csv.DictReader([HEADER, *after.decode().splitlines()[-2:]]))
    assert [float(r["temperature"]) for r in new] == [
        s["parameters"]["temperature"] for s in found["suggestions"]
    ]
    assert all(r["yield"] == r["operator"] == "" for r in new)
    again = json.loads(suggest(capsys, *files, "-n", "1", "--json")[1])
    assert again["rows"]["pending"] == 3
    assert again["suggestions"][0]["parameters"] not in [
        s["parameters"] for s in found["suggestions"]
    ]


def many_rows(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seeded(seed))
    rows = []
    for _ in range(n):
        row = {
            "temperature": round(rng.uniform(20, 100), 1), "time": round(float(np.exp(rng.uniform(-0.6, 3.8))), 2),
            "stirring": 50 * rng.integers(2, 20), "dose": rng.choice([0.1, 0.2, 0.5, 1]), "catalyst": rng.choice(["Pd", "Ni", "Cu"]),
        }  # fmt: skip
        rows.append(",".join(str(v) for v in row.values()) + f",{truth(row):.2f},,")
    return rows


def test_what_the_model_expects_is_said_explained_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = write(tmp_path, "\n".join([HEADER, *many_rows(20)]) + "\n")
    code, out, err = suggest(
        capsys, *files, "-n", "2", "--explain", "--png", str(tmp_path / "why.png")
    )
    assert (code, err) == (0, "")
    assert " ± " in out
    assert "suggestion 2 ex" in out
    assert "  temperature: 20 " in out
    assert "best expected at" in out
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads(suggest(capsys, *files, "-n", "2", "--json")[1])
    assert all(
        s["uncertainty"] > 0 and s["reason"] in ("explores", "exploits")
        for s in found["suggestions"]
    )


def test_repeated_rows_teach_the_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bktf.lab.suggest import answer

    def noise(spread: float) -> float:
        rows = [
            r.rsplit(",", 3)[0] + f",{float(r.split(',')[5]) + s * spread:.2f},,"
            for r in many_rows(10)
            for s in (-1, 1)
        ]
        files = write(tmp_path, "\n".join([HEADER, *rows]) + "\n")
        found = answer(Path(files[0]), Path(files[1]), 1, seeded(0))
        assert found.posterior is not None
        return float(np.median(found.posterior.noise_std))

    assert noise(8.0) > 2 * noise(0.1)
    assert capsys.readouterr().err == ""


def test_an_exhausted_space_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = '[objective]\nname = "y"\ndirection = "minimize"\n[parameters.a]\ntype = "category"\nvalues = ["x", "z"]\n'
    files = write(tmp_path, "a,y\nx,1\nz,\n", space)
    assert "there is nothing left to suggest" in suggest(capsys, *files, "-n", "2")[1]
    files = write(
        tmp_path,
        "a,y\n" + "".join(f"{v},{v}\n" for v in range(6)),
        one_parameter('type = "int"\nlow = 0\nhigh = 5'),
    )
    assert "there is nothing left to suggest" in suggest(capsys, *files, "-n", "2", "--explain")[1]


def test_files_from_a_spreadsheet_are_read_and_appended_to_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = write(tmp_path, "")
    text = "\ufeff" + "\r\n".join(
        [
            '"# notes, with a comma",,,,,,,,',
            HEADER + ",,",
            *[row + ",," for row in ROWS],
            ",,,,,,,,,",
        ]
    )
    (tmp_path / "results.csv").write_bytes(text.encode())
    assert suggest(capsys, *files, "--append")[0] == 0
    after = (tmp_path / "results.csv").read_bytes()
    assert after.startswith(text.encode() + b"\r\n")
    assert after.endswith(b"\r\n")
    assert after.count(b"\n") == after.count(b"\r\n") == 8


def test_init_writes_files_that_work_and_never_overwrites(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        code = f"import sys; from bktf.cli import main; sys.exit(main({['suggest', *arguments]!r}))"
        return subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    assert run("--init").returncode == 0
    assert (tmp_path / "space.toml").read_text(encoding="utf-8") == EXAMPLE
    assert run("-n", "3", "--append").returncode == 0
    assert len(pd.read_csv(tmp_path / "results.csv")) == 3
    again = run("--init")
    assert again.returncode == 2
    assert (
        again.stderr == "bktf suggest: space.toml: is there already; --init does not overwrite it\n"
    )
    assert run("elsewhere.toml").stderr.startswith("bktf suggest: elsewhere.toml: no such file")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([HEADER + ",yeild"], "row 1: unknown column 'yeild'; did you mean 'yield'?"),
        (
            [HEADER + ",colour"],
            "row 1: unknown column 'colour'; if it is yours, name it in other_columns",
        ),
        ([HEADER + ",time"], "row 1: the column 'time' stands twice in the header"),
        ([HEADER.replace("dose,", "")], "row 1: the column 'dose' is missing from the header"),
        (
            [HEADER.replace(",", ";")],
            "row 1: the cells must be separated by commas; this file uses semicolons",
        ),
        (
            [HEADER.replace(",", "\t")],
            "row 1: the cells must be separated by commas; this file uses tabs",
        ),
        (
            [HEADER, '"1,000",6,500,0.5,Pd,71,,'],
            "row 2, column 'temperature': must be a number without commas; got '1,000'. Write 1000 if",
        ),
        (
            [HEADER, "130,6,500,0.5,Pd,71,,"],
            "row 2, column 'temperature': must lie in [20, 120]; got 130",
        ),
        (
            [HEADER, "hot,6,500,0.5,Pd,71,,"],
            "row 2, column 'temperature': must be a number; got 'hot'",
        ),
        (
            [HEADER, '"80,5",6,500,0.5,Pd,71,,'],
            "row 2, column 'temperature': the decimal point must be a point; got '80,5'. Write 80.5",
        ),
        (
            [HEADER, "80,5,6,500,0.5,Pd,71,,"],
            "row 2: must have 8 cells, one per column; it has 9. Is a comma used as decimal point?",
        ),
        (
            [HEADER, "80,6,500"],
            "row 2: must have 8 cells, one per column; it has 3. Is it half-written?",
        ),
        (
            [HEADER, "80,6,,0.5,Pd,71,,"],
            "row 2, column 'stirring': must be a number; the cell is empty",
        ),
        (
            [HEADER, "80,6,510,0.5,Pd,71,,"],
            "row 2, column 'stirring': must be 100 plus a multiple of 50; got 510, the nearest is 500",
        ),
        (
            [HEADER, "80,6,500,0.3,Pd,71,,"],
            "row 2, column 'dose': must be one of 0.1, 0.2, 0.5, 1; got '0.3'",
        ),
        (
            [HEADER, "80,6,500,0.5,Zn,71,,"],
            "row 2, column 'catalyst': must be one of Pd, Ni, Cu; got 'Zn'",
        ),
        ([HEADER, "80,6,500,0.5,Pd,good,,"], "row 2, column 'yield': must be a number; got 'good'"),
        ([HEADER, "80,6,500,0.5,Pd,inf,,"], "row 2, column 'yield': must be a number; got 'inf'"),
        (
            [HEADER, "80,6,500,0.5,Pd,1e400,,"],
            "row 2, column 'yield': must be a finite number; got '1e400'",
        ),
        ([HEADER, *ROWS, '80,6,500,"0.5,Pd,71,,'], "row 6: not a line of a CSV file"),
        (
            [HEADER + ",status", "80,6,500,0.5,Pd,71,,,failed"],
            "row 2, column 'status': says failed, but the column 'yield' has the result '71'",
        ),
        (
            [HEADER + ",status", "80,6,500,0.5,Pd,,,,lost"],
            "row 2, column 'status': must be empty, done, pending or failed; got 'lost'",
        ),
        (
            [HEADER + ",status", "80,6,500,0.5,Pd,,,,done"],
            "row 2, column 'yield': is empty, but the status says done",
        ),
    ],
)
def test_a_table_that_is_wrong_is_named_by_row_and_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[str], message: str
) -> None:
    files = write(tmp_path, "\n".join(rows) + "\n")
    before = (tmp_path / "results.csv").read_bytes()
    code, out, err = suggest(capsys, *files, "--append")
    assert (code, out) == (2, "")
    assert err.startswith("bktf suggest: results.csv: " + message)
    assert err.count("\n") == 1
    assert (tmp_path / "results.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'direction = "maximize"',
            'direction = "up"',
            '[objective] direction must be "minimize" or "maximize"',
        ),
        (
            'name = "yield"',
            'nmae = "yield"',
            "[objective] has an entry 'nmae' that means nothing here; did you mean 'name'?",
        ),
        ("low = 20", "low = 200", "[parameters.temperature] low must not exceed high"),
        (
            "low = 20",
            'low = "20"',
            "[parameters.temperature] low must be a finite number; got '20'",
        ),
        ("low = 0.5", "low = 0", "[parameters.time] low must be positive where log = true"),
        (
            'type = "int"',
            'type = "integer"',
            '[parameters.stirring] type must be "float", "int", "ordered" or "category"',
        ),
        ("step = 50", "step = 0.5", "[parameters.stirring] step must be a whole number"),
        ("[0.1, 0.2, 0.5, 1.0]", "[0.2, 0.1]", "[parameters.dose] values must increase"),
        ('["Pd", "Ni", "Cu"]', '["Pd", "Pd"]', "[parameters.catalyst] values must differ"),
        ('["Pd", "Ni", "Cu"]', "[]", "[parameters.catalyst] values must not be empty"),
        (
            "{ temperature = 1.0, stirring = 0.05 }",
            "{ temprature = 1.0 }",
            "[[constraints]] number 1: 'temprature' is not a parameter; did you mean",
        ),
        (
            "{ temperature = 1.0, stirring = 0.05 }",
            "{ catalyst = 1.0 }",
            "[[constraints]] number 1: 'catalyst' is not a number",
        ),
        ("at_most = 150", "", "[[constraints]] number 1 needs factors and at_most or at_least"),
        ("[objective]", "[objective", "not valid TOML"),
        ('["operator", "note"]', '["operator", "time"]', "the name 'time' is used twice"),
        (
            '["Pd", "Ni", "Cu"]',
            '["#1", "#2"]',
            "[parameters.catalyst] values must not begin with #",
        ),
        (
            '["Pd", "Ni", "Cu"]',
            '["a\\nb", "c"]',
            "[parameters.catalyst] values must not begin with #",
        ),
        (
            "low = 20\nhigh = 120",
            "low = 100000000\nhigh = 100000010",
            "[parameters.temperature] the range from 100000000 to 100000010 is too narrow",
        ),
        (
            "low = 20\nhigh = 120",
            "low = 0\nhigh = 1\nstep = 1e-310",
            "[parameters.temperature] step must be at least a billionth",
        ),
        (
            "[0.1, 0.2, 0.5, 1.0]",
            "[1, 1" + 400 * "0" + "]",
            "[parameters.dose] values must be finite numbers below 1e300",
        ),
        ('name = "yield"', 'name = "status"', "'status' cannot be the name of a column"),
    ],
)
def test_a_space_file_that_is_wrong_is_named_by_entry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    assert SPACE.count(old) == 1
    code, _, err = suggest(capsys, *write(tmp_path, HEADER + "\n", SPACE.replace(old, new)))
    assert code == 2
    assert err.startswith("bktf suggest: space.toml: " + message)
    assert err.count("\n") == 1


def test_constraints_that_nothing_satisfies_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = suggest(
        capsys, *write(tmp_path, "", SPACE.replace("at_most = 150", "at_most = 5"))
    )
    assert code == 2
    assert err.startswith(
        "bktf suggest: space.toml: [[constraints]] number 1 cannot hold: the sum lies between 25 and 170"
    )
    code, _, err = suggest(
        capsys, *write(tmp_path, "", SPACE.replace("at_most = 150", "at_most = 25.0001"))
    )
    assert code == 2
    assert "they leave too little of the space" in err
    assert err.count("\n") == 1


def one_parameter(entry: str) -> str:
    return f'[objective]\nname = "y"\ndirection = "minimize"\n[parameters.a]\n{entry}\n'


def test_steps_reach_the_top_of_the_range_and_are_tried_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for low, high, step, values in (
        (0.0, 0.9, 0.3, 4),
        (0.7, 0.8, 0.1, 2),
        (0.0, 0.3, 0.1, 4),
        (0.1, 0.75, 0.2, 4),
    ):
        space = one_parameter(f'type = "float"\nlow = {low}\nhigh = {high}\nstep = {step}')
        files = write(tmp_path, f"a,y\n{low},1\n", space)
        found = json.loads(suggest(capsys, *files, "-n", "9", "--json")[1])["suggestions"]
        assert len({s["parameters"]["a"] for s in found} | {low}) == len(found) + 1 == values
        tops = f"a,y\n{low},1\n{max(s['parameters']['a'] for s in found)},2\n"
        assert (
            len(
                json.loads(suggest(capsys, *write(tmp_path, tops, space), "-n", "9", "--json")[1])[
                    "suggestions"
                ]
            )
            == values - 2
        )


def test_suggestions_have_the_digits_that_the_range_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = write(tmp_path, "", one_parameter('type = "float"\nlow = 1000\nhigh = 1010'))
    found = json.loads(suggest(capsys, *files, "-n", "6", "--json")[1])["suggestions"]
    assert len({s["parameters"]["a"] for s in found}) == 6
    assert all(1000 <= s["parameters"]["a"] <= 1010 for s in found)


def test_predictions_have_the_digits_that_their_uncertainty_leaves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{x},{1e6 + (x - 4) ** 2}\n" for x in (0, 1, 2, 3, 5, 7, 9, 10))
    files = write(tmp_path, "a,y\n" + rows, one_parameter('type = "float"\nlow = 0\nhigh = 10'))
    _, out, _ = suggest(capsys, *files)
    assert "best y 1000001 in row 5" in out
    assert abs(float(out.splitlines()[2].split()[1]) - 1e6) < 5
    assert "e+06" not in out


def test_failures_count_towards_the_start_design(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{x},{'failed' if x > 3 else x}\n" for x in range(8))
    files = write(tmp_path, "a,y\n" + rows, one_parameter('type = "float"\nlow = 0\nhigh = 10'))
    found = json.loads(suggest(capsys, *files, "--json")[1])["suggestions"]
    assert found[0]["reason"] != "start design"


def test_only_a_plain_file_is_appended_to_and_only_when_all_else_worked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = write(tmp_path, "\n".join([HEADER, *many_rows(12)]) + "\n")
    before = (tmp_path / "results.csv").read_bytes()
    assert suggest(capsys, *files, "--append", "--png", str(tmp_path / "no" / "x.png"))[0] == 2
    assert suggest(capsys, *files, "--append", "--png", str(tmp_path / "x.foo"))[0] == 2
    assert (tmp_path / "results.csv").read_bytes() == before
    (tmp_path / "folder.csv").mkdir()
    assert suggest(capsys, files[0], str(tmp_path / "folder.csv"), "--append")[0] == 2
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "results.csv")
    assert suggest(capsys, files[0], str(link), "--append")[0] == 0
    assert link.is_symlink()
    assert (tmp_path / "results.csv").read_bytes().startswith(before)


def test_output_that_nobody_reads_or_cannot_be_encoded_is_no_traceback(tmp_path: Path) -> None:
    files = write(tmp_path, "\n".join([HEADER, *many_rows(12)]) + "\n")
    code = f"import sys; from bktf.cli import main; sys.exit(main({['suggest', *files, '--explain']!r}))"
    for shell in (
        f'{sys.executable} -c "{code}" | true',
        f'PYTHONIOENCODING=ascii {sys.executable} -c "{code}"',
    ):
        done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr


# --- mutation
# ----------------------------------------------------------------------------------------------------


def flip(data: bytearray, rng: np.random.Generator) -> None:
    data[rng.integers(len(data))] = rng.integers(256)


def cut(data: bytearray, rng: np.random.Generator) -> None:
    first = rng.integers(len(data))
    del data[first : first + rng.integers(1, 30)]


def double(data: bytearray, rng: np.random.Generator) -> None:
    first = rng.integers(len(data))
    data[first:first] = data[first : first + rng.integers(1, 30)]


def insert(data: bytearray, rng: np.random.Generator) -> None:
    pieces = [
        b'"',
        b",",
        b"\n",
        b"\0",
        b"\xff\xfe",
        b"[",
        b"]",
        b"=",
        b"#",
        b"1e999",
        b"nan",
        b"-",
        b";",
        "μ".encode(),
        b"\r",
        b"{",
        b"__import__",
    ]
    first = rng.integers(len(data))
    data[first:first] = pieces[rng.integers(len(pieces))]


MUTATIONS: list[Callable[[bytearray, np.random.Generator], None]] = [flip, cut, double, insert]


def is_good(files: list[str]) -> bool:
    """Whether a mutated pair of files is still what files should be (a digit more in a note, say)."""
    try:
        read_table(Path(files[1]), read_lab_space(Path(files[0])))
    except LabError:
        return False
    return True


def test_300_malformed_files_each_get_one_line_and_stay_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(seeded(0))
    table = "\n".join([HEADER, *ROWS, *many_rows(3)]) + "\n"
    malformed = 0
    while malformed < 300:
        files = write(tmp_path, table)
        victim = Path(files[int(rng.integers(2))])
        data = bytearray(victim.read_bytes())
        for _ in range(int(rng.integers(1, 4))):
            MUTATIONS[int(rng.integers(len(MUTATIONS)))](data, rng)
        victim.write_bytes(data)
        if is_good(files):
            continue
        malformed += 1
        before = [hashlib.sha256(Path(f).read_bytes()).digest() for f in files]
        code, out, err = suggest(capsys, *files, "--append")
        assert (code, out) == (2, ""), bytes(data)
        assert err.startswith("bktf suggest: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert before == [hashlib.sha256(Path(f).read_bytes()).digest() for f in files]
    assert not list(tmp_path.glob("*.partial"))


def test_mutated_files_that_are_still_good_are_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(seeded(1))
    table = "\n".join([HEADER, *ROWS, *many_rows(3)]) + "\n"
    answered = 0
    for _ in range(600):
        files = write(tmp_path, table)
        data = bytearray((tmp_path / "space.toml").read_bytes())
        MUTATIONS[int(rng.integers(len(MUTATIONS)))](data, rng)
        (tmp_path / "space.toml").write_bytes(data)
        if is_good(files):
            code, _, err = suggest(capsys, *files)
            assert code == 0 or "feasible" in err, err
            answered += 1
    assert answered > 8


def test_what_the_model_left_out_is_said(tmp_path: Path) -> None:
    """A result that no smooth function explains counts as failed, and the answer says so."""
    (tmp_path / "space.toml").write_text(
        '[objective]\nname = "y"\ndirection = "maximize"\n[parameters.a]\ntype = "float"\nlow = 0\nhigh = 1\n'
        '[parameters.b]\ntype = "float"\nlow = 0\nhigh = 1\n'
    )
    rows = [
        f"{a},{b},{-((a - 0.3) ** 2) - b if (a, b) != (0.5, 0.5) else -1e6}"
        for a in (0.1, 0.5, 0.9)
        for b in (0.1, 0.5, 0.8)
    ]
    (tmp_path / "results.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    found = lab.answer(tmp_path / "space.toml", tmp_path / "results.csv", 1, 0)
    assert found.notes == (
        "1 of 9 results are so much worse than all others that they count as failed",
    )
    assert f"({found.notes[0]})" in lab.as_lines(found)
    assert lab.as_json(found)["notes"] == list(found.notes)
