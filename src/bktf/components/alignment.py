"""Factors that can be compared between draws.

A CP form does not change when components trade places, when two factors change sign together, or
when one factor grows as another shrinks; the sampler visits all of these. Alignment undoes that:
every factor gets root mean square 1 over its axis, and order and signs are chosen to agree with a
common reference.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PASSES = 3  # the reference is one draw, then twice the mean of what was aligned to it
FLAT = 1e-300  # root mean squares below this count as zero


class Aligned(NamedTuple):
    """Factors per axis (K, R, m_d) with unit root mean square, and the weights (K, R) that go with them."""

    factors: tuple[Floats, ...]
    weights: Floats


def align(factors: Sequence[Floats], weights: Floats, active: NDArray[np.bool_]) -> Aligned:
    """Match sign, order and scale of the components across draws; the form itself stays the same."""
    from scipy.optimize import linear_sum_assignment  # heavy, and only needed here

    n_draws, n_components = weights.shape
    weights = weights.copy()
    unit = []
    for d, factor in enumerate(factors):
        size = np.sqrt(np.mean(factor**2, axis=2))
        size = np.where(active[:, d] & (size > FLAT), size, 1.0)
        weights *= size
        unit.append(factor / size[:, :, None])
    comparable = (active[:, None, :] == active[None, :, :]).all(
        axis=2
    )  # components with the same active set

    order = np.tile(np.arange(n_components), (n_draws, 1))
    signs = np.ones((n_draws, n_components, len(unit)))
    reference = [u[-1] for u in unit]
    rows = np.arange(n_draws)[:, None]
    for _ in range(PASSES):
        cosines = np.stack(
            [
                np.einsum("kam,bm->kab", u, r) / _lengths(u, r)
                for u, r in zip(unit, reference, strict=True)
            ],
            axis=3,
        )  # (K, R, R, D): component a of a draw against component b of the reference
        score = np.log(np.abs(cosines) + 1e-12).sum(axis=3)
        score[:, ~comparable] = -1e9
        for k in range(n_draws):
            order[k] = linear_sum_assignment(-score[k].T)[
                1
            ]  # order[k, b]: which component plays part b
        matched = np.take_along_axis(cosines, order[:, None, :, None], axis=1)[:, 0]
        signs = np.where(matched < 0, -1.0, 1.0)
        reference = [
            (u[rows, order] * signs[:, :, d, None]).mean(axis=0) for d, u in enumerate(unit)
        ]
    signs[:, ~active] = 1.0
    aligned = tuple(u[rows, order] * signs[:, :, d, None] for d, u in enumerate(unit))
    return Aligned(aligned, weights[rows, order] * signs.prod(axis=2))


def _lengths(u: Floats, r: Floats) -> Floats:
    """Products of Euclidean lengths, (K, R, R), never zero."""
    return np.asarray(
        np.maximum(
            np.linalg.norm(u, axis=2)[:, :, None] * np.linalg.norm(r, axis=1)[None, None, :], FLAT
        )
    )
