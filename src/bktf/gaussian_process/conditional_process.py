"""A Gaussian process conditioned on observations, for many draws of its parameters at once.

Given its parameters, h at a point is normal. Its mean is a sum of n products over the axes, like a
CP form of rank n. Its variance is a quadratic form of the same products. Coordinates are scaled and
values standardised.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bktf._typing import Bools, Floats, Ints
from bktf.gaussian_process.compiled_process import moments_of_cells, prepare
from bktf.gaussian_process.process_problem import correlations, pair_separations
from bktf.product_forms import Moments

MAX_JOINT = 256  # points in a joint draw; further points are drawn in independent blocks
JITTER_SHARE = 1e-10  # of the prior variance, added before a covariance is factored


class ConditionalProcess(NamedTuple):
    """The processes of K draws given their observations; all in the model's units."""

    observed: Floats  # (n, D) scaled coordinates of the observations
    on_levels: Bools  # (D,)
    logs: Floats  # (K, D + 2) its parameters; see `covariance`
    noise_precision: Floats  # (K,)
    residuals: Floats  # (K, n) observations of h: values minus the draw's components, if any
    coefficients: Floats  # (n, K) C⁻¹·residuals, C the covariance of the observations
    roots: Floats  # (n, n, K) inverse transposed Cholesky factors of C

    @property
    def prior_variances(self) -> Floats:
        """The prior variance of h, (K,)."""
        return np.exp(self.logs[:, -2])

    @property
    def shares(self) -> Floats:
        """The constant shares ρ, (K,)."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.logs[:, -1])))

    def table(self, d: int, coords: Floats) -> Floats:
        """Correlations along an axis between scaled coordinates and the observations, (u, n, K)."""
        return correlations(
            np.abs(coords[:, None] - self.observed[:, d]),
            bool(self.on_levels[d]),
            self.logs[:, d],
            self.shares,
        )

    def moments(self, tables: Sequence[Floats], index: Ints) -> Moments:
        """Mean and variance of h within each draw, (K, N) each.

        index (N, D): the points, as indices into tables.
        """
        starts = np.concatenate(([0], np.cumsum([len(t) for t in tables]))).astype(np.int64)
        means, variances = np.empty((2, len(index), len(self.logs)))
        moments_of_cells(
            np.concatenate(tables),
            starts,
            np.ascontiguousarray(index),
            self.prior_variances,
            self.coefficients,
            self.roots,
            means,
            variances,
        )
        return Moments(means.T, variances.T)

    def moments_at(self, points: Floats) -> Moments:
        """The same at scaled points (N, D)."""
        located = [np.unique(points[:, d], return_inverse=True) for d in range(points.shape[1])]
        return self.moments(
            [self.table(d, coords) for d, (coords, _) in enumerate(located)],
            np.stack([i for _, i in located], axis=1),
        )

    def covariances(self, first: Floats, second: Floats) -> Floats:
        """Prior covariances of h between scaled points, (K, n, n2)."""
        total = np.broadcast_to(
            self.prior_variances, (len(first), len(second), len(self.logs))
        ).copy()
        for d, levels in enumerate(self.on_levels):
            total *= correlations(
                np.abs(first[:, None, d] - second[:, d]), bool(levels), self.logs[:, d], self.shares
            )
        return np.moveaxis(total, 2, 0)

    def draw_at(self, points: Floats, rng: np.random.Generator) -> Floats:
        """Draws of h at scaled points, (K, N), joint over at most MAX_JOINT of them."""
        return np.concatenate(
            [
                self._joint(points[i : i + MAX_JOINT], rng)
                for i in range(0, max(len(points), 1), MAX_JOINT)
            ],
            axis=1,
        )

    def covariances_at(self, points: Floats) -> Floats:
        """Covariances of h between scaled points given the observations, (K, N, N)."""
        cross = self.covariances(self.observed, points)
        explained = np.einsum("aik,kin->kan", self.roots, cross)
        return np.asarray(
            self.covariances(points, points) - explained.transpose(0, 2, 1) @ explained
        )

    def _joint(self, points: Floats, rng: np.random.Generator) -> Floats:
        """One joint draw of h at scaled points, (K, N)."""
        cross, covariance = self.covariances(self.observed, points), self.covariances_at(points)
        covariance += JITTER_SHARE * self.prior_variances[:, None, None] * np.eye(len(points))
        spread = np.linalg.eigh(covariance)
        root = spread.eigenvectors * np.sqrt(np.maximum(spread.eigenvalues, 0.0))[:, None, :]
        normals = rng.standard_normal((len(self.logs), len(points), 1))
        return np.asarray(
            np.einsum("ik,kin->kn", self.coefficients, cross) + (root @ normals)[:, :, 0]
        )

    def negated(self) -> "ConditionalProcess":
        """The process of −f."""
        return self._replace(residuals=-self.residuals, coefficients=-self.coefficients)

    def thinned(self, max_draws: int) -> "tuple[ConditionalProcess, Ints]":
        """At most max_draws of the draws, evenly spaced, and their indices."""
        draws = np.unique(
            np.linspace(0, len(self.logs) - 1, min(max_draws, len(self.logs))).astype(np.int64)
        )
        return self.select(draws), draws

    def select(self, draws: Ints) -> "ConditionalProcess":
        """The process with these draws only."""
        return self._replace(
            logs=self.logs[draws],
            noise_precision=self.noise_precision[draws],
            residuals=self.residuals[draws],
            coefficients=np.ascontiguousarray(self.coefficients[:, draws]),
            roots=np.ascontiguousarray(self.roots[:, :, draws]),
        )


def condition_process(
    observed: Floats, on_levels: Bools, logs: Floats, noise_precision: Floats, residuals: Floats
) -> ConditionalProcess:
    """The process of K draws with these parameters, given its noisy observations (K, n)."""
    n_draws, n = residuals.shape
    separations = pair_separations(observed, on_levels)
    roots, coefficients = np.zeros((n, n, n_draws)), np.empty((n, n_draws))
    if not prepare(
        separations,
        on_levels.astype(np.int64),
        logs,
        noise_precision,
        np.ascontiguousarray(residuals),
        roots,
        coefficients,
    ):
        raise ArithmeticError(
            "the covariance of the Gaussian process is singular in double precision; "
            "give a larger noise_std"
        )
    return ConditionalProcess(
        observed, on_levels, logs, noise_precision, residuals, coefficients, roots
    )
