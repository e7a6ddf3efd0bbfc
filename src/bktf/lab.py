"""The lab loop: a space file and a table of results in, the next experiments out."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import CategoricalDistribution, FloatDistribution

from bktf.design import start_point
from bktf.feasibility import Feasibility, LinearConstraint
from bktf.history import History
from bktf.lab_space import EXAMPLE, LabError, LabSpace, as_text, read_lab_space
from bktf.lab_table import Row, Table, new_header, read_table, settable
from bktf.posterior import Posterior
from bktf.shapes import shown
from bktf.space import Parameter, values_at
from bktf.strategy import NothingFeasible, Strategy, Suggestion, seed_for
from bktf.suggestion import fit_history, next_points

Floats = NDArray[np.float64]

START = "start design"
EXPLORES = "explores"
EXPLOITS = "exploits"


@dataclass(frozen=True)
class Experiment:
    """A suggested experiment and what the model expects of it."""

    params: dict[str, Any]
    predicted: float | None
    uncertainty: float | None  # standard deviation of the prediction
    expected_improvement: float | None
    reason: str  # START, EXPLORES or EXPLOITS


@dataclass(frozen=True)
class Answer:
    """What `bktf suggest` found out."""

    space: LabSpace
    table: Table
    experiments: tuple[Experiment, ...]
    best: Row | None
    posterior: Posterior | None  # in the user's units; None during the start


def answer(space_file: Path, table_file: Path, q: int, seed: int) -> Answer:
    """The next q experiments; fewer where the space has no more."""
    space = read_lab_space(space_file)
    try:
        return _answer(space, table_file, q, seed)
    except NothingFeasible:
        raise LabError(
            f"{space_file.name}: no experiment was found for which the constraints hold; they leave too little of the space. A sum of "
            "continuous parameters cannot be met by chance: give each a step, or leave one of them out and set it to what remains"
        ) from None


def _answer(space: LabSpace, table_file: Path, q: int, seed: int) -> Answer:
    """`answer` with the space read."""
    table = read_table(table_file, space)
    parameters = space.parameters
    strategy = Strategy(noise_std=space.noise, allow_repeats=space.repeats)
    history = history_of(table, parameters)
    done = [row for row in table.rows if row.result is not None]
    best = (max if space.maximize else min)(done, key=lambda row: row.result or 0.0) if done else None

    def feasible(point: Floats) -> bool:
        return space.holds({**space.constants, **values_at(parameters, point)})

    restriction = Feasibility(parameters, feasible, linear_constraints(space)) if space.constraints else None
    if not len(history.y) or len(history.y) + len(history.failed) < strategy.n_startup(len(parameters)):
        chosen = _start(parameters, strategy, history, q, seed, len(table.rows), restriction)
        experiments = tuple(Experiment(_rounded(space, values_at(parameters, s.point)), None, None, None, START) for s in chosen)
        return Answer(space, table, experiments, best, None)
    fit_seed = seed_for(seed, len(table.rows))
    model = fit_history(parameters, history, strategy, space.maximize, fit_seed, {})
    plain = fit_history(parameters, history, shown(strategy), space.maximize, fit_seed, {}).posterior
    chosen = next_points(model, strategy, space.maximize, fit_seed, q, restriction)
    experiments = tuple(_described(space, parameters, plain, s) for s in chosen)
    return Answer(space, table, experiments, best, plain)


def linear_constraints(space: LabSpace) -> tuple[LinearConstraint, ...]:
    """The constraints over coordinates; without those on a category of numbers, whose coordinates are indices."""
    axes = {p.name: d for d, p in enumerate(space.parameters)}
    numeric = {p.name for p in space.parameters if p.places is None or np.array_equal(p.places, np.array(p.distribution.choices))}  # type: ignore[attr-defined]
    made = []
    for constraint in space.constraints:
        constant = sum(f * float(space.constants[name]) for name, f in constraint.factors.items() if name in space.constants)
        factors = {name: f for name, f in constraint.factors.items() if name not in space.constants}
        if factors.keys() <= numeric:
            by_axis = {axes[name]: f for name, f in factors.items()}
            made.append(LinearConstraint(by_axis, constraint.low - constant, constraint.high - constant))
    return tuple(made)


def history_of(table: Table, parameters: tuple[Parameter, ...]) -> History:
    """The rows as points and values."""

    def points(rows: list[Row]) -> Floats:
        coordinates = [[p.coordinate(row.params[p.name]) for p in parameters] for row in rows]
        return np.array(coordinates, dtype=float).reshape(-1, len(parameters))

    with_result = [row for row in table.rows if row.result is not None]
    failed = [row for row in table.rows if row.failed]
    pending = [row for row in table.rows if row.result is None and not row.failed]
    finished = [row for row in table.rows if row.result is not None or row.failed]
    return History(
        points(with_result), np.array([row.result for row in with_result], dtype=float), points(failed), points(finished), points(pending)
    )


def _start(
    parameters: tuple[Parameter, ...], strategy: Strategy, history: History, q: int, seed: int, number: int, feasible: Any
) -> list[Suggestion]:
    """The next q points of the start design."""
    chosen: list[Suggestion] = []
    avoid = np.concatenate((history.tried, history.pending))
    for i in range(q):
        suggestion = start_point(parameters, strategy, number + i, seed, avoid, feasible, {})
        if suggestion.is_repeat:
            break
        chosen.append(suggestion)
        avoid = np.concatenate((avoid, suggestion.point[None]))
    return chosen


def _rounded(space: LabSpace, params: dict[str, Any]) -> dict[str, Any]:
    """All parameters, numbers rounded to what an experiment can set where that leaves ranges and constraints intact."""
    whole: dict[str, Any] = {**space.constants, **params}
    whole = {name: whole[name] for name in space.distributions}
    short = {name: settable(v, space.distributions[name]) if _is_continuous(space, name) else v for name, v in whole.items()}
    fits = all(d._contains(d.to_internal_repr(short[name])) for name, d in space.distributions.items())
    return short if fits and space.holds(short) else whole


def _is_continuous(space: LabSpace, name: str) -> bool:
    distribution = space.distributions[name]
    return isinstance(distribution, FloatDistribution) and distribution.step is None


def _described(space: LabSpace, parameters: tuple[Parameter, ...], posterior: Posterior, suggestion: Suggestion) -> Experiment:
    """A suggestion with what the model expects of it, at the values that are set.

    It exploits where the model expects a value near the best so far, within a quarter of the way to the median; elsewhere it explores.
    """
    params = _rounded(space, values_at(parameters, suggestion.point))
    point = np.array([[p.coordinate(params[p.name]) for p in parameters]], dtype=float)
    mean, std = float(posterior.mean(point)[0]), float(posterior.std(point)[0])
    sign = 1.0 if space.maximize else -1.0
    values = sign * posterior.y
    mark = values.max() - 0.25 * (values.max() - np.median(values))
    return Experiment(params, mean, std, suggestion.expected_improvement, EXPLOITS if sign * mean >= mark else EXPLORES)


def digits(value: float, error: float) -> str:
    """A number with the digits that its error leaves meaningful, two of the error."""
    if error <= 0 or abs(value) >= 1e15:
        return f"{value:.6g}"
    places = 1 - math.floor(math.log10(error))
    return f"{value:.{max(places, 0)}f}" if places <= 12 else f"{value:.6g}"


# --- what people read --------------------------------------------------------------------------------------------


def as_json(found: Answer) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "suggestions": [
            {
                "parameters": e.params, "predicted": e.predicted, "uncertainty": e.uncertainty,
                "expected_improvement": e.expected_improvement, "reason": e.reason,
            }
            for e in found.experiments
        ],
        "objective": found.space.objective,
        "direction": "maximize" if found.space.maximize else "minimize",
        "best": None if found.best is None else {"row": found.best.number, "parameters": found.best.params, "result": found.best.result},
        "rows": {
            "with_result": sum(row.result is not None for row in found.table.rows),
            "failed": sum(row.failed for row in found.table.rows),
            "pending": sum(row.result is None and not row.failed for row in found.table.rows),
        },
    }  # fmt: skip


def as_rows(found: Answer) -> list[dict[str, str]]:
    """The suggestions as rows of the table, with an empty result."""
    return [
        {
            **{name: as_text(value) for name, value in e.params.items()},
            "predicted": "" if e.predicted is None else digits(e.predicted, e.uncertainty or 0.0),
            "uncertainty": "" if e.uncertainty is None else f"{e.uncertainty:.2g}",
            "reason": e.reason,
        }
        for e in found.experiments
    ]


def as_lines(found: Answer) -> list[str]:
    """The suggestions as a small table, and the best result so far."""
    space = found.space
    counts = as_json(found)["rows"]
    said = f"{counts['with_result']} results, {counts['failed']} failed, {counts['pending']} pending"
    if found.best is None:
        lines = [f"{said}; no result yet"]
    else:
        lines = [f"{said}; best {space.objective} {as_text(found.best.result)}{_unit(space.unit)} in row {found.best.number}"]
    if not found.experiments:
        return [*lines, "every point of the space was tried or is pending: there is nothing left to suggest"]
    heads = [name + (f" [{space.units[name]}]" if space.units[name] else "") for name in space.distributions]
    heads += [f"predicted {space.objective}" + (f" [{space.unit}]" if space.unit else ""), ""]
    body = []
    for e in found.experiments:
        body.append([*[as_text(v) for v in e.params.values()], _prediction(e), e.reason])
    widths = [max(len(row[i]) for row in [heads, *body]) for i in range(len(heads))]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [heads, *body]]
    if any(e.reason == START for e in found.experiments):
        lines.append("(the start design fills the space; predictions come when there are results enough)")
    return lines


def _prediction(experiment: Experiment) -> str:
    if experiment.predicted is None or experiment.uncertainty is None:
        return "–"
    return f"{digits(experiment.predicted, experiment.uncertainty)} ± {experiment.uncertainty:.2g}"


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


def write_examples(space_file: Path, table_file: Path) -> None:
    """Write a commented example of both files; refuses to overwrite."""
    for path in (space_file, table_file):
        if path.exists():
            raise LabError(f"{path}: is there already; --init does not overwrite it")
    try:
        space_file.write_text(EXAMPLE, encoding="utf-8")
        space = read_lab_space(space_file)
        table_file.write_text(",".join(new_header(space)) + "\n", encoding="utf-8")
    except OSError as error:
        raise LabError(f"{error.filename}: cannot be written: {error.strerror}") from None


# --- why ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Slice:
    """The posterior along one parameter, the others as suggested."""

    parameter: Parameter
    coordinates: Floats  # (u,)
    mean: Floats  # (u,)
    std: Floats  # (u,)
    place: int  # of the suggestion among the coordinates


def slices(found: Answer, experiment: Experiment, n_points: int = 41) -> list[Slice]:
    """The posterior around a suggestion, one parameter at a time."""
    assert found.posterior is not None
    parameters = found.space.parameters
    point = np.array([p.coordinate(experiment.params[p.name]) for p in parameters], dtype=float)
    made = []
    for d, parameter in enumerate(parameters):
        axis = found.posterior.grid[d]
        if parameter.places is not None or axis.size <= n_points:
            coordinates = axis.points
        else:
            low, high = axis.points[0], axis.points[-1]
            even = np.geomspace(low, high, n_points) if parameter.log else np.linspace(low, high, n_points)
            coordinates = np.unique(np.concatenate((np.clip(even, low, high), point[d : d + 1])))
        line = np.repeat(point[None], len(coordinates), axis=0)
        line[:, d] = coordinates
        place = int(np.abs(coordinates - point[d]).argmin())
        made.append(Slice(parameter, coordinates, found.posterior.mean(line), found.posterior.std(line), place))
    return made


def _value_text(space: LabSpace, parameter: Parameter, coordinate: float) -> str:
    """The value at a coordinate, with the digits an experiment can set."""
    value = parameter.value(float(coordinate))
    return as_text(settable(value, space.distributions[parameter.name]) if _is_continuous(space, parameter.name) else value)


def in_words(found: Answer, part: Slice) -> str:
    """What the model expects along one parameter."""
    space, parameter = found.space, part.parameter
    unit = _unit(space.units[parameter.name])
    sign = 1.0 if space.maximize else -1.0
    best, worst = int((sign * part.mean).argmax()), int((sign * part.mean).argmin())

    def at(j: int) -> str:
        return f"{_value_text(space, parameter, part.coordinates[j])}{unit}"

    def mean_at(j: int) -> str:
        return digits(float(part.mean[j]), float(part.std[j]))

    span = abs(part.mean[best] - part.mean[worst])
    if span < part.std[part.place]:
        return f"hardly matters here: predictions differ by {span:.2g}, less than their uncertainty"
    said = f"best expected at {at(best)} ({mean_at(best)} ± {part.std[best]:.2g}), worst at {at(worst)} ({mean_at(worst)})"
    doubt = int(part.std.argmax())
    if part.std[doubt] > 2 * part.std.min():
        said += f"; least known at {at(doubt)} (± {part.std[doubt]:.2g})"
    return said


def in_picture(part: Slice, width: int = 41) -> str:
    """The mean along a parameter as a row of bars, with a mark at the suggestion; for categories, one bar per level."""
    bars = "▁▂▃▄▅▆▇█"
    if part.parameter.places is not None:
        chosen = np.arange(len(part.coordinates))
    else:
        chosen = np.unique(np.linspace(0, len(part.coordinates) - 1, min(width, len(part.coordinates))).astype(int))
        chosen = np.unique(np.append(chosen, part.place))
    mean = part.mean[chosen]
    span = float(np.ptp(mean)) or 1.0
    drawn = [bars[min(7, int(8 * (v - mean.min()) / span))] for v in mean]
    mark = int(np.flatnonzero(chosen == part.place)[0])
    return "".join(drawn[:mark]) + "[" + drawn[mark] + "]" + "".join(drawn[mark + 1 :])


def explain(found: Answer) -> list[str]:
    """For each suggestion, the posterior around it in words and a small picture."""
    if found.posterior is None:
        return ["nothing to explain yet: the start design fills the space before there is a model"]
    lines = []
    for i, experiment in enumerate(found.experiments, start=1):
        gain = experiment.expected_improvement
        promise = "" if gain is None else f"; it should gain {gain:.2g} on the best so far, on average"
        lines += ["", f"suggestion {i} {experiment.reason}: {_prediction(experiment)} predicted{promise}"]
        for part in slices(found, experiment):
            low, high = (_value_text(found.space, part.parameter, part.coordinates[j]) for j in (0, -1))
            lines.append(f"  {part.parameter.name}: {low} {in_picture(part)} {high}")
            lines.append(f"    {in_words(found, part)}")
    return lines


def draw(found: Answer, path: Path) -> None:
    """The same as a PNG: a row of panels per suggestion, mean and 90 % band along each parameter."""
    import matplotlib.pyplot as plt  # an optional extra

    assert found.posterior is not None
    rows = [slices(found, e) for e in found.experiments]
    figure, panels = plt.subplots(
        len(rows), len(rows[0]), figsize=(2.6 * len(rows[0]) + 0.6, 2.3 * len(rows)), squeeze=False, sharey=True, constrained_layout=True
    )
    for i, (experiment, parts) in enumerate(zip(found.experiments, rows, strict=True)):
        for panel, part in zip(panels[i], parts, strict=True):
            _draw_slice(panel, found.space, part)
        panels[i][0].set_ylabel(f"{i + 1}: {experiment.reason}\n{found.space.objective}{_unit(found.space.unit)}")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _draw_slice(panel: Any, space: LabSpace, part: Slice) -> None:
    name = part.parameter.name
    low, high = part.mean - 1.645 * part.std, part.mean + 1.645 * part.std
    if isinstance(part.parameter.distribution, CategoricalDistribution):
        x: Floats = np.arange(len(part.coordinates), dtype=float)
        panel.errorbar(x, part.mean, yerr=part.mean - low, fmt="o", color="#2c7fb8", capsize=3)
        panel.set_xticks(x, [_value_text(space, part.parameter, c) for c in part.coordinates], fontsize=8)
        here = float(part.place)
    else:
        x = part.coordinates
        panel.fill_between(x, low, high, color="#2c7fb8", alpha=0.2, linewidth=0)
        panel.plot(x, part.mean, color="#2c7fb8")
        if part.parameter.log:
            panel.set_xscale("log")
        here = float(part.coordinates[part.place])
    panel.plot([here], [part.mean[part.place]], "o", color="#c0392b")
    panel.set_xlabel(name + (f" [{space.units[name]}]" if space.units[name] else ""), fontsize=9)
