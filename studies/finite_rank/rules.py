"""Which rank a suggestion should use, and which options of finite rank are worth having.

Six finite and six continuous problems of the development half of the comparison, fixed before the
first line, five seeds. Every method starts from the same points. Regrets are in units of random
search's at the full budget, and paired by problem and seed with the sampler's default at the time,
"alternating": infinite rank on boxes and where most parameters are unordered categories, otherwise
infinite rank and three components by turns.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bktf import BKTFSampler
from bktf.engine import make_settings
from studies.comparison.rankings import SHARES, compare_pair, normalised
from studies.comparison.runs import run_entry
from studies.lines import Line, RunKey, lines_of, read_lines
from studies.methods import Method, MethodEntry, OptunaMethod, two_ranks
from studies.pages import ROOT
from studies.problems import COMPARISON_PROBLEMS, Problem
from studies.table_writer import markdown

FINITE_PROBLEMS = (
    "grid-branin",
    "grid-griewank3",
    "grid-griewank3-shifted",
    "table-svm-digits",
    "table-forest-wine",
    "table-pipeline-digits",
)
CONTINUOUS_PROBLEMS = (
    "ackley5r",
    "levy4r",
    "rastrigin4",
    "styblinski6",
    "michalewicz5",
    "piston",
)
KINDS = {"finite": FINITE_PROBLEMS, "continuous": CONTINUOUS_PROBLEMS}
N_SEEDS = 5
REFERENCE = "alternating"
COMPARE = ROOT / "studies" / "results" / "compare.jsonl"
# Chains of a suggestion at finite rank: the paper's updates, and annealed with joint draws
GIBBS = {"inference": "gibbs", "n_sweeps": 400, "n_burn_in": 340, "n_chains": 4}
ANNEALED = GIBBS | {"inference": "annealed"}
SHORT = ANNEALED | {"n_sweeps": 48, "n_burn_in": 32, "n_chains": 32}  # the lengths of `fit`
RULES = ("scores", "evidence")  # with annealed chains
# Settings of the sampler, by the name of the method
SETTINGS: dict[str, dict[str, Any]] = {
    REFERENCE: {"rank": "auto", **GIBBS},
    "alternating, annealed": {"rank": "auto", **ANNEALED},
    "alternating, offsets": {"rank": "auto", "offsets": True, **GIBBS},
    "process": {"rank": math.inf},
    "components, gibbs": {"rank": 3, **GIBBS},
    "components": {"rank": 3, **ANNEALED},
    "components, short chains": {"rank": 3, **SHORT},
    "adapting rank": {"rank": 6, "adapt_rank": True, **ANNEALED},
    "offsets": {"rank": 3, "offsets": True, **ANNEALED},
    "main effects": {"rank": 2, "main_effects": True, **ANNEALED},
    "residual process": {
        "rank": 2,
        "residual_process": True,
        **ANNEALED,
        "n_sweeps": 120,
        "n_burn_in": 90,
    },
}
METHODS = (*SETTINGS, *RULES)
RECORDED = ("repulsion 2", "repulsion 20")  # components of a trial; see `mixing.RECORDED`


def rule_runs() -> list[RunKey]:
    """Every method on the twelve problems, seed by seed."""
    return [
        {
            "experiment": "rules",
            "problem": problem,
            "method": method,
            "seed": seed,
            "settings": {
                "budget": COMPARISON_PROBLEMS[problem].budget,
                "n_start": COMPARISON_PROBLEMS[problem].n_start,
            },
        }
        for seed in range(N_SEEDS)
        for method in METHODS
        for problem in (*FINITE_PROBLEMS, *CONTINUOUS_PROBLEMS)
    ]


def run_rule(key: RunKey) -> Line:
    """The line of one run."""
    return run_entry(MethodEntry(key["method"], partial(_make, key["method"]), ("optuna",)), key)


def _make(name: str, problem: Problem, seed: int, _: Mapping[str, Any]) -> Method:
    """The method of this name on a problem."""
    if name in RULES:
        return two_ranks(problem, seed, name, ANNEALED)
    settings = make_settings("default", SETTINGS[name])
    settings = replace(settings, allow_repeats=problem.noise_std > 0)
    space = dict(problem.space)
    return OptunaMethod(space, BKTFSampler.from_settings(settings, seed=seed, search_space=space))


def rules_table(lines: Sequence[Line]) -> str:
    """Mean regret of each method at the full budget, and differences from the reference."""
    random = [line for line in read_lines(COMPARE) if line["method"] == "random"]
    rows = []
    for method in (*METHODS, *RECORDED):
        for kind, names in KINDS.items():
            problems = [COMPARISON_PROBLEMS[name] for name in names]
            runs = [lines_of(lines, name, method) for name in names]
            if not all(runs):
                continue
            everything = [*lines, *random]
            regret = [
                np.mean([r[-1] for r in normalised(everything, p, method).values()])
                for p in problems
            ]
            spent = [
                x["cpu_seconds"]["total"] / x["settings"]["budget"] for group in runs for x in group
            ]
            pair = compare_pair(everything, problems, method, REFERENCE)
            cells = [""] * len(SHARES) if method == REFERENCE or pair is None else pair.cells
            rows.append(
                [
                    method,
                    kind,
                    f"{np.mean(regret):.3f}",
                    *cells,
                    str(min(map(len, runs))),
                    f"{np.mean(spent):.2g}",
                ]
            )
    shares = [f"− {REFERENCE} at {share:.0%}" for share in SHARES]
    return markdown(["method", "problems", "regret", *shares, "seeds", "CPU s"], rows)
