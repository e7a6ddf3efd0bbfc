"""Choose a point from each of 200 short fits of many kinds; one JSON line for each.

`benchmarks.search_quality` starts this file by its path, once for each version of the package. It
uses public names of bktf only, and no other module of this folder.

    python -P benchmarks/search_fits.py --source src
"""

import argparse
import importlib
import inspect
import itertools
import json
import logging
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

COMPONENT_GRIDS = ((200, 150), (60, 60, 60), (25,) * 4, (15,) * 5, (12,) * 6)
SMALL_GRID = (9, 8, 7)
PROCESS_GRIDS = ((40, 40), (30, 30, 30), (12,) * 4, (8,) * 6)
CONDITIONS = ("none", "feasible", "chance", "pending")
SHARES = (15,) * 5  # a grid on which the condition "sum" is thin
CHAIN = {"n_sweeps": 80, "n_burn_in": 20}


@dataclass(frozen=True)
class Case:
    """One fit and one question."""

    surrogate: str  # "components", "process" or "both"
    domain: str  # "grid" or "box"
    sizes: tuple[int, ...]
    acquisition: str  # "ei weights": EI with the weights integrated out
    condition: str  # beside the observed points, which are excluded
    seed: int


def planned_cases() -> Iterator[Case]:
    """200 cases."""
    for sizes, name, condition in itertools.product(
        (*COMPONENT_GRIDS, SMALL_GRID), ("ei", "ucb", "ei weights"), CONDITIONS
    ):
        yield Case("components", "grid", sizes, name, condition, 0)
    for sizes, name, condition in itertools.product(PROCESS_GRIDS, ("ei", "ucb"), CONDITIONS):
        yield Case("process", "grid", sizes, name, condition, 0)
    for n_dims, condition, seed in itertools.product((2, 3, 4, 6), CONDITIONS, range(3)):
        yield Case("process", "box", (9,) * n_dims, "ei", condition, seed)
    for name, condition in itertools.product(("ei", "ucb"), CONDITIONS):
        yield Case("both", "grid", (30, 30, 30), name, condition, 0)
    for sizes, name, condition in itertools.product(
        (COMPONENT_GRIDS[0], COMPONENT_GRIDS[-1], SMALL_GRID), ("max", "thompson"), CONDITIONS
    ):
        yield Case("components", "grid", sizes, name, condition, 1)
    for surrogate, name, seed in itertools.product(
        ("components", "process"), ("ei", "ucb"), range(4)
    ):
        yield Case(surrogate, "grid", SHARES, name, "sum", seed)


def sums_to_whole(point: Floats) -> bool:
    """Whether the steps of shares sum to all steps of an axis."""
    return round(float(point.sum()) * (SHARES[0] - 1)) == SHARES[0] - 1


def observed_points(case: Case, axes: list[Floats], rng: np.random.Generator) -> Floats:
    """Points (n, D) that were tried: random ones that the condition allows."""
    n, n_dims = 15 + 5 * len(axes), len(axes)
    if case.condition == "sum":
        steps = SHARES[0] - 1
        cuts = np.sort(rng.integers(0, steps + 1, (n, n_dims - 1)), axis=1)
        ends = np.zeros(n), np.full(n, steps)
        counts = np.diff(np.column_stack((ends[0], cuts, ends[1])), axis=1)
        return np.stack([axis[counts[:, d].astype(int)] for d, axis in enumerate(axes)], axis=1)
    if case.domain == "box":
        return rng.random((n, n_dims))
    return np.stack([rng.choice(axis, n) for axis in axes], axis=1)


def objective(X: Floats, rng: np.random.Generator) -> Floats:
    """A smooth function with waves along random axes."""
    n_dims = X.shape[1]
    center, rates = rng.random(n_dims), rng.uniform(2.0, 9.0, n_dims)
    bowl = -((X - center) ** 2).sum(axis=1)
    waves = np.sin(rates * X + center).prod(axis=1)
    return np.asarray(bowl + waves + 0.02 * rng.standard_normal(len(X)))


def chance_of_success(points: Floats) -> Floats:
    """A smooth step along the first two axes."""
    difference = 8.0 * (points[:, 0] - points[:, 1])
    return np.asarray(1.0 / (1.0 + np.exp(difference)))


def surrogate_settings(bktf: Any, surrogate: str) -> dict[str, Any]:
    """The arguments of `fit` that make this surrogate, in the spelling of the version."""
    if surrogate == "components":
        return {"rank": 2}
    if "residual_process" not in inspect.signature(bktf.fit).parameters:  # versions before
        return {"rank": 0 if surrogate == "process" else 2, "local": True}
    return {"rank": math.inf} if surrogate == "process" else {"rank": 2, "residual_process": True}


def question(case: Case, X: Floats, rng: np.random.Generator) -> dict[str, Any]:
    """The arguments of `choose`."""
    asked: dict[str, Any] = {"exclude": X, "seed": case.seed}
    if case.acquisition == "ei weights":
        asked["integrate_weights"] = True
    if case.domain == "box":
        asked["free"] = range(X.shape[1] - (case.seed == 2))  # with seed 2 the last axis is a grid
    if case.condition == "feasible":
        asked["feasible"] = lambda point: bool(point[0] + point[1] < 0.9)
    if case.condition == "sum":
        asked["feasible"] = sums_to_whole
    if case.condition == "chance":
        asked["chance"] = chance_of_success
    if case.condition == "pending":
        best = X[rng.choice(len(X), 3, replace=False)]
        asked["pending"] = np.clip(best + rng.normal(0, 0.1, best.shape), 0.0, 1.0)
    return asked


def run(bktf: Any, case: Case) -> dict[str, Any]:
    """The value that was found, how, and in how many CPU seconds."""
    rng = np.random.default_rng([case.seed, *case.sizes])
    axes = [np.linspace(0, 1, m) for m in case.sizes]
    X = observed_points(case, axes, rng)
    y = objective(X, rng)
    settings = surrogate_settings(bktf, case.surrogate)
    posterior = bktf.fit(axes, X, y, seed=case.seed, **settings, **CHAIN)
    asked = question(case, X, rng)
    began = time.process_time()
    choice = bktf.acquisition.choose(posterior, case.acquisition.split()[0], **asked)
    seconds = time.process_time() - began
    point = None if choice.point is None else choice.point.tolist()
    value = None if point is None else choice.value
    found = {"value": value, "point": point, "method": choice.method, "cpu_seconds": seconds}
    return asdict(case) | found


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--source", type=Path, required=True, help="folder that holds the package")
    source = parser.parse_args().source
    logging.getLogger("bktf").setLevel(logging.ERROR)
    bktf = importlib.import_module("bktf")
    if not Path(str(bktf.__file__)).resolve().is_relative_to(source.resolve()):
        raise RuntimeError(f"bktf must come from {source}; got {bktf.__file__}. Set PYTHONPATH")
    cases = list(planned_cases())
    for case in {(c.surrogate, c.domain, c.acquisition): c for c in cases}.values():
        run(bktf, case)  # compiles, or loads compiled code
    for case in cases:
        print(json.dumps(run(bktf, case)), flush=True)


if __name__ == "__main__":
    main()
