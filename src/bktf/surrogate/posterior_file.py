"""A posterior as one .npz file: arrays and plain settings, without pickle.

Formats 1 and 2 are of version 0.1, whose components and process were one record. They can be read;
format 3 is written.
"""

import json
import math
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf._typing import Floats
from bktf.acquisition import Draws
from bktf.axis_kernels import MATERN32, MATERN52, Axis, AxisKernel, dense
from bktf.components import ComponentDraws, ResidualDraws
from bktf.gaussian_process import (
    Descriptors,
    Evidence,
    ProcessDraws,
    condition_process,
    n_logs,
)
from bktf.surrogate.described_file import described_settings, read_described
from bktf.surrogate.fit_components import add_residual_process
from bktf.surrogate.fit_ranks import spec_of_rank
from bktf.surrogate.meaning import Meaning
from bktf.surrogate.model_spec import AUTO_RANK, FLAGS, ModelSpec
from bktf.surrogate.observed_values import Standardisation
from bktf.surrogate.priors import NEW_PREFIX, OLD_PREFIX, Priors
from bktf.surrogate.rank_draws import RankDraws, RankPart

SETTINGS = "settings"
FILE_FORMAT = 3
COMPONENT_ARRAYS = ("active", "lengthscales", "weights", "weight_vars", "offsets")


class PosteriorFields(NamedTuple):
    """The fields of a posterior, in its order."""

    grid: tuple[Axis, ...]
    X: Floats
    y: Floats
    spec: ModelSpec
    seed: int
    standardisation: Standardisation
    draws: Draws
    described: Meaning | None = None


def write_posterior(path: str | os.PathLike[str], posterior: PosteriorFields) -> None:
    """Write everything that `read_fields` needs."""
    write_npz(path, *_contents(posterior))


def _contents(posterior: PosteriorFields) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Settings and arrays of a posterior; of several ranks, those of each rank inside."""
    spec, ranks = posterior.spec, posterior.draws
    settings: dict[str, Any] = {
        "format": FILE_FORMAT,
        "kernels": [[axis.kernel.kind, axis.kernel.period] for axis in posterior.grid],
        "log": [axis.log for axis in posterior.grid],
        "rank": "inf" if spec.is_process else spec.rank,
        "priors": asdict(spec.priors),
        "lengths": list(spec.lengths),
        "inference": spec.inference,
        "flags": {name: bool(getattr(spec, name)) for name in FLAGS},
        "standardisation": asdict(posterior.standardisation),
        "noise_std": spec.noise_std,
        "seed": str(posterior.seed),  # may exceed what JSON readers take as a number
    }
    if posterior.described is not None:
        settings["described"] = described_settings(posterior.described)
    arrays: dict[str, NDArray[Any]] = {
        "X": posterior.X,
        "y": posterior.y,
        "noise_precision": posterior.draws.noise_precision,
    }
    if isinstance(ranks, RankDraws):
        settings["parts"] = []
        for i, part in enumerate(ranks.parts):
            own = posterior._replace(
                grid=part.draws.axes, spec=spec_of_rank(spec, part.rank), draws=part.draws
            )
            part_settings, part_arrays = _contents(own)
            part_settings |= {"evidence": list(part.evidence), "prior": part.prior}
            settings["parts"].append(part_settings | {"probability": part.probability})
            arrays |= {f"part_{i}_{name}": array for name, array in part_arrays.items()}
            arrays[f"chosen_{i}"] = part.chosen
    for d, axis in enumerate(posterior.grid):
        arrays[f"axis_{d}"] = axis.points
        if axis.kernel.covariance is not None:
            arrays[f"covariance_{d}"] = axis.kernel.covariance
    process = posterior.draws.process
    if process is not None:
        arrays["process_logs"] = process.logs
    if process is not None and (process.context.size or process.descriptors):
        # Observations that are not shown, and axes that are none of the posterior's.
        arrays["process_observed"] = process.observed
        arrays["process_values"] = process.residuals[0]
        arrays["process_on_levels"] = process.on_levels
        arrays["process_context"] = process.context
        arrays["described_axes"] = np.array([d for d, _ in process.descriptors], dtype=int)
        for i, (_, values) in enumerate(process.descriptors):
            arrays[f"descriptors_{i}"] = values
    if not spec.is_process and not isinstance(ranks, RankDraws):
        components = posterior.draws.components
        arrays |= {name: getattr(components, name) for name in COMPONENT_ARRAYS}
        arrays |= {f"states_{d}": states for d, states in enumerate(components.states)}
    return settings, arrays


def read_fields(path: str | os.PathLike[str]) -> PosteriorFields:
    """The fields of a posterior that was written.

    ValueError where the file is something else or damaged.
    """
    settings, arrays = read_npz(path)
    if settings.get("format") not in (1, 2, FILE_FORMAT):
        found = f"{os.fspath(path)!r} has file format {settings.get('format')!r}"
        raise ValueError(f"{found}; this version reads 1 to {FILE_FORMAT}")
    try:
        if settings["format"] < FILE_FORMAT:
            _modernise(settings, arrays)
        return _fields(settings, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)!r} is damaged: {error!r}") from None


def _fields(settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PosteriorFields:
    """The fields of a posterior from the contents of a file."""
    kernels = [
        AxisKernel(kind, period, arrays.get(f"covariance_{d}"))
        for d, (kind, period) in enumerate(settings["kernels"])
    ]
    grid = tuple(
        Axis(arrays[f"axis_{d}"], kernel, settings["log"][d]) for d, kernel in enumerate(kernels)
    )
    if "parts" in settings:
        return _fields_of_ranks(settings, arrays, grid)
    n_sweeps, n_burn_in, n_chains = settings["lengths"]
    is_process = settings["rank"] == "inf"
    has_all = is_process or settings["flags"].get("comparable", False)
    spec = ModelSpec(
        rank=math.inf if is_process else settings["rank"],
        active=None if has_all else [np.flatnonzero(row).tolist() for row in arrays["active"]],
        kernel=[axis.kernel for axis in grid],
        log=settings["log"],
        priors=Priors(**settings["priors"]),
        noise_std=settings["noise_std"],
        n_sweeps=n_sweeps,
        n_burn_in=n_burn_in,
        n_chains=n_chains,
        inference=settings.get("inference", "gibbs"),  # files before there was another
        **settings["flags"],
    )
    standardisation = Standardisation(**settings["standardisation"])
    values = standardisation.to_model(arrays["y"])
    seed = int(settings["seed"])
    draws = _draws(spec, grid, values, seed, arrays)
    return PosteriorFields(
        grid, arrays["X"], arrays["y"], spec, seed, standardisation, draws, read_described(settings)
    )


def _fields_of_ranks(
    settings: dict[str, Any], arrays: dict[str, NDArray[Any]], grid: tuple[Axis, ...]
) -> PosteriorFields:
    """The fields of a posterior of several ranks."""
    parts = []
    for i, own in enumerate(settings["parts"]):
        prefix = f"part_{i}_"
        inside = {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)}
        draws = _fields(own, inside).draws
        assert isinstance(draws, ComponentDraws | ProcessDraws)
        evidence = Evidence(*own["evidence"])
        parts.append(
            RankPart(draws, arrays[f"chosen_{i}"], evidence, own["prior"], own["probability"])
        )
    spec = ModelSpec(
        rank=AUTO_RANK,
        kernel=[None if axis.kernel.kind == MATERN32 else axis.kernel for axis in grid],
        log=settings["log"],
        priors=Priors(**settings["priors"]),
        noise_std=settings["noise_std"],
    )
    standardisation = Standardisation(**settings["standardisation"])
    return PosteriorFields(
        grid, arrays["X"], arrays["y"], spec, int(settings["seed"]), standardisation,
        RankDraws(tuple(parts)), read_described(settings),
    )  # fmt: skip


def _draws(
    spec: ModelSpec,
    grid: tuple[Axis, ...],
    values: Floats,
    seed: int,
    arrays: dict[str, NDArray[Any]],
) -> ComponentDraws | ProcessDraws | ResidualDraws:
    """The draws of a file."""
    logs = arrays.get("process_logs")
    observed = arrays.get("process_observed")
    n_axes = len(grid) if observed is None else observed.shape[1]
    if logs is not None and logs.shape != (len(arrays["noise_precision"]), n_logs(n_axes)):
        raise ValueError(f"process_logs has shape {logs.shape}")
    if spec.is_process:
        on_levels = np.array([axis.kernel.on_levels for axis in grid])
        if observed is None:
            columns = [axis.scale(arrays["X"][:, d]) for d, axis in enumerate(grid)]
            observed = np.stack(columns, axis=1)
        else:
            on_levels, values = arrays["process_on_levels"], arrays["process_values"]
        residuals = np.repeat(values[None], len(arrays["process_logs"]), axis=0)
        parameters = arrays["process_logs"], arrays["noise_precision"]
        process = condition_process(observed, on_levels, *parameters, residuals)
        described = enumerate(arrays.get("described_axes", np.empty(0, dtype=int)).tolist())
        process = process._replace(
            context=arrays.get("process_context", process.context),
            descriptors=tuple(Descriptors(d, arrays[f"descriptors_{i}"]) for i, d in described),
        )
        return ProcessDraws(grid, process, seed)
    components = ComponentDraws(
        axes=grid,
        states=tuple(arrays[f"states_{d}"] for d in range(len(grid))),
        noise_precision=arrays["noise_precision"],
        shared_lengthscales=spec.shared_lengthscales,
        seed=seed,
        **{name: arrays[name] for name in COMPONENT_ARRAYS},
    )
    if logs is None:
        return components
    return add_residual_process(components, logs, arrays["X"], values)


def _modernise(settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Overwrite the contents of a file of format 1 or 2 with those of format 3."""
    former = settings["settings"]
    n_draws, n_components = arrays["weights"].shape
    n_dims = len(settings["kernels"])
    settings.setdefault("log", [False] * n_dims)
    settings["rank"] = n_components or "inf"
    if not n_components:
        # Any kernel of an ordered axis meant Matérn 5/2, any of levels equal correlation.
        on_levels = [AxisKernel(kind).on_levels for kind, _ in settings["kernels"]]
        kinds = [dense.EQUAL_CORRELATION if levels else MATERN52 for levels in on_levels]
        settings["kernels"] = [[kind, None] for kind in kinds]
    settings["lengths"] = [former["n_sweeps"], former["n_burn_in"], former["n_chains"]]
    settings["flags"] = {name: bool(former.get(name, False)) for name in FLAGS}
    settings["flags"]["residual_process"] = bool(former.get("local", False)) and n_components > 0
    settings["noise_std"] = settings["known_noise_std"]
    priors = settings["priors"]
    settings["priors"] = {
        NEW_PREFIX + name.removeprefix(OLD_PREFIX) if name.startswith(OLD_PREFIX) else name: value
        for name, value in priors.items()
    }
    # Format 1 had one variance for all weights, and no offsets.
    arrays.setdefault("weight_vars", np.full((n_draws, n_components), priors["weight_var"]))
    arrays.setdefault("offsets", np.zeros((n_draws, n_components, n_dims)))
    logs = arrays.pop("local_logs", None)
    if logs is not None:
        if logs.shape == (n_draws, n_logs(n_dims) - 1):  # no constant share yet: its odds were 0
            logs = np.column_stack((logs, np.full(n_draws, -np.inf)))
        arrays["process_logs"] = logs


def write_npz(
    path: str | os.PathLike[str], settings: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> None:
    """Write to a temporary file and rename it, so that an interrupt never damages a file."""
    target = Path(path)
    descriptor, temporary = tempfile.mkstemp(
        dir=target.parent, prefix=target.name, suffix=".partial"
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            np.savez_compressed(
                file,
                allow_pickle=False,
                **{SETTINGS: np.array(json.dumps(settings, default=np.generic.item))},
                **arrays,
            )
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
        raise ValueError(
            f"{os.fspath(path)!r} is not a posterior that bktf saved: {error}"
        ) from None
    return settings, arrays
