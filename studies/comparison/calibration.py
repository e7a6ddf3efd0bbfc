"""Do the surrogates know what they do not know? Coverage and CRPS at n = 10·D random points.

bktf's surrogate and BoTorch's Gaussian process are fitted to the same points.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from bktf.engine import (
    EngineSettings,
    Objective,
    Observations,
    fit_surrogate,
    seed_for,
    settings_to_show,
)
from studies.lines import Line, RunKey, made_with, rounded
from studies.problems import COMPARISON_PROBLEMS, Floats, Problem, UnitCube, sample
from studies.recorded_settings import recorded_settings

N_PREDICTED = 200  # points predicted
POINTS_PER_DIM, MAX_POINTS = 10, 120
QUICK_POINTS = 6
AXIS_POINTS = 33
MODELS = ("bktf", "botorch")
LEVELS = (0.5, 0.9)
Prediction = tuple[list[tuple[Floats, Floats]], Floats]  # intervals of each level, and CRPS


def calibration_runs(
    problems: Sequence[str], models: Sequence[str], n_seeds: int, quick: bool
) -> list[RunKey]:
    """Fits of the surrogates to the continuous problems."""

    def settings(problem: Problem, model: str) -> dict[str, Any]:
        n = QUICK_POINTS if quick else min(POINTS_PER_DIM * problem.n_dims, MAX_POINTS)
        return {"n": n} | (
            {"strategy": recorded_settings(EngineSettings())} if model == "bktf" else {}
        )

    return [
        {
            "experiment": "calibration",
            "problem": name,
            "method": model,
            "seed": seed,
            "settings": settings(COMPARISON_PROBLEMS[name], model),
        }
        for seed in range(n_seeds)
        for name in problems
        if COMPARISON_PROBLEMS[name].kind == "continuous"
        for model in models
    ]


def run_calibration(key: RunKey) -> Line:
    """Fit to n random points and predict others without noise.

    Recorded are the coverage of central intervals, and the CRPS in units of the values' spread.
    """
    problem, seed, n = COMPARISON_PROBLEMS[key["problem"]], key["seed"], key["settings"]["n"]
    rng = np.random.default_rng([seed, 17])
    X, y = _points(problem, n, rng)
    X_new, truth = _points(problem, N_PREDICTED, rng)
    y = y + problem.noise_std * rng.standard_normal(n)
    predict = _predict_bktf if key["method"] == "bktf" else _predict_botorch
    intervals, crps = predict(X, y, X_new, truth, seed)
    covered = [float(np.mean((low <= truth) & (truth <= high))) for low, high in intervals]
    widths = [float(np.mean(high - low) / truth.std()) for low, high in intervals]
    result = {
        "coverage": rounded(covered),
        "width": rounded(widths),
        "crps": rounded(float(crps.mean() / truth.std())),
    }
    packages = () if key["method"] == "bktf" else ("botorch", "gpytorch", "torch")
    return dict(key) | result | made_with(*packages)


def _points(problem: Problem, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Random points in [0, 1]^D and their values."""
    points = [sample(problem.space, rng) for _ in range(n)]
    cube = UnitCube(problem.space)
    return np.array([cube.to_numbers(p) for p in points]), np.array(problem.values(points))


def _predict_bktf(X: Floats, y: Floats, X_new: Floats, truth: Floats, seed: int) -> Prediction:
    """The surrogate that the sampler shows, at its default settings."""
    axes = [np.linspace(0, 1, AXIS_POINTS)] * X.shape[1]
    run_seed = seed_for(seed, len(y))
    objective = Objective(direction="minimize")
    no_kernels, no_logs = [None] * X.shape[1], [False] * X.shape[1]
    data = Observations(
        axes, X, objective.orient(y), objective, run_seed, no_kernels, no_logs, n_threads=1
    )
    oriented = fit_surrogate(math.inf, settings_to_show(EngineSettings()), data)
    posterior = objective.orient_posterior(oriented)
    draws = posterior.draws_at(X_new)
    intervals = [
        (np.quantile(draws, (1 - p) / 2, axis=0), np.quantile(draws, (1 + p) / 2, axis=0))
        for p in LEVELS
    ]
    return intervals, crps_of_draws(draws, truth)


def _predict_botorch(X: Floats, y: Floats, X_new: Floats, truth: Floats, seed: int) -> Prediction:
    """BoTorch's SingleTaskGP at its defaults."""
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
            posterior = model.posterior(torch.tensor(X_new))
            mean, std = posterior.mean[:, 0].numpy(), posterior.variance[:, 0].sqrt().numpy()
    intervals = [(mean + ndtri((1 - p) / 2) * std, mean + ndtri((1 + p) / 2) * std) for p in LEVELS]
    return intervals, crps_of_normal(mean, std, truth)


def crps_of_draws(draws: Floats, truth: Floats) -> Floats:
    """E|F − y| − ½ E|F − F′| with F the draws (K, n), one number for each truth (n,)."""
    ordered = np.sort(draws, axis=0)
    n = len(ordered)
    weights = (2 * np.arange(1, n + 1) - n - 1) / n**2
    return np.asarray(
        np.abs(ordered - truth).mean(axis=0) - (weights[:, None] * ordered).sum(axis=0)
    )


def crps_of_normal(mean: Floats, std: Floats, truth: Floats) -> Floats:
    """The same for normal distributions, in closed form."""
    from scipy.special import ndtr

    z = (truth - mean) / std
    return np.asarray(
        std
        * (
            z * (2 * ndtr(z) - 1)
            + 2 * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
            - 1 / math.sqrt(math.pi)
        )
    )
