"""How often the sampler's trials fail, with and without caution: a table of docs/sampler.md.

Every run is one line of benchmarks/results/sampler.jsonl. Runs that are recorded are not made
again, so the study can be interrupted and resumed.

    python -m benchmarks.sampler_study            make what is missing, then print the table
    python -m benchmarks.sampler_study --tables   print the table of what is recorded
"""

import argparse
import itertools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import optuna
from optuna.trial import Trial, TrialState

import bktf

LINES = Path(__file__).parent / "results" / "sampler.jsonl"
N_SEEDS = 6


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


FAILING: dict[str, tuple[Callable[[Trial], float], int]] = {
    "a corner": (corner, 36),
    "one of four categories": (category, 36),
    "best point at the edge": (edge, 36),
    "best point inside": (ball, 36),
}
CAUTIONS = {"chosen": None, "EI × chance": 1.0}


def jobs() -> Iterator[tuple[str, str, int]]:
    """Variant, problem and seed of every run."""
    return itertools.product(CAUTIONS, FAILING, range(N_SEEDS))


def run(variant: str, problem: str, seed: int) -> float:
    """The share of failures after the start."""
    objective, n = FAILING[problem]
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seed))
    power = CAUTIONS[variant]
    if power is None:
        study.optimize(objective, n_trials=n)
    else:
        with patch("bktf.engine.suggestion.caution", lambda _: power):
            study.optimize(objective, n_trials=n)
    after = study.trials[len(study.trials[0].params) + 4 :]
    return sum(t.state == TrialState.FAIL for t in after) / len(after)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tables", action="store_true", help="print the table of what is recorded, run nothing"
    )
    only_tables = parser.parse_args().tables
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    LINES.parent.mkdir(exist_ok=True)
    recorded = (
        [json.loads(line) for line in LINES.read_text().splitlines()] if LINES.exists() else []
    )
    results = {(r["variant"], r["problem"], r["seed"]): r["result"] for r in recorded}
    for job in [] if only_tables else jobs():
        if job not in results:
            results[job] = run(*job)
            line = dict(zip(("variant", "problem", "seed"), job, strict=True)) | {
                "result": results[job]
            }
            with LINES.open("a") as file:
                file.write(json.dumps(line) + "\n")
    print("| | " + " | ".join(FAILING) + " |\n" + "|---" * (len(FAILING) + 1) + "|")
    for variant in CAUTIONS:
        row = [[results[k] for k in results if k[:2] == (variant, problem)] for problem in FAILING]
        print(
            f"| {variant} | "
            + " | ".join(f"{max(r):.2f}, {np.mean(r):.2f}" if r else "–" for r in row)
            + " |"
        )


if __name__ == "__main__":
    main()
