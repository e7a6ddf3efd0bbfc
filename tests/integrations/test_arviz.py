"""The draws in ArviZ's own format."""

import numpy as np

import bktf


def test_arviz_reads_the_draws_and_summarises_them() -> None:
    import arviz

    rng = np.random.default_rng(0)
    axes = [np.linspace(0, 1, 7)] * 2
    X = rng.choice(axes[0], (10, 2))
    posterior = bktf.fit(axes, X, X.sum(axis=1), seed=0, n_chains=2, n_sweeps=60, n_burn_in=20)
    data = posterior.to_arviz()
    assert data.posterior.sizes["chain"] == 2
    assert data.posterior.sizes["draw"] == 40
    assert len(arviz.summary(data)) > 3
