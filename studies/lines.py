"""Results as append-only lines of JSON: a run that was cut off goes on where it was, tables and figures read nothing else."""

import functools
import json
import logging
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import bktf

Job = Mapping[str, Any]  # what names a run: experiment, problem, method, seed, settings
Line = dict[str, Any]  # the job, its results, and what they were made with: commit, processor, versions

logger = logging.getLogger(__name__)


def key_of(line: Job, names: Sequence[str]) -> str:
    """What makes two lines the same run."""
    return json.dumps([line.get(name) for name in names], sort_keys=True)


def read_lines(path: Path) -> list[Line]:
    """All whole lines of a file; one that is not, as when its writer was cut off, counts as not there, so that its run is made again."""
    lines = []
    for number, text in enumerate(path.read_text(encoding="utf-8").split("\n") if path.exists() else [], start=1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            line = None
        if isinstance(line, dict):
            lines.append(line)
        else:
            logger.debug("%s, line %d is not a whole line of JSON", path, number)
    return lines


def append_line(path: Path, line: Line) -> None:
    """Write one line in one piece, on a new line even after one that was cut off; several processes may do so at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (json.dumps(line, allow_nan=False) + "\n").encode()
    with path.open("ab+", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                text = b"\n" + text
        file.write(text)  # the file is open for appending: this goes to its end, wherever that is by now


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python and of packages, for the lines."""
    found = {"python": platform.python_version()}
    for name in ("bktf", "numpy", "scipy", *packages):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def made_with(*packages: str) -> dict[str, Any]:
    """What is needed to replay a run besides its seed: commit, processor and versions. Chains part ways between processors."""
    return {"commit": commit(), "processor": processor(), "versions": versions(*packages)}


@functools.cache
def commit() -> str | None:
    """The commit of the checkout that was loaded, with a "+" where its code has changes; None outside a checkout.

    Code is the package and the studies. Recorded lines are not: they change while runs are made.
    """
    here = Path(__file__).parent
    code = [str(Path(bktf.__file__).parent), str(here), f":(exclude){here / 'results'}"]

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=True).stdout.strip()

    try:
        name, changed = git("rev-parse", "--short", "HEAD"), git("status", "--porcelain", "--", *code)
    except (OSError, subprocess.CalledProcessError):
        return None
    return name + ("+" if changed else "")


@functools.cache
def processor() -> str:
    """The processor's name, and the instruction set that compiled code is made for."""
    from llvmlite.binding import get_host_cpu_name  # comes with Numba

    name = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        named = [text.split(":", 1)[1].strip() for text in info.read_text().splitlines() if text.startswith("model name")]
        name = named[0] if named else name
    return f"{name or platform.machine()} ({get_host_cpu_name()})"


def run_missing(
    path: Path, jobs: Sequence[Job], names: Sequence[str], work: Callable[[Job], Line], n_jobs: int, title: str, only_read: bool = False
) -> list[Line]:
    """Do the jobs that have no line in the file, in parallel, each line written as soon as it is there; the lines of all jobs.

    joblib runs them, so that any of its backends can (`joblib.parallel_config`); only this process writes.
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    have = {key_of(line, names) for line in read_lines(path)}
    missing = [] if only_read else [job for job in jobs if key_of(job, names) not in have]
    if have and missing:
        logger.info("%s: %d runs of %d are there", path, len(jobs) - len(missing), len(jobs))
    if missing:
        made: Iterable[Line] = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(work)(job) for job in missing)
        for line in tqdm(made, total=len(missing), desc=title, unit="run", disable=not sys.stderr.isatty()):
            append_line(path, line)
    wanted = {key_of(job, names) for job in jobs}
    by_key = {key_of(line, names): line for line in read_lines(path)}  # one line of each, should two processes have made the same run
    return [line for key, line in by_key.items() if key in wanted]


def rounded(values: Any) -> Any:
    """Numbers with ten significant digits, nested as they are: what a line holds."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [rounded(v) for v in values]
    return float(f"{values:.10g}") if isinstance(values, float) else values
