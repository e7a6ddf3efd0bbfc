"""The compile cache: never stale in our own runs, and no obstacle where nothing can be written."""

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from bktf._compiled import numba_options as _jit
from conftest import ROOT
from source_hash import source_hash

SMALL = """
import numpy as np, bktf
print(bktf.fit([np.linspace(0, 1, 4)], [[0.0], [1.0]], [0.0, 1.0], seed=0, n_sweeps=3, n_burn_in=1, inference="gibbs").weights[0, 0])
"""


def run(package: Path, cache: Path, code: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PYTHONPATH": str(package.parent),
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )


def test_an_edited_kernel_changes_the_kernels_that_call_it(tmp_path: Path) -> None:
    """`condition_on_next` is called by `draw_factor` in its own file and, through that, from others."""
    package = tmp_path / "bktf"
    shutil.copytree(ROOT / "src" / "bktf", package, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import numpy as np\nfrom bktf.axis_kernels import dense, state_space\n"
        "from bktf._compiled import numba_options, slice_sampling, vector_loops\n"
        "print(state_space.log_evidence(2, 0.5, np.array([0.0, 1.0]), np.ones((2, 1, 1)), np.ones((2, 1)), np.ones((2, 1))))"
    )
    caches = tmp_path / "caches"
    before = run(package, caches / source_hash(package), code).stdout
    assert run(package, caches / source_hash(package), code).stdout == before
    file = package / "axis_kernels/matern_transitions.py"
    text = file.read_text()
    assert text.count("return math.sqrt(2.0 * order - 1.0) / lengthscale") == 1
    file.write_text(
        text.replace(
            "return math.sqrt(2.0 * order - 1.0) / lengthscale",
            "return 9.0 * math.sqrt(2.0 * order - 1.0) / lengthscale",
        )
    )
    assert run(package, caches / source_hash(package), code).stdout != before


def test_the_makefile_and_the_tests_name_the_cache_by_the_same_hash() -> None:
    script = [sys.executable, str(ROOT / "tests" / "source_hash.py")]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == source_hash(ROOT / "src" / "bktf")
    assert "tests/source_hash.py" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_without_a_writable_folder_kernels_still_compile_and_one_line_says_so(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Any = numba.njit

    def njit(*args: object, **options: object) -> object:
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return real(*args, **options)

    monkeypatch.setattr(numba, "njit", njit)
    _jit._warn_once.cache_clear()
    with caplog.at_level(logging.WARNING, logger="bktf"):

        @_jit.compiled
        def one(x):  # type: ignore[no-untyped-def]
            return x + 1

        @_jit.compiled_part
        def two(x):  # type: ignore[no-untyped-def]
            return x + 2

    assert one(1) == 2
    assert [r.message for r in caplog.records] == [_jit.NO_CACHE]


@pytest.mark.slow
def test_a_fit_works_where_nothing_can_be_written() -> None:
    """Numba's own locators refuse every folder, as on a read-only install without a home."""
    code = (
        "from numba.core import caching\n"
        "def refuse(self): raise OSError('read-only')\n"
        "caching._CacheLocator.ensure_cache_path = refuse\n" + SMALL
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == float(
        subprocess.run(
            [sys.executable, "-c", SMALL], capture_output=True, text=True, check=True
        ).stdout
    )
    assert done.stderr.count("no writable folder") == 1


@pytest.mark.slow
def test_the_first_fit_says_once_that_it_compiles(tmp_path: Path) -> None:
    first = run(ROOT / "src" / "bktf", tmp_path, SMALL + SMALL)
    assert first.stderr.count("compiling its kernels once") == 1
    second = run(ROOT / "src" / "bktf", tmp_path, SMALL)
    assert "compiling" not in second.stderr


class _Plain(NamedTuple):
    array: np.ndarray
    number: float | int


@_jit.record
class _Marked(NamedTuple):
    array: np.ndarray
    number: float | int


@pytest.mark.parametrize("number", [1.0, 1, True, np.float32(1.0), np.int64(1)])
@pytest.mark.parametrize("dtype", [float, np.float32, np.int64])
def test_the_type_of_a_record_is_remembered_and_is_numbas_own(dtype: type, number: float) -> None:
    """Twice each, in one order and the other: the second answer comes from memory and must not be that of another layout."""
    type_of: Any = numba.typeof
    square: Any = np.ones((3, 3), dtype)
    frozen = square.copy()
    frozen.flags.writeable = False
    arrays = [square, square[:, ::2], np.asfortranarray(square), frozen, square[0], square[:, 0]]
    for array in [*arrays, *arrays[::-1]]:
        ours, numbas = type_of(_Marked(array, number)), type_of(_Plain(array, number))
        assert ours.types == numbas.types
        assert ours.instance_class is _Marked
    assert type_of(_Marked(square, number)) is type_of(_Marked(square * dtype(2), number))


def test_the_cache_of_kernels_over_levels_can_be_filled_ahead() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bktf.warmup", "categorical", "wishart"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
