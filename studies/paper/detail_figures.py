"""The figures of single runs: surfaces, posteriors of hyperparameters, latent factors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies.lines import Line, lines_of
from studies.methods import PAPER_METHODS
from studies.paper.figures import MIN_ERROR, add_legend, plot_surface
from studies.paper.runs import LENGTHSCALE_MEANS
from studies.paper.summaries import best_so_far, methods_in, quartiles, queries_to_hit
from studies.plotting import pyplot, save_figure
from studies.problems import INTRO, PAPER_PROBLEMS, Floats


def intro_surfaces(details: Sequence[Line], folder: Path) -> Path:
    """Truth, then mean and acquisition of one run of each method, with what it queried."""
    plt = pyplot()
    figure, panels = plt.subplots(2, len(details) + 1, figsize=(4.4 * (len(details) + 1), 7.4))
    truth = -INTRO.grid_values().reshape(INTRO.grid.sizes)
    limits = {"vmin": float(truth.min()), "vmax": float(truth.max())}
    plot_surface(figure, panels[0, 0], truth, INTRO, "truth", **limits)
    panels[1, 0].axis("off")
    for (top, bottom), line in zip(panels[:, 1:].T, details, strict=True):
        plot_surface(
            figure,
            top,
            -np.array(line["mean"]).reshape(INTRO.grid.sizes),
            INTRO,
            f"mean: {PAPER_METHODS[line['method']].title}",
            **limits,
        )
        values, title = np.array(line["acquisition"]), "acquisition"
        if line["method"].endswith("ei"):  # spans many decades
            values, title = np.log10(np.maximum(values, 1e-12)), "log₁₀ of the acquisition"
        plot_surface(figure, bottom, values.reshape(INTRO.grid.sizes), INTRO, title)
        points = np.array(line["points"])
        for panel in (top, bottom):
            panel.plot(
                *points[: line["n_start"]].T, "o", color="white", mec="black", ms=4, label="start"
            )
            panel.plot(
                *points[line["n_start"] :].T, "o", color="red", mec="black", ms=4, label="queried"
            )
    for panel in panels.ravel()[[0, *range(1, len(details) + 1)]]:
        panel.plot(
            *np.array(INTRO.minimisers).T,
            "*",
            color="cyan",
            ms=14,
            mec="black",
            ls="none",
            label="optimum",
        )
    figure.legend(
        *panels[0, 1].get_legend_handles_labels(),
        loc="lower left",
        bbox_to_anchor=(0.06, 0.25),
        frameon=False,
    )
    figure.tight_layout()
    return save_figure(figure, folder / "intro_surfaces.png")


def intro_posterior(line: Line, folder: Path) -> Path:
    """Posteriors of the hyperparameters; mean aligned factors and last draws of both dimensions."""
    plt = pyplot()
    figure, panels = plt.subplots(2, 3, figsize=(15, 8.2))
    _lengthscale_histograms(panels[0, 0], line)
    _noise_histogram(panels[1, 0], line)
    axes, n_components = INTRO.grid.axes, len(line["factor_mean"][0])
    for d, panel in enumerate(panels[:, 1]):
        for r in range(n_components):
            mean, low, high = (
                np.array(line[f"factor_{name}"][d][r]) for name in ("mean", "low", "high")
            )
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
    return save_figure(figure, folder / "intro_posterior.png")


def _lengthscale_histograms(panel: Any, line: Line) -> None:
    lengthscales = np.array(line["lengthscales"])
    for d in range(lengthscales.shape[2]):
        values = np.log10(lengthscales[:, :, d]).ravel()
        panel.hist(
            values,
            bins=40,
            density=True,
            histtype="step",
            lw=1.6,
            label=f"dimension {d + 1}, all components",
        )
    panel.set_xlabel("log₁₀ of the length-scale (axis scaled to [0, 1])")
    panel.set_title("posterior of the length-scales", fontsize=10)
    panel.legend(fontsize=8)


def _noise_histogram(panel: Any, line: Line) -> None:
    panel.hist(np.log10(line["noise_variance"]), bins=40, density=True, color="grey")
    panel.set_xlabel("log₁₀ of the noise variance (z-scored values)")
    panel.set_title("posterior of the noise variance", fontsize=10)


def hyperprior_curves(lines: Sequence[Line], detail: Line, folder: Path) -> Path:
    """Branin: curves for prior means of the length-scale; the posterior under the usual priors."""
    plt = pyplot()
    methods, problem = methods_in(lines, PAPER_METHODS), PAPER_PROBLEMS["branin"]
    figure, panels = plt.subplots(1, len(methods) + 2, figsize=(4.6 * (len(methods) + 2), 4.4))
    for panel, method in zip(panels, methods, strict=False):
        for i, mean in enumerate(LENGTHSCALE_MEANS):
            found = [x for x in lines_of(lines, "branin", method) if _is_mean(x, mean)]
            if not found:
                continue
            low, median, high = quartiles(
                np.maximum(best_so_far(found) - problem.best_grid_value, MIN_ERROR)
            )
            colour = f"C{i}"
            panel.plot(np.arange(median.size), median, color=colour, label=f"exp μ = {mean:g}")
            panel.fill_between(np.arange(median.size), low, high, color=colour, alpha=0.12, lw=0)
        panel.set_yscale("log")
        panel.set_title(PAPER_METHODS[method].title, fontsize=10)
        panel.set_xlabel("queries after the start")
        panel.set_ylabel("best value − best cell")
        panel.grid(alpha=0.25)
        panel.legend(fontsize=8)
    _lengthscale_histograms(panels[-2], detail)
    _noise_histogram(panels[-1], detail)
    figure.tight_layout()
    return save_figure(figure, folder / "hyperpriors.png")


def _is_mean(line: Line, mean: float) -> bool:
    priors = line["settings"]["priors"]
    return abs(np.exp(priors["lengthscale_log_mean"]) - mean) < 1e-9 and (
        priors["noise_shape"],
        priors["noise_rate"],
    ) == (1.0, 0.01)


def factors(lines: Sequence[Line], folder: Path) -> Path:
    """Aligned factors of runs on Griewank-3 with 90 % bands, and the function's cosines.

    One row per run shows the component that is most like the cosines. The title has the cosine
    similarity of its mean factor.
    """
    plt = pyplot()
    problem = PAPER_PROBLEMS["griewank3"]
    figure, panels = plt.subplots(
        len(lines), problem.n_dims, figsize=(4.6 * problem.n_dims, 2.7 * len(lines)), squeeze=False
    )
    for row, line in zip(panels, lines, strict=True):
        waves = [np.cos(axis / np.sqrt(d + 1)) for d, axis in enumerate(problem.grid.axes)]
        alike = np.array(
            [
                [_similarity(wave, factor) for factor in line["factor_mean"][d]]
                for d, wave in enumerate(waves)
            ]
        )
        r = int(np.abs(alike).prod(axis=0).argmax())
        found = queries_to_hit(line, problem, True)
        row[0].set_ylabel(
            f"{PAPER_METHODS[line['method']].title.split(' (')[0]}\nseed {line['seed']}: "
            + (f"found in {found}" if found else "not found")
        )
        for d, (panel, axis, wave) in enumerate(zip(row, problem.grid.axes, waves, strict=True)):
            mean, low, high = (
                np.array(line[f"factor_{name}"][d][r]) for name in ("mean", "low", "high")
            )
            scale = float(np.sign(alike[d, r]) or 1.0) / np.sqrt(np.mean(wave**2))
            fine = np.linspace(axis[0], axis[-1], 400)
            panel.plot(
                fine,
                scale * np.cos(fine / np.sqrt(d + 1)),
                color="grey",
                lw=0.9,
                ls=":",
                label="the function's own cosine, scaled",
            )
            panel.plot(axis, scale * wave, "x", color="grey", ms=5)
            panel.fill_between(axis, low, high, color="C0", alpha=0.2, lw=0, label="90 % band")
            panel.plot(axis, mean, "o-", color="C0", ms=3, label="mean of the aligned factor")
            panel.set_title(f"dimension {d + 1}, similarity {abs(alike[d, r]):.2f}", fontsize=10)
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    add_legend(figure, panels[0, 0], 3)
    return save_figure(figure, folder / "factors.png")


def _similarity(a: Floats, b: Sequence[float]) -> float:
    return float(a @ np.array(b) / (np.linalg.norm(a) * np.linalg.norm(b)))
