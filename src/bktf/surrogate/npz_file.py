"""Arrays and plain settings in one .npz file, without pickle."""

import json
import os
import tempfile
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
            np.savez_compressed(file, allow_pickle=False, **{SETTINGS: np.array(json.dumps(settings, default=np.generic.item))}, **arrays)
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
        with Path(path).open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        settings = json.loads(str(arrays.pop(SETTINGS)))
        if not isinstance(settings, dict):
            raise ValueError("its settings are not a table")
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged file can fail anywhere in the unzipping and parsing
        raise ValueError(f"{os.fspath(path)!r} is not a posterior that bktf saved: {error}") from None
    return settings, arrays
