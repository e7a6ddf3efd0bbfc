"""The interface of draws of f, the same for every model.

`components.ComponentDraws`, `gaussian_process.ProcessDraws` and their sum,
`components.ResidualDraws`, implement it. Points (n, D) are in the units of the axes, values in the
model's units (standardised).
"""

from typing import Protocol

import numpy as np

from bktf._typing import Floats
from bktf.axis_kernels import Axis
from bktf.components import ComponentDraws
from bktf.gaussian_process import ConditionalProcess
from bktf.product_forms import Moments, ProductPaths


class Draws(Protocol):
    """K draws of f, chain after chain."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, observed coordinates included."""

    @property
    def n_draws(self) -> int:
        """K."""

    @property
    def rank(self) -> float:
        """The number of components; infinity for a Gaussian process."""

    @property
    def components(self) -> ComponentDraws:
        """The part that is a sum of products of factors; raises where there is none."""

    @property
    def process(self) -> ConditionalProcess | None:
        """The part that is a Gaussian process, if there is one."""

    @property
    def noise_precision(self) -> Floats:
        """Precision of the observation noise, (K,)."""

    @property
    def lengthscales(self) -> Floats:
        """Length-scales on scaled axes, (K, R, D) or (K, D)."""

    @property
    def correlations(self) -> Floats:
        """Correlations between levels, (K, R, D) or (K, D)."""

    def draw_at(self, points: Floats) -> Floats:
        """Draws at points, (K, n), joint over them; the same for the same call."""

    def draw_each(self, points: Floats, rng: np.random.Generator) -> Floats:
        """Draws at points, (K, n), that need not be joint over the points."""

    def moments(self, points: Floats) -> Moments:
        """Mean and variance at points over all draws, (n,) each."""

    def moments_by_draw(self, points: Floats) -> Moments:
        """Mean and variance at points within each draw, (K, n) each."""

    def covariances_by_draw(self, points: Floats) -> Floats:
        """Covariances between points within each draw, (K, n, n)."""

    def induced_covariances(self, first: Floats, second: Floats) -> Floats:
        """The covariance between points that each draw induces, (K, n, n2)."""

    def grid_moments(self) -> Moments:
        """Mean and variance over the whole grid, (m_1, …, m_D) each."""

    def paths(self, n_paths: int, seed: int | None = None) -> ProductPaths:
        """Whole functions drawn from the posterior."""

    def mean_paths(self) -> ProductPaths:
        """The mean within each draw, as K whole functions."""

    def negated(self) -> "Draws":
        """Draws of −f."""

    def summaries(self) -> dict[str, Floats]:
        """Quantities (K,) that do not depend on signs and labels."""
