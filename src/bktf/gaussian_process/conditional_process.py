"""A Gaussian process conditioned on observations, for many draws of its parameters at once.

Given its parameters, the values of h at the observations are integrated out: h at a point is normal, with a mean
that is a sum of n products over the axes (like a CP form of rank n) and a variance that is a quadratic form of the
same products. Coordinates are scaled and values standardised.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bktf._compiled import compiled, compiled_part, solve_transposed
from bktf._typing import Bools, Floats, Ints
from bktf.gaussian_process import parameter_updates
from bktf.gaussian_process.covariance import correlations
from bktf.gaussian_process.process_model import pair_separations
from bktf.product_forms import Moments

MAX_JOINT = 256  # points that are drawn together; beyond that, block after block
MIN_VARIANCE_SHARE = 1e-14  # of the variance before anything was observed: what is left of it is not known better than this
JITTER_SHARE = 1e-10  # of the variance, added where a joint draw needs a factor of a covariance that is singular


@compiled
def prepare(separations, on_levels, logs, noise_precision, residuals, roots, coefficients):
    """Write U⁻ᵀ (n, n, K), C = Uᵀ·U, and C⁻¹·residual (n, K) of each draw into roots and coefficients; return whether all went well."""
    n_draws, n = residuals.shape
    C = np.empty((n, n))
    along, product = np.empty(separations.shape), np.empty(separations.shape[1])
    column = np.empty(n)
    for k in range(n_draws):
        if not math.isfinite(parameter_updates.factor_at(separations, on_levels, logs[k], noise_precision[k], along, product, C)):
            return False
        for j in range(n):
            for i in range(n):
                column[i] = 0.0
            column[j] = 1.0
            solve_transposed(C, column, j)
            for i in range(n):
                roots[i, j, k] = column[i]
        for i in range(n):
            column[i] = residuals[k, i]
        solve_transposed(C, column, 0)
        for j in range(n):
            total = 0.0
            for i in range(j, n):
                total += roots[i, j, k] * column[i]
            coefficients[j, k] = total
    return True


@compiled_part
def moments(covariance, sizes, coefficients, roots, means, variances, solved):
    """Write mean and variance (K,) of h at a point given its covariances (n, K); solved (n, K) becomes U⁻ᵀ·covariance."""
    n, n_draws = covariance.shape
    for k in range(n_draws):
        means[k] = 0.0
        variances[k] = sizes[k]
    for a in range(n):
        row, row_covariance, coefficient = solved[a], covariance[a], coefficients[a]
        for k in range(n_draws):
            means[k] += coefficient[k] * row_covariance[k]
            row[k] = 0.0
        for i in range(a + 1):
            root, other = roots[a, i], covariance[i]
            for k in range(n_draws):
                row[k] += root[k] * other[k]
        for k in range(n_draws):
            variances[k] -= row[k] * row[k]
    for k in range(n_draws):
        variances[k] = max(variances[k], MIN_VARIANCE_SHARE * sizes[k])


@compiled
def moments_of_cells(table, starts, cells, sizes, coefficients, roots, means, variances):
    """Write mean and variance (N, K) of h at cells (N, D) of a table (M, n, K) of correlations with the observations."""
    n, n_draws = coefficients.shape
    covariance, solved = np.empty((n, n_draws)), np.empty((n, n_draws))
    for i in range(cells.shape[0]):
        for r in range(n):
            row = covariance[r]
            for k in range(n_draws):
                row[k] = sizes[k]
            for d in range(cells.shape[1]):
                factor = table[starts[d] + cells[i, d], r]
                for k in range(n_draws):
                    row[k] *= factor[k]
        moments(covariance, sizes, coefficients, roots, means[i], variances[i], solved)


class ConditionalProcess(NamedTuple):
    """The process of K draws given their observations; all in the model's units."""

    observed: Floats  # (n, D) scaled coordinates of the observations
    on_levels: Bools  # (D,)
    logs: Floats  # (K, D + 2) its parameters; see `covariance`
    noise_precision: Floats  # (K,)
    residuals: Floats  # (K, n) what each draw observes: values, or what its components leave over
    coefficients: Floats  # (n, K)
    roots: Floats  # (n, n, K)

    @property
    def sizes(self) -> Floats:
        """The variance of h before anything was observed, (K,)."""
        return np.exp(self.logs[:, -2])

    @property
    def shares(self) -> Floats:
        """ρ, (K,)."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.logs[:, -1])))

    def table(self, d: int, coords: Floats) -> Floats:
        """Correlations along one axis between scaled coordinates and the observations, (u, n, K)."""
        return correlations(np.abs(coords[:, None] - self.observed[:, d]), bool(self.on_levels[d]), self.logs[:, d], self.shares)

    def moments(self, tables: Sequence[Floats], index: Ints) -> Moments:
        """Mean and variance of h within each draw at points given as indices into tables, (K, N) each."""
        starts = np.concatenate(([0], np.cumsum([len(t) for t in tables]))).astype(np.int64)
        means, variances = np.empty((2, len(index), len(self.logs)))
        moments_of_cells(
            np.concatenate(tables), starts, np.ascontiguousarray(index), self.sizes, self.coefficients, self.roots, means, variances
        )
        return Moments(means.T, variances.T)

    def moments_at(self, points: Floats) -> Moments:
        """The same at scaled points (N, D)."""
        located = [np.unique(points[:, d], return_inverse=True) for d in range(points.shape[1])]
        return self.moments([self.table(d, coords) for d, (coords, _) in enumerate(located)], np.stack([i for _, i in located], axis=1))

    def covariances(self, first: Floats, second: Floats) -> Floats:
        """Covariances of h between scaled points before anything was observed, (K, n, n2)."""
        total = np.broadcast_to(self.sizes, (len(first), len(second), len(self.logs))).copy()
        for d, levels in enumerate(self.on_levels):
            total *= correlations(np.abs(first[:, None, d] - second[:, d]), bool(levels), self.logs[:, d], self.shares)
        return np.moveaxis(total, 2, 0)

    def draw_at(self, points: Floats, rng: np.random.Generator) -> Floats:
        """Draws of h at scaled points, (K, N), joint over at most MAX_JOINT of them."""
        return np.concatenate([self._joint(points[i : i + MAX_JOINT], rng) for i in range(0, max(len(points), 1), MAX_JOINT)], axis=1)

    def covariances_at(self, points: Floats) -> Floats:
        """Covariances of h between scaled points given the observations, (K, N, N)."""
        cross = self.covariances(self.observed, points)
        explained = np.einsum("aik,kin->kan", self.roots, cross)
        return np.asarray(self.covariances(points, points) - explained.transpose(0, 2, 1) @ explained)

    def _joint(self, points: Floats, rng: np.random.Generator) -> Floats:
        cross, covariance = self.covariances(self.observed, points), self.covariances_at(points)
        covariance += JITTER_SHARE * self.sizes[:, None, None] * np.eye(len(points))
        spread = np.linalg.eigh(covariance)
        root = spread.eigenvectors * np.sqrt(np.maximum(spread.eigenvalues, 0.0))[:, None, :]
        drawn = rng.standard_normal((len(self.logs), len(points), 1))
        return np.asarray(np.einsum("ik,kin->kn", self.coefficients, cross) + (root @ drawn)[:, :, 0])

    def negated(self) -> "ConditionalProcess":
        """The process of −f."""
        return self._replace(residuals=-self.residuals, coefficients=-self.coefficients)

    def thinned(self, most: int) -> "tuple[ConditionalProcess, Ints]":
        """At most so many of the draws, evenly spaced, and which they are."""
        kept = np.unique(np.linspace(0, len(self.logs) - 1, min(most, len(self.logs))).astype(np.int64))
        return self.some(kept), kept

    def some(self, kept: Ints) -> "ConditionalProcess":
        """These draws alone."""
        return self._replace(
            logs=self.logs[kept], noise_precision=self.noise_precision[kept], residuals=self.residuals[kept],
            coefficients=np.ascontiguousarray(self.coefficients[:, kept]), roots=np.ascontiguousarray(self.roots[:, :, kept]),
        )  # fmt: skip


def condition_process(observed: Floats, on_levels: Bools, logs: Floats, noise_precision: Floats, residuals: Floats) -> ConditionalProcess:
    """The process of draws with these parameters, given what each draw observes of it, residuals (K, n)."""
    n_draws, n = residuals.shape
    separations = pair_separations(observed, on_levels)
    roots, coefficients = np.zeros((n, n, n_draws)), np.empty((n, n_draws))
    if not prepare(separations, on_levels.astype(np.int64), logs, noise_precision, np.ascontiguousarray(residuals), roots, coefficients):
        raise ArithmeticError("the covariance of the Gaussian process is singular in double precision; give a larger noise_std")
    return ConditionalProcess(observed, on_levels, logs, noise_precision, residuals, coefficients, roots)
