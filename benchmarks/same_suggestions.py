"""Check that the default sampler suggests the same points as in an earlier revision.

Both versions make the runs of `benchmarks/suggestion_runs.py`, and the parameters of all trials are
compared exactly. Compiled code is kept in .numba_cache/same_suggestions, so that only a version
that was not seen before has to compile.

The compiler fuses multiplications and additions (fastmath={"contract"}) depending on what it
inlines. Two versions with the same formulas may therefore differ in the last bit, and so in the
points. `--no-contraction` compiles both versions without it.

    python -m benchmarks.same_suggestions --before HEAD
    python -m benchmarks.same_suggestions --before HEAD --no-contraction
"""

import argparse
import contextlib
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "benchmarks" / "suggestion_runs.py"
CACHE = ROOT / ".numba_cache" / "same_suggestions"

Run = dict[str, Any]  # problem, seed and the parameters of every trial


def source_hash(package: Path) -> str:
    """A name for the paths and the text of all modules of a package."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()[:16]


def store_source(source: Path) -> Path:
    """Copy the package below `source` to the cache, and return the folder of that version.

    Numba looks compiled code up by the path of its source file. A copy whose path depends on its
    text alone finds it again, and cannot be edited during the runs.
    """
    folder = CACHE / source_hash(source / "bktf")
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as unfinished:
            copy = Path(unfinished) / "version"
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source / "bktf", copy / "src" / "bktf", ignore=ignored)
            with contextlib.suppress(OSError):  # another process was faster
                copy.rename(folder)
    return folder


def store_revision(revision: str) -> Path:
    """Check a revision out, copy its package to the cache, and return the folder of the version."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(temporary) / "tree"
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), revision], check=True)
        try:
            return store_source(tree / "src")
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def child_seconds() -> float:
    """CPU seconds of all child processes so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def make_runs(label: str, folder: Path, n_runs: int, no_contraction: bool) -> list[Run]:
    """The runs of the version in `folder`, made by a separate process."""
    source = folder / "src"
    compiled = folder / ("compiled_no_contraction" if no_contraction else "compiled")
    command = [sys.executable, "-P", str(RUNS), "--source", str(source), "--runs", str(n_runs)]
    environment = os.environ | {
        "PYTHONPATH": str(source),
        "NUMBA_CACHE_DIR": str(compiled),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    note = "" if compiled.is_dir() else ", compiles first"
    print(f"{label} ({folder.name}{note}): ", end="", flush=True)
    began = child_seconds()
    child = subprocess.run(
        [*command, *(["--no-contraction"] if no_contraction else [])],
        check=True,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    print(f"{child_seconds() - began:.1f} s of CPU", flush=True)
    return [json.loads(line) for line in child.stdout.splitlines()]


def describe_change(name: str, before: Any, after: Any) -> str:
    """How one parameter of a trial differs."""
    is_number = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (before, after))
    by = f" (by {after - before:.3g})" if is_number else ""
    return f"{name} {before!r} -> {after!r}{by}"


def first_difference(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> str:
    """The first trial that differs and how, or an empty string where all trials are identical."""
    for number, (old, new) in enumerate(zip(before, after, strict=False)):
        if repr(old) != repr(new):
            names = [n for n in old | new if repr(old.get(n)) != repr(new.get(n))]
            changes = [describe_change(n, old.get(n), new.get(n)) for n in names]
            return f"differs from trial {number} on: {', '.join(changes) or 'order of parameters'}"
    if len(before) != len(after):
        return f"differs in the number of trials: {len(before)} -> {len(after)}"
    return ""


def positive_number(text: str) -> int:
    """A whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {number}")
    return number


def main() -> int:
    """Print a line for each run; exit code 1 where any run differs."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--before", metavar="REV", required=True, help="git revision to compare to")
    parser.add_argument("--no-contraction", action="store_true", help="compile without fastmath")
    parser.add_argument("--runs", type=positive_number, default=20, help="default: 20")
    arguments = parser.parse_args()
    versions = {
        arguments.before: store_revision(arguments.before),
        "working tree": store_source(ROOT / "src"),
    }
    options = arguments.runs, arguments.no_contraction
    before, after = (make_runs(name, folder, *options) for name, folder in versions.items())
    n_different = 0
    for old, new in zip(before, after, strict=True):
        difference = first_difference(old["params"], new["params"])
        n_different += bool(difference)
        outcome = difference or f"identical ({len(new['params'])} trials)"
        print(f"{new['problem']}, seed {new['seed']}: {outcome}")
    print(f"{n_different} of {len(after)} runs differ")
    return 1 if n_different else 0


if __name__ == "__main__":
    sys.exit(main())
