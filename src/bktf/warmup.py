"""Compile once and fill the cache on disk, before workers start: python -m bktf.warmup."""

import argparse
import math
import time

import numpy as np

from bktf.acquisition import ACQUISITIONS, choose
from bktf.axis_kernels import KINDS
from bktf.surrogate import fit


def warm_up(kernels: list[str]) -> None:
    """Compile what fits and suggestions need, at finite rank for these kernels and infinite rank.

    Each kernel is compiled with and without shared length-scales.
    """
    axes = [np.linspace(0.0, 1.0, 4)] * 2
    X, y = [[0.0, 0.0], [1.0, 1.0]], [0.0, 1.0]
    for kernel in kernels:
        for shared in (False, True):
            posterior = fit(
                axes, X, y, seed=0, n_sweeps=2, n_burn_in=1, kernel=kernel,
                shared_lengthscales=shared,
            )  # fmt: skip
            where = [[0.0, 0.0]] if posterior.grid[0].kernel.on_levels else [[0.1, 0.2]]
            posterior.mean(where)
            posterior.draws_at(where)
            for acquisition in ACQUISITIONS:
                posterior.argmax(acquisition)
    process = fit(axes, X, y, seed=0, n_sweeps=2, n_burn_in=1, rank=math.inf)
    choose(process, "ei")
    choose(process, "ei", free=(0, 1))
    process.draws_at([[0.1, 0.2]])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bktf.warmup", description=__doc__)
    parser.add_argument(
        "kernels",
        nargs="*",
        metavar="KERNEL",
        help=f"which kernels, of {', '.join(KINDS)}; all by default",
    )
    kernels = parser.parse_args().kernels or list(KINDS)
    unknown = [k for k in kernels if k not in KINDS]
    if unknown:
        parser.error(f"no such kernel: {unknown[0]!r}; choose from {', '.join(KINDS)}")
    began = time.perf_counter()
    warm_up(kernels)
    seconds = time.perf_counter() - began
    print(f"compiled code for {', '.join(kernels)} is ready ({seconds:.1f} s)")


if __name__ == "__main__":
    main()
