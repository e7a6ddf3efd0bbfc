"""Test configuration: a compile cache that cannot be stale, and no linear-algebra threads."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def source_hash(package: Path) -> str:
    """A name for the whole of a package's source, as the Makefile computes it."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py"), key=str):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".numba_cache" / source_hash(ROOT / "src" / "bktf"))
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture
def quiet_optuna() -> Iterator[None]:
    """No line per trial."""
    import optuna

    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(level)
