"""Factors that can be compared between draws.

A CP form is invariant to permutations of components, to sign changes of two factors, and to a scale
that moves from one factor to another. The sampler visits all of these. Alignment removes
them: every factor is scaled to root mean square 1 over its axis, and order and signs are matched to
a common reference.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bktf._typing import Bools, Floats

PASSES = 3  # the reference is one draw, then twice the mean of the aligned draws
FLAT = 1e-300  # root mean squares below this count as zero
MIN_COSINE = 1e-12  # added to |cosine|, so that its logarithm is finite
NO_MATCH = -1e9  # score of components that must not be matched


class Aligned(NamedTuple):
    """Factors per axis (K, R, m_d) with unit root mean square, and their weights (K, R)."""

    factors: tuple[Floats, ...]
    weights: Floats


def align(factors: Sequence[Floats], weights: Floats, active: Bools) -> Aligned:
    """Match sign, order and scale of the components across draws; f does not change."""
    from scipy.optimize import linear_sum_assignment  # heavy, and only needed here

    n_draws, n_components = weights.shape
    weights = weights.copy()
    unit = []
    for d, factor in enumerate(factors):
        size = np.sqrt(np.mean(factor**2, axis=2))
        size = np.where(active[:, d] & (size > FLAT), size, 1.0)
        weights *= size
        unit.append(factor / size[:, :, None])
    same_axes = (active[:, None, :] == active[None, :, :]).all(axis=2)

    order = np.tile(np.arange(n_components), (n_draws, 1))
    signs = np.ones((n_draws, n_components, len(unit)))
    reference = [u[-1] for u in unit]
    rows = np.arange(n_draws)[:, None]
    for _ in range(PASSES):
        cosines = np.stack(
            [
                np.einsum("kam,bm->kab", u, r) / _norm_products(u, r)
                for u, r in zip(unit, reference, strict=True)
            ],
            axis=3,
        )  # (K, R, R, D): component a of a draw against component b of the reference
        score = np.log(np.abs(cosines) + MIN_COSINE).sum(axis=3)
        score[:, ~same_axes] = NO_MATCH
        for k in range(n_draws):
            # order[k, b]: the component of draw k that matches component b of the reference
            order[k] = linear_sum_assignment(-score[k].T)[1]
        matched = np.take_along_axis(cosines, order[:, None, :, None], axis=1)[:, 0]
        signs = np.where(matched < 0, -1.0, 1.0)
        reference = [
            (u[rows, order] * signs[:, :, d, None]).mean(axis=0) for d, u in enumerate(unit)
        ]
    signs[:, ~active] = 1.0
    aligned = tuple(u[rows, order] * signs[:, :, d, None] for d, u in enumerate(unit))
    return Aligned(aligned, weights[rows, order] * signs.prod(axis=2))


def _norm_products(u: Floats, r: Floats) -> Floats:
    """Products of the Euclidean norms, (K, R, R), never zero."""
    return np.asarray(
        np.maximum(
            np.linalg.norm(u, axis=2)[:, :, None] * np.linalg.norm(r, axis=1)[None, None, :], FLAT
        )
    )
