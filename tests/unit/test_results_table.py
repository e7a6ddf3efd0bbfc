"""The table of results: what its cells mean, and that appending never loses anything."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from optuna.distributions import FloatDistribution

from bktf.lab.lab_space import LabError
from bktf.lab.results_table import Table, append_rows, read_table, settable
from bktf.lab.space_file import read_lab_space
from seeds import seeded

SPACE = """
[objective]
name = "yield"
direction = "maximize"
[parameters.heat]
type = "float"
low = 0
high = 100
[parameters.acid]
type = "category"
values = ["HCl", "HBr"]
"""


def table_of(folder: Path, text: str) -> Table:
    """The table that a file with this text holds."""
    (folder / "space.toml").write_text(SPACE, encoding="utf-8")
    (folder / "results.csv").write_text(text, encoding="utf-8")
    return read_table(folder / "results.csv", read_lab_space(folder / "space.toml"))


@pytest.mark.parametrize("word", ["failed", "fail", "nan", "NaN", "Failed"])
def test_a_failure_may_be_written_as_a_result_or_as_a_status(tmp_path: Path, word: str) -> None:
    text = f"heat,acid,yield,status\n20,HCl,{word},\n30,HBr,,{word}\n40,HBr,,\n50,HCl,3.5,done\n"
    rows = table_of(tmp_path, text).rows
    assert [row.failed for row in rows] == [True, True, False, False]
    assert [row.is_pending for row in rows] == [False, False, True, False]
    assert [row.result for row in rows] == [None, None, None, 3.5]


def test_values_are_appended_under_their_columns_whatever_the_order_of_the_header(
    tmp_path: Path,
) -> None:
    table = table_of(tmp_path, "reason,yield,acid,heat\n,1.5,HCl,20\n")
    append_rows(table, [{"heat": "70", "acid": "HBr", "reason": "explores"}])
    with table.path.open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert first == {"reason": "", "yield": "1.5", "acid": "HCl", "heat": "20"}
    assert second == {"reason": "explores", "yield": "", "acid": "HBr", "heat": "70"}


def test_nothing_is_written_where_someone_changed_the_file_in_the_meantime(tmp_path: Path) -> None:
    table = table_of(tmp_path, "heat,acid,yield\n20,HCl,1.5\n")
    changed = table.text + "30,HBr,2.5\n"
    table.path.write_text(changed, encoding="utf-8")
    with pytest.raises(LabError, match="was changed by someone else in the meantime"):
        append_rows(table, [{"heat": "70", "acid": "HBr"}])
    assert table.path.read_text(encoding="utf-8") == changed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.csv", "space.toml"]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (20.0, 119.0), (-3e-5, 4e-5), (0.0, 7e8)])
def test_a_suggested_value_has_digits_that_can_be_set(low: float, high: float) -> None:
    """The last digit is between a millionth and a hundred-thousandth of the range."""
    width = high - low
    digit = 10.0 ** (math.floor(math.log10(width)) - 5)
    assert 1e-6 * width < digit <= 1e-5 * width
    for share in np.random.default_rng(seeded(0)).random(50):
        value = low + width * float(share)
        rounded = settable(value, FloatDistribution(low, high))
        assert abs(rounded - value) <= 0.501 * digit
        assert rounded / digit == pytest.approx(round(rounded / digit), abs=1e-6)


def test_on_a_logarithmic_scale_a_suggested_value_has_six_digits() -> None:
    distribution = FloatDistribution(1e-6, 1e3, log=True)
    assert settable(0.0123456789, distribution) == 0.0123457
    assert settable(987.6543219, distribution) == 987.654
