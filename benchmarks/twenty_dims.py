"""The first suggestions in 20 dimensions: rotated functions of different kinds, paired by seed.

Every method is given the same ten start points and then makes 60 suggestions. Runs that are
recorded are not made again.

    python -m benchmarks.twenty_dims                       make what is missing, then the table
    python -m benchmarks.twenty_dims --methods bktf --seeds 2
    python -m benchmarks.twenty_dims --tables              the table of what is recorded
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from optuna.distributions import FloatDistribution

from benchmarks.recorded_study import RecordedStudy
from studies.comparison.rankings import SHARES, compare_pair, regrets
from studies.comparison.runs import run_on, strategy_settings
from studies.lines import Line, RunKey, lines_of, read_lines
from studies.methods import COMPARISON_METHODS
from studies.problems import TEST, ComparisonProblem, Floats, Params
from studies.problems.classics import CLASSICS, Classic, moved
from studies.table_writer import markdown

LINES = Path(__file__).parent / "results" / "twenty_dims.jsonl"
METHODS = ("bktf", "gp", "tpe", "random")
N_DIMS, BUDGET, N_SEEDS, FIRST_ROTATION = 20, 60, 10, 401


def _ellipsoid(Z: Floats) -> Floats:
    """A bowl a thousand times as steep along one axis as along another."""
    return np.asarray((10.0 ** np.linspace(0.0, 3.0, Z.shape[1]) * Z**2).sum(axis=1))


def _griewank(Z: Floats) -> Floats:
    """A bowl with waves along every axis."""
    waves = np.cos(Z / np.sqrt(np.arange(1, Z.shape[1] + 1))).prod(axis=1)
    return np.asarray((Z**2).sum(axis=1) / 4000 - waves + 1)


def _problem(name: str, classic: Classic, rotation: int) -> ComparisonProblem:
    """A classic function in 20 dimensions, shifted and rotated."""
    function, _ = moved(classic, N_DIMS, rotation, rotate=True)
    space = {f"x{d}": FloatDistribution(classic.low, classic.high) for d in range(N_DIMS)}

    def value(params: Params) -> float:
        return float(function(np.array([[params[key] for key in space]]))[0])

    return ComparisonProblem(
        name=f"{name}20r",
        space=space,
        function=value,
        minimum=classic.minimum(N_DIMS),
        budget=BUDGET,
        half=TEST,
        group="classic",
    )


def _at_origin(function: object, high: float) -> Classic:
    """A function whose minimum, 0, is at the origin."""
    return Classic(function, -high, high, np.zeros, lambda _: 0.0)  # type: ignore[arg-type]


# Fixed before the first line, not changed afterwards.
FUNCTIONS: dict[str, Classic] = {
    "rosenbrock": CLASSICS["rosenbrock"],
    "ellipsoid": _at_origin(_ellipsoid, 5.0),
    "levy": CLASSICS["levy"],
    "ackley": CLASSICS["ackley"],
    "griewank": _at_origin(_griewank, 50.0),
    "cosine": CLASSICS["cosine"],
    "styblinski": CLASSICS["styblinski"],
    "rastrigin": CLASSICS["rastrigin"],
}
PROBLEMS = {
    f"{name}20r": _problem(name, classic, FIRST_ROTATION + i)
    for i, (name, classic) in enumerate(FUNCTIONS.items())
}


def all_runs(methods: Sequence[str], n_seeds: int) -> list[RunKey]:
    """Every method on every problem, seed by seed."""
    return [
        {
            "experiment": "twenty-dims",
            "problem": problem,
            "method": method,
            "seed": seed,
            "settings": {"budget": BUDGET, "n_start": p.n_start} | strategy_settings(method),
        }
        for seed in range(n_seeds)
        for problem, p in PROBLEMS.items()
        for method in methods
    ]


def run_one(key: RunKey) -> Line:
    """The line of one run."""
    return run_on(PROBLEMS[key["problem"]], COMPARISON_METHODS[key["method"]], key)


def table(lines: Sequence[Line]) -> str:
    """Geometric mean of the regret by method, and bktf's difference to the others over all."""
    rows = []
    for name, problem in PROBLEMS.items():
        for method in METHODS:
            found = [regrets(line, problem) for line in lines_of(lines, name, method)]
            if found:
                means = np.exp(np.log(np.maximum(found, 1e-9)).mean(axis=0))
                title = COMPARISON_METHODS[method].title
                rows.append([name, title, *(f"{m:.3g}" for m in means), str(len(found))])
    for method in METHODS[1:]:
        pair = compare_pair(lines, list(PROBLEMS.values()), "bktf", method)
        if pair is not None:
            seeds = " to ".join(map(str, sorted(set(pair.n_seeds))))
            title = COMPARISON_METHODS[method].title
            rows.append(["all, difference", f"bktf − {title}", *pair.cells, seeds])
    head = ["function", "method", *(f"after {round(s * BUDGET)}" for s in SHARES), "seeds"]
    return markdown(head, rows)


def tables() -> dict[str, str]:
    """The table of what is recorded, by name."""
    return {"twenty_dims": table(read_lines(LINES))}


STUDY = RecordedStudy(
    __doc__ or "", "--methods", METHODS, N_SEEDS, LINES, all_runs, run_one, tables
)

if __name__ == "__main__":
    STUDY.main()
