"""Put bugs into a copy of the package, one at a time, and see whether the relevant tests notice.

    make test-mutations                                        all that have no line yet for today's sources
    python tests/mutations/run_mutations.py --check            only whether every text occurs once
    python tests/mutations/run_mutations.py --only NAME        one of them, again

Each mutation runs the tests that it names, the one that noticed it last time first, then the cheap
ones before the expensive ones, up to the first failure or to MAX_TEST_CPU. What was found is a line
in results.jsonl, so that a run that was cut off goes on where it was.

Compiled code: the copy stands always in the same folder, so Numba finds what it compiled before.
Only a
mutation of a compiled file compiles: it has a copy of the common cache without the entries of the
    files that import the mutated one, because Numba does not see edits in called files.
"""

import argparse
import ast
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutation_list import MUTATIONS, UNNOTICED, Mutation

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # a script: its own folder is on the path, the checkout is not

from studies.lines import append_line, made_with, read_lines  # noqa: E402

RESULTS = Path(__file__).with_name("results.jsonl")
WORK = ROOT / "build" / "mutations"
COPY = WORK / "checkout"  # always the same folder: Numba's cache is named by it
CACHES = WORK / "caches"

ENOUGH = 0.9  # share of the mutations that must be noticed
MAX_TEST_CPU = 30.0  # seconds of tests for one mutation, as measured without it
MAX_CPU = 200  # seconds after which a process of tests is taken to run without end
MAX_WALL = 3600  # seconds after which it is taken to wait without end


class Stale(Exception):
    """The list does not fit the sources, or the tests do not pass without a mutation."""


@dataclass(frozen=True)
class Outcome:
    """What became of one run of tests."""

    failed: str | None  # the first test that failed, or what else went wrong
    n_tests: int
    cpu: float  # seconds
    text: str  # what pytest said


def mutated(mutation: Mutation, package: Path) -> str:
    """The text of the mutated file; it must differ in exactly one place."""
    text = (package / mutation.file).read_text(encoding="utf-8")
    found = text.count(mutation.old)
    if found != 1:
        raise Stale(
            f"{mutation.name!r}: the text to replace must occur once in {mutation.file}; it occurs {found} times"
        )
    changed = text.replace(mutation.old, mutation.new)
    ast.parse(changed)
    return changed


def check_list() -> None:
    """Refuse a list that does not fit the sources."""
    problems = []
    names = [m.name for m in MUTATIONS]
    problems += [
        f"{name!r}: two mutations have this name"
        for name in sorted(set(names))
        if names.count(name) > 1
    ]
    problems += [
        f"{name!r}: has a reason but is not in the list" for name in UNNOTICED if name not in names
    ]
    for mutation in MUTATIONS:
        try:
            mutated(mutation, ROOT / "src" / "bktf")
        except (Stale, OSError, SyntaxError) as error:
            problems.append(str(error))
        problems += [
            f"{mutation.name!r}: no such file: tests/{t}"
            for t in mutation.tests
            if not (ROOT / "tests" / t).is_file()
        ]
    if problems:
        raise Stale("the list of mutations must fit the sources:\n  " + "\n  ".join(problems))


# --- the copy and its compiled code
# ------------------------------------------------------------------


def hash_of(paths: Iterable[Path], *more: str) -> str:
    """A name for the contents of files and further texts, as tests/conftest.py makes one."""
    digest = hashlib.sha256()
    for path in sorted(paths, key=str):
        digest.update(path.read_bytes())
    for text in more:
        digest.update(text.encode())
    return digest.hexdigest()[:16]


def source_files(package: Path) -> list[Path]:
    """The Python files of the package."""
    return list(package.rglob("*.py"))


def make_copy() -> None:
    """Copy what is under version control, or would be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    shutil.rmtree(COPY, ignore_errors=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)


def is_compiled(path: Path) -> bool:
    """Whether a file has functions that Numba compiles."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    taken = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bktf._compiled")
        for alias in node.names
    ]
    return not {"compiled", "compiled_part", "operation"}.isdisjoint(taken)


def modules_of(package: Path) -> dict[str, Path]:
    """The files of the package by their dotted names, "bktf" included."""
    names = {}
    for path in source_files(package):
        parts = path.relative_to(package.parent).with_suffix("").parts
        names[".".join(parts).removesuffix(".__init__")] = path
    return names


def imported_names(path: Path) -> set[tuple[str, str]]:
    """What a file imports from the package: (module, name)."""
    return {
        (node.module, alias.name)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "bktf"
        for alias in node.names
    }


def import_graph(package: Path) -> dict[str, set[str]]:
    """For each module those whose contents it imports; an interface is looked through."""
    modules = modules_of(package)

    def home(module: str, name: str) -> str:
        """The module in which a name is defined."""
        if f"{module}.{name}" in modules:
            return f"{module}.{name}"
        if module in modules and modules[module].name == "__init__.py":
            for other, exported in imported_names(modules[module]):
                if exported == name and other != module:
                    return home(other, name)
        return module

    return {
        module: {home(*pair) for pair in imported_names(path)} & modules.keys() - {module}
        for module, path in modules.items()
        if path.name != "__init__.py"
    }


def reachable(start: set[str], graph: dict[str, set[str]]) -> set[str]:
    """Everything that edges lead to from some modules, themselves included."""
    reached, new = set(start), set(start)
    while new:
        new = {other for module in new for other in graph.get(module, set())} - reached
        reached |= new
    return reached


def above(module: str, package: Path) -> set[str]:
    """The module and all that import it, directly or not."""
    graph = import_graph(package)
    users = {m: {user for user, used in graph.items() if m in used} for m in graph}
    return reachable({module}, users)


def compiled_files(package: Path) -> list[Path]:
    """Files with compiled functions, and all that they import: what compiled code depends on."""
    modules = modules_of(package)
    start = {name for name, path in modules.items() if is_compiled(path)}
    return [modules[name] for name in sorted(reachable(start, import_graph(package)))]


def common_cache() -> Path:
    """The folder of compiled code without a mutation; edits of files that are not compiled keep it."""
    return CACHES / hash_of(compiled_files(ROOT / "src" / "bktf"))


def cache_for(mutation: Mutation) -> Path:
    """The folder of compiled code: the common one, or for a compiled file a copy of what its mutation cannot change."""
    common, package = common_cache(), ROOT / "src" / "bktf"
    if package / mutation.file not in compiled_files(package):
        return common
    private = CACHES / "own"
    shutil.rmtree(private, ignore_errors=True)
    shutil.copytree(common, private)
    changed = ".".join(("bktf", *Path(mutation.file).with_suffix("").parts))
    # Numba names entries by the last part of the module's name.
    kept = {name.split(".")[-1] for name in modules_of(package).keys() - above(changed, package)}
    for entry in private.rglob("*.nbi"):
        if entry.name.split(".")[0] not in kept:  # what imports the mutated file, and test helpers
            entry.unlink()
    return private


def link_cache(cache: Path) -> None:
    """Let the folder that tests/conftest.py will ask for be this one."""
    cache.mkdir(parents=True, exist_ok=True)
    folder = COPY / ".numba_cache"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / hash_of(source_files(COPY / "src" / "bktf"))).symlink_to(
        cache, target_is_directory=True
    )


# --- tests
# -------------------------------------------------------------------------------------------


def run_tests(
    files: Sequence[str], order: Sequence[str] | None
) -> tuple[Outcome, dict[str, float]]:
    """Run tests of the copy up to the first failure.

    What became of them, and the CPU seconds of each.
    """
    report, wanted = WORK / "report.jsonl", WORK / "tests.json"
    report.unlink(missing_ok=True)
    paths = [str(COPY / "src"), str(COPY / "tests" / "mutations")]
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(paths), "MUTATIONS_REPORT": str(report),
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    environment.pop("MUTATIONS_TESTS", None)
    if order is not None:
        wanted.write_text(json.dumps(order), encoding="utf-8")
        environment["MUTATIONS_TESTS"] = str(wanted)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--durations=0",
        "-p",
        "watch_tests",
        "-p",
        "no:cacheprovider",
    ]
    command += [f"tests/{name}" for name in files]
    before = _children_cpu()
    process = subprocess.Popen(
        command, cwd=COPY, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        preexec_fn=None if order is None else _limit_cpu,
    )  # fmt: skip
    failed: str | None = None
    try:
        text, _ = process.communicate(timeout=MAX_WALL if order is not None else None)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
        failed = "waits without end"
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    lines = read_lines(report)
    broken = [line["test"] for line in lines if line["outcome"] == "failed"]
    if broken:
        failed = broken[0]
    elif failed is None and process.returncode:
        failed = (
            "runs without end"
            if process.returncode == -signal.SIGXCPU
            else "pytest could not collect or was cut off"
        )
    cpu = {line["test"]: float(line["cpu"]) for line in lines}
    return Outcome(failed, len(lines), _children_cpu() - before, text), cpu


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _limit_cpu() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU, MAX_CPU + 10))


def costs_without_mutation(files: Sequence[str]) -> dict[str, float]:
    """CPU seconds of each test, without a mutation; they must all pass.

    Remembered while sources, helpers and the test file stay.
    """
    remembered = WORK / "costs.json"
    known: dict[str, dict[str, float]] = (
        json.loads(remembered.read_text(encoding="utf-8")) if remembered.exists() else {}
    )
    helpers = [path for path in test_files() if not path.name.startswith("test_")]
    shared = hash_of([*source_files(ROOT / "src" / "bktf"), *helpers])
    names = {name: hash_of([ROOT / "tests" / name], shared, name) for name in files}
    for old in CACHES.glob("*"):
        if old != common_cache():
            shutil.rmtree(old)
    link_cache(common_cache())
    missing = [name for name in files if names[name] not in known]
    if missing:  # compile first, so that no test is charged with it
        environment = {
            **os.environ,
            "PYTHONPATH": str(COPY / "src"),
            "NUMBA_CACHE_DIR": str(common_cache()),
        }
        subprocess.run(
            [sys.executable, "-m", "bktf.warmup"],
            cwd=COPY,
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    for name in missing:
        outcome, cpu = run_tests([name], None)
        if outcome.failed is not None:
            raise Stale(
                f"tests must pass without a mutation; {outcome.failed} does not:\n{outcome.text}"
            )
        say(f"{outcome.cpu:6.1f} s  without a mutation: tests/{name}")
        known[names[name]] = cpu
        remembered.write_text(json.dumps(known), encoding="utf-8")
    return {test: cpu for name in files for test, cpu in known[names[name]].items()}


def test_files() -> list[Path]:
    """The tests and their helpers, without the mutations."""
    return [path for path in (ROOT / "tests").rglob("*.py") if path.parent != Path(__file__).parent]


def order_of(mutation: Mutation, costs: dict[str, float], noticed_by: str | None) -> list[str]:
    """The tests to run: the one that noticed it last time, then the cheapest first, as many as MAX_TEST_CPU allows."""
    ours = tuple(f"tests/{name}::" for name in mutation.tests)
    tests = sorted(
        (test for test in costs if test.startswith(ours)),
        key=lambda test: (test != noticed_by, costs[test]),
    )
    chosen: list[str] = []
    total = 0.0
    for test in tests:
        total += costs[test]
        if total > MAX_TEST_CPU and chosen:
            break
        chosen.append(test)
    return chosen


def try_mutation(mutation: Mutation, costs: dict[str, float], noticed_by: str | None) -> Outcome:
    """Put the bug into the copy, run its tests, take it out again."""
    place = COPY / "src" / "bktf" / mutation.file
    sound = place.read_text(encoding="utf-8")
    order = order_of(mutation, costs, noticed_by)
    files = list(dict.fromkeys(test.split("::")[0].removeprefix("tests/") for test in order))
    try:
        write_source(place, mutated(mutation, COPY / "src" / "bktf"))
        link_cache(cache_for(mutation))
        outcome, _ = run_tests(files, order)
        return outcome
    finally:
        write_source(place, sound)


def write_source(place: Path, text: str) -> None:
    """Write a source file and remove its byte code, which Python tells from the file's only by time and size."""
    place.write_text(text, encoding="utf-8")
    for code in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
        code.unlink()


# --- all of them
# -------------------------------------------------------------------------------------


def say(text: str) -> None:
    """One line, at once."""
    print(text, flush=True)


def key_of(mutation: Mutation, sources: str) -> str:
    """What a result holds for: sources, tests and the mutation itself."""
    return hash_of((), sources, mutation.file, mutation.old, mutation.new, *mutation.tests)


def summary(found: dict[str, dict[str, Any]], wanted: Sequence[Mutation]) -> bool:
    """Print what was noticed; whether that is enough, and every other one has a reason."""
    missed = [m for m in wanted if not found[m.name]["noticed"]]
    share = 1.0 - len(missed) / len(wanted)
    cpu = sum(float(found[m.name]["cpu"]) for m in wanted)
    say(
        f"\n{len(wanted) - len(missed)} of {len(wanted)} mutations noticed ({share:.1%}), {cpu / 60:.0f} minutes of CPU"
    )
    for m in missed:
        say(
            f"  not noticed: {m.name} ({m.file}): {m.breaks}\n    {UNNOTICED.get(m.name, 'no reason is given in UNNOTICED')}"
        )
    for name in UNNOTICED:
        if name in found and found[name]["noticed"]:
            say(f"  noticed after all, take it out of UNNOTICED: {name}")
    return share >= ENOUGH and all(m.name in UNNOTICED for m in missed)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="only whether every text occurs once in its file"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="this mutation alone, again; may be given several times",
    )
    parser.add_argument("--show", action="store_true", help="print what pytest says")
    arguments = parser.parse_args()
    unknown = set(arguments.only or ()) - {m.name for m in MUTATIONS}
    if unknown:
        parser.error(f"no mutation has the name {min(unknown)!r}")
    try:
        check_list()
        return 0 if arguments.check else run(arguments.only, arguments.show)
    except Stale as error:
        print(error, file=sys.stderr)
        return 2


def run(only: Sequence[str] | None, show: bool) -> int:
    """Try the mutations that have no line yet for these sources and tests, or those that are named."""
    sources = hash_of([*source_files(ROOT / "src" / "bktf"), *test_files()])
    lines = read_lines(RESULTS)
    noticed_by = {line["mutation"]: line["by"] for line in lines if line["noticed"]}
    have = {line["key"]: line for line in lines}
    wanted = [m for m in MUTATIONS if only is None or m.name in only]
    found = {
        m.name: have[key_of(m, sources)]
        for m in wanted
        if only is None and key_of(m, sources) in have
    }
    if found:
        say(f"{len(found)} of {len(wanted)} mutations have a line")
    missing = [m for m in wanted if m.name not in found]
    if missing:
        make_copy()
        costs = costs_without_mutation(sorted({name for m in missing for name in m.tests}))
    for mutation in missing:
        outcome = try_mutation(mutation, costs, noticed_by.get(mutation.name))
        line = {
            "mutation": mutation.name, "file": mutation.file, "noticed": outcome.failed is not None, "by": outcome.failed,
            "n_tests": outcome.n_tests, "cpu": round(outcome.cpu, 1), "key": key_of(mutation, sources), **made_with("numba", "pytest"),
        }  # fmt: skip
        append_line(RESULTS, line)
        found[mutation.name] = line
        say(
            f"{outcome.cpu:6.1f} s  {mutation.file:16s} {mutation.name}: {outcome.failed or 'NOT NOTICED'} ({outcome.n_tests} tests)"
        )
        if show:
            say(outcome.text)
    return 0 if summary(found, wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
