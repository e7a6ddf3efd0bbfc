"""Settings of the sampler as recorded lines name them.

A line belongs to the settings that made it, so its names must not change when those of the code do.
These are the names of the first recorded lines.
"""

import math
from dataclasses import asdict
from typing import Any

from bktf.engine import EngineSettings

SHARED = (
    "acquisition", "beta", "categorical", "n_startup_trials", "startup_beyond_dims",
    "space_filling", "main_effects", "compress", "refine", "warm_start", "allow_repeats",
)  # fmt: skip


def recorded_settings(settings: EngineSettings) -> dict[str, Any]:
    """What a line says of the settings of its run."""
    components, process = settings.components, settings.process
    priors = asdict(components.priors).items()
    return {name: getattr(settings, name) for name in SHARED} | {
        "model": _model_name(settings),
        "rank": components.rank,
        "n_sweeps": components.lengths.n_sweeps,
        "n_burn_in": components.lengths.n_burn_in,
        "n_chains": components.lengths.n_chains,
        "process_sweeps": process.lengths.n_sweeps,
        "process_burn_in": process.lengths.n_burn_in,
        "process_chains": process.lengths.n_chains,
        "priors": {name.replace("process_", "local_"): value for name, value in priors},
        "noise_std": components.noise_std,
        "adapt_rank": components.adapt_rank,
        "offsets": components.offsets,
        # The first lines are of 1.0 and do not name it.
        **({} if settings.optimism == 1.0 else {"optimism": settings.optimism}),
    }


def _model_name(settings: EngineSettings) -> str:
    """The model in the words of the lines."""
    if isinstance(settings.rank, str):
        return settings.rank
    if settings.rank == math.inf:
        return "process"
    return "both" if settings.components.residual_process else "components"
