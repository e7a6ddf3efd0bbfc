"""How the variance of one path is shared among its parameters, in closed form.

Of a path as a sum of products, f = Σ_j a_j·Π_d z_jd(x_d), with independent coordinates, means
m_jd = E z_jd, covariances C_d = Cov(z_jd, z_kd) and second moments G_d = C_d + m_d·m_dᵀ:

    variance of E[f | x_d]                      aᵀ (C_d ∘ Π_{e≠d} m_e·m_eᵀ) a
    interaction of x_a and x_b                  aᵀ (C_a ∘ C_b ∘ Π_{e≠a,b} m_e·m_eᵀ) a
    variance of f that is left when only x_d    aᵀ (C_d ∘ Π_{e≠d} G_e) a
        is unknown, the total effect
    variance of f                               Σ_d aᵀ (C_d ∘ Π_{e<d} G_e ∘ Π_{e>d} m_e·m_eᵀ) a

Nothing is a difference of large numbers, and nothing is divided by a second moment. Terms are of
two kinds, complex waves and real terms. With u the sum of waves and v that of real terms,

    E[(Re u + v)²] = Re E[u·u] / 2 + E[u·conj u] / 2 + 2·Re E[u·v] + E[v·v]
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from bktf._typing import Complexes, Floats
from bktf.product_forms import AxisMeasure, AxisMoments, PathTerms, RealMoments, axis_moments

Either = Floats | Complexes

# A mean that is 0 is replaced by this one, which divides and multiplies: rounding error is larger
MIN_MEAN = 1e-18
MAX_ENTRIES = 100_000  # of a buffer over all axes, so that it stays in the processor's cache


class VarianceParts(NamedTuple):
    """The variance of a path and parts of it, or what one kind of terms adds to them."""

    variance: float
    first: Floats  # (D,) variances of E[f | x_d]
    total: Floats  # (D,) E Var[f | all but x_d]
    pairs: Floats  # (D, D) what x_a and x_b explain together beyond what they do alone; diagonal 0

    def plus(self, other: "VarianceParts", factor: float) -> "VarianceParts":
        """The sum with a multiple of others."""
        return VarianceParts(
            self.variance + factor * other.variance,
            self.first + factor * other.first,
            self.total + factor * other.total,
            self.pairs + factor * other.pairs,
        )


class TermPairs(NamedTuple):
    """Moments along every axis of two sets of terms, I and J of them, and their weights."""

    left: Either  # (I,) weights
    right: Either  # (J,) weights
    left_means: Either  # (D, I)
    right_means: Either  # (D, J)
    covariances: Sequence[Either]  # D of (I, J): C_d
    is_symmetric: bool  # the real parts of all forms stay when left and right change places


def path_variances(
    terms: PathTerms,
    measures: Sequence[AxisMeasure],
    known: Sequence[RealMoments] | None,
    with_pairs: bool,
) -> tuple[VarianceParts, list[RealMoments]]:
    """The variance of one path and its parts, and what further paths of its `real_key` share."""
    shared = [None] * len(measures) if known is None else known
    axes = [
        axis_moments(terms, d, measure, own)
        for d, (measure, own) in enumerate(zip(measures, shared, strict=True))
    ]
    moments = [RealMoments(axis.real_means, axis.reals) for axis in axes]
    constants, means = terms.real_weights, np.stack([axis.real_means for axis in axes])
    reals = [axis.reals for axis in axes]
    parts = _forms(TermPairs(constants, constants, means, means, reals, True), with_pairs)
    if terms.wave_weights.size:
        weights = terms.wave_weights * np.prod([axis.phases for axis in axes], axis=0)
        for pairs, factor in _pairs_with_waves(axes, weights, constants, means):
            parts = parts.plus(_forms(pairs, with_pairs), factor)
    return parts, moments


def _pairs_with_waves(
    axes: list[AxisMoments], weights: Complexes, constants: Floats, real_means: Floats
) -> list[tuple[TermPairs, float]]:
    """Waves with waves, with their conjugates and with real terms, and their factors."""
    means = _real_where_possible(np.stack([axis.wave_means for axis in axes]))
    waves = [axis.waves for axis in axes]
    conjugates = [axis.conjugates for axis in axes]
    mixed = [axis.mixed for axis in axes]
    return [
        (TermPairs(weights, weights, means, means, waves, True), 0.5),
        (TermPairs(weights, weights.conj(), means, means.conj(), conjugates, True), 0.5),
        (TermPairs(weights, constants, means, real_means, mixed, False), 2.0),
    ]


def _forms(pairs: TermPairs, with_pairs: bool) -> VarianceParts:
    """The real parts of the quadratic forms of the module's docstring, some rows at a time."""
    n_dims, n_right = pairs.right_means.shape
    parts = VarianceParts(0.0, np.zeros(n_dims), np.zeros(n_dims), np.zeros((n_dims, n_dims)))
    if not pairs.left.size or not n_right:
        return parts
    size = max(MAX_ENTRIES // (n_dims * n_right), 1)
    kinds = [*pairs.covariances, pairs.left_means, pairs.right_means]
    dtype = np.result_type(*kinds)
    shape = (n_dims, min(size, pairs.left.size), n_right)
    buffers = np.empty(shape, dtype), np.empty(shape, dtype)
    weights = _Weights.of(pairs, dtype)
    for first in range(0, pairs.left.size, size):
        last = min(first + size, pairs.left.size)
        rows, columns = slice(first, last), slice(first if pairs.is_symmetric else 0, None)
        factors = np.ones(n_right)
        if pairs.is_symmetric:  # what is right of the diagonal stands for what is left of it too
            factors[last:] = 2.0
        block = _Block(
            pairs.left_means[:, rows],
            pairs.right_means[:, columns],
            [covariance[rows, columns] for covariance in pairs.covariances],
            weights.part(rows, columns, factors[columns]),
        )
        parts = parts.plus(_block_forms(block, buffers), 1.0)
        if with_pairs:
            parts = parts._replace(pairs=parts.pairs + _block_pairs(block, buffers[0]))
    np.fill_diagonal(parts.pairs, 0.0)
    return parts


class _Weights(NamedTuple):
    """Weights times means of other axes, of the terms on the left (·, I) and on the right."""

    first: tuple[Either, Either]  # (S, D, ·) times those of all other axes; S: see `_split`
    growing: tuple[Either, Either]  # (S, D, ·) times those of later axes
    total: tuple[Either, Either]  # (S, D, ·) alone
    product: tuple[Either, Either]  # (·,) times those of all axes
    inverse: tuple[Either, Either]  # (D, ·) one over the mean of the axis

    @classmethod
    def of(cls, pairs: TermPairs, dtype: np.dtype[Any]) -> "_Weights":
        """Those of two sets of terms, for products of this type."""
        sides = (pairs.left, pairs.left_means), (pairs.right, pairs.right_means)
        columns = [
            (
                _split(weights * _earlier(means) * _later(means), dtype),
                _split(weights * _later(means), dtype),
                _split(weights * np.ones_like(means), dtype),
                cast(Either, weights * _not_zero(means).prod(axis=0)),
                1.0 / _not_zero(means),
            )
            for weights, means in sides
        ]
        return cls(*zip(*columns, strict=True))

    def part(self, rows: slice, columns: slice, factors: Floats) -> "_Weights":
        """Those of some terms; what multiplies the terms on the right is times `factors`."""
        first, growing, total, product = (
            (left[..., rows], right[..., columns] * factors) for left, right in self[:4]
        )
        left, right = self.inverse
        return _Weights(first, growing, total, product, (left[:, rows], right[:, columns]))


class _Block(NamedTuple):
    """Some rows of pairs of terms, I' by J'."""

    left_means: Either  # (D, I')
    right_means: Either  # (D, J')
    covariances: list[Either]  # D of (I', J')
    weights: _Weights


def _block_forms(block: _Block, buffers: tuple[Either, Either]) -> VarianceParts:
    """The forms of some rows, without pairs. Overwrites both buffers (D, ·, ·)."""
    n_dims, (n_rows, n_columns) = len(block.covariances), block.covariances[0].shape
    seconds, grown = (buffer[:, :n_rows, :n_columns] for buffer in buffers)
    np.multiply(block.left_means[:, :, None], block.right_means[:, None], out=seconds)
    before, after = np.ones((2, n_rows, n_columns), seconds.dtype)
    for d, covariance in enumerate(block.covariances):
        seconds[d] += covariance
        np.multiply(covariance, before, out=grown[d])
        before *= seconds[d]
    growing = _bilinear(grown, block.weights.growing)
    for d in reversed(range(n_dims)):
        grown[d] *= after
        after *= seconds[d]
    total = _bilinear(grown, block.weights.total)
    first = _bilinear(block.covariances, block.weights.first)
    return VarianceParts(float(growing.sum()), first, total, np.zeros((n_dims, n_dims)))


def _block_pairs(block: _Block, buffer: Either) -> Floats:
    """What some rows add to the pairs (D, D): covariances over means, by one product of matrices.

    Overwrites the buffer (D, ·, ·).
    """
    n_rows, n_columns = block.covariances[0].shape
    relative = buffer[:, :n_rows, :n_columns]
    left, right = block.weights.inverse
    np.multiply(left[:, :, None], right[:, None], out=relative)
    for d, covariance in enumerate(block.covariances):
        relative[d] *= covariance
    outer: Either = block.weights.product[0][:, None] * block.weights.product[1]
    if not np.iscomplexobj(relative):
        outer = outer.real
    flat = relative.reshape(len(block.covariances), -1)
    return np.asarray(((flat * outer.ravel()) @ flat.T).real)


def _bilinear(matrices: Sequence[Either] | Either, weights: tuple[Either, Either]) -> Floats:
    """Real parts of left_d·matrix_d·right_d, (D,), for D matrices (I', J').

    weights: (S, D, ·), the S real and imaginary parts where the matrices are real.
    """
    left, right = weights
    out = np.empty(len(matrices))
    for d, matrix in enumerate(matrices):
        form = left[0, d] @ (matrix @ right[0, d])
        if len(left) > 1:
            form -= left[1, d] @ (matrix @ right[1, d])
        out[d] = form.real
    return out


def _split(weights: Either, dtype: np.dtype[Any]) -> Either:
    """Weights for `_bilinear` (S, D, ·), contiguous so that products of matrices are fast."""
    if np.issubdtype(dtype, np.complexfloating):
        return np.ascontiguousarray(weights.astype(dtype)[None])
    if not np.iscomplexobj(weights):
        return weights[None]
    return np.stack((weights.real, weights.imag))


def _earlier(means: Either) -> Either:
    """The product of the means (D, I) of all earlier axes, (D, I)."""
    return cast(Either, np.cumprod(np.concatenate((np.ones_like(means[:1]), means[:-1])), axis=0))


def _later(means: Either) -> Either:
    """The product of the means (D, I) of all later axes, (D, I)."""
    return _earlier(means[::-1])[::-1]


def _not_zero(means: Either) -> Either:
    """The means, those that are 0 replaced."""
    return cast(Either, np.where(np.abs(means) < MIN_MEAN, MIN_MEAN, means))


def _real_where_possible(values: Complexes) -> Either:
    """Real numbers where all imaginary parts are 0."""
    return values if values.imag.any() else np.ascontiguousarray(values.real)
