"""How fast is what the surrogate knows? CPU seconds and growth within one run.

python -m benchmarks.analysis
"""

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

import bktf
from benchmarks.measuring import check, cpu_seconds, growth
from bktf.acquisition import SearchDomain

AXIS = np.linspace(0, 1, 33)
MAX_SECONDS = {"importance 6-D": 1.0, "importance 20-D": 10.0, "optimum 6-D": 2.0}


def fitted(n_dims: int, n: int) -> bktf.Posterior:
    """A fit to random points of a function with a main effect of each input and interactions."""
    rng = np.random.default_rng(n_dims)
    X = rng.random((n, n_dims))
    y = ((X - 0.4) ** 2 * np.linspace(1, 2, n_dims)).sum(axis=1) + np.sin(5 * X[:, 0]) * X[:, -1]
    return bktf.fit([AXIS] * n_dims, X, y, rank=math.inf, seed=0)


def optimum_of(posterior: bktf.Posterior) -> object:
    """The optimum's posterior, every point of the box allowed."""
    domain = SearchDomain(free=frozenset(range(len(posterior.grid))))
    return bktf.optimum(
        replace(posterior, described=replace(posterior.meaning, domain=domain)), "minimize"
    )


def main() -> int:
    """All figures; exit code 1 where one misses its goal."""
    small, large = fitted(6, 60), fitted(20, 200)
    jobs: dict[str, Callable[[], object]] = {
        "importance 6-D": partial(bktf.importance, small),
        "importance 20-D": partial(bktf.importance, large),
        "optimum 6-D": partial(optimum_of, small),
    }
    fine = True
    for name, job in jobs.items():
        job()  # compiles
        fine &= check(f"{name}, CPU seconds", cpu_seconds(job), MAX_SECONDS[name])
    print("growth with the dimensions, 100 observations")
    dims = [(str(d), fitted(d, 100)) for d in (3, 6, 12)]
    fine &= growth("importance, D", 3.0, [(d, partial(bktf.importance, p)) for d, p in dims])
    fine &= growth("optimum, D", 3.0, [(d, partial(optimum_of, p)) for d, p in dims])
    print("growth with the observations, 6 dimensions")
    sizes = [(str(n), fitted(6, n)) for n in (50, 100, 200)]
    fine &= growth("importance, n", 3.0, [(n, partial(bktf.importance, p)) for n, p in sizes])
    fine &= growth("optimum, n", 3.0, [(n, partial(optimum_of, p)) for n, p in sizes])
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
