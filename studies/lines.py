"""Results as append-only lines of JSON: tables and figures read nothing else.

A run is named by experiment, problem, method, seed and settings. Its line holds these, what came
of it, and what it was made with. A study that was cut off goes on with the runs that have no line.
"""

import functools
import json
import logging
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import bktf

RunKey = Mapping[str, Any]  # what names a run: the fields below
Line = dict[str, Any]  # a run's name, its results, and what they were made with

KEY_FIELDS = ("experiment", "problem", "method", "seed", "settings")
N_DIGITS = 10  # significant digits of a recorded number

logger = logging.getLogger(__name__)


def key_of(line: RunKey) -> str:
    """What makes two lines the same run."""
    return json.dumps([line.get(name) for name in KEY_FIELDS], sort_keys=True)


def read_lines(path: Path) -> list[Line]:
    """All whole lines of a file.

    A line that was cut off with its writer counts as not there, so that its run is made again.
    """
    lines = []
    texts = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    for number, text in enumerate(texts, start=1):
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
    """Write one line in one piece; several processes may do so at a time.

    It begins on a new line even after one that was cut off.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (json.dumps(line, allow_nan=False) + "\n").encode()
    with path.open("ab+", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                text = b"\n" + text
        file.write(text)  # open for appending: this goes to the end, wherever that is by then


def lines_of(lines: Sequence[Line], problem: str, method: str) -> list[Line]:
    """The runs of one method on one problem, by seed."""
    found = (line for line in lines if line["problem"] == problem and line["method"] == method)
    return sorted(found, key=lambda line: line["seed"])


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
    """What is needed to replay a run besides its seed: commit, processor and versions.

    The processor matters because chains differ between processors from the last bit on.
    """
    return {"commit": commit(), "processor": processor(), "versions": versions(*packages)}


@functools.cache
def commit() -> str | None:
    """The commit of the loaded checkout, with a "+" where its code has changes; None outside one.

    Code is the package and the studies. Recorded lines are not: they change while runs are made.
    """
    here = Path(__file__).parent
    code = [str(Path(bktf.__file__).parent), str(here), f":(exclude){here / 'results'}"]

    def git(*arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        name = git("rev-parse", "--short", "HEAD")
        changed = git("status", "--porcelain", "--", *code)
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
        models = [text for text in info.read_text().splitlines() if text.startswith("model name")]
        name = models[0].split(":", 1)[1].strip() if models else name
    return f"{name or platform.machine()} ({get_host_cpu_name()})"


def rounded(values: Any) -> Any:
    """Numbers with ten significant digits, nested as they are: what a line holds."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [rounded(v) for v in values]
    return float(f"{values:.{N_DIGITS}g}") if isinstance(values, float) else values
