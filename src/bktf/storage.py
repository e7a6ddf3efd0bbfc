"""Arrays and plain settings in one .npz file, without pickle."""

import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SETTINGS = "settings"


def write_npz(path: str | os.PathLike[str], settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write aside, then rename, so that an interrupted write never damages what was there."""
    target = Path(path)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".partial")
    try:
        with os.fdopen(descriptor, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **{SETTINGS: np.array(json.dumps(settings))}, **arrays)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink()
        raise


def _umask() -> int:
    """The permissions that new files are denied; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_npz(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Settings and arrays of a file that `write_npz` wrote; ValueError for anything else."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        settings = json.loads(str(arrays.pop(SETTINGS)))
    except FileNotFoundError:
        raise
    except (KeyError, ValueError, AttributeError, TypeError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{os.fspath(path)!r} is not a posterior that bktf saved: {error}") from None
    return settings, arrays
