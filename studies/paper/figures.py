"""The figures of `bktf reproduce`, drawn from recorded lines only (and, for the surfaces, from the test functions themselves)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.lines import Line
from studies.methods.paper_methods import METHODS
from studies.paper.runs import LENGTHSCALE_MEANS
from studies.paper.summaries import best_so_far, common_seeds, lines_of, methods_in, profiles, quartiles, queries_to_hit
from studies.problems.grid_problems import CONTROLS, INTRO, INTRO_CONTROL, PAPER, PROBLEMS, Grid, Problem
from studies.problems.tuning import TASKS

Floats = NDArray[np.float64]
COLOURS = {
    "bktf-max": "#08519c", "bktf-ucb": "#4292c6", "bktf-ei": "#00a087", "gp-ei": "#d7301f", "gp-ucb": "#fc8d59",
    "gpgrid-ei": "#7a0177", "gpgrid-ucb": "#c51b8a", "tpe": "#b8860b", "random": "#777777",
}  # fmt: skip
WIDTHS = dict(zip(COLOURS, np.linspace(1.2, 5.2, len(COLOURS))[::-1], strict=True))  # so that curves that coincide all show
LEAST_ERROR = 1e-4  # what logarithmic axes show for zero
DPI = 110


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    _pyplot().close(figure)
    return path


def _curves(panel: Any, lines: Sequence[Line], grid: Grid, target: float, sign: float = 1.0, log: bool = True) -> None:
    """Medians with quartile bands of sign·(best so far − target) against queries after the start."""
    for method in methods_in(lines, METHODS):
        found = lines_of(lines, grid.name, method)
        if not found:
            continue
        curves = sign * (best_so_far(found) - target)
        low, median, high = quartiles(np.maximum(curves, LEAST_ERROR) if log else curves)
        x = np.arange(median.size)
        panel.plot(x, median, color=COLOURS[method], lw=1.6, label=METHODS[method].title, ls="--" if method == "random" else "-")
        panel.fill_between(x, low, high, color=COLOURS[method], alpha=0.12, lw=0)
    panel.set_title(grid.title, fontsize=10)
    panel.grid(alpha=0.25)
    if log:
        panel.set_yscale("log")


def _legend(figure: Any, panel: Any, columns: int) -> None:
    figure.legend(*panel.get_legend_handles_labels(), loc="lower center", ncols=columns, frameon=False, fontsize=9)


def function_curves(lines: Sequence[Line], folder: Path) -> Path:
    """Error against the true minimum on the six functions (top) and their shifted controls (bottom)."""
    plt = _pyplot()
    figure, panels = plt.subplots(4, 3, figsize=(13, 15))
    for panel, problem in zip(panels.ravel(), (*PAPER, *CONTROLS), strict=True):
        _curves(panel, lines, problem, problem.minimum)
        floor = problem.best_grid_value - problem.minimum
        if floor > LEAST_ERROR:
            panel.axhline(floor, color="black", lw=0.8, ls=":")
            panel.annotate("best cell", (1.0, floor), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    for panel in panels[-1]:
        panel.set_xlabel("queries after the start")
    for panel in panels[:, 0]:
        panel.set_ylabel(f"best value − minimum ({LEAST_ERROR:g} or less)")
    figure.tight_layout(rect=(0, 0.045, 1, 1))
    _legend(figure, panels[0, 0], 5)
    return _save(figure, folder / "functions_curves.png")


def surfaces(folder: Path) -> Path:
    """The two-dimensional functions on their boxes, best cells marked."""
    plt = _pyplot()
    shown = [PROBLEMS[name] for name in ("branin", "damavandi", "schaffer", "griewank2")]
    figure, panels = plt.subplots(2, 4, figsize=(15, 7))
    for (fine, coarse), problem in zip(panels.T, shown, strict=True):
        x, y = (np.linspace(a, b, 201) for a, b in zip(problem.low, problem.high, strict=True))
        X = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
        _surface(figure, fine, problem.function(X).reshape(201, 201), problem, f"{problem.title}")
        fine.plot(*np.array(problem.minimisers).T, "*", color="red", ms=9, ls="none", mec="white", mew=0.6)
        _surface(
            figure, coarse, problem.grid_values().reshape(problem.sizes), problem, f"on the grid, {problem.sizes[0]} × {problem.sizes[1]}"
        )
    figure.tight_layout()
    return _save(figure, folder / "functions_surfaces.png")


def _surface(figure: Any, panel: Any, values: Floats, problem: Problem, title: str, **more: Any) -> None:
    """Values over the box, colour bar beside it; the outermost points lie on the box's edges."""
    steps = [(b - a) / (m - 1) / 2 for a, b, m in zip(problem.low, problem.high, values.shape, strict=True)]
    extent = [edge for a, b, s in zip(problem.low, problem.high, steps, strict=True) for edge in (a - s, b + s)]
    image = panel.imshow(values.T, origin="lower", aspect="auto", extent=extent, cmap="viridis", **more)
    figure.colorbar(image, ax=panel, shrink=0.85)
    panel.set_title(title, fontsize=10)


def profile_curves(lines: Sequence[Line], folder: Path) -> Path:
    """Dolan–Moré curves of each function and of all six by our rule, for exact hits (top) and for the tolerance (bottom)."""
    plt = _pyplot()
    methods = methods_in(lines, METHODS)
    figure, panels = plt.subplots(4, 4, figsize=(16, 14), sharey=True)
    sets = [(p.title, [p]) for p in PAPER] + [("all six", list(PAPER)), ("all six, shifted", list(CONTROLS))]
    for block, exact in ((panels[:2], True), (panels[2:], False)):
        for panel, (title, problems) in zip(block.ravel(), sets, strict=True):
            for method, profile in profiles(lines, problems, methods, exact, paper_rule=False).items():
                style = {"color": COLOURS[method], "lw": WIDTHS[method], "where": "post", "label": METHODS[method].title, "alpha": 0.85}
                panel.step(profile.factors, profile.shares, **style)
            runs = sorted({len(common_seeds(lines, p, methods)) for p in problems})
            shown = f"{runs[0]} runs" if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs each"
            panel.set_title(f"{title}, {shown} – {'exact hit' if exact else '1 % of the range (ours)'}", fontsize=9)
            panel.set_xscale("log")
            panel.grid(alpha=0.25)
    for panel in panels[-1]:
        panel.set_xlabel("factor ρ of the best method's evaluations")
    for panel in panels[:, 0]:
        panel.set_ylabel("share of runs within factor ρ\n(a failure: N + 100; where all fail: none)")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    _legend(figure, panels[0, 0], 5)
    return _save(figure, folder / "profiles.png")


def intro_curves(lines: Sequence[Line], folder: Path) -> Path:
    """The best value so far of the introductory function, maximised as in the paper, and of its control."""
    plt = _pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(12, 5.4))
    for panel, problem in zip(panels, (INTRO, INTRO_CONTROL), strict=True):
        _curves(panel, lines, problem, 0.0, sign=-1.0, log=False)
        panel.axhline(-problem.best_grid_value, color="black", lw=0.8, ls=":")
        panel.set_xlabel("queries after 30 start points")
        panel.set_ylabel("best value so far (dotted: best cell)")
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    _legend(figure, panels[0], 5)
    return _save(figure, folder / "intro_curves.png")


def intro_surfaces(details: Sequence[Line], folder: Path) -> Path:
    """Truth, then mean and acquisition of one run of each method, with what it queried."""
    plt = _pyplot()
    figure, panels = plt.subplots(2, len(details) + 1, figsize=(4.4 * (len(details) + 1), 7.4))
    truth = -INTRO.grid_values().reshape(INTRO.sizes)
    limits = {"vmin": float(truth.min()), "vmax": float(truth.max())}
    _surface(figure, panels[0, 0], truth, INTRO, "truth", **limits)
    panels[1, 0].axis("off")
    for (top, bottom), line in zip(panels[:, 1:].T, details, strict=True):
        _surface(figure, top, -np.array(line["mean"]).reshape(INTRO.sizes), INTRO, f"mean: {METHODS[line['method']].title}", **limits)
        values, title = np.array(line["acquisition"]), "acquisition"
        if line["method"].endswith("ei"):  # spans many decades
            values, title = np.log10(np.maximum(values, 1e-12)), "log₁₀ of the acquisition"
        _surface(figure, bottom, values.reshape(INTRO.sizes), INTRO, title)
        points = np.array(line["points"])
        for panel in (top, bottom):
            panel.plot(*points[: line["n_start"]].T, "o", color="white", mec="black", ms=4, label="start")
            panel.plot(*points[line["n_start"] :].T, "o", color="red", mec="black", ms=4, label="queried")
    for panel in panels.ravel()[[0, *range(1, len(details) + 1)]]:
        panel.plot(*np.array(INTRO.minimisers).T, "*", color="cyan", ms=14, mec="black", ls="none", label="optimum")
    figure.legend(*panels[0, 1].get_legend_handles_labels(), loc="lower left", bbox_to_anchor=(0.06, 0.25), frameon=False)
    figure.tight_layout()
    return _save(figure, folder / "intro_surfaces.png")


def intro_posterior(line: Line, folder: Path) -> Path:
    """Posteriors of the hyperparameters, mean aligned factors, and the last draws of the factors of both dimensions."""
    plt = _pyplot()
    figure, panels = plt.subplots(2, 3, figsize=(15, 8.2))
    _lengthscale_histograms(panels[0, 0], line)
    _noise_histogram(panels[1, 0], line)
    axes, n_components = INTRO.axes, len(line["factor_mean"][0])
    for d, panel in enumerate(panels[:, 1]):
        for r in range(n_components):
            mean, low, high = (np.array(line[f"factor_{name}"][d][r]) for name in ("mean", "low", "high"))
            panel.plot(axes[d], mean, label=f"component {r + 1}")
            panel.fill_between(axes[d], low, high, alpha=0.12, lw=0)
        panel.set_title(f"mean of the aligned factors, 90 % bands, dimension {d + 1}", fontsize=10)
    panels[0, 1].legend(fontsize=8)
    for d, panel in enumerate(panels[:, 2]):
        for draw in line["factor_last"][d]:
            for r, values in enumerate(draw):
                panel.plot(axes[d], values, color=f"C{r}", lw=0.7, alpha=0.6)
        panel.set_title(f"last {len(line['factor_last'][d])} draws, dimension {d + 1}", fontsize=10)
    for panel in panels[:, 1:].ravel():
        panel.set_xlabel("coordinate")
    figure.tight_layout()
    return _save(figure, folder / "intro_posterior.png")


def _lengthscale_histograms(panel: Any, line: Line) -> None:
    lengthscales = np.array(line["lengthscales"])
    for d in range(lengthscales.shape[2]):
        values = np.log10(lengthscales[:, :, d]).ravel()
        panel.hist(values, bins=40, density=True, histtype="step", lw=1.6, label=f"dimension {d + 1}, all components")
    panel.set_xlabel("log₁₀ of the length-scale (axis scaled to [0, 1])")
    panel.set_title("posterior of the length-scales", fontsize=10)
    panel.legend(fontsize=8)


def _noise_histogram(panel: Any, line: Line) -> None:
    panel.hist(np.log10(line["noise_variance"]), bins=40, density=True, color="grey")
    panel.set_xlabel("log₁₀ of the noise variance (z-scored values)")
    panel.set_title("posterior of the noise variance", fontsize=10)


def hyperprior_curves(lines: Sequence[Line], detail: Line, folder: Path) -> Path:
    """Branin: error curves for prior means of the length-scale, and the posterior under the usual priors."""
    plt = _pyplot()
    methods, problem = methods_in(lines, METHODS), PROBLEMS["branin"]
    figure, panels = plt.subplots(1, len(methods) + 2, figsize=(4.6 * (len(methods) + 2), 4.4))
    for panel, method in zip(panels, methods, strict=False):
        for i, mean in enumerate(LENGTHSCALE_MEANS):
            found = [x for x in lines_of(lines, "branin", method) if _is_mean(x, mean)]
            if not found:
                continue
            low, median, high = quartiles(np.maximum(best_so_far(found) - problem.best_grid_value, LEAST_ERROR))
            colour = f"C{i}"
            panel.plot(np.arange(median.size), median, color=colour, label=f"exp μ = {mean:g}")
            panel.fill_between(np.arange(median.size), low, high, color=colour, alpha=0.12, lw=0)
        panel.set_yscale("log")
        panel.set_title(METHODS[method].title, fontsize=10)
        panel.set_xlabel("queries after the start")
        panel.set_ylabel("best value − best cell")
        panel.grid(alpha=0.25)
        panel.legend(fontsize=8)
    _lengthscale_histograms(panels[-2], detail)
    _noise_histogram(panels[-1], detail)
    figure.tight_layout()
    return _save(figure, folder / "hyperpriors.png")


def _is_mean(line: Line, mean: float) -> bool:
    priors = line["settings"]["priors"]
    return abs(np.exp(priors["lengthscale_log_mean"]) - mean) < 1e-9 and (priors["noise_shape"], priors["noise_rate"]) == (1.0, 0.01)


def factors(lines: Sequence[Line], folder: Path) -> Path:
    """Aligned factors of runs on Griewank-3 with 90 % bands, beside the cosines the function is made of; one row per run.

    Of each run the component that is most like the cosines is shown; the cosine similarity of its mean factor stands in the title.
    """
    plt = _pyplot()
    problem = PROBLEMS["griewank3"]
    figure, panels = plt.subplots(len(lines), problem.n_dims, figsize=(4.6 * problem.n_dims, 2.7 * len(lines)), squeeze=False)
    for row, line in zip(panels, lines, strict=True):
        waves = [np.cos(axis / np.sqrt(d + 1)) for d, axis in enumerate(problem.axes)]
        alike = np.array([[_similarity(wave, factor) for factor in line["factor_mean"][d]] for d, wave in enumerate(waves)])
        r = int(np.abs(alike).prod(axis=0).argmax())
        found = queries_to_hit(line, problem, True)
        row[0].set_ylabel(
            f"{METHODS[line['method']].title.split(' (')[0]}\nseed {line['seed']}: " + (f"found in {found}" if found else "not found")
        )
        for d, (panel, axis, wave) in enumerate(zip(row, problem.axes, waves, strict=True)):
            mean, low, high = (np.array(line[f"factor_{name}"][d][r]) for name in ("mean", "low", "high"))
            scale = float(np.sign(alike[d, r]) or 1.0) / np.sqrt(np.mean(wave**2))
            fine = np.linspace(axis[0], axis[-1], 400)
            panel.plot(fine, scale * np.cos(fine / np.sqrt(d + 1)), color="grey", lw=0.9, ls=":", label="the function's own cosine, scaled")
            panel.plot(axis, scale * wave, "x", color="grey", ms=5)
            panel.fill_between(axis, low, high, color="C0", alpha=0.2, lw=0, label="90 % band")
            panel.plot(axis, mean, "o-", color="C0", ms=3, label="mean of the aligned factor")
            panel.set_title(f"dimension {d + 1}, similarity {abs(alike[d, r]):.2f}", fontsize=10)
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    _legend(figure, panels[0, 0], 3)
    return _save(figure, folder / "factors.png")


def _similarity(a: Floats, b: Sequence[float]) -> float:
    return float(a @ np.array(b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def tuning(lines: Sequence[Line], folder: Path) -> Path:
    """Accuracy (larger is better) and mean squared error (smaller is better) against queries."""
    plt = _pyplot()
    shown = [task for task in TASKS.values() if any(line["problem"] == task.name for line in lines)]
    columns = max(1, -(-len(shown) // 2))
    figure, panels = plt.subplots(2, columns, figsize=(5.4 * columns, 9), squeeze=False)
    for panel, task in zip(panels.T.ravel(), shown, strict=False):
        if task.is_classifier:
            _curves(panel, [x | {"values": [100 * v for v in x["values"]]} for x in lines], task, 100.0, sign=-1.0, log=False)
            panel.set_ylabel("best accuracy so far, %")
        else:
            _curves(panel, lines, task, 0.0, log=False)
            panel.set_ylabel("best mean squared error so far")
        panel.set_xlabel("queries after the start")
    for panel in panels.T.ravel()[len(shown) :]:
        panel.axis("off")
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    _legend(figure, panels[0, 0], 4)
    return _save(figure, folder / "tuning.png")
