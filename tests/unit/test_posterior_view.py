"""The weights that the acquisitions integrate out, against the dense posterior."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bktf.acquisition.posterior_view import PosteriorView
from bktf.surrogate.observed_values import Standardisation
from seeds import seeded

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Components:
    """Products of factors at the observations, and the prior of the weights."""

    products: Floats  # (K, R, n)
    noise_precision: Floats  # (K,)
    weight_vars: Floats  # (K, R)

    @property
    def components(self) -> "Components":
        """Draws and their components are the same here."""
        return self

    def products_at(self, points: Floats) -> Floats:
        """Known at the observations only."""
        assert len(points) == self.products.shape[2]
        return self.products


@dataclass(frozen=True, eq=False)
class Fit:
    """What the view reads of a posterior for the weights."""

    X: Floats
    y: Floats
    standardisation: Standardisation
    draws: Components


def test_the_posterior_of_weights_has_the_prior_variance_of_each_of_them() -> None:
    rng = np.random.default_rng(seeded(0))
    n_draws, rank, n = 4, 3, 6
    products = rng.standard_normal((n_draws, rank, n))
    precisions, variances = rng.uniform(0.5, 3, n_draws), rng.uniform(0.05, 9, (n_draws, rank))
    y = rng.normal(3.0, 2.0, n)
    components = Components(products, precisions, variances)
    fit: Any = Fit(np.zeros((n, 1)), y, Standardisation.of(y), components)
    means, roots = PosteriorView(fit).weight_posterior()
    z = (y - y.mean()) / y.std()
    for k in range(n_draws):
        evidence = precisions[k] * products[k] @ products[k].T
        covariance = np.linalg.inv(evidence + np.diag(1.0 / variances[k]))
        np.testing.assert_allclose(roots[k].T @ roots[k], covariance, rtol=1e-9)
        expected = covariance @ (precisions[k] * products[k] @ z)
        np.testing.assert_allclose(means[k], expected, rtol=1e-9)
