"""Test configuration: a compile cache that cannot be stale, and no linear-algebra threads."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from source_hash import source_hash

ROOT = Path(__file__).resolve().parents[1]


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
