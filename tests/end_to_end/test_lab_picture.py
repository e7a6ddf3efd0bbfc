"""The picture of `bktf suggest --png`: names that can be read and suggestions that can be seen."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba

from bktf.lab.lab_space import LabSpace
from bktf.lab.slice_plot import MAX_NAME, MAX_NAMES, SUGGESTION_COLOUR, plot_slices, shortened
from bktf.lab.slices import Slice
from bktf.lab.space_file import read_lab_space
from seeds import seeded

LIGANDS = [f"ligand-{i:02d}-phosphine" for i in range(11)] + [
    "2-dicyclohexylphosphino-2',6'-dimethoxybiphenyl"
]


def space_with(folder: Path, **categories: list[str]) -> LabSpace:
    text = '[objective]\nname = "yield"\ndirection = "maximize"\n[parameters.temperature]\ntype = "float"\nlow = 20\nhigh = 120\n'
    for name, values in categories.items():
        text += f'[parameters.{name}]\ntype = "category"\nvalues = {json.dumps(values)}\n'
    (folder / "space.toml").write_text(text, encoding="utf-8")
    return read_lab_space(folder / "space.toml")


def slices_of(space: LabSpace, suggested: int) -> list[Slice]:
    rng = np.random.default_rng(seeded(0))
    parts = []
    for parameter in space.parameters:
        coordinates = (
            np.linspace(20, 120, 41)
            if parameter.choice_coordinates is None
            else parameter.choice_coordinates
        )
        mean, std = rng.uniform(10, 90, len(coordinates)), np.full(len(coordinates), 8.0)
        parts.append(
            Slice(
                parameter, coordinates, mean, std, mean[None], min(suggested, len(coordinates) - 1)
            )
        )
    return parts


def rendered(space: LabSpace, suggested: int, n_rows: int = 1) -> tuple[Any, Any]:
    """The figure, drawn, and its canvas."""
    figure = plot_slices(
        space,
        n_rows * [slices_of(space, suggested)],
        [f"{i}: explores\nyield" for i in range(n_rows)],
    )
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return figure, canvas


def name_boxes(panel: Any, canvas: Any) -> list[Any]:
    return [label.get_window_extent(canvas.get_renderer()) for label in panel.get_xticklabels()]


@pytest.mark.parametrize(
    "few", [["Pd", "Ni", "Cu"], ["palladium acetate", "nickel chloride", "copper iodide"]]
)
def test_names_of_levels_do_not_overlap(tmp_path: Path, few: list[str]) -> None:
    space = space_with(tmp_path, catalyst=few, ligand=LIGANDS)
    figure, canvas = rendered(space, 2, 2)
    for panel in figure.axes:
        boxes = name_boxes(panel, canvas)
        if panel.get_xlabel() == "ligand":
            assert len(boxes) == 12
        if panel.get_xlabel() != "temperature":
            assert not any(
                first.overlaps(second) for first, second in itertools.combinations(boxes, 2)
            )
            assert all(
                figure.bbox.contains(box.x0, box.y0) and figure.bbox.contains(box.x1, box.y1)
                for box in boxes
            )
            below = [other.get_window_extent() for other in figure.axes if other is not panel]
            assert not any(box.overlaps(other) for box in boxes for other in below)


def test_short_names_stay_level_and_long_ones_keep_both_ends() -> None:
    assert shortened("Pd") == "Pd"
    assert shortened(LIGANDS[-1]) == "2-dicycloh…ybiphenyl"
    assert len(shortened(LIGANDS[-1])) == MAX_NAME


@pytest.mark.parametrize("suggested", [0, 5])
def test_the_suggested_level_is_seen_in_front_of_its_error_bar(
    tmp_path: Path, suggested: int
) -> None:
    space = space_with(tmp_path, catalyst=["Pd", "Ni", "Cu"], ligand=LIGANDS)
    figure, canvas = rendered(space, suggested)
    pixels = np.asarray(canvas.buffer_rgba())
    red = np.array(to_rgba(SUGGESTION_COLOUR)) * 255
    for panel in figure.axes:
        (marker,) = [line for line in panel.lines if line.get_gid() == "suggestion"]
        others = [
            artist
            for artist in panel.get_children()
            if artist in [*panel.lines, *panel.collections] and artist is not marker
        ]
        assert all(marker.get_zorder() > artist.get_zorder() for artist in others)
        x, y = panel.transData.transform((marker.get_xdata()[0], marker.get_ydata()[0]))
        row, column = len(pixels) - 1 - round(y), round(x)
        assert (
            np.abs(pixels[row - 1 : row + 2, column - 1 : column + 2].astype(float) - red).max()
            <= 2
        )
        if panel.containers:
            colours = [
                to_rgba(bar.get_color()[0])
                for container in panel.containers
                for bar in container.lines[2]
            ]
            assert colours.count(to_rgba(SUGGESTION_COLOUR)) == 1


def test_of_very_many_levels_some_are_named_the_suggested_one_among_them(tmp_path: Path) -> None:
    space = space_with(tmp_path, ligand=[f"L{i}" for i in range(200)])
    figure, canvas = rendered(space, 137)
    panel = figure.axes[1]
    names = [label.get_text() for label in panel.get_xticklabels()]
    assert "L137" in names
    assert len(names) <= MAX_NAMES
    assert not any(
        first.overlaps(second) for first, second in itertools.pairwise(name_boxes(panel, canvas))
    )


def test_dollar_signs_in_names_are_not_formulas(tmp_path: Path) -> None:
    space = space_with(tmp_path, ligand=["$\\nonsense{$", "$1", "$2$"])
    figure, _ = rendered(space, 1)
    assert [label.get_text() for label in figure.axes[1].get_xticklabels()] == [
        r"\$\nonsense{\$",
        r"\$1",
        r"\$2\$",
    ]
