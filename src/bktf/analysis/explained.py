"""Whether a model says anything: how many values it was given, and what it explains of them."""

import numpy as np

from bktf.surrogate import Posterior

MIN_OBSERVED = 3  # values below which an analysis says nothing
# Of the variation of the values; a model that explains less calls the function nearly flat
MIN_EXPLAINED = 0.5


def check_observed(posterior: Posterior, what: str) -> None:
    """Refuse a posterior of too few values, or one that has lost what it knew of its space."""
    n = len(posterior.y)
    if n < MIN_OBSERVED:
        raise ValueError(
            f"{what} needs at least {MIN_OBSERVED} observed values; the posterior has {n}"
        )
    if posterior.meaning.lost:
        raise ValueError(
            f"{what} needs {posterior.meaning.lost}, which a saved posterior does not keep. "
            "Analyze the study itself"
        )


def explained_part(posterior: Posterior) -> float:
    """The part of the variance of the values that the posterior mean explains; 1 at best."""
    z = posterior.standardisation.to_model(posterior.y)
    left = z - posterior.standardisation.to_model(posterior.mean(posterior.X))
    return float(1.0 - np.var(left) / np.var(z)) if np.ptp(z) > 0 else 0.0
