"""Short runs of the default sampler on many kinds of problems, one JSON line for each run.

`benchmarks.same_suggestions` starts this file by its path, once for each version of the package.
It uses public names of bktf only, and no other module of this folder.

    python -P benchmarks/suggestion_runs.py --source src --runs 20
"""

import argparse
import functools
import importlib
import json
import logging
import math
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numba
import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial, TrialState

Params = dict[str, Any]

COMPILERS = ("jit", "njit", "cfunc")  # functions of Numba that take the keyword fastmath

HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_SCALES = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
HARTMANN_CENTRES = np.array(
    [
        [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
        [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
        [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
        [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
    ]
)
CATALYST_EFFECTS = {"none": 0.0, "acid": 0.8, "base": -0.5, "metal": 0.3}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A search space and an objective, and how the sampler is run on them."""

    name: str
    space: Mapping[str, Any]  # Optuna distributions, or the short forms of bktf.minimize
    objective: Callable[[Params], float]  # NaN marks a failed trial
    n_trials: int = 20
    direction: Literal["minimize", "maximize"] = "minimize"
    n_pending: int = 0  # trials without a value whenever another one is asked for
    uses_minimize: bool = False  # through bktf.minimize instead of study.ask and study.tell
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the sampler


def branin(params: Params) -> float:
    """Branin's function."""
    x, y = params["x"], params["y"]
    valley = y - 5.1 * x**2 / (4 * math.pi**2) + 5 * x / math.pi - 6
    return float(valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


def branin_with_failures(params: Params) -> float:
    """Branin's function, which fails in a corner that holds one of its three minima."""
    return math.nan if params["x"] < 0 and params["y"] > 8 else branin(params)


def styblinski_tang(params: Params) -> float:
    """Styblinski and Tang's function of any number of parameters."""
    return float(sum(x**4 - 16 * x**2 + 5 * x for x in params.values()) / 2)


def hartmann(params: Params) -> float:
    """Hartmann's function of six parameters."""
    distances = (HARTMANN_SCALES * (np.array(list(params.values())) - HARTMANN_CENTRES) ** 2).sum(1)
    return float(-HARTMANN_WEIGHTS @ np.exp(-distances))


def integer_grid(params: Params) -> float:
    """A bowl with an interaction and ripples on whole numbers from 0 to 7."""
    a, b, c = params["a"], params["b"], params["c"]
    return float((a - 5) ** 2 + 0.5 * (b - 2) ** 2 + 0.3 * a * c + 2 * math.sin(1.7 * (b + c)))


def stepped_waves(params: Params) -> float:
    """Waves on a slope, of two parameters from 0 to 3.9."""
    u, v = params["u"], params["v"]
    return float(math.sin(3 * u) * math.cos(2 * v) + 0.1 * (u - 2.3) ** 2 + 0.05 * v)


def mixed(params: Params) -> float:
    """A function of a share, a count, a rate on a logarithmic axis and a category."""
    shift = CATALYST_EFFECTS[params["catalyst"]]
    rate = math.log10(params["rate"]) + 3 + shift
    share = params["share"] - 0.6 - 0.2 * shift
    return float(share**2 + rate**2 + 0.1 * abs(params["count"] - 4))


def screening(params: Params) -> float:
    """A function of an ordered list, a category, a range, a whole number and a real number."""
    dose = math.log(params["dose"]) - 1.5 - 0.2 * params["time"]
    shift = CATALYST_EFFECTS[params["catalyst"]]
    heat = (params["heat"] - 60 - 10 * shift) / 30
    return float(dose**2 + heat**2 + shift * params["share"] + (params["share"] - 0.4) ** 2)


def within_budget(params: Params) -> bool:
    """Whether three whole numbers from 0 to 7 sum to at most 12."""
    return bool(params["a"] + params["b"] + params["c"] <= 12)


BRANIN_SPACE = {"x": FloatDistribution(-5.0, 10.0), "y": FloatDistribution(0.0, 15.0)}
INTEGER_SPACE = {name: IntDistribution(0, 7) for name in "abc"}
STEPPED_SPACE = {name: FloatDistribution(0.0, 3.9, step=0.1) for name in "uv"}
CATALYSTS = CategoricalDistribution(tuple(CATALYST_EFFECTS))

PROBLEMS = (
    Problem(name="Branin", space=BRANIN_SPACE, objective=branin),
    Problem(
        name="Styblinski-Tang 4-D",
        space={f"x{d}": FloatDistribution(-5.0, 5.0) for d in range(4)},
        objective=styblinski_tang,
    ),
    Problem(
        name="Hartmann 6-D",
        space={f"x{d}": FloatDistribution(0.0, 1.0) for d in range(6)},
        objective=hartmann,
        n_trials=22,
    ),
    Problem(name="grid 8x8x8", space=INTEGER_SPACE, objective=integer_grid, n_trials=25),
    Problem(name="grid 40x40", space=STEPPED_SPACE, objective=stepped_waves, n_trials=25),
    Problem(
        name="mixed",
        space={
            "share": FloatDistribution(0.0, 1.0),
            "count": IntDistribution(1, 9),
            "rate": FloatDistribution(1e-5, 1.0, log=True),
            "catalyst": CATALYSTS,
        },
        objective=mixed,
    ),
    Problem(
        name="ordered list",
        space={
            "dose": [0.5, 1, 2, 5, 10, 20, 50],
            "heat": range(20, 101, 5),
            "catalyst": CATALYSTS,
            "time": (1, 6),
            "share": (0.0, 1.0),
        },
        objective=screening,
        uses_minimize=True,
    ),
    Problem(name="failures", space=BRANIN_SPACE, objective=branin_with_failures),
    Problem(
        name="feasible",
        space=INTEGER_SPACE,
        objective=integer_grid,
        settings={"feasible": within_budget, "search_space": INTEGER_SPACE},
    ),
    Problem(name="two pending", space=BRANIN_SPACE, objective=branin, n_pending=2),
    Problem(
        name="maximize",
        space=STEPPED_SPACE,
        objective=stepped_waves,
        direction="maximize",
        settings={"search_space": STEPPED_SPACE},
    ),
)


def planned_runs(n_runs: int) -> Iterator[tuple[Problem, int]]:
    """Problems and seeds: every problem with seed 0, then every problem with seed 1, and so on."""
    for index in range(n_runs):
        seed, position = divmod(index, len(PROBLEMS))
        yield PROBLEMS[position], seed


def finish(study: optuna.Study, trial: Trial, objective: Callable[[Params], float]) -> None:
    """Evaluate a trial and tell the study its value, or that it failed."""
    value = objective(trial.params)
    if math.isnan(value):
        study.tell(trial, state=TrialState.FAIL)
    else:
        study.tell(trial, value)


def trial_params(bktf: Any, problem: Problem, seed: int) -> list[Params]:
    """The parameters of every trial of a run, in the order of the trials."""
    if problem.uses_minimize:
        result = bktf.minimize(
            problem.objective,
            problem.space,
            problem.n_trials,
            seed=seed,
            show_progress_bar=False,
            **problem.settings,
        )
        return [trial.params for trial in result.study.trials]
    sampler = bktf.BKTFSampler(seed=seed, **problem.settings)
    study = optuna.create_study(direction=problem.direction, sampler=sampler)
    pending: deque[Trial] = deque()
    for _ in range(problem.n_trials):
        pending.append(study.ask(dict(problem.space)))
        if len(pending) > problem.n_pending:
            finish(study, pending.popleft(), problem.objective)
    return [trial.params for trial in study.trials]


def without_fastmath(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Numba that ignores the keyword fastmath."""

    @functools.wraps(compiler)
    def strict_compiler(*args: Any, **options: Any) -> Any:
        options.pop("fastmath", None)
        return compiler(*args, **options)

    return strict_compiler


def load_package(source: Path) -> Any:
    """Import bktf, and refuse one that comes from elsewhere."""
    bktf = importlib.import_module("bktf")
    if not Path(str(bktf.__file__)).resolve().is_relative_to(source.resolve()):
        raise RuntimeError(f"bktf must come from {source}; got {bktf.__file__}. Set PYTHONPATH")
    return bktf


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--source", type=Path, required=True, help="folder that holds the package")
    parser.add_argument("--runs", type=int, default=20, help="number of runs (default: 20)")
    parser.add_argument("--no-contraction", action="store_true", help="compile without fastmath")
    arguments = parser.parse_args()
    if arguments.no_contraction:  # before bktf is imported, which reads these names
        for name in COMPILERS:
            setattr(numba, name, without_fastmath(getattr(numba, name)))
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.getLogger("bktf").setLevel(logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    bktf = load_package(arguments.source)
    for problem, seed in planned_runs(arguments.runs):
        params = trial_params(bktf, problem, seed)
        line = {"problem": problem.name, "seed": seed, "params": params}
        print(json.dumps(line), flush=True)  # JSON writes floats as repr does, so none is rounded


if __name__ == "__main__":
    main()
