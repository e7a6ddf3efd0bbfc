"""Which runs the comparison consists of, and how one is made."""

from collections.abc import Sequence
from typing import Any

from bktf.engine import EngineSettings
from studies.lines import Line, RunKey
from studies.methods import COMPARISON_METHODS, MethodEntry
from studies.problems import COMPARISON_PROBLEMS, Problem
from studies.recorded_settings import recorded_settings
from studies.runner import line_of, run_method

N_SEEDS = 10
# Recorded only, and slow ones
N_SEEDS_OF = {"bktf-first": 4, "botorch": 4, "skopt": 4, "smac": 3, "vizier": 1}
SEPARATE = ("vizier",)  # run only where they are named: they need an environment of their own
ONLY_KINDS = {"vizier": ("continuous",)}  # of problems; the others have no runs of that method
RECORDED = ("bktf-first",)  # no more runs of these can be made
QUICK_BUDGET = 2


def settings_of(method: str, problem: str, quick: bool) -> dict[str, Any]:
    """What a run depends on: the budget, the start and, for bktf, its default strategy.

    The whole strategy is recorded, so that another default is another run.
    """
    known = COMPARISON_PROBLEMS[problem]
    budget = QUICK_BUDGET if quick else known.budget
    return {"budget": budget, "n_start": known.n_start} | strategy_settings(method)


def strategy_settings(method: str) -> dict[str, Any]:
    """The default strategy of bktf; nothing for others."""
    return {"strategy": recorded_settings(EngineSettings())} if method == "bktf" else {}


def comparison_runs(
    methods: Sequence[str], problems: Sequence[str], n_seeds: int | None, quick: bool
) -> list[RunKey]:
    """All runs, seed by seed, so that a study that was cut off has whole replications."""

    def is_wanted(method: str, problem: str, seed: int) -> bool:
        if quick and method in RECORDED:
            return False
        if not has_runs(method, COMPARISON_PROBLEMS[problem].kind):
            return False
        is_asked_for = n_seeds is not None and method not in RECORDED
        return is_asked_for or seed < N_SEEDS_OF.get(method, N_SEEDS)

    return [
        {
            "experiment": "compare",
            "problem": problem,
            "method": method,
            "seed": seed,
            "settings": settings_of(method, problem, quick),
        }
        for seed in range(n_seeds or (1 if quick else N_SEEDS))
        for problem in problems
        for method in methods
        if is_wanted(method, problem, seed)
    ]


def has_runs(method: str, kind: str) -> bool:
    """Whether a method is run on problems of this kind; "all" are all kinds."""
    return kind in ONLY_KINDS.get(method, (kind,))


def run_comparison(key: RunKey) -> Line:
    """The line of one run."""
    return run_entry(COMPARISON_METHODS[key["method"]], key)


def run_entry(entry: MethodEntry[Problem], key: RunKey) -> Line:
    """The line of one run of a method that need not be in the list."""
    return run_on(COMPARISON_PROBLEMS[key["problem"]], entry, key)


def run_on(problem: Problem, entry: MethodEntry[Problem], key: RunKey) -> Line:
    """The line of one run on a problem that need not be in the list either."""
    run, _ = run_method(problem, entry, key)
    return line_of(key, problem, run, entry.packages)
