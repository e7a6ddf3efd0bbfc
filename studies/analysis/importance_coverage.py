"""How often 90 % intervals of importances hold the true ones.

Functions drawn from the surrogate's prior in 3 and 5 dimensions, 200 data sets each, and three
fixed functions, 100 data sets each; 60 random observations in all of them. Functions of the prior
are also fitted with longer chains, which says how much the few draws of a default fit cost.

python -m studies.analysis.importance_coverage [--tables]
"""

import itertools
import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bktf
from bktf.analysis import Estimate, importance
from studies.analysis.importance_problems import FUNCTIONS, N_POINTS, N_TRIALS, PRIORS, data_of
from studies.lines import Line, RunKey, lines_of, made_with, rounded
from studies.small_study import run_small_study
from studies.table_writer import markdown

LINES = Path(__file__).parents[1] / "results" / "importance.jsonl"
N_OF_PRIOR, N_OF_FUNCTION = 200, 100  # data sets
NOTICEABLE = 0.02  # indices of fixed functions above it are to be covered
METHODS: dict[str, dict[str, Any]] = {
    "bktf": {},  # the default of `fit`: 2 chains of 16 kept sweeps
    "bktf-long": {"n_chains": 4, "n_sweeps": 200, "n_burn_in": 100},
}
N_PATHS = {"bktf": None, "bktf-long": 100}
KINDS = ("first", "total", "pairs")


def importance_runs() -> list[RunKey]:
    """All runs, one for each data set and way to fit."""
    counts = dict.fromkeys(PRIORS, N_OF_PRIOR) | dict.fromkeys(FUNCTIONS, N_OF_FUNCTION)
    wanted = [("bktf", problem) for problem in counts]
    wanted += [("bktf-long", problem) for problem in PRIORS]
    return [
        {
            "experiment": "importance",
            "problem": problem,
            "method": method,
            "seed": seed,
            "settings": {"trials": N_TRIALS},
        }
        for method, problem in wanted
        for seed in range(counts[problem])
    ]


def run_importance(key: RunKey) -> Line:
    """The line of one data set: true indices and estimates, in the order of parameters."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        data = data_of(key["problem"], key["seed"])
        axes = [
            np.arange(float(n)) if n else np.linspace(0.0, 1.0, N_POINTS) for n in data.n_levels
        ]
        kernels = ["categorical" if n else None for n in data.n_levels]
        began = time.process_time()
        posterior = bktf.fit(
            axes, data.X, data.y, seed=key["seed"], rank=math.inf, kernel=kernels,
            **METHODS[key["method"]],
        )  # fmt: skip
        fitted = time.process_time()
        found = importance(posterior, n_paths=N_PATHS[key["method"]])
        ended = time.process_time()
    names, true = posterior.names, data.indices
    pairs = list(itertools.combinations(range(len(names)), 2))
    estimates = {
        "first": [found.first[name] for name in names],
        "total": [found.total[name] for name in names],
        "pairs": [found.pairs[names[a], names[b]] for a, b in pairs],
    }
    truth = {
        "first": true.first,
        "total": true.total,
        "pairs": [true.pairs[pair] for pair in pairs],
    }
    return {
        **key,
        "true": {kind: rounded(truth[kind]) for kind in KINDS},
        "estimates": {kind: rounded([list(own) for own in estimates[kind]]) for kind in KINDS},
        "cpu_seconds": {"fit": round(fitted - began, 3), "importance": round(ended - fitted, 3)},
        **made_with(),
    }


class Compared(NamedTuple):
    """One index of one data set."""

    seed: int
    true: float
    estimate: Estimate

    @property
    def is_inside(self) -> bool:
        """Whether the interval holds the true index."""
        return self.estimate.low <= self.true <= self.estimate.high


def compared(
    lines: Sequence[Line], problem: str, kind: str, method: str = "bktf"
) -> Iterator[Compared]:
    """All indices of one kind of a problem."""
    for line in lines:
        if (line["problem"], line["method"]) == (problem, method):
            pairs = zip(line["true"][kind], line["estimates"][kind], strict=True)
            yield from (Compared(line["seed"], true, Estimate(*own)) for true, own in pairs)


def coverage(found: Sequence[Compared]) -> str:
    """The share of intervals that hold the true index, and its standard error over data sets."""
    if not found:
        return ""
    by_seed = [
        np.mean([own.is_inside for own in group])
        for _, group in itertools.groupby(found, lambda own: own.seed)
    ]
    error = np.std(by_seed) / math.sqrt(len(by_seed))
    return f"{100 * np.mean(by_seed):.0f} ± {100 * error:.1f} %"


def prior_table(lines: Sequence[Line]) -> str:
    """Coverage over functions of the prior, and of indices that are noticeable."""
    rows = []
    for method, problem in itertools.product(METHODS, PRIORS):
        row = [problem, method, str(len(lines_of(lines, problem, method)))]
        for kind in KINDS:
            found = list(compared(lines, problem, kind, method))
            row += [coverage(found), coverage([own for own in found if own.true > NOTICEABLE])]
        rows.append(row)
    head = [f"{kind}{more}" for kind in KINDS for more in ("", f" above {NOTICEABLE}")]
    return markdown(["functions", "fit", "data sets", *head], rows)


def function_table(lines: Sequence[Line]) -> str:
    """Coverage of each index of the fixed functions; of zero indices, how large `low` becomes."""
    rows = []
    for problem, function in FUNCTIONS.items():
        for kind in KINDS:
            found = list(compared(lines, problem, kind))
            n_sets = len({own.seed for own in found})
            size = len(found) // max(n_sets, 1)  # indices of this kind
            for i in range(size):
                column = found[i::size]
                name = str(i)
                if kind == "pairs":
                    names = itertools.combinations(range(len(function.n_levels)), 2)
                    name = " and ".join(map(str, list(names)[i]))
                lows = np.array([own.estimate.low for own in column])
                rows.append([
                    problem,
                    f"{kind} {name}",
                    f"{column[0].true:.3f}",
                    f"{np.mean([own.estimate.mean for own in column]):.3f}",
                    coverage(column) if column[0].true > 0 else "",
                    f"{lows.max():.4f}" if column[0].true == 0 else "",
                ])  # fmt: skip
    return markdown(["function", "index", "true", "mean estimate", "coverage", "largest low"], rows)


def cost_table(lines: Sequence[Line]) -> str:
    """Median CPU seconds of fits and of importances."""
    rows = []
    for method, problem in itertools.product(METHODS, (*PRIORS, *FUNCTIONS)):
        costs = [line["cpu_seconds"] for line in lines_of(lines, problem, method)]
        if costs:
            medians = [f"{np.median([c[k] for c in costs]):.2f}" for k in ("fit", "importance")]
            rows.append([problem, method, *medians])
    return markdown(["functions", "fit", "fit, s", "importance, s"], rows)


def tables(lines: Sequence[Line]) -> dict[str, str]:
    """The tables by their names."""
    return {
        "importance_prior": prior_table(lines),
        "importance_functions": function_table(lines),
        "importance_cost": cost_table(lines),
    }


def main() -> int:
    """Make the runs that are missing, one at a time, and write the tables."""
    return run_small_study(__doc__, LINES, importance_runs(), run_importance, tables, n_jobs=1)


if __name__ == "__main__":
    sys.exit(main())
