"""K draws of a Gaussian process: f at points, its moments, and the parameters themselves.

Points are in the units of the axes, values in the model's units (standardised).
"""

import math
from dataclasses import dataclass, replace
from typing import NoReturn, Protocol

import numpy as np

from bktf._typing import Floats
from bktf.axis_kernels import Axis, check_grid_size
from bktf.gaussian_process.conditional_process import ConditionalProcess
from bktf.gaussian_process.sample_paths import (
    N_FEATURES,
    ProcessPaths,
    draw_process_paths,
    mean_path,
)
from bktf.product_forms import Moments

MAX_GRID = 200_000  # cells for which `grid_moments` computes the moments of every draw
BLOCK = 2000  # points per call of `moments_by_draw`
DRAW_STREAM, PATH_STREAM = 2, 5  # spawn keys of the fit's seed for draws of f, and for paths


@dataclass(frozen=True, eq=False)
class ProcessDraws:
    """Draws of a Gaussian process given all observations, chain after chain."""

    axes: tuple[Axis, ...]
    process: ConditionalProcess
    seed: int

    @property
    def components(self) -> NoReturn:
        """A Gaussian process has no components."""
        raise AttributeError(
            "a fit at infinite rank is a Gaussian process: it has no weights and no factors. "
            "Ask mean, std, draws_at, lengthscales or kernel instead, or fit with a finite rank"
        )

    @property
    def n_draws(self) -> int:
        """K."""
        return len(self.process.logs)

    @property
    def rank(self) -> float:
        """Infinity."""
        return math.inf

    @property
    def noise_precision(self) -> Floats:
        """Precision of the observation noise, (K,)."""
        return self.process.noise_precision

    @property
    def lengthscales(self) -> Floats:
        """Length-scales on scaled axes, (K, D); NaN on an axis of levels."""
        return np.where(self.process.axis_levels, np.nan, np.exp(self.process.axis_logs))

    @property
    def correlations(self) -> Floats:
        """Correlation between any two levels of a categorical axis, (K, D); NaN on other axes."""
        odds = np.exp(self.process.axis_logs)
        return np.where(self.process.axis_levels, odds / (1.0 + odds), np.nan)

    # --- f at points -------------------------------------------------------------------------

    def scaled(self, points: Floats) -> Floats:
        """Points (n, D) in the model's units."""
        return np.stack([axis.scale(points[:, d]) for d, axis in enumerate(self.axes)], axis=1)

    def draw_at(self, points: Floats) -> Floats:
        """Draws of f at points (n, D), (K, n), joint over them; the same for the same call."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(DRAW_STREAM,)))
        return self.process.draw_at(self.scaled(points), rng)

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
        return self.process.moments_at(self.scaled(points))

    def covariances_by_draw(self, points: Floats) -> Floats:
        """Covariances of f between points given the observations, within each draw, (K, n, n)."""
        covariance = self.process.covariances_at(self.scaled(points))
        n = len(points)
        covariance[:, np.arange(n), np.arange(n)] = self.moments_by_draw(points).variance
        return covariance

    def induced_covariances(self, first: Floats, second: Floats) -> Floats:
        """The prior covariance between points with each draw's parameters, (K, n, n2)."""
        return self.process.covariances(self.scaled(first), self.scaled(second))

    def grid_moments(self) -> Moments:
        """Mean and variance of f over the whole grid, (m_1, …, m_D) each, cell by cell."""
        return moments_of_every_cell(self, MAX_GRID)

    # --- whole functions ---------------------------------------------------------------------

    def paths(
        self, n_paths: int, seed: int | None = None, n_features: int = N_FEATURES
    ) -> ProcessPaths:
        """Whole functions; they cycle through the draws. `seed` gives others of the same fit."""
        key = (PATH_STREAM,) if seed is None else (PATH_STREAM, seed)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
        return draw_process_paths(self.process, self._sizes, n_paths, n_features, rng)

    def mean_paths(self) -> ProcessPaths:
        """The mean of f within each draw, as whole functions."""
        return mean_path(self.process, self._sizes)

    @property
    def _sizes(self) -> list[int]:
        """The number of points of each axis."""
        return [axis.size for axis in self.axes]

    # --- the draws themselves ----------------------------------------------------------------

    def negated(self) -> "ProcessDraws":
        """Draws of −f."""
        return replace(self, process=self.process.negated())

    def summaries(self) -> dict[str, Floats]:
        """The parameters, (K,) each, by name."""
        logs, quantities = self.process.logs, {}
        for d, axis in enumerate(self.axes):
            name = "correlation_odds" if axis.kernel.on_levels else "lengthscale"
            quantities[f"process_{name}[{d}]"] = np.exp(logs[:, d])
        quantities["process_size"] = np.exp(0.5 * logs[:, -2])
        if not all(axis.kernel.on_levels for axis in self.axes):
            quantities["process_constant_share"] = self.process.shares
        return quantities


class _DrawsByPoint(Protocol):
    """Draws with moments at any point."""

    @property
    def axes(self) -> tuple[Axis, ...]: ...

    def moments_by_draw(self, points: Floats) -> Moments: ...


def moments_over_draws(draws: _DrawsByPoint, points: Floats) -> Moments:
    """Mean and variance of f at points over all draws, (n,) each, by the law of total variance."""
    starts = range(0, max(len(points), 1), BLOCK)
    blocks = [draws.moments_by_draw(points[i : i + BLOCK]) for i in starts]
    variance = [e.mean.var(axis=0) + e.variance.mean(axis=0) for e in blocks]
    return Moments(np.concatenate([e.mean.mean(axis=0) for e in blocks]), np.concatenate(variance))


def moments_of_every_cell(draws: _DrawsByPoint, max_cells: int) -> Moments:
    """Mean and variance of f over the grid, (m_1, …, m_D) each; at most max_cells cells."""
    check_grid_size(draws.axes, max_cells)
    lines = [axis.points for axis in draws.axes]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*lines, indexing="ij")], axis=1)
    sizes = [line.size for line in lines]
    mean, variance = moments_over_draws(draws, points)
    return Moments(mean.reshape(sizes), variance.reshape(sizes))
