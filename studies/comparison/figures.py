"""The figure of the comparison: mean regret against the share of the budget."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies.comparison.rankings import incumbents, regret_unit, shared_seeds
from studies.comparison.tables import KINDS, reference_of, seed_range
from studies.lines import Line, lines_of
from studies.methods import COMPARISON_METHODS
from studies.plotting import pyplot, save_figure
from studies.problems import ComparisonProblem, Floats

SHARES_SHOWN = np.linspace(0.0, 1.0, 41)  # of the budget, in the figures
MIN_SHOWN = 1e-4  # what logarithmic axes show for a smaller regret
COLOURS: Mapping[str, str] = {
    "bktf": "#08519c",
    "bktf-first": "#9ecae1",
    "random": "#777777",
    "tpe": "#b8860b",
    "gp": "#d7301f",
    "cmaes": "#7a0177",
    "botorch": "#fc8d59",
    "skopt": "#00a087",
    "smac": "#66a61e",
    "vizier": "#1b7837",
}


def regret_curves(
    lines: Sequence[Line],
    problems: Sequence[ComparisonProblem],
    methods: Sequence[str],
    half: str,
    folder: Path,
) -> Path:
    """A row per kind of problem, a panel per method with its curve and that of the reference.

    Both curves are of the seeds that both methods have, so they start at the same height.
    """
    plt = pyplot()
    reference = reference_of(methods)
    names = {p.name for p in problems}
    with_lines = {line["method"] for line in lines if line["problem"] in names}
    others = [m for m in methods if m != reference and m in with_lines]
    kinds = [kind for kind in KINDS if any(p.kind == kind for p in problems)]
    size = (1.9 * max(len(others), 2) + 0.6, 2.3 * len(kinds) + 0.9)
    figure, panels = plt.subplots(
        len(kinds), len(others), figsize=size, sharex=True, sharey="row", squeeze=False
    )
    for row, kind in zip(panels, kinds, strict=True):
        of_kind = [p for p in problems if p.kind == kind]
        for panel, method in zip(row, others, strict=True):
            found = [mean_curves(lines, p, reference, method) for p in of_kind]
            pairs = [pair for pair in found if pair is not None]
            # A mean over fewer problems could not be compared with the other panels.
            if len(pairs) == len(of_kind):
                first, second = np.mean(pairs, axis=0)
                panel.plot(SHARES_SHOWN, second, color=COLOURS[method], lw=1.6)
                panel.plot(SHARES_SHOWN, first, color=COLOURS[reference], lw=2.2)
            else:
                text = "runs are missing" if pairs else "no runs"
                panel.text(0.5, 0.5, text, ha="center", color="#777777", transform=panel.transAxes)
            _format_panel(panel)
        row[0].set_ylabel(f"{kind}, {len(of_kind)} problems\nmean regret")
    for panel, method in zip(panels[0], others, strict=True):
        n_shared = [len(shared_seeds(lines, p, reference, method)) for p in problems]
        counts = [n for n in n_shared if n] or [0]
        panel.set_title(
            f"{COMPARISON_METHODS[method].title}\n(shared seeds: {seed_range(counts)})",
            fontsize=9,
            color=COLOURS[method],
        )
    for panel in panels[-1]:
        panel.set_xlabel("share of the budget")
    title = (
        f"{half} half: {COMPARISON_METHODS[reference].title} (blue) beside one other method per "
        "column; random search at the end = 1"
    )
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    return save_figure(figure, folder / f"comparison_{half}.png")


def _format_panel(panel: Any) -> None:
    """Logarithmic regrets with plain numbers."""
    from matplotlib.ticker import LogLocator

    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter("")
    panel.tick_params(labelsize=8)
    panel.grid(alpha=0.25)


def mean_curves(
    lines: Sequence[Line], problem: ComparisonProblem, first: str, second: str
) -> Floats | None:
    """Mean normalised regrets of two methods at shares of the budget, (2, shares).

    Over the seeds that both have; None where there are none.
    """
    seeds = shared_seeds(lines, problem, first, second)
    if not seeds:
        return None
    curves = []
    for method in (first, second):
        runs = [line for line in lines_of(lines, problem.name, method) if line["seed"] in seeds]
        after = [incumbents(line)[line["n_start"] - 1 :] - problem.minimum for line in runs]
        regret = np.mean(after, axis=0) / regret_unit(lines, problem)
        shares = np.linspace(0, 1, regret.size)
        curves.append(np.interp(SHARES_SHOWN, shares, np.maximum(regret, MIN_SHOWN)))
    return np.array(curves)
