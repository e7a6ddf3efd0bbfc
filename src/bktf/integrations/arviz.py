"""ArviZ: the draws in the format its summaries and plots take. Extra: bktf[arviz]."""

import inspect
import math
from typing import Any

import numpy as np

from bktf.surrogate import Posterior


def to_arviz(posterior: Posterior) -> Any:
    """The draws and the observations as ArviZ data.

    The draws are label-free quantities, aligned weights, the noise, and f at the data. Raw factors
    and length-scales are left out: their labels switch between draws, so averages over draws would
    mean nothing. Take them from the posterior itself.
    """
    try:
        import arviz
    except ImportError:
        raise ImportError(
            "to_arviz needs ArviZ: install the extra with pip install 'bktf[arviz]'"
        ) from None
    n_chains = posterior.spec.lengths.n_chains

    def by_chain(draws: Any) -> Any:
        """Draws (K, …) as (chains, draws of each, …)."""
        array = np.asarray(draws)
        return array.reshape(n_chains, -1, *array.shape[1:])

    quantities = posterior.label_free()
    variables = {
        "f": by_chain(posterior.draws_at(posterior.X)),
        "noise_std": by_chain(posterior.noise_std),
    }
    if posterior.rank < math.inf:
        variables["aligned_weight"] = by_chain(posterior.aligned_weights())
        variables["component_size"] = by_chain(
            np.stack([v for k, v in quantities.items() if k.startswith("component_size")], axis=1)
        )
    process = {k: v for k, v in quantities.items() if k.startswith("process")}
    variables |= {k.replace("[", "_").replace("]", ""): by_chain(v) for k, v in process.items()}
    lengthscales = {k: v for k, v in quantities.items() if k.startswith("lengthscale")}
    for d in range(len(posterior.grid)):
        columns = [v for k, v in lengthscales.items() if k.startswith(f"lengthscale[{d},")]
        if columns:
            variables[f"sorted_lengthscale_{d}"] = by_chain(np.stack(columns, axis=1))
    groups = {
        "posterior": variables,
        "observed_data": {"y": posterior.y},
        "constant_data": {"X": posterior.X},
    }
    if "posterior" in inspect.signature(arviz.from_dict).parameters:  # before ArviZ 1
        return arviz.from_dict(**groups)
    return arviz.from_dict(groups)
