"""CPU seconds of one suggestion of bktf, Optuna's GPSampler and TPE, in one run.

The history is random trials. The cost is the median of a few suggestions in a row, each evaluated
before the next, as in a running study. Every method sees the same histories. Each cell is a line of
benchmarks/results/peers.jsonl; the table shows the latest line of each cell.

    python -m benchmarks.peers                measure all cells (needs torch), then write the table
    python -m benchmarks.peers --n 20 50      some sizes only; also --dims, --spaces, --methods
    python -m benchmarks.peers --tables       write the table of what is recorded
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, GPSampler, TPESampler

import bktf
from studies.lines import Line, append_line, made_with, read_lines
from studies.table_writer import markdown

ROOT = Path(__file__).parents[1]
LINES = ROOT / "benchmarks" / "results" / "peers.jsonl"
TABLE = ROOT / "studies" / "results" / "tables" / "peers.md"
SIZES = (20, 50, 100, 200, 300, 500, 1000)
DIMS = (2, 6, 20)
SPACES = ("box", "mixed", "grid")
N_ASKED = 3  # suggestions in a row
GRID_POINTS, N_CHOICES = 12, 5
SAMPLERS: dict[str, Callable[[], BaseSampler]] = {
    "bktf": lambda: bktf.BKTFSampler(seed=0),
    "Optuna GP": lambda: GPSampler(seed=0),
    "TPE": lambda: TPESampler(seed=0),
}
PEER = "Optuna GP"  # what bktf's cost is divided by


def distributions(space: str, n_dims: int) -> dict[str, BaseDistribution]:
    """A search space: a box, a grid, or continuous, whole and categorical parameters by turns."""
    box = FloatDistribution(0.0, 1.0)
    whole = IntDistribution(0, GRID_POINTS - 1)
    kinds: dict[str, tuple[BaseDistribution, ...]] = {
        "box": (box,),
        "grid": (whole,),
        "mixed": (box, whole, CategoricalDistribution([f"c{i}" for i in range(N_CHOICES)])),
    }
    chosen = kinds[space]
    if space == "mixed" and n_dims == 2:
        chosen = (box, kinds["mixed"][2])
    return {f"x{d}": chosen[d % len(chosen)] for d in range(n_dims)}


def value_at(units: Sequence[float]) -> float:
    """A smooth function of coordinates in [0, 1] with valleys that are not along the axes."""
    x = np.asarray(units)
    target = 0.3 + 0.4 * np.sin(np.arange(x.size))
    bowl = ((x - target) ** 2).sum()
    valley = ((x[1:] - x[:-1] ** 2) ** 2).sum()
    return float(bowl + valley + 0.1 * np.cos(6.0 * x.sum()))


def unit_of(distribution: BaseDistribution, value: Any) -> float:
    """A value as a share of its range."""
    if isinstance(distribution, CategoricalDistribution):
        return (distribution.choices.index(value) * 2 % N_CHOICES) / (N_CHOICES - 1)
    return float((value - distribution.low) / (distribution.high - distribution.low))  # type: ignore[attr-defined]


def random_value(distribution: BaseDistribution, rng: np.random.Generator) -> Any:
    """A random value of a parameter."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(rng.integers(N_CHOICES))]
    if isinstance(distribution, IntDistribution):
        return int(rng.integers(distribution.low, distribution.high + 1))
    return float(rng.random())


def measure(method: str, space: str, n_dims: int, n_trials: int) -> list[float]:
    """CPU seconds of a few suggestions in a row after random trials."""
    rng = np.random.default_rng([n_dims, n_trials])
    named = distributions(space, n_dims)

    def evaluate(params: dict[str, Any]) -> float:
        return value_at([unit_of(d, params[name]) for name, d in named.items()])

    study = optuna.create_study(sampler=SAMPLERS[method]())
    for _ in range(n_trials):
        params = {name: random_value(d, rng) for name, d in named.items()}
        study.add_trial(
            optuna.create_trial(params=params, distributions=named, value=evaluate(params))
        )
    seconds = []
    for _ in range(N_ASKED):
        began = time.process_time()
        trial = study.ask(named)
        seconds.append(time.process_time() - began)
        study.tell(trial, evaluate(trial.params))
    return seconds


def latest(lines: Sequence[Line]) -> dict[tuple[str, str, int, int], float]:
    """The median CPU seconds of each cell, from its latest line."""
    return {
        (line["method"], line["space"], line["n_dims"], line["n_trials"]): float(
            np.median(line["cpu_seconds"])
        )
        for line in lines
    }


def peers_table(lines: Sequence[Line]) -> str:
    """CPU seconds of every method in every cell, and bktf's as a share of GPSampler's."""
    costs, rows = latest(lines), []
    for space in SPACES:
        for n_dims in DIMS:
            for n_trials in SIZES:
                cell = {m: costs.get((m, space, n_dims, n_trials)) for m in SAMPLERS}
                if cell["bktf"] is None:
                    continue
                peer = cell[PEER]
                ratio = "–" if peer is None else f"{cell['bktf'] / peer:.2f}"
                shown = ["–" if s is None else f"{s:.3f}" for s in cell.values()]
                rows.append([space, str(n_dims), str(n_trials), *shown, ratio])
    return markdown(["space", "D", "trials", *SAMPLERS, f"bktf / {PEER}"], rows)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--n", nargs="+", type=int, default=SIZES, help="numbers of trials")
    add("--dims", nargs="+", type=int, default=DIMS, help="numbers of parameters")
    add("--spaces", nargs="+", choices=SPACES, default=SPACES)
    add("--methods", nargs="+", choices=tuple(SAMPLERS), default=tuple(SAMPLERS))
    add("--dry", action="store_true", help="print what is measured and record nothing")
    add("--tables", action="store_true", help="write the table of what is recorded")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    if not options.tables:
        for method in options.methods:
            for space in options.spaces:
                measure(method, space, 2, 20)  # compiles, or loads compiled code
    for space in () if options.tables else options.spaces:
        for n_dims in options.dims:
            for n_trials in options.n:
                for method in options.methods:
                    seconds = measure(method, space, n_dims, n_trials)
                    name = {"space": space, "n_dims": n_dims, "n_trials": n_trials}
                    line = {"method": method, **name, "cpu_seconds": seconds}
                    shown = " ".join(f"{s:.3f}" for s in seconds)
                    print(
                        f"{space:6s} D={n_dims:3d} n={n_trials:5d} {method:10s} {shown}", flush=True
                    )
                    if not options.dry:
                        append_line(LINES, line | made_with("optuna", "torch"))
    if not options.dry:
        TABLE.write_text(peers_table(read_lines(LINES)) + "\n", encoding="utf-8")
        print(TABLE.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
