"""A pipeline whose parameters depend on which model it uses, twice: stated, and learned.

`minimize` is told the branches with `bktf.when`. The Optuna study is not told anything: which
parameters belong to which model is learned from the first trials, and logged.
"""

import logging
import math
from typing import Any

import optuna

import bktf


def loss(p: dict[str, Any]) -> float:
    """What a cross-validation would give; the best is 0.05, a network of two layers."""
    if p["model"] == "svm":
        misfit = 0.02 * (math.log10(p["C"]) - 1) ** 2 + 0.03 * (math.log10(p["gamma"]) + 2) ** 2
        return 0.10 + misfit
    if p["model"] == "forest":
        return 0.12 + 0.002 * float(p["depth"] - 8) ** 2
    misfit = 0.05 * (math.log10(p["rate"]) + 2.5) ** 2 + 0.02 * abs(p["layers"] - 2)
    for i in range(p["layers"]):
        misfit += 0.02 * (math.log2(p[f"width{i}"]) - 5 + i) ** 2
    return 0.05 + float(misfit)


LOG = optuna.distributions.FloatDistribution
SPACE = [
    {"model": bktf.choices("svm", "forest", "net")},
    bktf.when({"model": "svm"}, C=LOG(1e-3, 1e3, log=True), gamma=LOG(1e-4, 10, log=True)),
    bktf.when({"model": "forest"}, depth=(1, 12)),
    bktf.when(
        {"model": "net"},
        bktf.when({"layers": (2, 3)}, width1=(4, 64)),
        bktf.when({"layers": 3}, width2=(4, 64)),
        layers=(1, 3),
        width0=(4, 64),
        rate=LOG(1e-5, 0.1, log=True),
    ),
]


def objective(trial: optuna.Trial) -> float:
    """The same loss, as users of Optuna write it."""
    p: dict[str, Any] = {"model": trial.suggest_categorical("model", ["svm", "forest", "net"])}
    if p["model"] == "svm":
        p["C"] = trial.suggest_float("C", 1e-3, 1e3, log=True)
        p["gamma"] = trial.suggest_float("gamma", 1e-4, 10, log=True)
    elif p["model"] == "forest":
        p["depth"] = trial.suggest_int("depth", 1, 12)
    else:
        p["layers"] = trial.suggest_int("layers", 1, 3)
        for i in range(p["layers"]):
            p[f"width{i}"] = trial.suggest_int(f"width{i}", 4, 64)
        p["rate"] = trial.suggest_float("rate", 1e-5, 0.1, log=True)
    return loss(p)


if __name__ == "__main__":
    result = bktf.minimize(loss, SPACE, n_trials=40, seed=0)
    print("stated: ", f"{result.fun:.4f}", result.x)

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = bktf.BKTFSampler(seed=0, warn_independent_sampling=False)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=40)
    print("learned:", f"{study.best_value:.4f}", study.best_params)
