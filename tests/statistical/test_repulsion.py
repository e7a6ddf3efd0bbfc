"""The repulsive prior of factors: with data that say nothing, chains have its distribution."""

import numpy as np
import pytest

import bktf
from bktf._typing import Floats
from seeds import seeded

N_CHAINS, N_KEPT = 200, 10


def squared_cosines(posterior: bktf.Posterior) -> Floats:
    """Of the two factors of the first axis, (chains,) mean over the draws of a chain."""
    factor = posterior.factors[0]
    unit = factor / np.linalg.norm(factor, axis=2, keepdims=True)
    return np.asarray(np.einsum("km,km->k", unit[:, 0], unit[:, 1]) ** 2)


@pytest.mark.parametrize("inference", ["gibbs", "annealed"])
def test_chains_have_the_prior_weighed_by_the_repulsion(inference: str) -> None:
    axes = [np.linspace(0, 1, 8)] * 2
    X = np.array([(a, b) for a in axes[0] for b in axes[1]])
    rng = np.random.default_rng(seeded(0))
    y = rng.standard_normal(len(X))

    def fitted(seed: int, repulsion: float) -> Floats:
        return squared_cosines(
            bktf.fit(
                axes,
                X,
                y,
                rank=2,
                seed=seed,
                inference=inference,
                repulsion=repulsion,
                noise_std=1e5,
                n_chains=N_CHAINS,
                n_sweeps=40,
                n_burn_in=40 - N_KEPT,
            )
        )

    plain, repelled = fitted(1, 0.0), fitted(2, 2.0)
    weights = (1.0 - plain) ** 2
    blocks = plain.reshape(N_CHAINS, N_KEPT), weights.reshape(N_CHAINS, N_KEPT)
    again = rng.integers(0, N_CHAINS, (300, N_CHAINS))
    resampled = [(blocks[0][i] * blocks[1][i]).sum() / blocks[1][i].sum() for i in again]
    error = np.hypot(
        np.std(resampled), repelled.reshape(N_CHAINS, -1).mean(axis=1).std() / N_CHAINS**0.5
    )
    # Five standard errors: one in a million
    assert abs(weights @ plain / weights.sum() - repelled.mean()) < 5 * error
    assert plain.mean() - repelled.mean() > 5 * error
