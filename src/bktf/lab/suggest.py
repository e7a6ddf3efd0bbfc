"""The lab loop: a space file and a table of results in, the next experiments out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bktf.engine.history import History
from bktf.engine.settings import NothingFeasible, Strategy, Suggestion, seed_for
from bktf.engine.start_design import start_point
from bktf.engine.suggestion import Model, fit_history, fit_shown, next_points
from bktf.lab.results_table import Row, Table, new_header, read_table, settable
from bktf.lab.slice_plot import plot_slices
from bktf.lab.slices import digits, in_picture, in_words, is_continuous, slices, value_text
from bktf.lab.space_file import EXAMPLE, LabError, LabSpace, as_text, read_lab_space
from bktf.spaces.feasible_points import Feasibility, LinearConstraint
from bktf.spaces.parameters import Parameter, values_at
from bktf.surrogate.posterior import Posterior

Floats = NDArray[np.float64]

START = "start design"
EXPLORES = "explores"
EXPLOITS = "exploits"


@dataclass(frozen=True)
class Experiment:
    """A suggested experiment and what the posterior that is shown expects of it."""

    params: dict[str, Any]
    predicted: float | None
    uncertainty: float | None  # standard deviation of the prediction
    expected_improvement: float | None  # on the best so far, beyond pending rows and the suggestions before
    reason: str  # START, EXPLORES or EXPLOITS


@dataclass(frozen=True)
class Answer:
    """What `bktf suggest` found out."""

    space: LabSpace
    table: Table
    experiments: tuple[Experiment, ...]
    best: Row | None
    posterior: Posterior | None  # in the user's units; None during the start
    notes: tuple[str, ...] = ()  # what a reader of the suggestions must know


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
    plain = fit_shown(parameters, history, strategy, space.maximize, fit_seed).posterior
    chosen = next_points(model, strategy, space.maximize, fit_seed, q, restriction)
    experiments = _described(space, parameters, plain, chosen, history.pending)
    return Answer(space, table, experiments, best, plain, _notes(model, history, chosen))


def _notes(model: Model, history: History, chosen: list[Suggestion]) -> tuple[str, ...]:
    """What the model left out, and whether the search was poor."""
    notes = []
    if model.n_outliers:
        notes.append(f"{model.n_outliers} of {len(history.y)} results are so much worse than all others that they count as failed")
    if len(model.posterior.y) < len(history.y) - model.n_outliers:
        notes.append(
            f"the model sees {len(model.posterior.y)} of {len(history.y)} results: the best, the latest and others spread over the space"
        )
    if any(s.is_poor for s in chosen):
        notes.append("the constraints allow so little that only experiments near to earlier ones were compared; better ones may be missed")
    return tuple(notes)


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
    short = {name: settable(v, space.distributions[name]) if is_continuous(space, name) else v for name, v in whole.items()}
    fits = all(d._contains(d.to_internal_repr(short[name])) for name, d in space.distributions.items())
    return short if fits and space.holds(short) else whole


def _described(
    space: LabSpace, parameters: tuple[Parameter, ...], posterior: Posterior, chosen: list[Suggestion], pending: Floats
) -> tuple[Experiment, ...]:
    """Suggestions with what the model expects of each, at the values that are set.

    One exploits where the model expects a value near the best so far, within a quarter of the way to the median; elsewhere it explores.
    Its expected improvement counts only what it adds to pending rows and to the suggestions before it.
    """
    whole = [_rounded(space, values_at(parameters, suggestion.point)) for suggestion in chosen]
    points = np.array([[p.coordinate(params[p.name]) for p in parameters] for params in whole], dtype=float).reshape(-1, len(parameters))
    mean, std = posterior.mean(points), posterior.std(points)
    signed, sign = (posterior, 1.0) if space.maximize else (posterior.negated(), -1.0)
    near = signed.y.max() - 0.25 * (signed.y.max() - np.median(signed.y))
    threshold = sign * best_value(space, posterior)
    experiments = []
    for i, params in enumerate(whole):
        under_way = np.concatenate((pending, points[:i]))
        gain = float(signed.expected_improvement(points[i : i + 1], threshold, under_way)[0])
        reason = EXPLOITS if sign * mean[i] >= near else EXPLORES
        experiments.append(Experiment(params, float(mean[i]), float(std[i]), gain, reason))
    return tuple(experiments)


def best_value(space: LabSpace, posterior: Posterior) -> float:
    """What an improvement is counted from: the best result; where noise makes repeats worth while, the best expected value of a row."""
    values = posterior.mean(posterior.X) if space.repeats else posterior.y
    return float(values.max() if space.maximize else values.min())


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
        "notes": list(found.notes),
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
    lines += [f"({note})" for note in found.notes]
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


def explain(found: Answer) -> list[str]:
    """For each suggestion, the posterior around it in words and a small picture."""
    if found.posterior is None:
        return ["nothing to explain yet: the start design fills the space before there is a model"]
    lines = []
    for i, experiment in enumerate(found.experiments, start=1):
        lines += ["", f"suggestion {i} {experiment.reason}: {_prediction(experiment)} predicted; {_gain(found, i)}"]
        for part in slices(found.space, found.posterior, experiment.params):
            low, high = (value_text(found.space, part.parameter, part.coordinates[j]) for j in (0, -1))
            lines.append(f"  {part.parameter.name}: {low} {in_picture(part)} {high}")
            lines.append(f"    {in_words(found.space, part, found.posterior.y)}")
    return lines


def _gain(found: Answer, number: int) -> str:
    """The expected improvement of a suggestion in words, with all that it is counted from."""
    gain = found.experiments[number - 1].expected_improvement
    assert found.posterior is not None
    assert found.best is not None
    assert gain is not None
    if found.space.repeats:
        start = f"the best value expected of a row ({best_value(found.space, found.posterior):.6g})"
    else:
        start = f"the best result ({as_text(found.best.result)})"
    others = []
    n_pending = sum(row.result is None and not row.failed for row in found.table.rows)
    if n_pending:
        others.append("the pending row" if n_pending == 1 else f"the {n_pending} pending rows")
    if number > 1:
        others.append({2: "suggestion 1", 3: "suggestions 1 and 2"}.get(number, f"suggestions 1 to {number - 1}"))
    beyond = f", beyond what {' and '.join(others)} should bring" if others else ""
    return f"on average it improves on {start} by {gain:.2g}{beyond}"


def draw(found: Answer, path: Path) -> None:
    """The same as a PNG: a row of panels per suggestion, mean and 90 % band along each parameter."""
    assert found.posterior is not None
    rows = [slices(found.space, found.posterior, e.params) for e in found.experiments]
    labels = [f"{i}: {e.reason}\n{found.space.objective}{_unit(found.space.unit)}" for i, e in enumerate(found.experiments, start=1)]
    plot_slices(found.space, rows, labels).savefig(path, dpi=130)
