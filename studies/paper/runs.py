"""Which runs each experiment of the paper consists of, and how one is made."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from studies.lines import Line, RunKey
from studies.methods import PAPER_METHODS, PAPER_PRIORS, PAPER_SETTINGS, run_settings
from studies.problems import CONTROLS, PAPER, PAPER_PROBLEMS, TASKS, tuning_problem
from studies.problems.tuning import BUDGET as TUNING_BUDGET
from studies.runner import line_of, run_method

INTRO_SETTINGS = PAPER_SETTINGS | {"rank": 4, "n_sweeps": 1000, "n_burn_in": 600}
QUICK = {"n_sweeps": 20, "n_burn_in": 10}
QUICK_BUDGET = 2
QUICK_TUNING_BUDGET = 1
N_SEEDS = {"intro": 20, "functions": 10, "hyperpriors": 10, "tuning": 10}
SLOW_METHODS = ("gpgrid-ei", "gpgrid-ucb")  # on Hartmann's grid: three million cells per query
TUNING_METHODS = tuple(m for m in PAPER_METHODS if m not in SLOW_METHODS)

LENGTHSCALE_MEANS = (0.05, 0.1, 0.5, 1.0, 2.0)  # the paper's
NOISE_SHAPES = (1e-6, 1e-4, 1e-2, 1.0, 10.0)  # a₀; the paper gives no values
NOISE_RATES = (1e-6, 1e-4, 1e-2, 1.0)  # b₀
OPEN_SETTINGS: dict[str, dict[str, Any]] = {  # what else the paper leaves open, or might have done
    "as pinned down": {},
    "a₀ = b₀ = 10⁻⁶": {"priors": PAPER_PRIORS | {"noise_shape": 1e-6, "noise_rate": 1e-6}},
    "no warm start": {"warm_start": False},
    "shared length-scales": {"shared_lengthscales": True},
    "rank 1": {"rank": 1},
    "rank 4": {"rank": 4},
    "four chains of 100 kept draws": {"n_chains": 4, "n_sweeps": 300},
    "2000 sweeps, 1000 kept": {"n_sweeps": 2000, "n_burn_in": 1000},
}
OPEN_SETTINGS_PROBLEMS = ("branin", "damavandi", "schaffer", "griewank3")


def run_key(
    experiment: str,
    problem: str,
    method: str,
    seed: int,
    quick: bool,
    settings: dict[str, Any] | None = None,
) -> RunKey:
    """One run, with the paper's settings unless others are given."""
    bktf = (PAPER_SETTINGS if settings is None else settings) | (QUICK if quick else {})
    budget = QUICK_BUDGET if quick else PAPER_PROBLEMS[problem].budget
    return _key(experiment, problem, method, seed, run_settings(method, budget, bktf))


def _key(experiment: str, problem: str, method: str, seed: int, settings: dict[str, Any]) -> RunKey:
    """What names a run."""
    return {
        "experiment": experiment,
        "problem": problem,
        "method": method,
        "seed": seed,
        "settings": settings,
    }


def _seeds(experiment: str, n_seeds: int | None, quick: bool) -> range:
    """As many as asked for, otherwise the experiment's."""
    return range(n_seeds or (1 if quick else N_SEEDS[experiment]))


def intro_runs(methods: Sequence[str], n_seeds: int | None, quick: bool) -> list[RunKey]:
    """The introductory function and its control: 30 start points, rank 4, 1000 sweeps."""
    return [
        run_key("intro", problem, method, seed, quick, INTRO_SETTINGS)
        for seed in _seeds("intro", n_seeds, quick)
        for problem in ("intro", "intro-shifted")
        for method in methods
    ]


def functions_runs(methods: Sequence[str], n_seeds: int | None, quick: bool) -> list[RunKey]:
    """The six functions and their controls, what is expensive at the end."""
    pairs = [(problem.name, method) for problem in (*PAPER, *CONTROLS) for method in methods]
    slow = [(p, m) for p, m in pairs if m in SLOW_METHODS and p.startswith("hartmann6")]
    fast = [pair for pair in pairs if pair not in slow]
    return [
        run_key("functions", problem, method, seed, quick)
        for group in (fast, slow)
        for seed in _seeds("functions", n_seeds, quick)
        for problem, method in group
    ]


def hyperprior_settings() -> Iterator[dict[str, float]]:
    """The priors that are compared: of the log length-scale, then of the noise precision."""
    for mean in LENGTHSCALE_MEANS:
        yield PAPER_PRIORS | {"lengthscale_log_mean": math.log(mean)}
    for shape in NOISE_SHAPES:
        for rate in NOISE_RATES:
            yield PAPER_PRIORS | {"noise_shape": shape, "noise_rate": rate}


def hyperprior_runs(methods: Sequence[str], n_seeds: int | None, quick: bool) -> list[RunKey]:
    """Branin with other priors, for the methods that have any."""
    seen: dict[str, RunKey] = {}
    for seed in _seeds("hyperpriors", n_seeds, quick):
        for priors in list(hyperprior_settings())[:: 6 if quick else 1]:
            for method in methods:
                if PAPER_METHODS[method].is_bktf:
                    settings = PAPER_SETTINGS | {"priors": priors}
                    key = run_key("hyperpriors", "branin", method, seed, quick, settings)
                    seen.setdefault(repr(key), key)  # the middle of both grids is one run
    return list(seen.values())


def open_settings_runs(methods: Sequence[str], n_seeds: int | None, quick: bool) -> list[RunKey]:
    """Some functions with other settings, to see whether one of them gives the paper's figures.

    The method is the paper's, the maximum over draws.
    """
    names = list(OPEN_SETTINGS)[: 2 if quick else None] if "bktf-max" in methods else []
    return [
        {
            **run_key(
                "open-settings",
                problem,
                "bktf-max",
                seed,
                quick,
                PAPER_SETTINGS | OPEN_SETTINGS[name],
            ),
            "variant": name,
        }
        for seed in _seeds("hyperpriors", n_seeds, quick)
        for name in names
        for problem in OPEN_SETTINGS_PROBLEMS
    ]


def tuning_runs(
    tasks: Sequence[str], methods: Sequence[str], n_seeds: int | None, quick: bool
) -> list[RunKey]:
    """All runs, replication by replication, so that a cut-off study has whole ones."""
    bktf = PAPER_SETTINGS | (QUICK if quick else {})
    budget = QUICK_TUNING_BUDGET if quick else TUNING_BUDGET
    return [
        _key("tuning", task, method, seed, run_settings(method, budget, bktf))
        for seed in _seeds("tuning", n_seeds, quick)
        for task in tasks
        for method in methods
        if method in TUNING_METHODS
    ]


def run_on_function(key: RunKey) -> Line:
    """The line of a run on a test function."""
    problem, entry = PAPER_PROBLEMS[key["problem"]], PAPER_METHODS[key["method"]]
    run, _ = run_method(problem, entry, key)
    return line_of(key, problem, run, entry.packages)


def run_on_task(key: RunKey, scores: Path) -> Line:
    """The line of a run on a machine-learning task; `scores` is the folder of the score tables."""
    task, entry = TASKS[key["problem"]], PAPER_METHODS[key["method"]]
    problem = tuning_problem(task, scores)
    run, _ = run_method(problem, entry, key)
    return line_of(key, problem, run, (*entry.packages, *task.packages))
