"""The figures of the paper's experiments, drawn from recorded lines only.

The surfaces are drawn from the test functions themselves.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies.lines import Line, lines_of
from studies.methods import PAPER_METHODS
from studies.paper.summaries import (
    best_so_far,
    common_seeds,
    methods_in,
    profiles,
    quartiles,
)
from studies.plotting import pyplot, save_figure
from studies.problems import (
    CONTROLS,
    INTRO,
    INTRO_CONTROL,
    PAPER,
    PAPER_PROBLEMS,
    TASKS,
    Floats,
    PaperProblem,
    Task,
)

COLOURS = {
    "bktf-max": "#08519c",
    "bktf-ucb": "#4292c6",
    "bktf-ei": "#00a087",
    "gp-ei": "#d7301f",
    "gp-ucb": "#fc8d59",
    "gpgrid-ei": "#7a0177",
    "gpgrid-ucb": "#c51b8a",
    "tpe": "#b8860b",
    "random": "#777777",
}
WIDTHS = dict(
    zip(COLOURS, np.linspace(1.2, 5.2, len(COLOURS))[::-1], strict=True)
)  # so that curves that coincide all show
MIN_ERROR = 1e-4  # what logarithmic axes show for zero


def _curves(
    panel: Any,
    lines: Sequence[Line],
    shown: PaperProblem | Task,
    target: float,
    sign: float = 1.0,
    log: bool = True,
) -> None:
    """Medians with quartile bands of sign·(best so far − target) against queries."""
    for method in methods_in(lines, PAPER_METHODS):
        found = lines_of(lines, shown.name, method)
        if not found:
            continue
        curves = sign * (best_so_far(found) - target)
        low, median, high = quartiles(np.maximum(curves, MIN_ERROR) if log else curves)
        x = np.arange(median.size)
        panel.plot(
            x,
            median,
            color=COLOURS[method],
            lw=1.6,
            label=PAPER_METHODS[method].title,
            ls="--" if method == "random" else "-",
        )
        panel.fill_between(x, low, high, color=COLOURS[method], alpha=0.12, lw=0)
    panel.set_title(shown.title, fontsize=10)
    panel.grid(alpha=0.25)
    if log:
        panel.set_yscale("log")


def add_legend(figure: Any, panel: Any, columns: int) -> None:
    """One legend for all panels, below them."""
    figure.legend(
        *panel.get_legend_handles_labels(),
        loc="lower center",
        ncols=columns,
        frameon=False,
        fontsize=9,
    )


def function_curves(lines: Sequence[Line], folder: Path) -> Path:
    """Error against the true minimum on the functions (top) and their controls (bottom)."""
    plt = pyplot()
    figure, panels = plt.subplots(4, 3, figsize=(13, 15))
    for panel, problem in zip(panels.ravel(), (*PAPER, *CONTROLS), strict=True):
        _curves(panel, lines, problem, problem.minimum)
        floor = problem.best_grid_value - problem.minimum
        if floor > MIN_ERROR:
            panel.axhline(floor, color="black", lw=0.8, ls=":")
            panel.annotate(
                "best cell",
                (1.0, floor),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                fontsize=8,
            )
    for panel in panels[-1]:
        panel.set_xlabel("queries after the start")
    for panel in panels[:, 0]:
        panel.set_ylabel(f"best value − minimum ({MIN_ERROR:g} or less)")
    figure.tight_layout(rect=(0, 0.045, 1, 1))
    add_legend(figure, panels[0, 0], 5)
    return save_figure(figure, folder / "functions_curves.png")


def surfaces(folder: Path) -> Path:
    """The two-dimensional functions on their boxes, best cells marked."""
    plt = pyplot()
    shown = [PAPER_PROBLEMS[name] for name in ("branin", "damavandi", "schaffer", "griewank2")]
    figure, panels = plt.subplots(2, 4, figsize=(15, 7))
    for (fine, coarse), problem in zip(panels.T, shown, strict=True):
        x, y = (
            np.linspace(a, b, 201) for a, b in zip(problem.grid.low, problem.grid.high, strict=True)
        )
        X = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
        plot_surface(
            figure, fine, problem.array_function(X).reshape(201, 201), problem, f"{problem.title}"
        )
        fine.plot(
            *np.array(problem.minimisers).T, "*", color="red", ms=9, ls="none", mec="white", mew=0.6
        )
        plot_surface(
            figure,
            coarse,
            problem.grid_values().reshape(problem.grid.sizes),
            problem,
            f"on the grid, {problem.grid.sizes[0]} × {problem.grid.sizes[1]}",
        )
    figure.tight_layout()
    return save_figure(figure, folder / "functions_surfaces.png")


def plot_surface(
    figure: Any, panel: Any, values: Floats, problem: PaperProblem, title: str, **more: Any
) -> None:
    """Values over the box, colour bar beside it; the outermost points lie on the box's edges."""
    steps = [
        (b - a) / (m - 1) / 2
        for a, b, m in zip(problem.grid.low, problem.grid.high, values.shape, strict=True)
    ]
    extent = [
        edge
        for a, b, s in zip(problem.grid.low, problem.grid.high, steps, strict=True)
        for edge in (a - s, b + s)
    ]
    image = panel.imshow(
        values.T, origin="lower", aspect="auto", extent=extent, cmap="viridis", **more
    )
    figure.colorbar(image, ax=panel, shrink=0.85)
    panel.set_title(title, fontsize=10)


def profile_curves(lines: Sequence[Line], folder: Path) -> Path:
    """Dolan–Moré curves of each function and of all six by our rule.

    For exact hits (top) and for the tolerance (bottom).
    """
    plt = pyplot()
    methods = methods_in(lines, PAPER_METHODS)
    figure, panels = plt.subplots(4, 4, figsize=(16, 14), sharey=True)
    sets = [(p.title, [p]) for p in PAPER] + [
        ("all six", list(PAPER)),
        ("all six, shifted", list(CONTROLS)),
    ]
    for block, exact in ((panels[:2], True), (panels[2:], False)):
        for panel, (title, problems) in zip(block.ravel(), sets, strict=True):
            for method, profile in profiles(
                lines, problems, methods, exact, paper_rule=False
            ).items():
                style = {
                    "color": COLOURS[method],
                    "lw": WIDTHS[method],
                    "where": "post",
                    "label": PAPER_METHODS[method].title,
                    "alpha": 0.85,
                }
                panel.step(profile.factors, profile.shares, **style)
            runs = sorted({len(common_seeds(lines, p, methods)) for p in problems})
            shown = f"{runs[0]} runs" if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs each"
            panel.set_title(
                f"{title}, {shown} – {'exact hit' if exact else '1 % of the range (ours)'}",
                fontsize=9,
            )
            panel.set_xscale("log")
            panel.grid(alpha=0.25)
    for panel in panels[-1]:
        panel.set_xlabel("factor ρ of the best method's evaluations")
    for panel in panels[:, 0]:
        panel.set_ylabel(
            "share of runs within factor ρ\n(a failure: N + 100; where all fail: none)"
        )
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    add_legend(figure, panels[0, 0], 5)
    return save_figure(figure, folder / "profiles.png")


def intro_curves(lines: Sequence[Line], folder: Path) -> Path:
    """The introductory function, maximised as in the paper, and its control: best so far."""
    plt = pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(12, 5.4))
    for panel, problem in zip(panels, (INTRO, INTRO_CONTROL), strict=True):
        _curves(panel, lines, problem, 0.0, sign=-1.0, log=False)
        panel.axhline(-problem.best_grid_value, color="black", lw=0.8, ls=":")
        panel.set_xlabel("queries after 30 start points")
        panel.set_ylabel("best value so far (dotted: best cell)")
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    add_legend(figure, panels[0], 5)
    return save_figure(figure, folder / "intro_curves.png")


def tuning(lines: Sequence[Line], folder: Path) -> Path:
    """Accuracy (larger is better) and mean squared error (smaller is better) against queries."""
    plt = pyplot()
    shown = [task for task in TASKS.values() if any(line["problem"] == task.name for line in lines)]
    columns = max(1, -(-len(shown) // 2))
    figure, panels = plt.subplots(2, columns, figsize=(5.4 * columns, 9), squeeze=False)
    for panel, task in zip(panels.T.ravel(), shown, strict=False):
        if task.is_classifier:
            _curves(
                panel,
                [x | {"values": [100 * v for v in x["values"]]} for x in lines],
                task,
                100.0,
                sign=-1.0,
                log=False,
            )
            panel.set_ylabel("best accuracy so far, %")
        else:
            _curves(panel, lines, task, 0.0, log=False)
            panel.set_ylabel("best mean squared error so far")
        panel.set_xlabel("queries after the start")
    for panel in panels.T.ravel()[len(shown) :]:
        panel.axis("off")
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    add_legend(figure, panels[0, 0], 4)
    return save_figure(figure, folder / "tuning.png")
