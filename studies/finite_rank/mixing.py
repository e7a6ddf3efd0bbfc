"""Whether independent fits of one data set agree, and whether they predict what was not seen.

The problems, the sizes of the data sets and what is measured were fixed before the first line. A
data set is n random cells of a grid; up to 200 others are predicted. Numbers are in units of the
z-scored observations.

    effective draws   median over the predicted cells of the variance within a fit (mean over fits)
                      divided by the variance of the fits' means
    density           log density of a predicted value per cell, under f plus noise, mean over fits:
                      the mean of the draws' densities, and that of a normal with their moments.
                      The first needs many draws where the noise is small, so it is the harsher one
    coverage          share of the predicted values inside the central 90 % intervals of f, and of
                      f plus noise
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import bktf
from studies.lines import Line, RunKey, made_with, rounded
from studies.problems import INTRO, PAPER_PROBLEMS, Floats, PaperProblem
from studies.table_writer import markdown

RANK = 3
SIZES = {"branin": 40, "intro": 50, "griewank3": 40, "griewank4": 60, "hartmann6": 60}
N_PREDICTED = 200
N_SETS = 20
SETS_WITH_MANY = 5  # data sets with so many fits that their agreement can be measured
MANY_FITS, FEW_FITS = 20, 2
RATES = (0.01, 1e-5)  # of the noise precision's prior
N_SETS_OF = {"annealed, ten times": 1}  # where they are fewer
LENGTHS = {"n_chains": 32, "n_sweeps": 48, "n_burn_in": 32}
METHODS: dict[str, dict[str, Any]] = {
    "gibbs": {"inference": "gibbs", "n_chains": 4, "n_sweeps": 400, "n_burn_in": 340},
    "annealed": LENGTHS,
    "annealed, ten times": {"n_chains": 320, "n_sweeps": 48, "n_burn_in": 32},
}

# Lines of a trial (commit aa227d6): a prior that keeps the factors of an axis apart, by the power
# to which 1 − cosine² is raised. No more of them can be made.
RECORDED = ("annealed, repulsion 2", "annealed, repulsion 20")


class Prediction(NamedTuple):
    """What one fit says of the predicted cells."""

    mean: Floats  # (m,) of f
    variance: Floats  # (m,) of f
    log_density: float
    log_density_normal: float  # of a normal distribution with the moments of the draws
    covered: float  # by intervals of f
    covered_with_noise: float
    seconds: float  # of CPU


def mixing_runs(methods: Sequence[str], n_sets: int) -> list[RunKey]:
    """Every problem, data set, method and prior."""
    return [
        {
            "experiment": "mixing",
            "problem": problem,
            "method": method,
            "seed": number,
            "settings": {
                "n": SIZES[problem],
                "rank": RANK,
                "noise_rate": rate,
                "n_fits": MANY_FITS if number < SETS_WITH_MANY else FEW_FITS,
                **METHODS[method],
            },
        }
        for number in range(n_sets)
        for rate in RATES
        for method in methods
        for problem in SIZES
        if number < N_SETS_OF.get(method, n_sets)
    ]


def run_mixing(key: RunKey) -> Line:
    """All fits of one data set."""
    settings = dict(key["settings"])
    n, rank, rate, n_fits = (settings.pop(k) for k in ("n", "rank", "noise_rate", "n_fits"))
    problem = _problem(key["problem"])
    rng = np.random.default_rng([key["seed"], problem.grid.n_cells])
    cells = rng.choice(
        problem.grid.n_cells, min(n + N_PREDICTED, problem.grid.n_cells), replace=False
    )
    X = problem.grid.points_at(cells)
    y = problem.array_function(X)
    settings |= {"rank": rank, "priors": bktf.Priors(noise_rate=rate), "n_threads": 1}
    bktf.fit(problem.grid.axes, X[:n], y[:n], seed=0, **settings)  # compiled before it is timed
    fits = [
        _predict(problem, X, y, n, settings | {"seed": 1000 * key["seed"] + f})
        for f in range(n_fits)
    ]
    result = {
        "log_density": [f.log_density for f in fits],
        "log_density_normal": [f.log_density_normal for f in fits],
        "covered": float(np.mean([f.covered for f in fits])),
        "covered_with_noise": float(np.mean([f.covered_with_noise for f in fits])),
        "seconds": float(np.mean([f.seconds for f in fits])),
    }
    if n_fits >= MANY_FITS:
        within = np.mean([f.variance for f in fits], axis=0)
        between = np.var([f.mean for f in fits], axis=0, ddof=1)
        result["effective_draws"] = float(np.median(within / between))
    return dict(key) | {name: rounded(value) for name, value in result.items()} | made_with()


def _problem(name: str) -> PaperProblem:
    """A problem of the paper by its name."""
    return INTRO if name == "intro" else PAPER_PROBLEMS[name]


def _predict(
    problem: PaperProblem, X: Floats, y: Floats, n: int, settings: dict[str, Any]
) -> Prediction:
    """Fit to the first n points and predict the others."""
    began = time.process_time()
    posterior = bktf.fit(problem.grid.axes, X[:n], y[:n], **settings)
    seconds = time.process_time() - began
    units = posterior.standardisation
    f, truth = units.to_model(posterior.draws_at(X[n:])), units.to_model(y[n:])
    precision = posterior.noise_precision[:, None]
    logs = 0.5 * np.log(precision / (2 * np.pi)) - 0.5 * precision * (truth - f) ** 2
    density = np.logaddexp.reduce(logs, axis=0) - np.log(len(f))
    total = f.var(axis=0) + np.mean(1.0 / precision)
    rng = np.random.default_rng(settings["seed"])
    noisy = f + rng.standard_normal(f.shape) / np.sqrt(precision)
    return Prediction(
        f.mean(axis=0),
        f.var(axis=0),
        float(density.mean()),
        float(-0.5 * np.mean(np.log(2 * np.pi * total) + (truth - f.mean(axis=0)) ** 2 / total)),
        _coverage(f, truth),
        _coverage(noisy, truth),
        seconds,
    )


def _coverage(draws: Floats, truth: Floats) -> float:
    """The share of values inside the central 90 % intervals of draws (K, m)."""
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    return float(np.mean((low <= truth) & (truth <= high)))


def mixing_table(lines: Sequence[Line]) -> str:
    """One row for each prior and method: effective draws and densities by problem."""
    rows = []
    for rate in RATES:
        for method in (*METHODS, *RECORDED):
            found = [
                line
                for line in lines
                if line["method"] == method and line["settings"]["noise_rate"] == rate
            ]
            if found:
                rows.append([f"{rate:g}", method, *_summary(found)])
    header = ["noise rate", "inference", *(f"{name}: effective draws" for name in SIZES)]
    header += ["density, five sets: of draws / normal", "lowest set", "CPU s"]
    return markdown(header, rows)


def _summary(lines: Sequence[Line]) -> list[str]:
    """Effective draws by problem, density over data sets with many fits, the lowest, and cost."""
    many = [line for line in lines if "effective_draws" in line]
    by_problem = [[x["effective_draws"] for x in many if x["problem"] == name] for name in SIZES]
    densities = [
        [float(np.mean(line[name])) for line in many]
        for name in ("log_density", "log_density_normal")
    ]
    seconds = [float(np.median([x["seconds"] for x in many if x["problem"] == p])) for p in SIZES]
    return [
        *(
            f"{np.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"
            for values in by_problem
        ),
        " / ".join(f"{np.mean(means):.2f}" for means in densities),
        " / ".join(f"{min(means):.2f}" for means in densities),
        f"{np.mean(seconds):.3f}",
    ]


def coverage_table(lines: Sequence[Line]) -> str:
    """Coverage of 90 % intervals by problem, with the standard error over data sets."""
    rows = []
    for rate in RATES:
        for method in (*METHODS, *RECORDED):
            cells = []
            for name in SIZES:
                found = [
                    line
                    for line in lines
                    if (line["method"], line["problem"]) == (method, name)
                    and line["settings"]["noise_rate"] == rate
                ]
                if len(found) < 2:
                    continue
                both = [[x[k] for x in found] for k in ("covered", "covered_with_noise")]
                cells.append(" / ".join(_percent(values) for values in both) + f", {len(found)}")
            if len(cells) == len(SIZES):
                rows.append([f"{rate:g}", method, *cells])
    return markdown(["noise rate", "inference", *SIZES], rows)


def _percent(shares: Sequence[float]) -> str:
    """Mean and standard error of shares, in per cent."""
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    return f"{100 * np.mean(shares):.0f} ± {100 * error:.0f}"
