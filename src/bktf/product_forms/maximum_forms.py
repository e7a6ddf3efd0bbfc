"""CP forms of draws on a grid, in the layout that the searches for their maxima use.

f = Σ_c weight_c Π_{d ∈ A_c} factor_d^c has one *coordinate* per component that is a product over
two or more axes. All main effects (components with a single axis) add up to one more coordinate.
Weights are multiplied into the factors of the first axis.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bktf._typing import Bools, Floats, Ints


class Forms(NamedTuple):
    """K forms on one grid."""

    # (K, C, M): products first, then the sum of main effects if there is one; M points of all axes
    coordinates: Floats
    additive: bool  # whether the last coordinate is a sum
    starts: Ints  # (D + 1,) where each axis begins

    @property
    def n_dims(self) -> int:
        """D."""
        return self.starts.size - 1

    def values(self, cells: Ints) -> Floats:
        """Values of every form at cells (n, D): (K, n)."""
        selected = self.coordinates[:, :, self.starts[:-1] + cells]  # (K, C, n, D)
        if not self.additive:
            return np.asarray(selected.prod(axis=3).sum(axis=1))
        return np.asarray(selected[:, :-1].prod(axis=3).sum(axis=1) + selected[:, -1].sum(axis=2))


def make_forms(factors: Sequence[Floats], weights: Floats, active: Bools) -> Forms:
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
        axis = slice(starts[d], starts[d + 1])
        effects[:, 0, axis] += weights[:, c, None] * flat[:, c, axis]
    return Forms(np.ascontiguousarray(np.concatenate((products, effects), axis=1)), True, starts)
