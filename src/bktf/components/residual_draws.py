"""K draws of a sum of components and a Gaussian process for their residual."""

from dataclasses import dataclass

import numpy as np

from bktf._typing import Floats
from bktf.axis_kernels import Axis
from bktf.components.component_draws import ComponentDraws
from bktf.gaussian_process import (
    MAX_PROCESS_GRID,
    ConditionalProcess,
    ProcessDraws,
    moments_of_every_cell,
    moments_over_draws,
)
from bktf.product_forms import Moments, SummedPaths


@dataclass(frozen=True, eq=False)
class ResidualDraws:
    """Draws of components, each with a process conditioned on the residual of its components."""

    components: ComponentDraws
    residual: ProcessDraws

    @property
    def process(self) -> ConditionalProcess:
        """The residual process."""
        return self.residual.process

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of both parts."""
        return self.components.axes

    @property
    def n_draws(self) -> int:
        """K."""
        return self.components.n_draws

    @property
    def rank(self) -> float:
        """R, the number of components."""
        return self.components.rank

    @property
    def noise_precision(self) -> Floats:
        """Precision of the observation noise, (K,)."""
        return self.components.noise_precision

    @property
    def lengthscales(self) -> Floats:
        """Length-scales of the components, (K, R, D)."""
        return self.components.lengthscales

    @property
    def correlations(self) -> Floats:
        """Correlations of the components, (K, R, D)."""
        return self.components.correlations

    def draw_at(self, points: Floats) -> Floats:
        """Draws of f at points (n, D), (K, n), joint over them; the same for the same call."""
        return self.components.draw_at(points) + self.residual.draw_at(points)

    def draw_each(self, points: Floats, rng: np.random.Generator) -> Floats:
        """Draws of f at points, (K, n), independent between points and so cheaper than joint."""
        within = self.moments_by_draw(points)
        return np.asarray(
            within.mean + np.sqrt(within.variance) * rng.standard_normal(within.mean.shape)
        )

    def moments(self, points: Floats) -> Moments:
        """Mean and variance of f at points over all draws, (n,) each."""
        return moments_over_draws(self, points)

    def moments_by_draw(self, points: Floats) -> Moments:
        """Mean and variance of f at points within each draw, (K, n) each."""
        first, second = (
            self.components.moments_by_draw(points),
            self.residual.moments_by_draw(points),
        )
        return Moments(first.mean + second.mean, first.variance + second.variance)

    def covariances_by_draw(self, points: Floats) -> Floats:
        """Covariances of f between points within each draw, (K, n, n)."""
        return self.components.covariances_by_draw(points) + self.residual.covariances_by_draw(
            points
        )

    def induced_covariances(self, first: Floats, second: Floats) -> Floats:
        """The covariance between points that each draw induces, (K, n, n2)."""
        induced = self.components.induced_covariances(first, second)
        return induced + self.residual.induced_covariances(first, second)

    def grid_moments(self) -> Moments:
        """Mean and variance of f over the whole grid, (m_1, …, m_D) each, cell by cell."""
        return moments_of_every_cell(self, MAX_PROCESS_GRID)

    def paths(self, n_paths: int, seed: int | None = None) -> SummedPaths:
        """Draws as whole functions: of components, and of the process for their residual."""
        chosen = self.components.path_draws(n_paths, seed)
        residual = ProcessDraws(self.axes, self.process.select(chosen), self.residual.seed)
        return SummedPaths(self.components.paths(n_paths, seed), residual.paths(n_paths, seed))

    def mean_paths(self) -> SummedPaths:
        """The mean of f within each draw, as whole functions."""
        return SummedPaths(self.components.mean_paths(), self.residual.mean_paths())

    def negated(self) -> "ResidualDraws":
        """Draws of −f."""
        return ResidualDraws(self.components.negated(), self.residual.negated())

    def summaries(self) -> dict[str, Floats]:
        """Quantities (K,) of both parts that do not depend on signs and labels."""
        return self.components.summaries() | self.residual.summaries()
