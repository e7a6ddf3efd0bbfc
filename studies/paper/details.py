"""What the paper's pictures of single runs show: surfaces, posteriors of hyperparameters, latent factors. One line per run."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bktf.surrogate.posterior import Posterior
from studies.lines import Job, Line, made_with, rounded
from studies.methods.gaussian_process import fit_gp, make_score
from studies.methods.paper_methods import BETA, METHODS, PAPER_SETTINGS, BktfChooser
from studies.paper.runs import INTRO_SETTINGS, job
from studies.problems.grid_problems import PROBLEMS, Problem
from studies.runner import chooser_for, run_on_function

Floats = NDArray[np.float64]
N_SHOWN = 20  # last draws of the factors
LARGEST_SURFACE = 10_000  # cells


def detail_jobs(experiment: str, quick: bool) -> list[Job]:
    """The single runs of an experiment: those with the first seed, or the first three where one says little."""
    if experiment == "intro":
        return [job("intro-detail", "intro", method, 0, quick, INTRO_SETTINGS) for method in ("bktf-max", "gp-ei", "gp-ucb")]
    if experiment == "hyperpriors":
        return [job("hyperpriors-detail", "branin", "bktf-max", 0, quick, PAPER_SETTINGS)]
    return [
        job("factors-detail", "griewank3", m, s, quick, PAPER_SETTINGS) for m in ("bktf-max", "bktf-ei") for s in range(1 if quick else 3)
    ]


def run_detail(job: Job) -> Line:
    """Make the run, fit once more to all of it, and keep what the picture shows, in the units of the minimised function."""
    problem = PROBLEMS[job["problem"]]
    chooser = chooser_for(job, problem)
    run = run_on_function(job, chooser)
    shown: dict[str, Any] = {"points": run.X, "values": run.y}
    if isinstance(chooser, BktfChooser):
        chooser(run.X, run.y)  # once more, the chain going on where the last one ended
        assert chooser.last is not None
        shown |= _of_posterior(chooser.last, problem)
    else:
        shown |= _of_gp(job, problem, run.X, run.y)
    numbers = {name: rounded(value) for name, value in shown.items()}
    return dict(job) | {"n_start": problem.n_start} | numbers | made_with(*METHODS[job["method"]].packages)


def _of_posterior(posterior: Posterior, problem: Problem) -> dict[str, Any]:
    """Surfaces of mean and acquisition (max over draws of −f), draws of the hyperparameters, aligned factors with bands."""
    shown: dict[str, Any] = {
        "lengthscales": posterior.lengthscales,  # (K, R, D), on axes scaled to [0, 1]
        "noise_variance": 1.0 / posterior.noise_precision,  # of z-scored values
        "weights": posterior.aligned_weights(),
    }
    if problem.n_cells <= LARGEST_SURFACE:
        draws = posterior.draws_at(problem.points_at(np.arange(problem.n_cells)))
        shown |= {"mean": draws.mean(axis=0), "acquisition": -draws.min(axis=0)}
    factors = posterior.aligned_factors()
    shown["factor_mean"] = [f.mean(axis=0) for f in factors]
    shown["factor_low"], shown["factor_high"] = ([np.quantile(f, q, axis=0) for f in factors] for q in (0.05, 0.95))
    shown["factor_last"] = [f[-N_SHOWN:] for f in factors]
    return shown


def _of_gp(job: Job, problem: Problem, X: Floats, y: Floats) -> dict[str, Any]:
    """Surfaces of mean and acquisition of the Gaussian process."""
    low, high = np.array(problem.low), np.array(problem.high)
    gp = fit_gp((X - low) / (high - low), -y, job["seed"], job["settings"])
    mean, std = gp.predict((problem.points_at(np.arange(problem.n_cells)) - low) / (high - low))
    score = make_score(job["method"].split("-")[1], -y, BETA)
    return {"mean": -(mean * (float(y.std()) or 1.0)) + y.mean(), "acquisition": score(mean, std)}
