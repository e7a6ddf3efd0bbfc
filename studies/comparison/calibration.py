"""Do the surrogates know what they do not know? Coverage and CRPS of bktf's and of BoTorch's Gaussian process at n = 10·D random points."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bktf.engine.model_choice import fit_shape, shown
from bktf.engine.settings import Strategy, seed_for
from studies.lines import Job, Line, made_with, rounded
from studies.methods.other_packages import Cube
from studies.problems.comparison_problems import CONTESTS, Contest, sample

Floats = NDArray[np.float64]
N_HELD = 200  # points predicted
POINTS_PER_DIM, MOST_POINTS = 10, 120
AXIS_POINTS = 33
MODELS = ("bktf", "botorch")
LEVELS = (0.5, 0.9)


def calibration_jobs(contests: list[str], models: list[str], n_seeds: int, quick: bool) -> list[Job]:
    """Fits of the surrogates to the continuous contests."""
    jobs: list[Job] = []
    for seed in range(n_seeds):
        for name in contests:
            if CONTESTS[name].kind == "continuous":
                n = 6 if quick else min(POINTS_PER_DIM * CONTESTS[name].n_dims, MOST_POINTS)
                for model in models:
                    settings = {"n": n} | ({"strategy": asdict(Strategy())} if model == "bktf" else {})
                    jobs.append({"experiment": "calibration", "problem": name, "method": model, "seed": seed, "settings": settings})
    return jobs


def run_calibration(job: Job) -> Line:
    """Fit to n random points, predict held-out ones without noise: coverage of central intervals, and CRPS in units of their spread."""
    contest, seed, n = CONTESTS[job["problem"]], job["seed"], job["settings"]["n"]
    rng = np.random.default_rng([seed, 17])
    X, y = _points(contest, n, rng)
    X_held, truth = _points(contest, N_HELD, rng)
    y = y + contest.noise_std * rng.standard_normal(n)
    predict = _predict_bktf if job["method"] == "bktf" else _predict_botorch
    intervals, crps = predict(X, y, X_held, truth, seed)
    covered = [float(np.mean((low <= truth) & (truth <= high))) for low, high in intervals]
    widths = [float(np.mean(high - low) / truth.std()) for low, high in intervals]
    result: dict[str, Any] = {"coverage": rounded(covered), "width": rounded(widths), "crps": rounded(float(crps.mean() / truth.std()))}
    return dict(job) | result | made_with(*(() if job["method"] == "bktf" else ("botorch", "gpytorch", "torch")))


def _points(contest: Contest, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    points = [sample(contest.space, rng) for _ in range(n)]
    cube = Cube(contest.space)
    return np.array([cube.to_numbers(p) for p in points]), np.array([contest.function(p) for p in points])


def _predict_bktf(X: Floats, y: Floats, X_held: Floats, truth: Floats, seed: int) -> tuple[list[tuple[Floats, Floats]], Floats]:
    """The surrogate that the sampler shows, at its default settings."""
    posterior = fit_shape(
        "process", shown(Strategy()), [np.linspace(0, 1, AXIS_POINTS)] * X.shape[1], X, y, maximize=False,
        seed=seed_for(seed, len(y)), n_threads=1,
    )  # fmt: skip
    draws = posterior.draws_at(X_held)
    intervals = [(np.quantile(draws, (1 - p) / 2, axis=0), np.quantile(draws, (1 + p) / 2, axis=0)) for p in LEVELS]
    return intervals, crps_of_draws(draws, truth)


def _predict_botorch(X: Floats, y: Floats, X_held: Floats, truth: Floats, seed: int) -> tuple[list[tuple[Floats, Floats]], Floats]:
    """BoTorch's SingleTaskGP at its defaults."""
    import warnings

    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from scipy.special import ndtri

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Any = SingleTaskGP(torch.tensor(X), torch.tensor(y)[:, None])
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        with torch.no_grad():
            posterior = model.posterior(torch.tensor(X_held))
            mean, std = posterior.mean[:, 0].numpy(), posterior.variance[:, 0].sqrt().numpy()
    intervals = [(mean + ndtri((1 - p) / 2) * std, mean + ndtri((1 + p) / 2) * std) for p in LEVELS]
    return intervals, crps_of_normal(mean, std, truth)


def crps_of_draws(draws: Floats, truth: Floats) -> Floats:
    """E|F − y| − ½ E|F − F′| with F the draws (K, n), one number for each truth (n,)."""
    ordered = np.sort(draws, axis=0)
    n = len(ordered)
    weights = (2 * np.arange(1, n + 1) - n - 1) / n**2
    return np.asarray(np.abs(ordered - truth).mean(axis=0) - (weights[:, None] * ordered).sum(axis=0))


def crps_of_normal(mean: Floats, std: Floats, truth: Floats) -> Floats:
    """The same for normal distributions, in closed form."""
    from scipy.special import ndtr

    z = (truth - mean) / std
    return np.asarray(std * (z * (2 * ndtr(z) - 1) + 2 * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) - 1 / math.sqrt(math.pi)))
