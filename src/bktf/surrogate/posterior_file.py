"""A posterior as a file: its fields as arrays and plain settings, and back."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from bktf.axis_kernels.axes import Axis
from bktf.axis_kernels.kernel_choice import AxisKernel
from bktf.gaussian_process.covariance import n_logs
from bktf.surrogate.npz_file import read_npz, write_npz
from bktf.surrogate.priors import Priors, Settings
from bktf.surrogate.standardisation import Standardisation

if TYPE_CHECKING:
    from bktf.surrogate.posterior import Posterior

FILE_FORMAT = 2  # 1 has no offsets, prior variances of weights or local component, and is read
ARRAYS = ("X", "y", "active", "lengthscales", "weights", "noise_precision", "weight_vars", "offsets")


def write_posterior(path: str | os.PathLike[str], posterior: "Posterior") -> None:
    """Write everything that `read_fields` needs."""
    settings = {
        "format": FILE_FORMAT,
        "kernels": [[axis.kernel.kind, axis.kernel.period] for axis in posterior.grid],
        "log": [axis.log for axis in posterior.grid],
        "priors": asdict(posterior.priors),
        "settings": asdict(posterior.settings),
        "standardisation": asdict(posterior.standardisation),
        "known_noise_std": posterior.known_noise_std,
        "seed": str(posterior.seed),  # may exceed what JSON readers take as a number
    }
    arrays = {name: getattr(posterior, name) for name in ARRAYS}
    if posterior.local_logs is not None:
        arrays["local_logs"] = posterior.local_logs
    for d, axis in enumerate(posterior.grid):
        arrays[f"axis_{d}"], arrays[f"states_{d}"] = axis.points, posterior.states[d]
        if axis.kernel.covariance is not None:
            arrays[f"covariance_{d}"] = axis.kernel.covariance
    write_npz(path, settings, arrays)


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of a posterior that was written; ValueError where the file is something else or damaged."""
    settings, arrays = read_npz(path)
    if settings.get("format") not in (1, FILE_FORMAT):
        raise ValueError(f"{os.fspath(path)!r} has file format {settings.get('format')!r}; this version reads 1 and {FILE_FORMAT}")
    try:
        log = settings.get("log", [False] * len(settings["kernels"]))
        grid = tuple(
            Axis(arrays[f"axis_{d}"], AxisKernel(kind, period, arrays.get(f"covariance_{d}")), log[d])
            for d, (kind, period) in enumerate(settings["kernels"])
        )
        n_draws, n_components = arrays["weights"].shape  # earlier versions knew no other prior of weights, and no offsets
        arrays.setdefault("weight_vars", np.full((n_draws, n_components), settings["priors"]["weight_var"]))
        arrays.setdefault("offsets", np.zeros((n_draws, n_components, len(grid))))
        local_logs = arrays.get("local_logs")
        if local_logs is not None:
            if local_logs.shape == (n_draws, n_logs(len(grid)) - 1):  # nor a constant share: its odds were 0
                local_logs = np.column_stack((local_logs, np.full(n_draws, -np.inf)))
            if local_logs.shape != (n_draws, n_logs(len(grid))):
                raise ValueError(f"local_logs has shape {local_logs.shape}")
        return {
            "grid": grid,
            "states": tuple(arrays[f"states_{d}"] for d in range(len(grid))),
            "priors": Priors(**settings["priors"]),
            "settings": Settings(**settings["settings"]),
            "standardisation": Standardisation(**settings["standardisation"]),
            "known_noise_std": settings["known_noise_std"],
            "seed": int(settings["seed"]),
            "local_logs": local_logs,
            **{name: arrays[name] for name in ARRAYS},
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)!r} is damaged: {error!r}") from None
