"""The output of `bktf suggest`: tables, JSON, explanations, and the example files."""

from pathlib import Path
from typing import Any

from bktf.lab.example_file import EXAMPLE
from bktf.lab.lab_space import LabError, as_text
from bktf.lab.results_table import Row, new_header
from bktf.lab.slice_plot import plot_slices
from bktf.lab.slices import digits, in_picture, in_words, slices, value_text
from bktf.lab.space_file import read_lab_space
from bktf.lab.stop_entry import done_json, done_line
from bktf.lab.suggest import START, Answer, Experiment

START_NOTE = "(the start design fills the space; predictions come when there are results enough)"
NOTHING_LEFT = "every point of the space was tried or is pending: there is nothing left to suggest"
NO_MODEL = "nothing to explain yet: the start design fills the space before there is a model"


def as_json(found: Answer) -> dict[str, Any]:
    """Everything, for programs."""
    rows = found.table.rows
    return {
        "suggestions": [
            {
                "parameters": e.params,
                "predicted": e.predicted,
                "uncertainty": e.uncertainty,
                "expected_improvement": e.expected_improvement,
                "reason": e.reason,
                **({} if e.candidate is None else {"candidate": e.candidate.number}),
            }
            for e in found.experiments
        ],
        "objective": found.space.objective.name,
        "direction": found.space.objective.direction,
        "best": None if found.best is None else _row_json(found.best),
        "rows": {
            "with_result": sum(row.result is not None for row in rows),
            "failed": sum(row.failed for row in rows),
            "pending": sum(row.is_pending for row in rows),
        },
        "notes": list(found.notes),
        "optimum": done_json(found.optimum, found.convergence),
    }


def _row_json(row: Row) -> dict[str, Any]:
    """A row with a result, for programs."""
    return {"row": row.number, "parameters": row.params, "result": row.result}


def as_rows(found: Answer) -> list[dict[str, str]]:
    """The suggestions as rows of the table, with an empty result."""
    rows = []
    for e in found.experiments:
        row = {name: as_text(value) for name, value in e.params.items()}
        row["predicted"] = "" if e.predicted is None else digits(e.predicted, e.uncertainty or 0.0)
        row["uncertainty"] = "" if e.uncertainty is None else f"{e.uncertainty:.2g}"
        row["reason"] = e.reason
        if e.candidate is not None:  # columns of the pool that the table has, too
            row |= {k: v for k, v in e.candidate.others.items() if k in found.space.other_columns}
        rows.append(row)
    return rows


def as_lines(found: Answer) -> list[str]:
    """The suggestions as a small table, and the best result so far."""
    space, objective = found.space, found.space.objective
    counts = as_json(found)["rows"]
    n_results, n_failed, n_pending = counts.values()
    summary = f"{n_results} results, {n_failed} failed, {n_pending} pending"
    best = "no result yet"
    if found.best is not None:
        result = f"{as_text(found.best.result)}{_unit(objective.unit)}"
        best = f"best {objective.name} {result} in row {found.best.number}"
    done = done_line(found.optimum, found.convergence)
    lines = [f"{summary}; {best}", *(f"({note})" for note in found.notes)]
    if not found.experiments:
        return [*lines, NOTHING_LEFT, *done]
    units = {**space.units, f"predicted {objective.name}": objective.unit}
    columns = [*space.distributions, f"predicted {objective.name}"]
    heads = [name + (f" [{units[name]}]" if units[name] else "") for name in columns]
    is_listed = found.experiments[0].candidate is not None
    table = [[*(["row"] if is_listed else []), *heads, ""]]
    for e in found.experiments:
        cells = [as_text(e.params[name]) if name in e.params else "–" for name in columns[:-1]]
        number = [] if e.candidate is None else [str(e.candidate.number)]
        table.append([*number, *cells, _prediction(e), e.reason])
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    if any(e.reason == START for e in found.experiments):
        lines.append(START_NOTE)
    return [*lines, *done]


def _prediction(experiment: Experiment) -> str:
    """What is expected, with its standard deviation."""
    if experiment.predicted is None or experiment.uncertainty is None:
        return "–"
    predicted = digits(experiment.predicted, experiment.uncertainty)
    return f"{predicted} ± {experiment.uncertainty:.2g}"


def _unit(unit: str) -> str:
    """A unit after a number."""
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


# --- explanations ------------------------------------------------------------------------------


def explain(found: Answer) -> list[str]:
    """For each suggestion, the posterior around it in words and a small picture."""
    if found.posterior is None:
        return [NO_MODEL]
    lines = []
    for i, experiment in enumerate(found.experiments, start=1):
        expected = f"{_prediction(experiment)} predicted; {_gain(found, i)}"
        lines += ["", f"suggestion {i} {experiment.reason}: {expected}"]
        for part in slices(found.space, found.posterior, experiment.params):
            name, ends = part.parameter.name, part.coordinates[[0, -1]]
            low, high = (value_text(found.space, part.parameter, end) for end in ends)
            lines.append(f"  {name}: {low} {in_picture(part)} {high}")
            lines.append(f"    {in_words(found.space, part, found.posterior.y)}")
    return lines


def _gain(found: Answer, number: int) -> str:
    """The expected improvement of a suggestion in words, with what it is measured from."""
    gain = found.experiments[number - 1].expected_improvement
    assert found.posterior is not None
    assert found.best is not None
    assert gain is not None
    start = f"the best result ({as_text(found.best.result)})"
    if found.space.repeats:
        means = found.posterior.mean(found.posterior.X)
        best = means.max() if found.space.objective.is_maximized else means.min()
        start = f"the best value expected of a row ({best:.6g})"
    others = []
    n_pending = sum(row.is_pending for row in found.table.rows)
    if n_pending:
        others.append("the pending row" if n_pending == 1 else f"the {n_pending} pending rows")
    if number > 1:
        few = {2: "suggestion 1", 3: "suggestions 1 and 2"}
        others.append(few.get(number, f"suggestions 1 to {number - 1}"))
    beyond = f", beyond what {' and '.join(others)} should bring" if others else ""
    return f"on average it improves on {start} by {gain:.2g}{beyond}"


def plot_answer(found: Answer, path: Path) -> None:
    """Write a PNG: a row of panels per suggestion, mean and 90 % band along each parameter."""
    assert found.posterior is not None
    objective = found.space.objective
    rows = [slices(found.space, found.posterior, e.params) for e in found.experiments]
    result = f"{objective.name}{_unit(objective.unit)}"
    labels = [f"{i}: {e.reason}\n{result}" for i, e in enumerate(found.experiments, start=1)]
    plot_slices(found.space, rows, labels).savefig(path, dpi=130)
