"""Which runs each experiment of the paper consists of."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from studies.lines import Job
from studies.methods.paper_methods import METHODS, PAPER_PRIORS, PAPER_SETTINGS, run_settings
from studies.problems.grid_problems import CONTROLS, PAPER, PROBLEMS

NAMES = ("experiment", "problem", "method", "seed", "settings")  # of a job; two lines that agree in them are the same run

INTRO_SETTINGS = PAPER_SETTINGS | {"rank": 4, "n_sweeps": 1000, "n_burn_in": 600}
QUICK = {"n_sweeps": 20, "n_burn_in": 10}
QUICK_BUDGET = 2
N_SEEDS = {"intro": 20, "functions": 10, "hyperpriors": 10}
SLOW_METHODS = ("gpgrid-ei", "gpgrid-ucb")  # on Hartmann's grid they enumerate three million cells for each query

LENGTHSCALE_MEANS = (0.05, 0.1, 0.5, 1.0, 2.0)  # the paper's
NOISE_SHAPES = (1e-6, 1e-4, 1e-2, 1.0, 10.0)  # a₀; the paper gives no values
NOISE_RATES = (1e-6, 1e-4, 1e-2, 1.0)  # b₀
VARIANTS: dict[str, dict[str, Any]] = {  # what else the paper leaves open, or might have done
    "as pinned down": {},
    "a₀ = b₀ = 10⁻⁶": {"priors": PAPER_PRIORS | {"noise_shape": 1e-6, "noise_rate": 1e-6}},
    "no warm start": {"warm_start": False},
    "shared length-scales": {"shared_lengthscales": True},
    "rank 1": {"rank": 1},
    "rank 4": {"rank": 4},
    "four chains of 100 kept draws": {"n_chains": 4, "n_sweeps": 300},
    "2000 sweeps, 1000 kept": {"n_sweeps": 2000, "n_burn_in": 1000},
}
VARIED = ("branin", "damavandi", "schaffer", "griewank3")


def job(experiment: str, problem: str, method: str, seed: int, quick: bool, settings: dict[str, Any] | None = None) -> Job:
    """One run, with the paper's settings unless others are given."""
    bktf = (PAPER_SETTINGS if settings is None else settings) | (QUICK if quick else {})
    own = run_settings(method, QUICK_BUDGET if quick else PROBLEMS[problem].budget, bktf)
    return {"experiment": experiment, "problem": problem, "method": method, "seed": seed, "settings": own}


def intro_jobs(methods: Sequence[str], n_seeds: int | None, quick: bool) -> list[Job]:
    """The introductory function and its control: 30 start points, rank 4, 1000 sweeps."""
    seeds = range(n_seeds or (1 if quick else N_SEEDS["intro"]))
    return [job("intro", p, m, s, quick, INTRO_SETTINGS) for s in seeds for p in ("intro", "intro-shifted") for m in methods]


def functions_jobs(methods: Sequence[str], n_seeds: int | None, quick: bool) -> list[Job]:
    """The six functions and their controls, what is expensive at the end."""
    seeds = n_seeds or (1 if quick else N_SEEDS["functions"])
    pairs = [(p.name, m) for p in (*PAPER, *CONTROLS) for m in methods]
    slow = [(p, m) for p, m in pairs if m in SLOW_METHODS and p.startswith("hartmann6")]
    fast = [pair for pair in pairs if pair not in slow]
    return [job("functions", p, m, s, quick) for group in (fast, slow) for s in range(seeds) for p, m in group]


def hyperprior_settings() -> Iterator[dict[str, float]]:
    """The priors that are compared: the mean of the log length-scale, then shape and rate of the noise precision."""
    for mean in LENGTHSCALE_MEANS:
        yield PAPER_PRIORS | {"lengthscale_log_mean": math.log(mean)}
    for shape in NOISE_SHAPES:
        for rate in NOISE_RATES:
            yield PAPER_PRIORS | {"noise_shape": shape, "noise_rate": rate}


def hyperprior_jobs(methods: Sequence[str], n_seeds: int | None, quick: bool) -> list[Job]:
    """Branin with other priors, for the methods that have any."""
    seeds = range(n_seeds or (1 if quick else N_SEEDS["hyperpriors"]))
    seen: dict[str, Job] = {}
    for s in seeds:
        for priors in list(hyperprior_settings())[:: 6 if quick else 1]:
            for m in methods:
                if METHODS[m].is_bktf:
                    one = job("hyperpriors", "branin", m, s, quick, PAPER_SETTINGS | {"priors": priors})
                    seen.setdefault(repr(one), one)  # the middle of both grids is one run
    return list(seen.values())


def variant_jobs(methods: Sequence[str], n_seeds: int | None, quick: bool) -> list[Job]:
    """Some functions with other settings and the paper's acquisition, to see whether one of them gives the paper's figures."""
    seeds = range(n_seeds or (1 if quick else N_SEEDS["hyperpriors"]))
    shown = list(VARIANTS)[: 2 if quick else None] if "bktf-max" in methods else []
    return [
        {**job("variants", problem, "bktf-max", seed, quick, PAPER_SETTINGS | VARIANTS[name]), "variant": name}
        for seed in seeds
        for name in shown
        for problem in VARIED
    ]
