"""`space.toml`: what an experiment can vary, what is measured, and what must hold."""

import difflib
import math
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from bktf._checks import MAX_RANK
from bktf.engine import AUTO, Objective
from bktf.spaces import Parameter, can_be_modelled, only_value, parameters_of
from bktf.surrogate import check_rank

SPECIAL_COLUMNS = ("status", "predicted", "uncertainty", "reason")  # that have a meaning here

EXAMPLE = """\
# What the experiment can vary, what is measured, and what must hold. Read by `bktf suggest`; nothing in it is executed.
#
# The table beside it (results.csv) has one row per experiment. Leave the result empty while it is under way; write failed where it
# failed; a row that stands twice is a repeated measurement. Columns named predicted, uncertainty and reason are filled in with
# suggestions; a column status may say pending, done or failed. A line of the table that begins with # is a comment.

other_columns = ["operator", "note"]   # columns of the table that are yours: kept, not read

[objective]
name = "yield"             # the column of the table that holds the result
direction = "maximize"     # or "minimize"
unit = "%"                 # optional
# noise = 0.5              # optional: standard deviation of one measurement, where you know it
# repeats = true           # optional: let suggestions repeat a point, for noisy experiments

[parameters.temperature]
type = "float"             # any number from low to high
low = 20
high = 120
unit = "°C"

[parameters.time]
type = "float"
low = 0.5
high = 48
log = true                 # measured on a logarithmic scale: 1 → 2 is as far as 10 → 20
unit = "h"

[parameters.stirring]
type = "int"               # whole numbers; with a step, only low, low + step, …
low = 100
high = 1000
step = 50
unit = "rpm"

[parameters.dose]
type = "ordered"           # exactly these values, in this order
values = [0.1, 0.2, 0.5, 1.0]
unit = "mol"

[parameters.catalyst]
type = "category"          # one of these, in no order
values = ["Pd", "Ni", "Cu"]

# Linear constraints: the sum of factor × parameter must be at most, or at least, a number.
[[constraints]]
factors = { temperature = 1.0, stirring = 0.05 }
at_most = 150

# [model]
# rank = "auto"            # optional: or inf for a Gaussian process, or a number of components
"""


class LabError(ValueError):
    """Something in a file that only its author can put right; the message is one line."""


@dataclass(frozen=True)
class Constraint:
    """low ≤ Σ factor × parameter ≤ high."""

    factors: dict[str, float]
    low: float
    high: float

    def holds(self, params: dict[str, Any]) -> bool:
        """Whether these parameters respect it; rounding does not count."""
        total = sum(factor * float(params[name]) for name, factor in self.factors.items())
        sizes = (abs(factor * float(params[name])) for name, factor in self.factors.items())
        slack = 1e-9 * sum(sizes)
        return self.low - slack <= total <= self.high + slack


@dataclass(frozen=True)
class LabSpace:
    """Everything `space.toml` says."""

    objective: Objective
    noise: float | None
    repeats: bool
    rank: float | str
    distributions: dict[str, BaseDistribution]
    ordinal: frozenset[str]
    units: dict[str, str]
    constraints: tuple[Constraint, ...]
    other_columns: tuple[str, ...]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that can vary."""
        modelled = {name: d for name, d in self.distributions.items() if can_be_modelled(d)}
        return parameters_of(modelled, self.ordinal)

    @property
    def constants(self) -> dict[str, Any]:
        """Parameters with a single value."""
        return {name: only_value(d) for name, d in self.distributions.items() if d.single()}

    def holds(self, params: dict[str, Any]) -> bool:
        """Whether all constraints hold."""
        return all(constraint.holds(params) for constraint in self.constraints)


def read_lab_space(path: Path) -> LabSpace:
    """Read `space.toml`; a LabError names the entry that is wrong."""
    text = read_text(path)
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise LabError(f"{path.name}: not valid TOML: {error}") from None
    try:
        return _read_document(document)
    except LabError as error:
        raise LabError(f"{path.name}: {error}") from None


def read_text(path: Path) -> str:
    """The text of a file, as it is; a LabError where there is none."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise LabError(f"{path}: no such file; `bktf suggest --init` writes an example") from None
    except UnicodeDecodeError as error:
        raise LabError(
            f"{path.name}: must be UTF-8 text; byte {error.start} is not. Save it as “CSV UTF-8”"
        ) from None
    except OSError as error:
        raise LabError(f"{path}: cannot be read: {error.strerror}") from None


def _read_document(document: dict[str, Any]) -> LabSpace:
    """The space, from what the file holds."""
    _known(
        document, {"objective", "parameters", "constraints", "other_columns", "model"}, "the file"
    )
    objective, noise, repeats = _read_objective(_table(document, "objective"))
    tables = _table(document, "parameters")
    if not tables:
        raise LabError("needs at least one [parameters.NAME]")
    distributions, ordinal, units = {}, set(), {}
    for parameter, entry in tables.items():
        where = f"[parameters.{parameter}]"
        if not isinstance(entry, dict):
            raise LabError(f"{where} must be a table with a type; got {entry!r}")
        distributions[parameter], is_ordered = _read_parameter(entry, where)
        units[parameter] = _text(entry, "unit", where) if "unit" in entry else ""
        if is_ordered:
            ordinal.add(parameter)
    if not any(can_be_modelled(d) for d in distributions.values()):
        raise LabError("no parameter has more than one value, so there is nothing to choose")
    others = document.get("other_columns", [])
    if not isinstance(others, list) or not all(isinstance(o, str) for o in others):
        raise LabError(f"other_columns must be a list of column names; got {others!r}")
    _check_columns([objective.name, *distributions, *others])
    entries = _list(document, "constraints")
    return LabSpace(
        objective=objective,
        noise=noise,
        repeats=repeats,
        rank=_read_rank(_table(document, "model")) if "model" in document else AUTO,
        distributions=distributions,
        ordinal=frozenset(ordinal),
        units=units,
        constraints=tuple(_read_constraint(e, i, distributions) for i, e in enumerate(entries)),
        other_columns=tuple(others),
    )


def _read_objective(table: dict[str, Any]) -> tuple[Objective, float | None, bool]:
    """What is measured, its known noise, and whether suggestions may repeat a point."""
    where = "[objective]"
    _known(table, {"name", "direction", "unit", "noise", "repeats"}, where)
    name = _text(table, "name", where)
    direction = _text(table, "direction", where)
    if direction not in ("minimize", "maximize"):
        raise LabError(f'{where} direction must be "minimize" or "maximize"; got {direction!r}')
    noise = _number(table, "noise", where) if "noise" in table else None
    if noise is not None and noise < 0:
        raise LabError(f"{where} noise must be at least 0; got {noise:g}")
    repeats = table.get("repeats", False)
    if not isinstance(repeats, bool):
        raise LabError(f"{where} repeats must be true or false; got {repeats!r}")
    unit = _text(table, "unit", where) if "unit" in table else ""
    is_maximized = direction == "maximize"
    objective = Objective(
        direction="maximize" if is_maximized else "minimize",
        name=name,
        unit=unit,
    )
    return objective, noise, repeats


def _read_rank(table: dict[str, Any]) -> float | str:
    """The rank of the surrogate: "auto", a whole number or infinity."""
    where = "[model]"
    _known(table, {"rank"}, where)
    rank = table.get("rank", AUTO)
    if rank == AUTO:
        return AUTO
    try:
        check_rank(rank)
    except ValueError:
        raise LabError(
            f'{where} rank must be "auto", a whole number from 1 to {MAX_RANK}, or inf; got {rank!r}'
        ) from None
    return float(rank) if rank == math.inf else int(rank)


def _check_columns(columns: list[str]) -> None:
    """Refuse names that cannot stand in the header of the table."""
    for column in columns:
        if columns.count(column) > 1:
            raise LabError(
                f"the name {column!r} is used twice; objective, parameters and other columns need different names"
            )
        is_stripped = bool(column) and column == column.strip()
        is_plain = is_stripped and not column.startswith("#") and column.isprintable()
        if column in SPECIAL_COLUMNS or not is_plain:
            raise LabError(
                f"{column!r} cannot be the name of a column: it is empty, begins with # or a space, or has a meaning of its own"
            )


def _read_parameter(entry: dict[str, Any], where: str) -> tuple[BaseDistribution, bool]:
    """The distribution of a parameter, and whether it is an ordered category."""
    kind = _text(entry, "type", where)
    if kind in ("category", "ordered"):
        _known(entry, {"type", "values", "unit"}, where)
        values = _list(entry, "values", where)
        if not values:
            raise LabError(f"{where} values must not be empty")
        for value in values:
            if (
                isinstance(value, bool)
                or not isinstance(value, str | int | float)
                or (isinstance(value, float) and not math.isfinite(value))
            ):
                raise LabError(f"{where} values must be texts or numbers; got {value!r}")
            if isinstance(value, str) and (
                value != value.strip() or value.startswith("#") or not value.isprintable()
            ):
                raise LabError(
                    f"{where} values must not begin with # or a space, end with a space, or hold line breaks; got {value!r}"
                )
            if isinstance(value, int | float) and not abs(value) <= 1e300:
                raise LabError(
                    f"{where} values must be finite numbers below 1e300; got a larger one"
                )
        texts = [as_text(value) for value in values]
        if len(set(texts)) < len(texts):
            raise LabError(f"{where} values must differ; got {values!r}")
        if (
            kind == "ordered"
            and all(not isinstance(v, str) for v in values)
            and sorted(values) != values
        ):
            raise LabError(f"{where} values must increase; got {values!r}")
        return CategoricalDistribution(values), kind == "ordered"
    if kind not in ("float", "int"):
        raise LabError(
            f'{where} type must be "float", "int", "ordered" or "category"; got {kind!r}'
        )
    _known(entry, {"type", "low", "high", "log", "step", "unit"}, where)
    low, high = _number(entry, "low", where), _number(entry, "high", where)
    log, step = entry.get("log", False), _number(entry, "step", where) if "step" in entry else None
    if not isinstance(log, bool):
        raise LabError(f"{where} log must be true or false; got {log!r}")
    if not low <= high:
        raise LabError(f"{where} low must not exceed high; got {low:g} and {high:g}")
    if not math.isfinite(high - low):
        raise LabError(
            f"{where} the range from {low:g} to {high:g} is too wide for double precision"
        )
    if log and low <= 0:
        raise LabError(f"{where} low must be positive where log = true; got {low:g}")
    if step is not None and (step <= 0 or log):
        raise LabError(
            f"{where} step must be positive, and cannot go with log = true; got {step:g}"
        )
    if step is not None and step < 1e-9 * (high - low):
        raise LabError(f"{where} step must be at least a billionth of the range; got {step:g}")
    if kind == "float":
        distribution = FloatDistribution(low, _last_step(low, high, step), log=log, step=step)
        if not distribution.single() and not can_be_modelled(distribution):
            raise LabError(
                f"{where} the range from {low:.12g} to {high:.12g} is too narrow: it must be more than a millionth of its larger end. "
                "Use the difference from a fixed value as the parameter"
            )
        return distribution, False
    for name, value in (("low", low), ("high", high), ("step", step if step is not None else 1.0)):
        if value != int(value):
            raise LabError(f"{where} {name} must be a whole number for type int; got {value:g}")
    return IntDistribution(
        int(low), int(_last_step(low, high, step)), log=log, step=int(step or 1)
    ), False


def _last_step(low: float, high: float, step: float | None) -> float:
    """The last of low, low + step, … that does not exceed high, in decimal arithmetic."""
    if step is None:
        return high
    first, last, width = Decimal(str(low)), Decimal(str(high)), Decimal(str(step))
    return float(first + (last - first) // width * width)


def _read_constraint(
    entry: Any,
    number: int,
    distributions: dict[str, BaseDistribution],
) -> Constraint:
    """A linear constraint, refused where it names no numbers or cannot hold."""
    where = f"[[constraints]] number {number + 1}"
    if not isinstance(entry, dict):
        raise LabError(
            f"{where} must be a table with factors and at_most or at_least; got {entry!r}"
        )
    _known(entry, {"factors", "at_most", "at_least"}, where)
    factors = _table(entry, "factors", where)
    for name in factors:
        if name not in distributions:
            raise LabError(f"{where}: {name!r} is not a parameter{_meant(name, distributions)}")
        distribution = distributions[name]
        if isinstance(distribution, CategoricalDistribution) and any(
            isinstance(v, str) for v in distribution.choices
        ):
            raise LabError(
                f"{where}: {name!r} is not a number, so it cannot stand in a linear constraint"
            )
        _number(factors, name, where)
    if not factors or not {"at_most", "at_least"} & entry.keys():
        raise LabError(f"{where} needs factors and at_most or at_least")
    low = _number(entry, "at_least", where) if "at_least" in entry else -math.inf
    high = _number(entry, "at_most", where) if "at_most" in entry else math.inf
    constraint = Constraint({name: float(factor) for name, factor in factors.items()}, low, high)
    terms = constraint.factors.items()
    ends = [sorted(f * end for end in _ends(distributions[name])) for name, f in terms]
    min_sum, max_sum = sum(pair[0] for pair in ends), sum(pair[-1] for pair in ends)
    if low > high or max_sum < low or min_sum > high:
        between = f"between {min_sum:g} and {max_sum:g}"
        raise LabError(f"{where} cannot hold: the sum lies {between} whatever the parameters are")
    return constraint


def _ends(distribution: BaseDistribution) -> tuple[float, float]:
    """The smallest and the largest value of a parameter that is a number."""
    if isinstance(distribution, CategoricalDistribution):
        values = [float(v) for v in distribution.choices]  # type: ignore[arg-type]
        return min(values), max(values)
    return float(distribution.low), float(distribution.high)  # type: ignore[attr-defined]


def as_text(value: Any) -> str:
    """A value as it stands in a table: short, and read back as the same number."""
    if isinstance(value, float):
        return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    return str(value)


def _known(table: dict[str, Any], names: set[str], where: str) -> None:
    """Refuse an entry with another name."""
    for name in table:
        if name not in names:
            raise LabError(
                f"{where} has an entry {name!r} that means nothing here{_meant(name, names)}"
            )


def _meant(name: str, names: Any) -> str:
    """A hint at the nearest name, or at all of them."""
    close = difflib.get_close_matches(name, list(names), 1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(map(repr, sorted(names)))}"


def _table(table: dict[str, Any], name: str, where: str = "the file") -> dict[str, Any]:
    """A table by its name."""
    found = table.get(name)
    if not isinstance(found, dict):
        if found is None:
            raise LabError(f"{where} needs a table {name!r}")
        raise LabError(f"{where}: {name!r} must be a table; got {found!r}")
    return found


def _list(table: dict[str, Any], name: str, where: str = "the file") -> list[Any]:
    """A list by its name; empty where it is missing."""
    found = table.get(name, [])
    if not isinstance(found, list):
        raise LabError(f"{where}: {name!r} must be a list; got {found!r}")
    return found


def _text(table: dict[str, Any], name: str, where: str) -> str:
    """A text by its name."""
    found = table.get(name)
    if not isinstance(found, str):
        if found is None:
            raise LabError(f"{where} {name} is missing")
        raise LabError(f"{where} {name} must be a text; got {found!r}")
    return found


def _number(table: dict[str, Any], name: str, where: str) -> float:
    """A finite number by its name."""
    found = table.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) <= 1e300:
        if found is None:
            raise LabError(f"{where} {name} is missing")
        raise LabError(f"{where} {name} must be a finite number; got {found!r}")
    return float(found)
