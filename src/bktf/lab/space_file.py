"""`space.toml`: what an experiment can vary, what is measured, and what must hold."""

import math
import tomllib
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
from bktf.engine import AUTO, Objective, check_optimism, make_belief
from bktf.lab.further_knowledge import read_descriptors, read_earlier_files, read_expected
from bktf.lab.lab_conditions import make_space, read_conditions, read_mixture
from bktf.lab.lab_space import (
    SPECIAL_COLUMNS,
    Constraint,
    LabError,
    LabSpace,
    as_text,
    read_text,
)
from bktf.lab.stop_entry import read_stop
from bktf.lab.toml_entries import (
    check_names,
    nearest_name,
    read_list,
    read_number,
    read_string,
    read_table_entry,
)
from bktf.spaces import Space, can_be_modelled
from bktf.surrogate import check_rank


def read_lab_space(path: Path) -> LabSpace:
    """Read `space.toml`; a LabError names the entry that is wrong."""
    text = read_text(path)
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise LabError(f"{path.name}: not valid TOML: {error}") from None
    try:
        return _read_document(document, path.parent)
    except LabError as error:
        raise LabError(f"{path.name}: {error}") from None


def _read_document(document: dict[str, Any], folder: Path) -> LabSpace:
    """The space, from what the file holds; other files that it names are in its folder."""
    names = {"objective", "parameters", "constraints", "mixtures", "other_columns", "model"}
    check_names(document, names | {"earlier", "expected_optimum", "stop"}, "the file")
    objective, noise, repeats = _read_objective(read_table_entry(document, "objective"))
    tables = read_table_entry(document, "parameters") if "parameters" in document else {}
    given = enumerate(read_list(document, "mixtures"))
    mixtures = [read_mixture(entry, i, tables) for i, entry in given]
    mixed = {name: d for m in mixtures for name, d in m.distributions.items()}
    if not tables and not mixed:
        raise LabError("needs at least one [parameters.NAME]")
    distributions: dict[str, BaseDistribution] = {}
    ordinal, units, conditions = set(), dict.fromkeys(mixed, ""), {}
    descriptors: dict[str, Any] = {}
    for parameter, entry in tables.items():
        where = f"[parameters.{parameter}]"
        if not isinstance(entry, dict):
            raise LabError(f"{where} must be a table with a type; got {entry!r}")
        conditions[parameter] = read_conditions(entry, where)
        described = {k: v for k, v in entry.items() if k not in ("when", "descriptors")}
        is_ordered = False
        if parameter in mixed:
            distributions[parameter] = mixed[parameter]
        else:
            distributions[parameter], is_ordered = _read_parameter(described, where)
        if "descriptors" in entry:
            d = distributions[parameter]
            if is_ordered or not isinstance(d, CategoricalDistribution):
                raise LabError(f'{where} descriptors are for the type "category"')
            file = folder / read_string(entry, "descriptors", where)
            numbers = read_descriptors(file, parameter, d.choices)
            descriptors |= {} if numbers is None else {parameter: numbers}
        units[parameter] = read_string(entry, "unit", where) if "unit" in entry else ""
        if is_ordered:
            ordinal.add(parameter)
    distributions |= {name: d for name, d in mixed.items() if name not in distributions}
    if not any(can_be_modelled(d) for d in distributions.values()):
        raise LabError("no parameter has more than one value, so there is nothing to choose")
    others = document.get("other_columns", [])
    if not isinstance(others, list) or not all(isinstance(o, str) for o in others):
        raise LabError(f"other_columns must be a list of column names; got {others!r}")
    _check_columns([objective.name, *distributions, *others])
    entries = read_list(document, "constraints")
    model = read_table_entry(document, "model") if "model" in document else {}
    check_names(model, {"rank", "optimism"}, "[model]")
    beliefs = document.get("expected_optimum", {})
    expected = read_expected(beliefs) if isinstance(beliefs, dict) else {}
    space = make_space(distributions, ordinal, conditions, mixtures)
    space = space._replace(descriptors=descriptors)
    _check_expected(space, expected)
    earlier = read_table_entry(document, "earlier") if "earlier" in document else None
    return LabSpace(
        objective=objective,
        noise=noise,
        repeats=repeats,
        rank=_read_rank(model),
        optimism=_read_optimism(model),
        space=space,
        units=units,
        constraints=tuple(_read_constraint(e, i, distributions) for i, e in enumerate(entries)),
        other_columns=tuple(others),
        earlier=() if earlier is None else read_earlier_files(earlier, folder),
        expected=expected,
        stop=read_stop(read_table_entry(document, "stop")) if "stop" in document else None,
    )


def _check_expected(space: Space, expected: dict[str, Any]) -> None:
    """Refuse an expected optimum of what is no parameter, or that it cannot have."""
    for name in expected:
        if name not in space.distributions:
            hint = nearest_name(name, space.distributions)
            raise LabError(f"[expected_optimum] {name!r} is not a parameter{hint}")
    try:
        make_belief(space.modelled, expected)
    except ValueError as error:
        raise LabError(str(error)) from None


def _read_objective(table: dict[str, Any]) -> tuple[Objective, float | None, bool]:
    """What is measured, its known noise, and whether suggestions may repeat a point."""
    where = "[objective]"
    check_names(table, {"name", "direction", "unit", "noise", "repeats"}, where)
    name = read_string(table, "name", where)
    direction = read_string(table, "direction", where)
    if direction not in ("minimize", "maximize"):
        raise LabError(f'{where} direction must be "minimize" or "maximize"; got {direction!r}')
    noise = read_number(table, "noise", where) if "noise" in table else None
    if noise is not None and noise < 0:
        raise LabError(f"{where} noise must be at least 0; got {noise:g}")
    repeats = table.get("repeats", False)
    if not isinstance(repeats, bool):
        raise LabError(f"{where} repeats must be true or false; got {repeats!r}")
    unit = read_string(table, "unit", where) if "unit" in table else ""
    is_maximized = direction == "maximize"
    objective = Objective(
        direction="maximize" if is_maximized else "minimize",
        name=name,
        unit=unit,
    )
    return objective, noise, repeats


def _read_rank(table: dict[str, Any]) -> float | str:
    """The rank of the surrogate: "auto", a whole number or infinity."""
    rank = table.get("rank", AUTO)
    if rank == AUTO:
        return AUTO
    try:
        check_rank(rank)
    except ValueError:
        wanted = f'"auto", a whole number from 1 to {MAX_RANK}, or inf'
        raise LabError(f"[model] rank must be {wanted}; got {rank!r}") from None
    return float(rank) if rank == math.inf else int(rank)


def _read_optimism(table: dict[str, Any]) -> float | None:
    """What is expected where nothing is known; None for the default rule."""
    optimism = table.get("optimism")
    try:
        check_optimism(optimism)
    except ValueError:
        wanted = "a number from 0.0 (the worst result) to 1.0 (the average)"
        raise LabError(f"[model] optimism must be {wanted}; got {optimism!r}") from None
    return None if optimism is None else float(optimism)


def _check_columns(columns: list[str]) -> None:
    """Refuse names that the header of a table cannot have."""
    for column in columns:
        if columns.count(column) > 1:
            raise LabError(
                f"the name {column!r} is used twice; objective, parameters and other columns need "
                "different names"
            )
        is_stripped = bool(column) and column == column.strip()
        is_plain = is_stripped and not column.startswith("#") and column.isprintable()
        if column in SPECIAL_COLUMNS or not is_plain:
            raise LabError(
                f"{column!r} cannot be the name of a column: it is empty, begins with # or a "
                "space, or is reserved"
            )


def _read_parameter(entry: dict[str, Any], where: str) -> tuple[BaseDistribution, bool]:
    """The distribution of a parameter, and whether it is an ordered category."""
    kind = read_string(entry, "type", where)
    if kind in ("category", "ordered"):
        is_ordered = kind == "ordered"
        return CategoricalDistribution(_read_values(entry, is_ordered, where)), is_ordered
    if kind not in ("float", "int"):
        wanted = f'{where} type must be "float", "int", "ordered" or "category"'
        raise LabError(f"{wanted}; got {kind!r}")
    return _read_range(entry, kind, where), False


def _read_values(entry: dict[str, Any], is_ordered: bool, where: str) -> list[Any]:
    """The values of a category."""
    check_names(entry, {"type", "values", "unit"}, where)
    values = read_list(entry, "values", where)
    if not values:
        raise LabError(f"{where} values must not be empty")
    for value in values:
        _check_value(value, where)
    texts = [as_text(value) for value in values]
    if len(set(texts)) < len(texts):
        raise LabError(f"{where} values must differ; got {values!r}")
    all_numbers = all(not isinstance(value, str) for value in values)
    if is_ordered and all_numbers and sorted(values) != values:
        raise LabError(f"{where} values must increase; got {values!r}")
    return values


def _check_value(value: object, where: str) -> None:
    """Refuse a value of a category that a table cannot hold."""
    is_finite = not isinstance(value, float) or math.isfinite(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not is_finite:
        raise LabError(f"{where} values must be texts or numbers; got {value!r}")
    if isinstance(value, str):
        if value != value.strip() or value.startswith("#") or not value.isprintable():
            raise LabError(
                f"{where} values must not begin with # or a space, end with a space, or hold line "
                f"breaks; got {value!r}"
            )
    elif not abs(value) <= 1e300:
        raise LabError(f"{where} values must be finite numbers below 1e300; got a larger one")


def _read_range(entry: dict[str, Any], kind: str, where: str) -> BaseDistribution:
    """The distribution of a parameter of the type "float" or "int"."""
    check_names(entry, {"type", "low", "high", "log", "step", "unit"}, where)
    low, high = read_number(entry, "low", where), read_number(entry, "high", where)
    log = entry.get("log", False)
    step = read_number(entry, "step", where) if "step" in entry else None
    if not isinstance(log, bool):
        raise LabError(f"{where} log must be true or false; got {log!r}")
    if not low <= high:
        raise LabError(f"{where} low must not exceed high; got {low:g} and {high:g}")
    if not math.isfinite(high - low):
        range_text = f"the range from {low:g} to {high:g}"
        raise LabError(f"{where} {range_text} is too wide for double precision")
    if log and low <= 0:
        raise LabError(f"{where} low must be positive where log = true; got {low:g}")
    if step is not None and (step <= 0 or log):
        wanted = "step must be positive, and cannot go with log = true"
        raise LabError(f"{where} {wanted}; got {step:g}")
    if step is not None and step < 1e-9 * (high - low):
        raise LabError(f"{where} step must be at least a billionth of the range; got {step:g}")
    last = _last_step(low, high, step)
    if kind == "float":
        distribution = FloatDistribution(low, last, log=log, step=step)
        if not distribution.single() and not can_be_modelled(distribution):
            raise LabError(
                f"{where} the range from {low:.12g} to {high:.12g} is too narrow: it must be more "
                "than a millionth of its larger end. Use the difference from a fixed value as the "
                "parameter"
            )
        return distribution
    for name, value in (("low", low), ("high", high), ("step", 1.0 if step is None else step)):
        if value != int(value):
            raise LabError(f"{where} {name} must be a whole number for type int; got {value:g}")
    return IntDistribution(int(low), int(last), log=log, step=int(step or 1))


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
        wanted = "must be a table with factors and at_most or at_least"
        raise LabError(f"{where} {wanted}; got {entry!r}")
    check_names(entry, {"factors", "at_most", "at_least"}, where)
    factors = read_table_entry(entry, "factors", where)
    for name in factors:
        if name not in distributions:
            hint = nearest_name(name, distributions)
            raise LabError(f"{where}: {name!r} is not a parameter{hint}")
        choices = getattr(distributions[name], "choices", ())
        if any(isinstance(choice, str) for choice in choices):
            problem = f"{name!r} is not a number, so it cannot be in a linear constraint"
            raise LabError(f"{where}: {problem}")
        read_number(factors, name, where)
    if not factors or not {"at_most", "at_least"} & entry.keys():
        raise LabError(f"{where} needs factors and at_most or at_least")
    low = read_number(entry, "at_least", where) if "at_least" in entry else -math.inf
    high = read_number(entry, "at_most", where) if "at_most" in entry else math.inf
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
