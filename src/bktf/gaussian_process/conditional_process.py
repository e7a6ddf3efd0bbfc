"""A Gaussian process conditioned on observations, for many draws of its parameters at once.

Given its parameters, h at a point is normal. Its mean is a sum of n products over the axes, like a
CP form of rank n. Its variance is a quadratic form of the same products. Coordinates are scaled and
values standardised.

Observations may have C further axes, their *context*: the step of a learning curve at which a value
was reported, say. Points have D coordinates only; h is asked for in one context, the same for all
points. So everything that predicts or searches sees D axes. Levels of a category may have
descriptors, numbers that are coordinates on E further axes: they follow from the level.

Notation: n observations, K draws, D axes, C axes of the context, E of descriptors, N points. The
draw is the first index, so that the products over observations are matrix products of each draw.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bktf._typing import Bools, Floats, Ints
from bktf.gaussian_process.compiled_process import write_covariance
from bktf.gaussian_process.covariance import (
    FAR,
    SQRT5,
    log_slopes,
    multiply_correlations,
    multiply_rows,
)
from bktf.gaussian_process.process_problem import pair_separations
from bktf.product_forms import Moments

MAX_JOINT = 256  # points in a joint draw; further points are drawn in independent blocks
JITTER_SHARE = 1e-10  # of the prior variance, added before a covariance is factored
MAX_BLOCK = 2_000_000  # covariances with the observations that are in memory together
# Of the prior variance; a smaller posterior variance is rounding error
MIN_VARIANCE_SHARE = 1e-14
NO_CONTEXT: Floats = np.empty(0)


class Descriptors(NamedTuple):
    """Numbers that describe the levels of one axis."""

    axis: int
    values: Floats  # (levels, ·) scaled coordinates on further axes


class SharedCoordinates(NamedTuple):
    """Axes on which all points have the same coordinate, and what follows from that."""

    axes: frozenset[int]
    covariance: Floats  # (K, n) with the observations, as far as these axes determine it


class ConditionalProcess(NamedTuple):
    """The processes of K draws given their observations; all in the model's units."""

    observed: Floats  # (n, D + C + E) scaled coordinates of the observations
    on_levels: Bools  # (D + C + E,)
    logs: Floats  # (K, D + C + E + 2) its parameters; see `covariance`
    noise_precision: Floats  # (K,)
    residuals: Floats  # (K, n) observations of h: values minus the draw's components, if any
    coefficients: Floats  # (K, n) C⁻¹·residuals, C the covariance of the observations
    roots: Floats  # (K, n, n) lower triangular L⁻¹, where C = L·Lᵀ
    context: Floats = NO_CONTEXT  # (C,) scaled coordinates, in which h is asked for
    descriptors: tuple[Descriptors, ...] = ()
    shared: SharedCoordinates | None = None  # of all points that h is asked for at

    @property
    def n_dims(self) -> int:
        """D."""
        n_described = sum(table.values.shape[1] for table in self.descriptors)
        return int(self.observed.shape[1] - self.context.size - n_described)

    @property
    def described_axes(self) -> dict[int, list[int]]:
        """By axis of levels, the axes of its descriptors."""
        first, found = self.n_dims + self.context.size, {}
        for axis, values in self.descriptors:
            found[axis] = list(range(first, first + values.shape[1]))
            first += values.shape[1]
        return found

    @property
    def axis_levels(self) -> Bools:
        """Which axes of points have levels, (D,)."""
        return self.on_levels[: self.n_dims]

    @property
    def axis_logs(self) -> Floats:
        """The parameters of the axes of points, (K, D)."""
        return self.logs[:, : self.n_dims]

    @property
    def prior_variances(self) -> Floats:
        """The prior variance of h, (K,)."""
        return np.exp(self.logs[:, -2])

    @property
    def shares(self) -> Floats:
        """The constant shares ρ, (K,)."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.logs[:, -1])))

    @property
    def inverse_lengths(self) -> Floats:
        """√5 / length-scale, or on levels the correlation, (D + C + E, K)."""
        logs = self.logs[:, :-2]
        correlations, rates = 1.0 / (1.0 + np.exp(-logs)), SQRT5 * np.exp(-logs)
        return np.ascontiguousarray(np.where(self.on_levels, correlations, rates).T)

    def table(self, d: int, coords: Floats) -> Floats:
        """Correlations along an axis between scaled coordinates and the observations, (K, u, n).

        Those of the descriptors of its levels included.
        """
        differences = self._differences(d, coords, self.observed[:, d])
        inverse = self.inverse_lengths[d]
        flat = correlations_at(differences, bool(self.on_levels[d]), inverse, self.shares)
        table = flat.reshape(len(self.logs), len(coords), len(self.observed))
        for own in self.descriptors:
            if own.axis == d:
                values = own.values[coords.astype(np.intp)]
                for i, e in enumerate(self.described_axes[d]):
                    table *= self.table(e, values[:, i])
        return table

    def moments(self, tables: Sequence[Floats], index: Ints) -> Moments:
        """Mean and variance of h within each draw, (K, N) each.

        index (N, D): the points, as indices into tables (K, m_d, n).
        """
        parts = []
        for block in self.blocks(len(index)):
            cells = np.ascontiguousarray(index[block].T)
            covariance = self._constant(len(index[block]), len(self.observed))
            for d, coordinate in enumerate(self.context, start=self.n_dims):
                covariance *= self.table(d, np.array([coordinate]))
            for table, along in zip(tables, cells, strict=True):
                multiply_rows(table, along, covariance)
            parts.append(self.moments_given(covariance)[:2])
        return Moments(*(np.concatenate(p, axis=1) for p in zip(*parts, strict=True)))

    def moments_at(self, points: Floats) -> Moments:
        """The same at scaled points (N, D)."""
        parts = [
            self.moments_given(self.covariances_with_observed(points[block]))[:2]
            for block in self.blocks(len(points))
        ]
        return Moments(*(np.concatenate(p, axis=1) for p in zip(*parts, strict=True)))

    def moments_given(self, covariance: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean and variance (K, N) of h from its covariances (K, N, n) with the observations.

        And L⁻¹ times those covariances, (K, N, n).
        """
        solved = covariance @ self.roots.transpose(0, 2, 1)
        mean = (covariance @ self.coefficients[:, :, None])[:, :, 0]
        prior = self.prior_variances[:, None]
        variance = prior - np.einsum("kni,kni->kn", solved, solved)
        return mean, np.maximum(variance, MIN_VARIANCE_SHARE * prior), solved

    def blocks(self, n_points: int) -> Iterator[slice]:
        """Blocks of points whose covariances with the observations fit into memory together."""
        size = max(MAX_BLOCK // max(self.coefficients.size, 1), 1)
        return (slice(first, first + size) for first in range(0, max(n_points, 1), size))

    def in_context(self, points: Floats) -> Floats:
        """Scaled points (N, D) with the context and with descriptors, (N, D + C + E)."""
        if not self.context.size and not self.descriptors:
            return points
        levels = [points[:, own.axis].astype(np.intp) for own in self.descriptors]
        described = [own.values[i] for own, i in zip(self.descriptors, levels, strict=True)]
        context = np.tile(self.context, (len(points), 1))
        return np.concatenate((points, context, *described), axis=1)

    def covariances(self, first: Floats, second: Floats) -> Floats:
        """Prior covariances of h between scaled points (n, D) and (n2, D), (K, n, n2)."""
        return self._covariances(self.in_context(first), self.in_context(second), None)

    def covariances_with_observed(self, points: Floats) -> Floats:
        """Prior covariances of h between scaled points (N, D) and the observations, (K, N, n)."""
        return self._covariances(self.in_context(points), self.observed, None)

    def keeping(self, fixed: Mapping[int, float]) -> "ConditionalProcess":
        """The same process for points with these scaled coordinates, by axis.

        Only the other axes are looked at for every point, so a search of few of them is cheap.
        """
        covariance = self._constant(1, len(self.observed))[:, 0]
        for d, coordinate in fixed.items():
            covariance *= self.table(d, np.array([coordinate]))[:, 0]
        described = [e for d in fixed for e in self.described_axes.get(d, ())]
        axes = frozenset((*fixed, *described))
        return self._replace(shared=SharedCoordinates(axes, covariance))

    @property
    def searched_axes(self) -> list[int]:
        """Ordered axes on which points differ."""
        shared = frozenset() if self.shared is None else self.shared.axes
        return [d for d in range(self.n_dims) if d not in shared and not self.on_levels[d]]

    def covariances_and_slopes(self, points: Floats) -> tuple[Floats, Floats]:
        """Covariances (K, N, n) of h at scaled points (N, D) with the observations.

        And the derivatives of their logarithms by the coordinates of `searched_axes`, (·, K, N, n).
        """
        shape = (len(self.searched_axes), len(self.logs), len(points), len(self.observed))
        slopes = np.empty(shape)
        return self._covariances(self.in_context(points), self.observed, slopes), slopes

    def _covariances(self, first: Floats, second: Floats, slopes: Floats | None) -> Floats:
        """Covariances between points (·, D + C + E); writes into `slopes`."""
        shared = self.shared if second is self.observed else None
        if shared is None:
            covariance = self._constant(len(first), len(second))
        else:
            covariance = np.repeat(shared.covariance[:, None], len(first), axis=1)
        skipped = frozenset() if shared is None else shared.axes
        rows = {d: i for i, d in enumerate(self.searched_axes)} if slopes is not None else {}
        flat = covariance.reshape(len(self.logs), -1)
        exponentials, buffer = np.empty_like(flat), np.empty(flat.shape[1])
        shares, inverse = self.shares, self.inverse_lengths
        for d, levels in enumerate(self.on_levels.tolist()):
            if d in skipped:
                continue
            differences = self._differences(d, first[:, d], second[:, d])
            distances = np.abs(differences)
            multiply_correlations(distances, levels, inverse[d], shares, exponentials, buffer, flat)
            if slopes is not None and d in rows:
                out = slopes[rows[d]].reshape(flat.shape)
                log_slopes(differences, inverse[d], shares, exponentials, out)
        return covariance

    def _differences(self, d: int, first: Floats, second: Floats) -> Floats:
        """Differences (n·n2,) along an axis between scaled coordinates, inactive ones at FAR."""
        if not self.on_levels[d]:
            first, second = np.minimum(first, FAR), np.minimum(second, FAR)
        return np.asarray((first[:, None] - second).ravel())

    def _constant(self, n_points: int, n_others: int) -> Floats:
        """The prior variance of each draw, repeated: (K, N, n)."""
        shape = (len(self.logs), n_points, n_others)
        return np.broadcast_to(self.prior_variances[:, None, None], shape).copy()

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
        explained = self.roots @ self.covariances_with_observed(points).transpose(0, 2, 1)
        return np.asarray(
            self.covariances(points, points) - explained.transpose(0, 2, 1) @ explained
        )

    def _joint(self, points: Floats, rng: np.random.Generator) -> Floats:
        """One joint draw of h at scaled points, (K, N)."""
        cross, covariance = self.covariances_with_observed(points), self.covariances_at(points)
        covariance += JITTER_SHARE * self.prior_variances[:, None, None] * np.eye(len(points))
        spread = np.linalg.eigh(covariance)
        root = spread.eigenvectors * np.sqrt(np.maximum(spread.eigenvalues, 0.0))[:, None, :]
        normals = rng.standard_normal((len(self.logs), len(points), 1))
        return np.asarray((cross @ self.coefficients[:, :, None] + root @ normals)[:, :, 0])

    def negated(self) -> "ConditionalProcess":
        """The process of −f."""
        return self._replace(residuals=-self.residuals, coefficients=-self.coefficients)

    def means_at_observations(self) -> Floats:
        """The mean of h at the observations within each draw, (K, n)."""
        return self.residuals - self.coefficients / self.noise_precision[:, None]

    def left_out_moments(self) -> Moments:
        """Mean and variance of each observation given all the others, within each draw, (K, n).

        Noise is included. With Q = C⁻¹ they are r_i − (Q·r)_i / Q_ii and 1 / Q_ii.
        """
        variance = 1.0 / np.einsum("kij,kij->kj", self.roots, self.roots)
        return Moments(self.residuals - self.coefficients * variance, variance)

    def around(self, mean: float) -> "ConditionalProcess":
        """The same parameters and observations where h + mean is observed: the process of f − mean.

        So h falls back to 0, and f to `mean`, where nothing is known.
        """
        ones = np.ones((self.coefficients.shape[1], 1))
        solved = (self.roots.transpose(0, 2, 1) @ (self.roots @ ones))[:, :, 0]
        return self._replace(
            residuals=self.residuals - mean, coefficients=self.coefficients - mean * solved
        )

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
            coefficients=self.coefficients[draws],
            roots=self.roots[draws],
            shared=None
            if self.shared is None
            else self.shared._replace(covariance=self.shared.covariance[draws]),
        )


def correlations_at(
    differences: Floats, on_levels: bool, inverse: Floats, shares: Floats
) -> Floats:
    """κ_d of K draws at differences (P,) along an axis, (K, P).

    inverse (K,): as `ConditionalProcess.inverse_lengths`; shares (K,): the constant shares ρ.
    """
    out = np.ones((len(shares), differences.size))
    distances, buffer = np.abs(differences), np.empty(differences.size)
    multiply_correlations(distances, on_levels, inverse, shares, np.empty_like(out), buffer, out)
    return out


def condition_process(
    observed: Floats,
    on_levels: Bools,
    logs: Floats,
    noise_precision: Floats,
    residuals: Floats,
) -> ConditionalProcess:
    """The process of K draws with these parameters, given its noisy observations (K, n)."""
    from scipy.linalg.lapack import dpotrf, dtrtri  # heavy: `import bktf` must not pay for it

    n_draws, n = residuals.shape
    separations = pair_separations(observed, on_levels)
    levels = on_levels.astype(np.int64)
    along, product = np.empty(separations.shape), np.empty(separations.shape[1])
    roots, C = np.empty((n_draws, n, n)), np.empty((n, n))
    for k in range(n_draws):
        write_covariance(separations, levels, logs[k], noise_precision[k], along, product, C)
        # The transpose is in Fortran's order and overwritten in place.
        root, info = dpotrf(C.T, lower=1, overwrite_a=1)
        if info == 0:
            root, info = dtrtri(root, lower=1, overwrite_c=1)
        if info != 0:
            raise ArithmeticError(
                "the covariance of the Gaussian process is singular in double precision; "
                "give a larger noise_std"
            )
        roots[k] = root
    solved = roots @ residuals[:, :, None]
    coefficients = (roots.transpose(0, 2, 1) @ solved)[:, :, 0]
    return ConditionalProcess(
        observed, on_levels, logs, noise_precision, residuals, coefficients, roots
    )
