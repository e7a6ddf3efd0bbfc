"""Scores of the cells of a grid over draws of components, in the model's units.

EI and UCB, with the weights drawn or integrated out, have a compiled ascent. The maximum over draws
and Thompson's (one draw's) have an exact or certified maximum.
"""

from collections.abc import Set
from typing import NamedTuple

import numpy as np

from bktf._typing import Floats, Ints
from bktf.acquisition import component_ascent as loops
from bktf.acquisition.found import Found
from bktf.acquisition.posterior_view import GridFactors, WeightPosterior
from bktf.acquisition.scores import Cell
from bktf.product_forms import (
    MAX_PASSES,
    Forms,
    bound_boxes,
    make_forms,
    maximum_over_draws,
)

ENUMERATION_BUDGET = 4_000_000  # cells times draws, a tenth of a second: grids below are enumerated
BLOCK = 2_000_000  # numbers in the largest temporary array
N_STARTING_DRAWS = 64  # draws whose maxima are among the starts
ROUNDING = 1e-12  # a gap below this share of the value is rounding error
HULL_METHODS = {1: "hull", 2: "hull", 3: "hull in space"}  # by the number of coordinates


class ComponentScore(NamedTuple):
    """EI or UCB over draws; see `component_ascent`."""

    kind: int  # loops.EI, UCB or EI_WEIGHTS
    beta: float
    components: GridFactors
    table: Floats  # (M, R, K)
    starts: Ints  # (D + 1,)
    weights: Floats  # (R, K) drawn, or their posterior means
    roots: Floats  # (R, R, K), or (1, 1, 1) where they are not needed
    thresholds: Floats  # (K,)

    @property
    def is_log(self) -> bool:
        """Only with the weights integrated out."""
        return self.kind == loops.EI_WEIGHTS

    @property
    def n_enumerable(self) -> int:
        """As many cells as the budget allows with this number of draws."""
        return ENUMERATION_BUDGET // self.thresholds.size

    def values(self, cells: Ints) -> Floats:
        """Scores (n,) of cells (n, D)."""
        return np.asarray(loops.score_cells(*self._arguments(), np.ascontiguousarray(cells)))

    def starting_cells(self) -> Ints:
        """The maxima of draws. A subset is enough for EI; UCB missed its maximum with one."""
        max_draws = self.thresholds.size if self.kind == loops.UCB else N_STARTING_DRAWS
        return maxima_of_draws(make_forms(*self.components), max_draws)

    def climb(self, cells: Ints, values: Floats, excluded: Ints) -> tuple[Ints, Floats]:
        """Where compiled ascents from cells (n, D) with known values end."""
        cells, values = np.array(cells, order="C"), np.array(values, order="C")
        loops.ascend(*self._arguments(), excluded, MAX_PASSES, cells, values)
        return cells, values

    def _arguments(self) -> tuple[int, float, Floats, Ints, Floats, Floats, Floats]:
        return (
            self.kind, self.beta, self.table, self.starts, self.weights, self.roots, self.thresholds
        )  # fmt: skip


def component_score(
    components: GridFactors,
    acquisition: str,
    beta: float,
    thresholds: Floats,
    weight_posterior: WeightPosterior | None = None,
) -> ComponentScore:
    """EI or UCB over draws; with a posterior of the weights, EI with the weights integrated out."""
    factors, weights, _ = components
    table = np.ascontiguousarray(np.concatenate([f.transpose(2, 1, 0) for f in factors]))
    starts = np.concatenate(([0], np.cumsum([f.shape[2] for f in factors]))).astype(np.int64)
    kind, roots = loops.UCB if acquisition == "ucb" else loops.EI, np.zeros((1, 1, 1))
    if weight_posterior is not None:
        kind, (weights, roots) = loops.EI_WEIGHTS, weight_posterior
        roots = roots.transpose(1, 2, 0)
    drawn, roots = np.ascontiguousarray(weights.T), np.ascontiguousarray(roots)
    return ComponentScore(kind, beta, components, table, starts, drawn, roots, thresholds)


class MaximumScore(NamedTuple):
    """The largest value over all draws, or for Thompson sampling the value of one draw."""

    forms: Forms

    @property
    def is_log(self) -> bool:
        """Values of f."""
        return False

    @property
    def n_enumerable(self) -> int:
        """None where planar hulls find the maximum; otherwise as for EI."""
        n_draws, n_coordinates, _ = self.forms.coordinates.shape
        return 0 if n_coordinates <= 2 else ENUMERATION_BUDGET // n_draws

    def values(self, cells: Ints) -> Floats:
        """The largest values (n,) at cells (n, D)."""
        step = max(1, BLOCK // (self.forms.coordinates[:, :, 0].size * self.forms.n_dims))
        blocks = [cells[i : i + step] for i in range(0, len(cells), step)]
        return np.concatenate([self.forms.values(block).max(axis=0) for block in blocks])

    def starting_cells(self) -> Ints:
        """The maxima of some draws."""
        return maxima_of_draws(self.forms, N_STARTING_DRAWS)

    def exact_maximum(self, excluded: Set[Cell]) -> Found:
        """The best cell that is not excluded, with an upper bound over all others."""
        found = maximum_over_draws(self.forms, set(excluded))
        assert found is not None, "every cell is excluded"
        gap = max(found.bound - found.value, 0.0)
        is_exact = gap <= ROUNDING * max(1.0, abs(found.value))
        method = HULL_METHODS.get(self.forms.coordinates.shape[1], "bounded search")
        return Found(found.cell, found.value, method, is_exact, gap)


def maximum_score(components: GridFactors, draw: int | None = None) -> MaximumScore:
    """The maximum over all draws, or the value of one draw."""
    forms = make_forms(*components)
    if draw is None:
        return MaximumScore(forms)
    return MaximumScore(Forms(forms.coordinates[draw : draw + 1], forms.additive, forms.starts))


def maxima_of_draws(forms: Forms, max_draws: int) -> Ints:
    """The cells of the maxima of at most max_draws draws, evenly spaced.

    With more than two coordinates, the maxima of the largest part of each form.
    """
    n_draws = len(forms.coordinates)
    draws = np.unique(np.linspace(0, n_draws - 1, min(n_draws, max_draws)).astype(np.int64))
    return bound_boxes(forms, draws, np.ones(forms.starts[-1], dtype=bool))[1]
