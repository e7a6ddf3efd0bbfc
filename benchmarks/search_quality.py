"""Check that searches find scores as good as those of an earlier revision.

Both versions make the fits of `benchmarks/search_fits.py` and choose a point from each. Compared is
the score that was found. Chains are the same in both, unless the sampler changed; then the fits
differ and the comparison says nothing. Lines go to benchmarks/results/search_quality.jsonl.

    python -m benchmarks.search_quality --before main
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.same_suggestions import ROOT, child_seconds, store_revision, store_source
from studies.lines import Line, append_line, made_with

FITS = ROOT / "benchmarks" / "search_fits.py"
LINES = ROOT / "benchmarks" / "results" / "search_quality.jsonl"
NAMES = ("surrogate", "domain", "sizes", "acquisition", "condition", "seed")
TOLERANCE = 1e-9  # relative, of a score that counts as lower
ENOUGH = 0.99  # share of the fits on which the score must not be lower


def make_choices(label: str, folder: Path) -> list[Line]:
    """The choices of the version in `folder`, made by a separate process."""
    source, compiled = folder / "src", folder / "compiled"
    environment = os.environ | {
        "PYTHONPATH": str(source),
        "NUMBA_CACHE_DIR": str(compiled),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    print(f"{label} ({folder.name}{'' if compiled.is_dir() else ', compiles first'}): ", end="")
    sys.stdout.flush()
    began = child_seconds()
    child = subprocess.run(
        [sys.executable, "-P", str(FITS), "--source", str(source)],
        check=True,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    print(f"{child_seconds() - began:.1f} s of CPU", flush=True)
    return [json.loads(line) for line in child.stdout.splitlines()]


def is_lower(before: float | None, after: float | None) -> bool:
    """Whether the score after is lower; None where nothing was found."""
    if before is None or after is None:
        return before is not None
    return after < before - TOLERANCE * abs(before)


def print_seconds(before: Sequence[Line], after: Sequence[Line]) -> None:
    """CPU milliseconds of a choice in both versions, and their median ratio, for each kind."""
    pairs = defaultdict(list)
    for old, new in zip(before, after, strict=True):
        kind = old["surrogate"], old["domain"], old["condition"]
        pairs[kind].append((1e3 * old["cpu_seconds"], 1e3 * new["cpu_seconds"]))
    print("CPU milliseconds of a choice, before and after (medians), and the median ratio")
    for kind, times in pairs.items():
        old_time, new_time = (statistics.median(column) for column in zip(*times, strict=True))
        ratio = statistics.median(new / old for old, new in times)
        print(f"  {' '.join(kind):30} {old_time:8.1f} {new_time:8.1f}   {ratio:.2f}")


def main() -> int:
    """Compare; exit code 1 where more than one score in a hundred is lower."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--before", metavar="REV", required=True, help="git revision to compare to")
    revision = parser.parse_args().before
    before = make_choices(revision, store_revision(revision))
    after = make_choices("working tree", store_source(ROOT / "src"))
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", revision]
    commit = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    n_lower, n_same, n_higher = 0, 0, 0
    for old, new in zip(before, after, strict=True):
        name = {key: old[key] for key in NAMES}
        assert name == {key: new[key] for key in NAMES}
        found = {"value_before": old["value"], "value": new["value"], "method": new["method"]}
        seconds = {
            f"cpu_seconds{k}": round(line["cpu_seconds"], 5)
            for k, line in (("_before", old), ("", new))
        }
        append_line(LINES, name | found | seconds | {"commit_before": commit} | made_with())
        n_same += old["point"] == new["point"]
        n_higher += is_lower(new["value"], old["value"])
        if is_lower(old["value"], new["value"]):
            n_lower += 1
            print(f"lower: {name}: {old['value']} -> {new['value']} ({new['method']})")
    share = 1.0 - n_lower / len(after)
    print_seconds(before, after)
    print(f"not lower on {share:.1%} of {len(after)} fits: {n_higher} higher, {n_lower} lower")
    print(f"the same point on {n_same}")
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
