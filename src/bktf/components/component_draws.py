"""K draws of weights and factors: f at points, its moments, and the draws themselves.

Points are in the units of the axes, values in the model's units (standardised).
"""

import threading
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from bktf._typing import Bools, Complexes, Floats, Ints
from bktf.axis_kernels import Axis, categorical, check_grid_size, dense
from bktf.components.alignment import Aligned, align
from bktf.components.chains import KnownFactors, moments_between, states_between
from bktf.product_forms import Moments, Pieces, RealMoments, cp_values

MAX_GRID = 20_000_000  # cells of `grid_moments`, 160 MB per array
MIN_VARIANCE_SHARE = 0.01  # of the variance of f; a component with less does not count for the rank
# Spawn keys of the fit's seed, for draws between axis points and for a choice of paths
OFF_GRID_STREAM, PATH_STREAM = 1, 5
MAX_PIECE = 0.25  # of an axis, over which a quadrature rule follows a factor between axis points


@dataclass(frozen=True, eq=False)
class ComponentDraws:
    """Draws of a sum of products of factors, chain after chain."""

    axes: tuple[Axis, ...]
    active: Bools  # (R, D)
    lengthscales: Floats  # (K, R, D); odds of the correlation on a category; NaN: none
    states: tuple[Floats, ...]  # per axis (K, R, m_d, state size): factor and scaled derivatives
    weights: Floats  # (K, R)
    noise_precision: Floats  # (K,)
    weight_vars: Floats  # (K, R) prior variances of the weights; equal, unless the rank adapts
    offsets: Floats  # (K, R, D) prior means of the factors; 0 without offsets
    shared_lengthscales: bool
    seed: int

    process = None  # there is no Gaussian process in these draws

    @property
    def components(self) -> "ComponentDraws":
        """The sum of products of factors: these draws themselves."""
        return self

    @property
    def n_draws(self) -> int:
        """K."""
        return len(self.weights)

    @property
    def rank(self) -> float:
        """R, the number of components; a constant beside them does not count."""
        return int(self.active.any(axis=1).sum())

    @property
    def factors(self) -> tuple[Floats, ...]:
        """Factor draws, per axis (K, R, m_d); signs and labels switch between draws."""
        return tuple(states[..., 0] for states in self.states)

    @property
    def correlations(self) -> Floats:
        """Correlation between any two levels of a category, (K, R, D); NaN on other axes."""
        is_categorical = [axis.kernel.kind == dense.EQUAL_CORRELATION for axis in self.axes]
        return np.where(is_categorical, self.lengthscales / (1.0 + self.lengthscales), np.nan)

    @property
    def ranks(self) -> Ints:
        """The number of components that matter for the variance of f over the grid, (K,)."""
        square = self.weights**2
        first = np.ones_like(square)
        for factor in self.factors:
            square, first = square * np.mean(factor**2, axis=2), first * np.mean(factor, axis=2)
        sizes = np.maximum(square - (self.weights * first) ** 2, 0.0)
        total = sizes.sum(axis=1)
        counted = sizes >= MIN_VARIANCE_SHARE * total[:, None]
        return np.asarray(counted.sum(axis=1) * (total > 0))

    def level_covariance(self, d: int) -> Floats:
        """Posterior mean of the learned covariance between the levels of an axis, (m_d, m_d).

        The mean over draws of the exact conditional mean given each draw's factors.
        """
        if self.axes[d].kernel.kind != dense.FULL_COVARIANCE:
            raise ValueError(
                f'axis {d} does not learn a covariance; only the kernel "wishart" does'
            )
        factors = self.factors[d][:, self.active[:, d]]  # (K, R, m)
        total = np.einsum("krm,krl->ml", factors, factors) / self.n_draws
        total += (categorical.EXTRA_DOF - 1.0) * np.eye(factors.shape[2])
        return np.asarray(total / (categorical.EXTRA_DOF - 1.0 + factors.shape[1]))

    # --- f at points -------------------------------------------------------------------------

    def draw_at(self, points: Floats) -> Floats:
        """Draws of f at points (n, D), (K, n), joint over them; the same for the same call."""
        tables, index = self._drawn_tables(points)
        return cp_values.values(tables, self.weights, index)

    def draw_each(self, points: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """Draws of f at points, (K, n); here the same as joint ones."""
        return self.draw_at(points)

    def moments(self, points: Floats) -> Moments:
        """Mean and variance of f at points over all draws, (n,) each."""
        return cp_values.moments(*self._moment_tables(points))

    def moments_by_draw(self, points: Floats) -> Moments:
        """Mean and variance of f at points within each draw, (K, n) each.

        The variance is 0 on axis points.
        """
        return cp_values.moments_by_draw(*self._moment_tables(points))

    def covariances_by_draw(self, points: Floats) -> Floats:
        """Covariances of f between points within each draw, (K, n, n).

        Between axis points, the conditional variances of the factors at different points are taken
        as independent.
        """
        n = len(points)
        covariance = np.zeros((self.n_draws, n, n))
        covariance[:, np.arange(n), np.arange(n)] = self.moments_by_draw(points).variance
        return covariance

    def induced_covariances(self, first: Floats, second: Floats) -> Floats:
        """The covariance between points induced by each draw's factors and weights, (K, n, n2).

        Paper: eq. (10), the second layer of the deep-GP view.
        """
        tables, index = self._drawn_tables(np.concatenate((first, second)))
        features = self.weights[:, :, None] * cp_values.products(tables, index)
        left, right = features[:, :, : len(first)], features[:, :, len(first) :]
        return np.asarray(left.transpose(0, 2, 1) @ right)

    def grid_moments(self) -> Moments:
        """Mean and variance of f over the whole grid, (m_1, …, m_D) each, by matrix products."""
        check_grid_size(self.axes, MAX_GRID)
        return cp_values.grid_moments(self.factors, self.weights)

    def products_at(self, points: Floats) -> Floats:
        """Products of the factors of each component at points, (K, R, n), without weights."""
        tables, index = self._drawn_tables(points)
        return cp_values.products(tables, index)

    # --- whole functions ---------------------------------------------------------------------

    def paths(self, n_paths: int, seed: int | None = None) -> "ComponentPaths":
        """Some of the draws as whole functions; see `path_draws`."""
        return ComponentPaths(self.taking(self.path_draws(n_paths, seed)))

    def path_draws(self, n_paths: int, seed: int | None) -> Ints:
        """The draws that are paths: evenly spaced ones, or with a seed a random choice of them."""
        if n_paths > self.n_draws:
            raise ValueError(
                f"at finite rank paths are the draws of the fit, {self.n_draws} of them, so there "
                f"are no more; got {n_paths}. Fit with more sweeps or chains"
            )
        if seed is None:
            return np.linspace(0, self.n_draws, n_paths, endpoint=False).astype(np.int64)
        stream = np.random.SeedSequence(self.seed, spawn_key=(PATH_STREAM, seed))
        chosen = np.random.default_rng(stream).permutation(self.n_draws)[:n_paths]
        return np.sort(chosen)

    def mean_paths(self) -> "ComponentPaths":
        """All draws as whole functions."""
        return ComponentPaths(self)

    # --- the draws themselves ----------------------------------------------------------------

    def negated(self) -> "ComponentDraws":
        """Draws of −f."""
        return replace(self, weights=-self.weights)

    def taking(self, index: Ints) -> "ComponentDraws":
        """The draws of these numbers, in their order."""
        return replace(
            self,
            lengthscales=self.lengthscales[index],
            states=tuple(np.ascontiguousarray(states[index]) for states in self.states),
            weights=self.weights[index],
            noise_precision=self.noise_precision[index],
            weight_vars=self.weight_vars[index],
            offsets=self.offsets[index],
        )

    def aligned(self) -> Aligned:
        """Factors and weights with sign, order and scale matched across draws."""
        return align(self.factors, self.weights, self.active)

    def summaries(self) -> dict[str, Floats]:
        """Quantities (K,) that do not depend on signs and labels."""
        quantities = {}
        sizes = np.abs(self.weights)
        for factor in self.factors:
            sizes = sizes * np.sqrt(np.mean(factor**2, axis=2))
        for c, column in enumerate(-np.sort(-sizes, axis=1).T):
            quantities[f"component_size[{c}]"] = column
        for d, axis in enumerate(self.axes):
            if axis.kernel.has_lengthscale:
                columns = np.sort(self.lengthscales[:, self.active[:, d], d], axis=1).T
                name = "correlation_odds" if axis.kernel.on_levels else "lengthscale"
                for c, column in enumerate(columns[:1] if self.shared_lengthscales else columns):
                    quantities[f"{name}[{d}, {c}]"] = column
        return quantities

    def axis_lengthscales(self, d: int) -> Floats:
        """Length-scales (K, R) for compiled code: NaN where not active, 0 where there is none."""
        if self.axes[d].kernel.has_lengthscale:
            return np.ascontiguousarray(self.lengthscales[:, :, d])
        return np.where(self.active[:, d], np.zeros((self.n_draws, 1)), np.nan)

    def known_factors(self, d: int) -> KnownFactors:
        """The factors of axis d at its points."""
        axis = self.axes[d]
        return KnownFactors(
            axis,
            self.axis_lengthscales(d),
            self.offsets[:, :, d],
            axis.scale(axis.points),
            self.states[d],
        )

    # --- factor values at the distinct coordinates of points ---------------------------------

    def _distinct_coordinates(self, d: int, column: Floats) -> tuple[Ints, Floats, Ints]:
        """Distinct axis points and other scaled coordinates in a column, and indices into both."""
        axis = self.axes[d]
        located = axis.locate(column)
        on_axis, on_axis_index = np.unique(located[located >= 0], return_inverse=True)
        off_axis, off_axis_index = np.unique(axis.scale(column[located < 0]), return_inverse=True)
        index = np.empty(len(column), dtype=np.int64)
        index[located >= 0] = on_axis_index
        index[located < 0] = on_axis.size + off_axis_index
        return on_axis, off_axis, index

    def _drawn_tables(self, points: Floats) -> tuple[list[Floats], Ints]:
        """Factor values drawn at the distinct coordinates, and the points as indices into them."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(OFF_GRID_STREAM,)))
        tables, index = [], np.empty(points.shape, dtype=np.int64)
        for d in range(len(self.axes)):
            on_axis, off_axis, index[:, d] = self._distinct_coordinates(d, points[:, d])
            table = self.states[d][:, :, on_axis, 0]
            if off_axis.size:
                drawn = states_between(self.known_factors(d), off_axis, threading.Event(), rng)
                table = np.concatenate((table, drawn[..., 0]), axis=2)
            tables.append(table)
        return tables, index

    def _moment_tables(self, points: Floats) -> tuple[list[Floats], list[Floats], Floats, Ints]:
        """Arguments of `cp_values.moments`: factors' means and variances, weights, indices."""
        means, variances, index = [], [], np.empty(points.shape, dtype=np.int64)
        for d in range(len(self.axes)):
            on_axis, off_axis, index[:, d] = self._distinct_coordinates(d, points[:, d])
            mean = self.states[d][:, :, on_axis, 0]
            variance = np.zeros_like(mean)
            if off_axis.size:
                between = moments_between(self.known_factors(d), off_axis)
                mean = np.concatenate((mean, between[0]), axis=2)
                variance = np.concatenate((variance, between[1]), axis=2)
            means.append(mean)
            variances.append(variance)
        return means, variances, self.weights, index


@dataclass(frozen=True, eq=False)
class ComponentPaths:
    """N draws of components as whole functions of scaled coordinates.

    A draw knows its factors at the points of the axes. Between them a path is the factor's
    conditional mean, so its variance there is too small; `missing_variance` says by how much.
    """

    draws: ComponentDraws

    @property
    def n_paths(self) -> int:
        """N."""
        return self.draws.n_draws

    @property
    def n_dims(self) -> int:
        """D."""
        return len(self.draws.axes)

    def table(self, d: int, coords: Floats) -> Floats:
        """The factors at scaled coordinates (u,) of axis d, (N, R, u)."""
        axis = self.draws.axes[d]
        located = axis.locate(axis.unscale(coords))
        is_point = located >= 0
        table = np.empty((*self.draws.weights.shape, coords.size))
        table[:, :, is_point] = self.draws.states[d][:, :, located[is_point], 0]
        if not is_point.all():
            between, index = np.unique(coords[~is_point], return_inverse=True)
            means, _ = moments_between(self.draws.known_factors(d), between)
            table[:, :, ~is_point] = means[:, :, index]
        return table

    def values(self, points: Floats) -> Floats:
        """All paths at scaled points (m, D): (N, m)."""
        tables, index = [], np.empty(points.shape, dtype=np.int64)
        for d in range(self.n_dims):
            coords, index[:, d] = np.unique(points[:, d], return_inverse=True)
            tables.append(self.table(d, coords))
        return cp_values.values(tables, self.draws.weights, index)

    def own_values(self, points: Floats) -> Floats:
        """Each path at scaled points of its own, (N, m, D): (N, m)."""
        return np.array([self.select([p]).values(points[p])[0] for p in range(self.n_paths)])

    def missing_variance(self, points: Floats) -> Floats:
        """The variance that paths lack at scaled points (m, D), on average over paths, (m,)."""
        pairs = enumerate(self.draws.axes)
        unscaled = np.stack([axis.unscale(points[:, d]) for d, axis in pairs], axis=1)
        return np.asarray(self.draws.moments_by_draw(unscaled).variance.mean(axis=0))

    def terms(self, path: int) -> "ComponentTerms":
        """One path as a sum of products."""
        return ComponentTerms(self.select([path]))

    def select(self, paths: "Ints | list[int]") -> "ComponentPaths":
        """Some of the paths."""
        return ComponentPaths(self.draws.taking(np.asarray(paths, dtype=np.int64)))

    def negated(self) -> "ComponentPaths":
        """The paths of −f."""
        return ComponentPaths(self.draws.negated())


@dataclass(frozen=True, eq=False)
class ComponentTerms:
    """One draw of components as a sum of products; `paths` holds this one alone."""

    paths: ComponentPaths

    @property
    def wave_weights(self) -> Complexes:
        """There are no waves."""
        return np.empty(0, dtype=np.complex128)

    @property
    def real_weights(self) -> Floats:
        """The weights, (R,)."""
        return np.asarray(self.paths.draws.weights[0])

    def waves(self, d: int, coords: Floats) -> Complexes:  # noqa: ARG002
        """There are no waves: (0, u)."""
        return np.empty((0, coords.size), dtype=np.complex128)

    def reals(self, d: int, coords: Floats) -> Floats:
        """The factors at scaled coordinates (u,) of axis d, (R, u)."""
        return np.asarray(self.paths.table(d, coords)[0])

    @property
    def real_key(self) -> Hashable:
        """Every draw has factors of its own."""
        return None

    def frequencies(self, d: int) -> Floats | None:
        """There are no waves: (0,), or None on an axis of levels."""
        return None if self.paths.draws.axes[d].kernel.on_levels else np.empty(0)

    def real_moments(self, d: int) -> RealMoments | None:  # noqa: ARG002
        """There is no closed form for all kernels."""
        return None

    def mixed_covariances(self, d: int) -> Complexes:  # noqa: ARG002
        """There are no waves: (0, R)."""
        return np.empty((0, self.real_weights.size), dtype=np.complex128)

    def pieces(self, d: int) -> Pieces:
        """Between the axis points a conditional mean is smooth over a length-scale."""
        axis = self.paths.draws.axes[d]
        lengths = self.paths.draws.lengthscales[0, :, d]
        shortest = float(np.nanmin(lengths)) if np.isfinite(lengths).any() else 1.0
        return Pieces(axis.scale(axis.active_points), min(max(shortest, 1e-3), MAX_PIECE))
