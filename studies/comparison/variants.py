"""Other settings of infinite rank on the development half (finite: `studies.finite_rank`).

`docs/model_choices.md` shows the table.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bktf import BKTFSampler, Priors
from bktf.engine import EngineSettings, make_settings
from studies.comparison.rankings import normalised
from studies.comparison.runs import comparison_runs, run_entry, settings_of
from studies.comparison.tables import KINDS
from studies.lines import Line, RunKey, lines_of
from studies.methods import Method, MethodEntry, OptunaMethod
from studies.problems import COMPARISON_PROBLEMS, DEVELOPMENT, Problem
from studies.recorded_settings import recorded_settings
from studies.table_writer import markdown

N_SEEDS = 2
QUICK_PROBLEMS = ("grid-branin", "levy4r")
WHOLE = Priors(process_share_logit_mean=-7.9, process_share_logit_var=0.01)
MORE_NOISE = Priors(process_noise_rate=0.01)
SHORT = Priors(process_lengthscale_log_mean=-1.6)
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {  # what it is, what differs from the default
    "process": ("a process on finite spaces too", {"rank": math.inf}),
    "process, plain": ("never of warped values", {"rank": math.inf, "compress": False}),
    "process, whole": (
        "no share of an axis is constant",
        {"rank": math.inf, "priors": WHOLE},
    ),
    "process, more noise": (
        "prior of the noise as for components",
        {"rank": math.inf, "priors": MORE_NOISE},
    ),
    "process, short": (
        "length-scales a priori half as long",
        {"rank": math.inf, "priors": SHORT},
    ),
}


# All were made before the choice became pessimistic at first, the default beside them too.
BEFORE = {"optimism": 1.0}


def strategy_of(name: str) -> EngineSettings:
    """The settings of a variant."""
    return make_settings("default", VARIANTS[name][1] | BEFORE)


def default_runs(quick: bool) -> list[RunKey]:
    """The runs of the default and of random search that variants are compared with."""
    names = [p.name for p in COMPARISON_PROBLEMS.values() if p.half == DEVELOPMENT]
    strategy = {"strategy": recorded_settings(make_settings("default", BEFORE))}
    return [
        {**key, "settings": key["settings"] | (strategy if key["method"] == "bktf" else {})}
        for key in comparison_runs(["bktf", "random"], names, None, quick)
    ]


def variant_runs(n_seeds: int, quick: bool) -> list[RunKey]:
    """Every variant on the development half, seed by seed."""
    names = [p.name for p in COMPARISON_PROBLEMS.values() if p.half == DEVELOPMENT]
    return [
        {
            "experiment": "bktf-variants",
            "problem": problem,
            "method": variant,
            "seed": seed,
            "settings": settings_of("random", problem, quick)
            | {"strategy": recorded_settings(strategy_of(variant))},
        }
        for seed in range(n_seeds)
        for variant in VARIANTS
        for problem in (QUICK_PROBLEMS if quick else names)
    ]


def run_variant(key: RunKey) -> Line:
    """The line of one run of a variant."""

    def make(problem: Problem, seed: int, _: Mapping[str, Any]) -> Method:
        settings = replace(strategy_of(key["method"]), allow_repeats=problem.noise_std > 0)
        space = dict(problem.space)
        sampler = BKTFSampler.from_settings(settings, seed=seed, search_space=space)
        return OptunaMethod(problem.space, sampler)

    return run_entry(MethodEntry(key["method"], make, ("optuna",)), key)


def variants_table(lines: Sequence[Line], n_seeds: int) -> str:
    """Mean regret of each variant over the problems of each kind, and the cost of a suggestion.

    The first row is the default on the same seeds.
    """
    problems = [
        p
        for p in COMPARISON_PROBLEMS.values()
        if p.half == DEVELOPMENT and lines_of(lines, p.name, "process")
    ]
    rows = []
    for name in ("bktf", *VARIANTS):
        runs = [
            [line for line in lines_of(lines, p.name, name) if line["seed"] < n_seeds]
            for p in problems
        ]
        if not runs or not all(len(found) == n_seeds for found in runs):
            continue
        regret = {}
        for p in problems:
            by_seed = normalised(lines, p, name)
            regret[p.name] = np.mean([r[-1] for seed, r in by_seed.items() if seed < n_seeds])
        means = []
        for kind in (*KINDS, "all"):
            of_kind = [regret[p.name] for p in problems if kind in ("all", p.kind)]
            means.append(np.mean(of_kind) if of_kind else np.nan)
        spent = [
            line["cpu_seconds"]["total"] / line["settings"]["budget"]
            for found in runs
            for line in found
        ]
        title, what = ("the default", "") if name == "bktf" else (name, VARIANTS[name][0])
        rows.append([title, what, *(f"{m:.3f}" for m in means), f"{np.mean(spent):.2g}"])
    return markdown(["settings", "what they are", *KINDS, "all", "CPU s"], rows)
