"""A name for the compiled code of the package's sources: `python tests/source_hash.py` prints it.

Numba's cache looks only at a function's own file, so a folder named by all sources cannot hold
stale code.
"""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def source_hash(package: Path) -> str:
    """A name for the whole of a package's source."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py"), key=lambda p: p.relative_to(package).as_posix()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    print(source_hash(ROOT / "src" / "bktf"))
