"""CP forms of draws on a grid, as the searches for their maxima see them.

f = Σ_c weight_c Π_{d ∈ A_c} factor_d^c is written with few *coordinates*: one per component that is
a product over two or more axes, and one for the sum of all main effects (components with a single
dimension). Weights are folded into the first axis.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Forms(NamedTuple):
    """K forms on one grid."""

    # (K, C, M): products first, then the sum of main effects if there are any; axis after axis
    coordinates: Floats
    additive: bool  # whether the last coordinate is a sum
    starts: Ints  # (D + 1,) where each axis begins

    @property
    def n_dims(self) -> int:
        """D."""
        return self.starts.size - 1

    def values(self, cells: Ints) -> Floats:
        """Values of every form at cells (n, D): (K, n)."""
        taken = self.coordinates[:, :, self.starts[:-1] + cells]  # (K, C, n, D)
        if not self.additive:
            return np.asarray(taken.prod(axis=3).sum(axis=1))
        return np.asarray(taken[:, :-1].prod(axis=3).sum(axis=1) + taken[:, -1].sum(axis=2))


def make_forms(factors: Sequence[Floats], weights: Floats, active: NDArray[np.bool_]) -> Forms:
    """Forms of factors (K, R, m_d) per axis and weights (K, R)."""
    sizes = [f.shape[2] for f in factors]
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    flat = np.concatenate(factors, axis=2)  # (K, R, M)
    main = active.sum(axis=1) == 1
    products = flat[:, ~main].copy()
    products[:, :, : starts[1]] *= weights[:, ~main, None]
    if not main.any():
        return Forms(np.ascontiguousarray(products), False, starts)
    effects = np.zeros((len(weights), 1, flat.shape[2]))
    for c in np.flatnonzero(main):
        d = int(np.flatnonzero(active[c])[0])
        here = slice(starts[d], starts[d + 1])
        effects[:, 0, here] += weights[:, c, None] * flat[:, c, here]
    return Forms(np.ascontiguousarray(np.concatenate((products, effects), axis=1)), True, starts)
