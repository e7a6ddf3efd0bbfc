"""One run of each study of hard use, as a line."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler

import bktf
from benchmarks.hard_use import problems
from benchmarks.hard_use.problems import HardProblem, Params
from studies.lines import Line, RunKey, made_with, rounded

SETTINGS: dict[str, dict[str, Any]] = {  # of bktf by method; "before" has recorded lines only
    "bktf": {},
    "bktf-before": {},
    "bktf-process": {"rank": math.inf},
    "bktf-repeats": {"allow_repeats": True},
}


def sampler_of(method: str, seed: int, problem: HardProblem) -> BaseSampler:
    """The sampler that a method names."""
    if method == "tpe":
        return TPESampler(seed=seed)
    if method == "random":
        return RandomSampler(seed=seed)
    return bktf.BKTFSampler(seed=seed, search_space=problem.space, **SETTINGS[method])


def run_trials(
    study: optuna.Study, problem: HardProblem, n_trials: int, told: Callable[[Params, int], float]
) -> tuple[list[list[Any]], list[float]]:
    """Ask and tell; returns points and true values.

    `told` is the value that the study is told, from the parameters and the trial's number.
    """
    points, values = [], []
    for _ in range(n_trials):
        trial = study.ask(problem.space)
        params = {name: trial.params[name] for name in problem.space}
        points.append(list(params.values()))
        values.append(problem.function(params))
        study.tell(trial, told(params, trial.number))
    return points, values


def run_long(key: RunKey) -> Line:
    """The next suggestions after a history made by TPE, and as many random points."""
    problem, seed, n = problems.LONG[key["problem"]], key["seed"], key["settings"]["history"]
    history = optuna.create_study(sampler=TPESampler(seed=seed))
    run_trials(history, problem, n, lambda params, _: problem.function(params))
    study = optuna.create_study(sampler=sampler_of(key["method"], seed, problem))
    study.add_trials(history.trials)
    n_next = 2000 if key["method"] == "random" else problems.N_NEXT
    points, values = run_trials(study, problem, n_next, lambda params, _: problem.function(params))
    found: Line = {"values": rounded(values)}
    if key["method"] != "random":
        found = {"points": points, **found}
    return {**key, **found, **made_with("optuna")}


def run_outliers(key: RunKey) -> Line:
    """A tenth of the values, by trial number, has a large number added."""
    problem, seed, size = problems.OUTLIERS, key["seed"], key["settings"]["size"]
    study = optuna.create_study(sampler=sampler_of(key["method"], seed, problem))
    rng = np.random.default_rng([seed, 5])
    is_huge = rng.random(problems.OUTLIER_TRIALS) < problems.OUTLIER_SHARE
    points, values = run_trials(
        study,
        problem,
        problems.OUTLIER_TRIALS,
        lambda p, i: problem.function(p) + size * float(is_huge[i]),
    )
    seen = [v for v, huge in zip(values, is_huge, strict=True) if not huge or not size]
    return {
        **key,
        "best": rounded(min(seen)),
        "points": points,
        "values": rounded(values),
        **made_with("optuna"),
    }


def run_noise(key: RunKey) -> Line:
    """The true value at the best observed point and, for bktf, at the best expected one."""
    problem, noise = problems.NOISY[key["problem"]]
    rng = np.random.default_rng([key["seed"], 11])
    errors = iter(noise * rng.standard_normal(problems.NOISY_TRIALS))
    line: Line = dict(key)
    if key["method"].startswith("bktf"):
        result = bktf.minimize(
            lambda p: problem.function(p) + float(next(errors)),
            problem.space,
            problems.NOISY_TRIALS,
            seed=key["seed"],
            **SETTINGS[key["method"]],
        )
        points = [list(t.params.values()) for t in result.study.trials]
        line["at_best_observed"] = rounded(problem.function(result.x))
        if hasattr(result, "x_expected"):
            line["at_best_expected"] = rounded(problem.function(result.x_expected))
    else:
        study = optuna.create_study(sampler=sampler_of(key["method"], key["seed"], problem))
        points, _ = run_trials(
            study,
            problem,
            problems.NOISY_TRIALS,
            lambda p, _: problem.function(p) + float(next(errors)),
        )
        line["at_best_observed"] = rounded(problem.function(study.best_params))
    values = [problem.function(dict(zip(problem.space, point, strict=True))) for point in points]
    return {**line, "points": points, "values": rounded(values), **made_with("optuna")}


def run_pruned(key: RunKey) -> Line:
    """A study with a median pruner; reports are on another scale than returned values."""
    problem, seed, scale = problems.PRUNED, key["seed"], key["settings"]["scale"]
    unpruned = key["settings"]["pruner"] == "none"
    pruner = (
        optuna.pruners.NopPruner()
        if unpruned
        else optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=2)
    )
    study = optuna.create_study(sampler=sampler_of(key["method"], seed, problem), pruner=pruner)
    rng = np.random.default_rng([seed, 23])

    def objective(trial: optuna.Trial) -> float:
        params = {f"x{d}": trial.suggest_float(f"x{d}", -2.0, 2.0) for d in range(3)}
        final = problem.function(params)
        for step in range(problems.PRUNED_STEPS):
            early = 1.0 + 2.0 * math.exp(-step / 3.0)
            trial.report(float(rng.random()) if scale is None else scale * final * early, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return final

    study.optimize(objective, n_trials=problems.PRUNED_TRIALS)
    pruned = [t.state == optuna.trial.TrialState.PRUNED for t in study.trials]
    points = [list(t.params.values()) for t in study.trials]
    best = rounded(float(study.best_value))
    return {
        **key,
        "best": best,
        "pruned_of_last_20": int(sum(pruned[-20:])),
        "points": points,
        **made_with("optuna"),
    }


def run_categories(key: RunKey, table: Path) -> Line:
    """A complete screen of unordered factors from a CSV file, its last column the result.

    Larger is better.
    """
    import csv

    with table.open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    levels = [sorted({row[d] for row in rows}) for d in range(len(header) - 1)]
    yields = {tuple(row[:-1]): float(row[-1]) for row in rows}
    space: dict[str, Any] = {
        name: CategoricalDistribution(values) for name, values in zip(header, levels, strict=False)
    }
    problem = HardProblem(
        space, lambda p: -yields[tuple(p[name] for name in space)], -max(yields.values())
    )
    study = optuna.create_study(sampler=sampler_of(key["method"], key["seed"], problem))
    points, values = run_trials(
        study, problem, problems.CATEGORY_TRIALS, lambda p, _: problem.function(p)
    )
    return {
        **key,
        "best": rounded(-min(values)),
        "points": points,
        "values": rounded(values),
        **made_with("optuna"),
    }
