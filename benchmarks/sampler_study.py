"""The sampler's defaults against a few alternatives, and how often it walks into failures: the tables of docs/sampler.md.

Every run is one line of benchmarks/results/sampler.jsonl; runs that are there are not made again, so the study can be cut off and resumed.

    python -m benchmarks.sampler_study            make what is missing, then print the tables
    python -m benchmarks.sampler_study --tables   print the tables of what is there
"""

import argparse
import itertools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import optuna
from optuna.trial import Trial, TrialState

import bktf
from bktf.demo import OPTIMUM, hartmann6, tracking_error

LINES = Path(__file__).parent / "results" / "sampler.jsonl"
N_SEEDS = 6


def branin(trial: Trial) -> float:
    a, b = trial.suggest_float("a", -5, 10), trial.suggest_float("b", 0, 15)
    value = (b - 5.1 / (4 * math.pi**2) * a * a + 5 / math.pi * a - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10
    return value - 0.397887


def hartmann(trial: Trial) -> float:
    return hartmann6({f"x{d}": trial.suggest_float(f"x{d}", 0, 1) for d in range(1, 7)}) - OPTIMUM


def rosenbrock(trial: Trial) -> float:
    x = [trial.suggest_float(f"x{d}", -2, 2) for d in range(4)]
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in itertools.pairwise(x))


def griewank(trial: Trial) -> float:
    x = [trial.suggest_float(f"x{d}", -10, 10) - 1.3 for d in range(3)]
    return 1 + sum(v * v for v in x) / 4000 - math.prod(math.cos(v / math.sqrt(d + 1)) for d, v in enumerate(x))


def controller(trial: Trial) -> float:
    gain, integral = trial.suggest_float("gain", 0.1, 20.0, log=True), trial.suggest_float("integral", 0.01, 10.0, log=True)
    return tracking_error(gain, integral, trial.suggest_float("derivative", 0.0, 5.0))


def corner(trial: Trial) -> float:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return math.nan if x > 0.5 and y > 0.5 else math.sin(5 * x) + math.cos(4 * y) + x * y


def category(trial: Trial) -> float:
    x, c = trial.suggest_float("x", 0, 1), trial.suggest_categorical("c", list("abcd"))
    return math.nan if c == "b" else (x - 0.3) ** 2 + (c == "a") * 0.2


def edge(trial: Trial) -> float:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return math.nan if x > 0.75 else (x - 0.9) ** 2 + (y - 0.7) ** 2


def ball(trial: Trial) -> float:
    x, y, z = (trial.suggest_float(name, -1, 1) for name in "xyz")
    return math.nan if x * x + y * y + z * z < 0.78**2 else abs(x) + abs(y) + abs(z)


PROBLEMS: dict[str, tuple[Callable[[Trial], float], int]] = {
    "Branin": (branin, 30), "Hartmann-6": (hartmann, 50), "Rosenbrock-4": (rosenbrock, 50), "Griewank-3": (griewank, 50),
    "controller": (controller, 40),
}  # fmt: skip
FAILING: dict[str, tuple[Callable[[Trial], float], int]] = {
    "a corner": (corner, 36), "one of four categories": (category, 36), "best point at the edge": (edge, 36),
    "best point inside": (ball, 36),
}  # fmt: skip
SAMPLERS: dict[str, Callable[[int], Any]] = {
    "default: rank 3, compressed": lambda seed: bktf.BKTFSampler(seed=seed),
    "rank 2": lambda seed: bktf.BKTFSampler(seed=seed, rank=2),
    "rank 4": lambda seed: bktf.BKTFSampler(seed=seed, rank=4),
    "not compressed": lambda seed: bktf.BKTFSampler(seed=seed, compress=False),
    "Optuna's TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}
CAUTIONS = {"chosen": None, "EI × chance": 1.0}


def jobs() -> Iterator[tuple[str, str, str, int]]:
    """Kind, variant, problem and seed of every run."""
    for seed in range(N_SEEDS):
        for problem in PROBLEMS:
            yield from (("regret", variant, problem, seed) for variant in SAMPLERS)
        for problem in FAILING:
            yield from (("failures", variant, problem, seed) for variant in CAUTIONS)


def run(kind: str, variant: str, problem: str, seed: int) -> float:
    """Best value, or share of failures after the start."""
    if kind == "regret":
        objective, n = PROBLEMS[problem]
        study = optuna.create_study(sampler=SAMPLERS[variant](seed))
        study.optimize(objective, n_trials=n)
        return study.best_value
    objective, n = FAILING[problem]
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seed))
    power = CAUTIONS[variant]
    if power is None:
        study.optimize(objective, n_trials=n)
    else:
        with patch("bktf.suggestion.caution", lambda _: power):
            study.optimize(objective, n_trials=n)
    after = study.trials[len(study.trials[0].params) + 4 :]
    return sum(t.state == TrialState.FAIL for t in after) / len(after)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", action="store_true", help="print the tables of what is recorded, run nothing")
    only_tables = parser.parse_args().tables
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    LINES.parent.mkdir(exist_ok=True)
    recorded = [json.loads(line) for line in LINES.read_text().splitlines()] if LINES.exists() else []
    results = {(r["kind"], r["variant"], r["problem"], r["seed"]): r["result"] for r in recorded}
    for job in [] if only_tables else jobs():
        if job not in results:
            results[job] = run(*job)
            line = dict(zip(("kind", "variant", "problem", "seed"), job, strict=True)) | {"result": results[job]}
            with LINES.open("a") as file:
                file.write(json.dumps(line) + "\n")
    print("| | " + " | ".join(f"{name}, {n}" for name, (_, n) in PROBLEMS.items()) + " |\n" + "|---" * (len(PROBLEMS) + 1) + "|")
    for variant in SAMPLERS:
        row = [[results[k] for k in results if k[:3] == ("regret", variant, problem)] for problem in PROBLEMS]
        print(f"| {variant} | " + " | ".join(f"{np.median(r):.2g}" if r else "–" for r in row) + " |")
    print("\n| | " + " | ".join(FAILING) + " |\n" + "|---" * (len(FAILING) + 1) + "|")
    for variant in CAUTIONS:
        row = [[results[k] for k in results if k[:3] == ("failures", variant, problem)] for problem in FAILING]
        print(f"| {variant} | " + " | ".join(f"{max(r):.2f}, {np.mean(r):.2f}" if r else "–" for r in row) + " |")


if __name__ == "__main__":
    main()
