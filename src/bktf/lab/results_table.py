"""`results.csv`: the experiments that were tried. Rows are appended; nothing else is changed.

A line that begins with # is a comment. Every other row is one line of the file; row numbers are
those a spreadsheet shows.
"""

import csv
import difflib
import io
import math
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from bktf.lab.lab_conditions import check_active
from bktf.lab.lab_space import SPECIAL_COLUMNS, LabError, LabSpace, as_text, read_text

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?", re.ASCII)
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
FAILED = ("failed", "fail", "nan")
STATUSES = ("", "done", "pending", *FAILED)


@dataclass(frozen=True)
class Row:
    """One experiment: its parameters, and its result unless it is pending or failed."""

    number: int
    params: dict[str, Any]
    result: float | None
    failed: bool

    @property
    def is_pending(self) -> bool:
        """Whether the experiment has no outcome yet."""
        return self.result is None and not self.failed


@dataclass(frozen=True)
class Table:
    """What a file holds; `text` is what was read, byte for byte."""

    path: Path
    text: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]


def new_header(space: LabSpace) -> tuple[str, ...]:
    """The columns of a new table."""
    return (
        *space.distributions,
        space.objective.name,
        "predicted",
        "uncertainty",
        "reason",
        *space.other_columns,
    )


def read_table(path: Path, space: LabSpace) -> Table:
    """Read the table; a LabError names the row and the column that are wrong."""
    text = read_text(path)
    header: tuple[str, ...] = ()
    rows = []
    for number, where, cells in numbered_cells(text, path.name):
        if not header:
            header = _check_header(cells, where, space)
        else:
            rows.append(_read_row(cells, number, header, space, where))
    return Table(path, text, header or new_header(space), tuple(rows))


def numbered_cells(text: str, name: str) -> Iterator[tuple[int, str, list[str]]]:
    """The number of each row that is not empty and no comment, what errors call it, its cells."""
    if "\0" in text:
        problem = "holds zero bytes, so it is not a text file"
        raise LabError(f"{name}: {problem}; save it as “CSV UTF-8”")
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"{name}: row {number}"
        cells = _cells(line, where)
        # A spreadsheet puts a comment with a comma in quotes.
        if any(cells) and not cells[0].startswith("#"):
            yield number, where, cells


def _cells(line: str, where: str) -> list[str]:
    """The cells of one line."""
    try:
        (cells,) = csv.reader([line], strict=True)
    except csv.Error as error:
        raise LabError(
            f"{where}: not a line of a CSV file ({error}); is a quote missing? A cell must be on "
            "one line"
        ) from None
    except ValueError:
        raise LabError(f"{where}: must be one line of cells") from None
    return [cell.strip() for cell in cells] or [""]


def _check_header(header: list[str], where: str, space: LabSpace) -> tuple[str, ...]:
    """The header, refused where a column is unknown, missing or repeated."""
    known = {space.objective.name, *space.distributions, *space.other_columns, *SPECIAL_COLUMNS}
    for column in named_columns(header, where):
        if column not in known:
            close = difflib.get_close_matches(column, list(known), 1)
            hint = "if it is yours, name it in other_columns of the space file"
            if close:
                hint = f"did you mean {close[0]!r}?"
            raise LabError(f"{where}: unknown column {column!r}; {hint}")
    for column in (*space.distributions, space.objective.name):
        if column not in header:
            raise LabError(f"{where}: the column {column!r} is missing from the header")
    return tuple(header)


def named_columns(header: list[str], where: str) -> list[str]:
    """The columns of a header, refused where one is repeated or commas are missing."""
    named = header
    while named and not named[-1]:  # columns that a spreadsheet added at the end, without a name
        named = named[:-1]
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and separator in header[0]:
            raise LabError(
                f"{where}: the cells must be separated by commas; this file uses {name}. Save it "
                "as “CSV (comma separated)”"
            )
    for column in named:
        if named.count(column) > 1:
            raise LabError(f"{where}: the column {column!r} stands twice in the header")
    return named


def by_column(cells: list[str], header: Sequence[str], where: str) -> dict[str, str]:
    """The cells of a row by the names of their columns."""
    if len(cells) != len(header):
        hint = "Is it half-written?"
        if len(cells) > len(header):
            hint = "Is a comma used as decimal point? Write 3.5, not 3,5"
        wanted = f"must have {len(header)} cells, one per column"
        raise LabError(f"{where}: {wanted}; it has {len(cells)}. {hint}")
    return dict(zip(header, cells, strict=True))


def read_params(named: dict[str, str], space: LabSpace, where: str) -> dict[str, Any]:
    """The parameters of an experiment from the cells of its row."""
    params = {
        name: read_value(named[name], distribution, f"{where}, column {name!r}")
        for name, distribution in space.distributions.items()
        if named[name] or name not in space.space.activations
    }
    if space.space.activations:
        check_active(space.space, params, where)
    return params


def _read_row(
    cells: list[str],
    number: int,
    header: tuple[str, ...],
    space: LabSpace,
    where: str,
) -> Row:
    """One experiment from the cells of its row."""
    named = by_column(cells, header, where)
    params = read_params(named, space, where)
    status = named.get("status", "").lower()
    if status not in STATUSES:
        wanted = "must be empty, done, pending or failed"
        raise LabError(f"{where}, column 'status': {wanted}; got {status!r}")
    objective = space.objective.name
    text = named[objective]
    failed = text.lower() in FAILED or status in FAILED
    if failed and text and text.lower() not in FAILED:
        raise LabError(
            f"{where}, column 'status': says failed, but the column {objective!r} has the result "
            f"{text!r}; keep one of them"
        )
    if failed or not text:
        if status == "done" and not failed:
            problem = "is empty, but the status says done"
            raise LabError(f"{where}, column {objective!r}: {problem}")
        return Row(number, params, None, failed)
    result = read_number_cell(text, f"{where}, column {objective!r}")
    return Row(number, params, result, False)


def read_number_cell(text: str, where: str) -> float:
    """A finite number, refused with a hint where it is written in another way."""
    if THOUSANDS.fullmatch(text):
        hint = f"Write {text.replace(',', '')} if the comma groups thousands"
        raise LabError(f"{where}: must be a number without commas; got {text!r}. {hint}")
    if DECIMAL_COMMA.fullmatch(text):
        hint = f"Write {text.replace(',', '.')}"
        raise LabError(f"{where}: the decimal point must be a point; got {text!r}. {hint}")
    if not NUMBER.fullmatch(text):
        problem = f"got {text!r}" if text else "the cell is empty"
        raise LabError(f"{where}: must be a number; {problem}")
    value = float(text)
    if not abs(value) <= 1e300:
        raise LabError(f"{where}: must be a finite number; got {text!r}")
    return value


def read_value(text: str, distribution: BaseDistribution, where: str) -> Any:
    """The value of a parameter, refused where it is not one of the parameter's values."""
    if isinstance(distribution, CategoricalDistribution):
        for choice in distribution.choices:
            is_number = not isinstance(choice, str) and NUMBER.fullmatch(text)
            if text == as_text(choice) or (is_number and float(text) == choice):
                return choice
        if all(not isinstance(c, str) for c in distribution.choices):
            read_number_cell(text, where)
        allowed = ", ".join(as_text(c) for c in distribution.choices)
        if not text:
            raise LabError(f"{where}: is empty; it must be one of {allowed}")
        raise LabError(f"{where}: must be one of {allowed}; got {text!r}")
    value = read_number_cell(text, where)
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    if not low <= value <= high:
        raise LabError(f"{where}: must lie in [{as_text(low)}, {as_text(high)}]; got {text}")
    if step is not None:
        nearest = low + step * round((value - low) / step)
        if abs(nearest - value) > 1e-8 * step:
            wanted = f"must be {as_text(low)} plus a multiple of {as_text(step)}"
            raise LabError(f"{where}: {wanted}; got {text}, the nearest is {nearest:.10g}")
        # Of a step of 0.1 the third is 0.30000000000000004; as it was written it is 0.3.
        value = min(nearest, high) if isinstance(distribution, IntDistribution) else value
    return int(value) if isinstance(distribution, IntDistribution) else float(value)


def append_rows(table: Table, rows: list[dict[str, str]]) -> None:
    """Append rows, given by column, to the file.

    A new file is written beside it and then renamed, so nothing is ever half-written.
    """
    path = table.path
    text = table.text
    ending = "\r\n" if "\r\n" in text else "\n"
    lines = re.split(r"\r\n|\n|\r", text)
    has_header = any(line.strip() and not line.lstrip().startswith("#") for line in lines)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=ending)
    if not has_header:
        writer.writerow(table.header)
    for row in rows:
        writer.writerow([row.get(column, "") for column in table.header])
    if text and not text.endswith(("\n", "\r")):
        text += ending
    if not path.is_file() or not os.access(path, os.W_OK):
        raise LabError(f"{path}: must be a file that may be written; nothing was appended")
    current = path.read_bytes()
    if current.decode("utf-8-sig") != table.text:
        problem = "was changed by someone else in the meantime"
        raise LabError(f"{path.name}: {problem}; nothing was written, run it again")
    byte_order_mark = b"\xef\xbb\xbf" if current.startswith(b"\xef\xbb\xbf") else b""
    target = path.resolve()
    try:
        folder, name = target.parent, target.name
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=name, suffix=".partial")
    except OSError as error:
        raise LabError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(byte_order_mark + (text + out.getvalue()).encode())
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(target.stat().st_mode & 0o777)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink()
        raise


def settable(value: float, distribution: BaseDistribution) -> float:
    """A number rounded to what an experiment can set.

    Its last digit is a millionth to a hundred-thousandth of the range. On a logarithmic scale it
    has six digits.
    """
    if distribution.log:  # type: ignore[attr-defined]
        return float(f"{value:.6g}")
    width = distribution.high - distribution.low  # type: ignore[attr-defined]
    return round(value, 5 - math.floor(math.log10(width))) if width > 0 else value
