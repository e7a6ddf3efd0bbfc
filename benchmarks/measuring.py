"""Measuring tools: CPU time of jobs and of processes, and figures with their limits."""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable


def cpu_seconds(job: Callable[[], object], repeats: int = 3) -> float:
    """CPU time of a job: the best of a few runs."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        job()
        times.append(time.process_time() - began)
    return min(times)


def child_cpu(code: str, repeats: int, **environment: str) -> float:
    """CPU seconds of a Python process that runs `code`: the median of a few."""
    times = []
    for _ in range(repeats):
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            env=os.environ | environment,
            stderr=subprocess.DEVNULL,
        )
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime)
    return statistics.median(times)


def check(name: str, value: float, limit: float) -> bool:
    """Print a figure and its limit; whether it is below."""
    print(f"  {name}: {value:6.2f} (at most {limit:g})")
    return value <= limit


def growth(name: str, factor: float, jobs: list[tuple[str, Callable[[], object]]]) -> bool:
    """Whether each job costs at most 1.5·factor times the one before."""
    fine = True
    costs = []
    for label, job in jobs:
        job()
        costs.append(cpu_seconds(job))
        times = costs[-1] / costs[-2] if len(costs) > 1 else float("nan")
        note = f"  {times:5.1f} times the one before (at most {1.5 * factor:.0f})"
        note = "" if len(costs) == 1 else note
        print(f"  {name} = {label}: {costs[-1] * 1e3:8.1f} ms{note}")
        fine = fine and not times > 1.5 * factor
    return fine
