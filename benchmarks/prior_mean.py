"""What is expected where nothing is known: the default rule against the average and the worst.

On the development half of the comparison, paired by problem and seed. Runs that are recorded are
not made again.

    python -m benchmarks.prior_mean                          make what is missing, then the table
    python -m benchmarks.prior_mean --means default --seeds 2
    python -m benchmarks.prior_mean --tables                 the table of what is recorded
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.recorded_study import RecordedStudy
from bktf import BKTFSampler
from bktf.engine import make_settings
from studies.comparison.rankings import SHARES, compare_pair, regrets
from studies.comparison.runs import run_entry
from studies.lines import Line, RunKey, lines_of, read_lines
from studies.methods import Method, MethodEntry, OptunaMethod
from studies.problems import COMPARISON_PROBLEMS, DEVELOPMENT, ComparisonProblem, Problem
from studies.table_writer import markdown

LINES = Path(__file__).parent / "results" / "prior_mean.jsonl"
COMPARE = Path(__file__).parents[1] / "studies" / "results" / "compare.jsonl"
MEANS: dict[str, float | None] = {"average": 1.0, "default": None, "worst": 0.0}
RECORDED = "with categories"  # the default before it left out spaces with unordered categories
N_SEEDS = 10
MIN_REGRET = 1e-4  # of the range of a problem; a smaller one counts as this in a geometric mean
PROBLEMS = [p for p in COMPARISON_PROBLEMS.values() if p.half == DEVELOPMENT]


def group_of(problem: ComparisonProblem) -> str:
    """The row of the table that a problem belongs to."""
    if problem.noise_std:
        return "noisy"
    if problem.kind != "continuous":
        return problem.kind
    n = problem.n_dims
    return (
        "2 to 3 dimensions" if n <= 3 else "4 to 6 dimensions" if n <= 6 else "7 to 12 dimensions"
    )


def all_runs(means: Sequence[str], n_seeds: int) -> list[RunKey]:
    """Every mean on every problem, seed by seed."""
    return [
        {
            "experiment": "prior-mean",
            "problem": p.name,
            "method": mean,
            "seed": seed,
            "settings": {"budget": p.budget, "n_start": p.n_start},
        }
        for seed in range(n_seeds)
        for p in PROBLEMS
        for mean in means
    ]


def run_one(key: RunKey) -> Line:
    """The line of one run."""

    def make(problem: Problem, seed: int, _: Mapping[str, Any]) -> Method:
        settings = make_settings("default", {"optimism": MEANS[key["method"]]})
        settings = replace(settings, allow_repeats=problem.noise_std > 0)
        space = dict(problem.space)
        sampler = BKTFSampler.from_settings(settings, seed=seed, search_space=space)
        return OptunaMethod(problem.space, sampler)

    return run_entry(MethodEntry(key["method"], make, ("optuna",)), key)


def ratios(lines: Sequence[Line], problem: ComparisonProblem, mean: str) -> list[np.ndarray]:
    """Logarithms of regrets over those of the average, by shared seed."""
    least = MIN_REGRET * problem.value_range
    by_seed = [
        {
            x["seed"]: np.maximum(regrets(x, problem), least)
            for x in lines_of(lines, problem.name, m)
        }
        for m in (mean, "average")
    ]
    shared = sorted(by_seed[0].keys() & by_seed[1].keys())
    return [np.log(by_seed[0][s] / by_seed[1][s]) for s in shared]


def table(lines: Sequence[Line], random: Sequence[Line]) -> str:
    """For each group and mean: geometric means of ratios of regrets, and paired differences."""
    groups: dict[str, list[ComparisonProblem]] = {}
    for problem in PROBLEMS:
        groups.setdefault(group_of(problem), []).append(problem)
    noiseless = [p for p in PROBLEMS if p.kind == "continuous" and not p.noise_std]
    rows = []
    for mean in ("default", RECORDED, "worst"):
        for group, problems in {**groups, "all continuous": noiseless, "all": PROBLEMS}.items():
            found = [np.mean(r, axis=0) for p in problems if (r := ratios(lines, p, mean))]
            pair = compare_pair([*lines, *random], problems, mean, "average")
            if found and pair is not None:
                ratio = np.exp(np.mean(found, axis=0))
                cells = [f"{x:.2f}; {cell}" for x, cell in zip(ratio, pair.cells, strict=True)]
                seeds = " to ".join(map(str, sorted(set(pair.n_seeds))))
                rows.append([mean, f"{group} ({len(found)})", *cells, seeds])
    return markdown(["mean", "problems", *(f"{share:.0%}" for share in SHARES), "seeds"], rows)


def tables() -> dict[str, str]:
    """The table of what is recorded, by name."""
    random = [x for x in read_lines(COMPARE) if x["method"] == "random"]
    return {"prior_mean": table(read_lines(LINES), random)}


STUDY = RecordedStudy(
    __doc__ or "", "--means", list(MEANS), N_SEEDS, LINES, all_runs, run_one, tables
)

if __name__ == "__main__":
    STUDY.main()
