"""One run of a method on a problem, timed, and the runs of a study that have no line yet."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from studies.lines import Line, RunKey, append_line, key_of, made_with, read_lines, rounded
from studies.methods import Method, MethodEntry
from studies.problems import Params, Problem

logger = logging.getLogger(__name__)
P = TypeVar("P", bound=Problem)


class Run(NamedTuple):
    """All points and values in order, the start first."""

    points: list[Params]
    values: list[float]  # without noise
    observed: list[float]  # what the method was told
    n_start: int
    cpu_seconds: list[float]  # of each suggestion

    @property
    def n_repeats(self) -> int:
        """Suggestions of a point that was tried before."""
        return sum(p in self.points[:i] for i, p in enumerate(self.points) if i >= self.n_start)


def optimise(
    problem: Problem,
    method: Method,
    start: Sequence[Params],
    n_queries: int,
    seed: int,
    stop: Callable[[float], bool] | None = None,
) -> Run:
    """Tell the start, then ask, evaluate and tell `n_queries` times, or until a value says stop.

    The noise depends on the seed alone, so it is the same for every method.
    """
    rng = np.random.default_rng([seed, 3])
    run = Run([], [], [], len(start), [])

    def record(params: Params, value: float) -> None:
        observed = value + problem.noise_std * float(rng.standard_normal())
        run.points.append(params)
        run.values.append(value)
        run.observed.append(observed)
        method.tell(params, observed)

    for params, value in zip(start, problem.values(start), strict=True):
        record(params, value)
    for _ in range(n_queries):
        began = time.process_time()
        asked = method.ask()
        run.cpu_seconds.append(time.process_time() - began)
        params = problem.nearest(asked)
        record(params, problem.values([params])[0])
        if stop is not None and stop(run.values[-1]):
            break
    return run


def run_method(problem: P, entry: MethodEntry[P], key: RunKey) -> tuple[Run, Method]:
    """The run that a key names, from the problem's start points; also the method as it ended."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with threadpool_limits(1):  # one core for each run: CPU seconds that can be compared
        method = entry.make(problem, key["seed"], key["settings"])
        start = problem.start_points(key["seed"])
        budget = key["settings"]["budget"]
        return optimise(problem, method, start, budget, key["seed"]), method


def line_of(key: RunKey, problem: Problem, run: Run, packages: Sequence[str]) -> Line:
    """What is recorded of a run; packages are those whose versions it depends on."""
    found: Line = {
        "n_start": run.n_start,
        "points": rounded([[params[name] for name in problem.space] for params in run.points]),
        "values": rounded(run.values),
        "n_repeats": run.n_repeats,
        "cpu_seconds": {
            "total": round(sum(run.cpu_seconds), 3),
            "median": round(float(np.median(run.cpu_seconds)), 4),
        },
    }
    noisy = {"observed": rounded(run.observed)} if problem.noise_std else {}
    return dict(key) | found | noisy | made_with(*packages)


def run_missing(
    path: Path,
    keys: Sequence[RunKey],
    work: Callable[[RunKey], Line],
    n_jobs: int,
    only_read: bool = False,
) -> list[Line]:
    """Make the runs that have no line in the file, in parallel; the lines of all of them.

    Each line is written as soon as it is made. joblib makes the runs, so that any of its backends
    can (`joblib.parallel_config`); only this process writes.
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    recorded = {key_of(line) for line in read_lines(path)}
    missing = [] if only_read else [key for key in keys if key_of(key) not in recorded]
    if recorded and missing:
        logger.info("%s: %d runs of %d are there", path, len(keys) - len(missing), len(keys))
    if missing:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        made: Iterable[Line] = parallel(delayed(work)(key) for key in missing)
        silent = not sys.stderr.isatty()
        for line in tqdm(made, total=len(missing), desc=path.stem, unit="run", disable=silent):
            append_line(path, line)
    wanted = {key_of(key) for key in keys}
    latest = {key_of(line): line for line in read_lines(path)}  # should a run be recorded twice
    return [line for key, line in latest.items() if key in wanted]
