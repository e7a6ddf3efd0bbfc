"""What the paper's pictures of single runs show: surfaces, hyperparameters, latent factors."""

from typing import Any

import numpy as np

from bktf import Posterior
from studies.lines import Line, RunKey, made_with, rounded
from studies.methods import BETA, PAPER_METHODS, BktfOnGrid
from studies.methods.gaussian_process import fit_gp, make_score
from studies.paper.runs import INTRO_SETTINGS, run_key
from studies.problems import PAPER_PROBLEMS, Floats, PaperProblem
from studies.runner import run_method

N_DRAWS = 20  # last draws of the factors
MAX_SURFACE = 10_000  # cells


def detail_runs(experiment: str, quick: bool) -> list[RunKey]:
    """The single runs of an experiment: the first seed, or three where one says little."""
    if experiment == "intro":
        return [
            run_key("intro-detail", "intro", method, 0, quick, INTRO_SETTINGS)
            for method in ("bktf-max", "gp-ei", "gp-ucb")
        ]
    if experiment == "hyperpriors":
        return [run_key("hyperpriors-detail", "branin", "bktf-max", 0, quick)]
    return [
        run_key("factors-detail", "griewank3", method, seed, quick)
        for method in ("bktf-max", "bktf-ei")
        for seed in range(1 if quick else 3)
    ]


def run_detail(key: RunKey) -> Line:
    """Make the run, fit once more to all of it, and keep what the picture shows.

    Values are in the units of the minimised function.
    """
    problem, entry = PAPER_PROBLEMS[key["problem"]], PAPER_METHODS[key["method"]]
    run, method = run_method(problem, entry, key)
    X, y = np.stack([problem.to_row(p) for p in run.points]), np.array(run.values)
    shown: dict[str, Any] = {"points": X, "values": y}
    if isinstance(method, BktfOnGrid):
        method.ask()  # once more, the chain going on where the last one ended
        assert method.last is not None
        shown |= _posterior_details(method.last, problem)
    else:
        shown |= _gp_surfaces(key, problem, X, y)
    numbers = {name: rounded(value) for name, value in shown.items()}
    return dict(key) | {"n_start": run.n_start} | numbers | made_with(*entry.packages)


def _posterior_details(posterior: Posterior, problem: PaperProblem) -> dict[str, Any]:
    """Surfaces of mean and acquisition (max over draws of −f), hyperparameters, aligned factors."""
    shown: dict[str, Any] = {
        "lengthscales": posterior.lengthscales,  # (K, R, D), on axes scaled to [0, 1]
        "noise_variance": 1.0 / posterior.noise_precision,  # of z-scored values
        "weights": posterior.aligned_weights(),
    }
    grid = problem.grid
    if grid.n_cells <= MAX_SURFACE:
        draws = posterior.draws_at(grid.points_at(np.arange(grid.n_cells)))
        shown |= {"mean": draws.mean(axis=0), "acquisition": -draws.min(axis=0)}
    factors = posterior.aligned_factors()
    shown["factor_mean"] = [f.mean(axis=0) for f in factors]
    shown["factor_low"] = [np.quantile(f, 0.05, axis=0) for f in factors]
    shown["factor_high"] = [np.quantile(f, 0.95, axis=0) for f in factors]
    shown["factor_last"] = [f[-N_DRAWS:] for f in factors]
    return shown


def _gp_surfaces(key: RunKey, problem: PaperProblem, X: Floats, y: Floats) -> dict[str, Any]:
    """Surfaces of mean and acquisition of the Gaussian process."""
    grid = problem.grid
    low, high = np.array(grid.low), np.array(grid.high)
    gp = fit_gp((X - low) / (high - low), -y, key["seed"], key["settings"])
    cells = grid.points_at(np.arange(grid.n_cells))
    mean, std = gp.predict((cells - low) / (high - low))
    score = make_score(key["method"].split("-")[1], -y, BETA)
    scale = float(y.std()) or 1.0
    return {"mean": -(mean * scale) + y.mean(), "acquisition": score(mean, std)}
