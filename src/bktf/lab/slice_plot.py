"""The picture of `bktf suggest --png`: a row of panels per suggestion. Needs the extra plots."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution

from bktf._typing import Floats, Ints
from bktf.lab.lab_space import LabSpace
from bktf.lab.slices import Slice, value_text

MODEL_COLOUR, SUGGESTION_COLOUR = "#2c7fb8", "#c0392b"
BAND = 1.645  # standard deviations on either side of the mean: 90 %
MIN_WIDTH, ROW_HEIGHT = 2.6, 2.3  # of a panel, in inches, names of levels not counted
LABEL_WIDTH = 0.6  # inches for the label of a row
LEVEL_WIDTH = 0.22  # inches for one upright name
NAME_SIZE = 8  # points
MAX_NAME = 20  # characters; longer names lose their middle
MAX_NAMES = 60  # in one panel; with more levels only some are named, the suggested one among them
INNER_SHARE = 0.85  # of a panel's width that lies between its axes


def plot_slices(space: LabSpace, rows: Sequence[Sequence[Slice]], labels: Sequence[str]) -> Any:
    """A Matplotlib figure: mean and 90 % band along each parameter, one row per suggestion.

    Parameters that a suggestion does not have leave their places empty.
    """
    from matplotlib.figure import Figure  # an optional extra

    first = {part.parameter.name: part for parts in reversed(rows) for part in parts}
    columns = [first[name] for name in space.distributions if name in first]
    widths = [panel_width(part) for part in columns]
    height = ROW_HEIGHT + max(_names_height(space, part) for part in columns)
    figure = Figure(figsize=(sum(widths) + LABEL_WIDTH, height * len(rows)), layout="constrained")
    shape = len(rows), len(widths)
    panels = figure.subplots(*shape, squeeze=False, sharey=True, width_ratios=widths)
    for panels_of_row, parts, label in zip(panels, rows, labels, strict=True):
        by_name = {part.parameter.name: part for part in parts}
        for panel, column in zip(panels_of_row, columns, strict=True):
            if column.parameter.name in by_name:
                plot_slice(panel, space, by_name[column.parameter.name])
            else:
                _leave_empty(panel)
        panels_of_row[0].set_ylabel(plain(label))
    return figure


def _leave_empty(panel: Any) -> None:
    """A panel without axes; the label of its row stays."""
    for side in ("top", "right", "bottom", "left"):
        panel.spines[side].set_visible(False)
    panel.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)


def plot_slice(panel: Any, space: LabSpace, part: Slice) -> None:
    """Plot one slice; the suggestion lies above everything else."""
    name, here = part.parameter.name, part.suggested
    if isinstance(part.parameter.distribution, CategoricalDistribution):
        x: Floats = np.arange(len(part.coordinates), dtype=float)
        layers = ((x != here, MODEL_COLOUR, 2), (x == here, SUGGESTION_COLOUR, 3))
        for shown, colour, layer in layers:
            style = {"fmt": "o", "color": colour, "capsize": 3, "zorder": layer}
            panel.errorbar(x[shown], part.mean[shown], yerr=BAND * part.std[shown], **style)
        _name_levels(panel, space, part)
    else:
        x = part.coordinates
        low, high = part.mean - BAND * part.std, part.mean + BAND * part.std
        panel.fill_between(x, low, high, color=MODEL_COLOUR, alpha=0.2, linewidth=0)
        panel.plot(x, part.mean, color=MODEL_COLOUR)
        if part.parameter.log:
            panel.set_xscale("log")
    panel.plot(
        x[here],
        part.mean[here],
        "o",
        color=SUGGESTION_COLOUR,
        markersize=8,
        markeredgecolor="white",
        zorder=4,
        gid="suggestion",
    )
    unit = f" [{space.units[name]}]" if space.units[name] else ""
    panel.set_xlabel(plain(name + unit), fontsize=9)


def panel_width(part: Slice) -> float:
    """The width of a panel in inches: wide enough for the names of its levels."""
    if not isinstance(part.parameter.distribution, CategoricalDistribution):
        return MIN_WIDTH
    return max(MIN_WIDTH, LEVEL_WIDTH / INNER_SHARE * min(len(part.coordinates), MAX_NAMES))


def _name_levels(panel: Any, space: LabSpace, part: Slice) -> None:
    """Name the levels below the panel, upright where the names do not fit side by side."""
    named = _named_levels(part)
    names = _names(space, part)
    if _must_stand(names, part):
        panel.set_xticks(named, names, fontsize=NAME_SIZE, rotation=90)
    else:
        panel.set_xticks(named, names, fontsize=NAME_SIZE)
    panel.set_xlim(-0.5, len(part.coordinates) - 0.5)


def _named_levels(part: Slice) -> Ints:
    """The levels that get a name: all, or evenly spaced ones with the suggested level."""
    step = math.ceil(len(part.coordinates) / MAX_NAMES)
    return np.arange(part.suggested % step, len(part.coordinates), step)


def _names(space: LabSpace, part: Slice) -> list[str]:
    """The names of the levels that get one."""
    named = part.coordinates[_named_levels(part)]
    return [plain(shortened(value_text(space, part.parameter, x))) for x in named]


def plain(text: str) -> str:
    """A text that Matplotlib shows as it is: dollar signs are not formulas."""
    return text.replace("$", r"\$")


def shortened(name: str) -> str:
    """A name of at most MAX_NAME characters: its beginning and its end, where names differ."""
    end = MAX_NAME // 2 - 1
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1 - end]}…{name[-end:]}"


def _name_width(name: str) -> float:
    """The length of a name in inches."""
    from matplotlib.textpath import TextPath  # an optional extra

    if not name.strip():
        return 0.0
    return float(TextPath((0, 0), name, size=NAME_SIZE).get_extents().width) / 72


def _must_stand(names: Sequence[str], part: Slice) -> bool:
    """Whether names side by side would touch."""
    between = INNER_SHARE * panel_width(part) / len(names)
    return max(_name_width(name) for name in names) + 0.1 > between


def _names_height(space: LabSpace, part: Slice) -> float:
    """Inches that upright names need below a panel."""
    if not isinstance(part.parameter.distribution, CategoricalDistribution):
        return 0.0
    names = _names(space, part)
    return max(_name_width(name) for name in names) if _must_stand(names, part) else 0.0
