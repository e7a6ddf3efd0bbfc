"""The posterior: draws, and everything one can ask of them."""

import math
import os
import threading
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bktf.acquisition.choice import choose, points_of
from bktf.acquisition.improvement import expected_excess, improvement_beyond
from bktf.axis_kernels import categorical as levels
from bktf.axis_kernels import dense
from bktf.axis_kernels.axes import Axis, check_points
from bktf.components.alignment import Aligned, align
from bktf.components.chains import moments_between, states_between
from bktf.gaussian_process.process_draws import LocalDraws, local_draws
from bktf.product_forms import cp_tensors as cp
from bktf.surrogate.diagnostics import OBSERVED, OTHER, UNSEEN, Diagnostics, diagnose
from bktf.surrogate.posterior_file import read_fields, write_posterior
from bktf.surrogate.priors import Priors, Settings
from bktf.surrogate.standardisation import Standardisation

Floats = NDArray[np.float64]

MAX_GRID = 20_000_000  # cells that grid_moments is willing to hold, 160 MB per array
MAX_LOCAL_GRID = 200_000  # where each cell has to be asked of every draw's local component
# spawn keys of the fit's seed: chains take (0, ·), draws between axis points (1,), local ones (2,), diagnostics (3,), pending points (4,)
OFF_GRID_STREAM, LOCAL_STREAM, DIAGNOSTICS_STREAM, PENDING_STREAM = 1, 2, 3, 4
SHARE = 0.01  # of the variance, that a component must have to count for the rank
N_UNSEEN = 64  # unseen cells whose mixing the diagnostics look at
LOCAL_BLOCK = 2000  # points whose moments are found together where there is a local component
IMPROVEMENT_BLOCK = 100  # points whose covariances with pending points are found together


@dataclass(frozen=True)
class GridMoments:
    """Posterior mean and standard deviation of f over the whole grid, (m_1, …, m_D), in the units of y."""

    mean: Floats
    std: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Draws from the posterior of f, in the order chain after chain (K = chains × kept sweeps).

    `weights`, `noise_precision` and `lengthscales` are in the model's own units (inputs on [0, 1], z-scored y);
    everything else is in the user's. All answers are about f, not about noisy observations of it.
    """

    grid: tuple[Axis, ...]
    X: Floats  # (n, D)
    y: Floats  # (n,)
    active: NDArray[np.bool_]  # (R, D)
    priors: Priors
    settings: Settings
    known_noise_std: float | None
    seed: int
    standardisation: Standardisation
    lengthscales: Floats  # (K, R, D); odds of the correlation on a categorical axis; NaN where not active or where there is none
    states: tuple[Floats, ...]  # per axis (K, R, m_d, state size): factor and scaled derivatives
    weights: Floats  # (K, R)
    noise_precision: Floats  # (K,)
    weight_vars: Floats  # (K, R) prior variances of the weights: all the same, unless the rank adapts
    offsets: Floats  # (K, R, D) what factors vary around; 0 without offsets
    local_logs: Floats | None = None  # (K, D + 2) parameters of the local component, where there is one; see `local_kernel`

    def __repr__(self) -> str:
        """Sizes and the noise level."""
        shape = " × ".join(str(axis.size) for axis in self.grid)
        low, high = np.quantile(self.noise_std, [0.05, 0.95])
        return (
            f"<bktf.Posterior: {self.n_draws} draws, rank {self.rank}, {len(self.y)} observations on a grid of {shape}, "
            f"noise std {low:.3g} to {high:.3g}>"
        )

    @property
    def n_draws(self) -> int:
        """K, the number of kept draws of all chains together."""
        return len(self.weights)

    @property
    def rank(self) -> int:
        """R, the number of components."""
        return len(self.active)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """In each draw the number of components with at least SHARE of the variance of all of them over the grid, (K,)."""
        square = self.weights**2
        first = np.ones_like(square)
        for factor in self.factors:
            square, first = square * np.mean(factor**2, axis=2), first * np.mean(factor, axis=2)
        sizes = np.maximum(square - (self.weights * first) ** 2, 0.0)
        return np.asarray((sizes >= SHARE * sizes.sum(axis=1, keepdims=True)).sum(axis=1) * (sizes.sum(axis=1) > 0))

    @property
    def axes(self) -> tuple[Floats, ...]:
        """The axes that were used, observed coordinates included, in the user's units."""
        return tuple(axis.points for axis in self.grid)

    @property
    def factors(self) -> tuple[Floats, ...]:
        """Factor draws, per axis (K, R, m_d); raw: signs and labels switch between draws. See `aligned_factors`."""
        return tuple(states[..., 0] for states in self.states)

    @property
    def correlations(self) -> Floats:
        """Correlation between any two levels of a categorical axis, (K, R, D); NaN on other axes."""
        categorical = [axis.kernel.kind == dense.EQUAL_CORRELATION for axis in self.grid]
        return np.where(categorical, self.lengthscales / (1.0 + self.lengthscales), np.nan)

    def level_covariance(self, d: int) -> Floats:
        """Posterior mean of the covariance between the levels of an axis with the kernel "wishart", (m_d, m_d).

        The mean over draws of the exact conditional mean given each draw's factors.
        """
        if self.grid[d].kernel.kind != dense.FULL_COVARIANCE:
            raise ValueError(f'axis {d} does not learn a covariance; only the kernel "wishart" does')
        factors = self.factors[d][:, self.active[:, d]]  # (K, R, m)
        total = np.einsum("krm,krl->ml", factors, factors) / self.n_draws + (levels.EXTRA - 1.0) * np.eye(factors.shape[2])
        return np.asarray(total / (levels.EXTRA - 1.0 + factors.shape[1]))

    @cached_property
    def local(self) -> LocalDraws | None:
        """The local component of every draw, where there is one."""
        if self.local_logs is None:
            return None
        z = self.standardisation.to_model(self.y)
        residuals = z - np.einsum("kr,krn->kn", self.weights, self.component_products(self.X))
        on_levels = np.array([axis.kernel.on_levels for axis in self.grid])
        return local_draws(self._scaled(self.X), on_levels, self.local_logs, self.noise_precision, residuals)

    @property
    def noise_std(self) -> Floats:
        """Standard deviation of the observation noise in the units of y, (K,)."""
        return np.asarray(self.standardisation.scale / np.sqrt(self.noise_precision))

    # --- f at points ---------------------------------------------------------------------------------------------

    def draws_at(self, X: ArrayLike) -> Floats:
        """Draws of f at points anywhere inside the box, (K, n); joint over the points of one call.

        A coordinate between axis points is an exact draw of the factor given the stored states, always the same for
        the same fit and the same call.
        """
        points = check_points(X, self.grid)
        tables, index = self._drawn_tables(points)
        values = cp.values(tables, self.weights, index)
        if self.local is not None:
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(LOCAL_STREAM,)))
            values += self.local.draw_at(self._scaled(points), rng)
        return self.standardisation.to_user(values)

    def mean(self, X: ArrayLike) -> Floats:
        """Posterior mean of f at points anywhere inside the box, (n,)."""
        return self.standardisation.to_user(self._moments(X).mean)

    def std(self, X: ArrayLike) -> Floats:
        """Posterior standard deviation of f at points anywhere inside the box, (n,)."""
        return np.asarray(self.standardisation.scale * np.sqrt(self._moments(X).variance))

    def quantile(self, X: ArrayLike, q: float | ArrayLike) -> Floats:
        """Posterior quantile of f at points: (n,) for one level q, (len(q), n) for several."""
        levels = np.asarray(q, dtype=float)
        if not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"quantile levels must lie in [0, 1]; got {q!r}")
        return np.asarray(np.quantile(self.draws_at(X), levels, axis=0))

    def kernel(self, X: ArrayLike, X2: ArrayLike | None = None) -> Floats:
        """The covariance that each draw's factors and weights, and its local component, induce between points, (K, n, n2).

        In squared units of y.

        Paper: eq. (10), the second layer of the deep-GP view.
        """
        first = check_points(X, self.grid)
        second = first if X2 is None else check_points(X2, self.grid, "X2")
        tables, index = self._drawn_tables(np.concatenate((first, second)))
        features = self.standardisation.scale * self.weights[:, :, None] * cp.products(tables, index)
        left, right = features[:, :, : len(first)], features[:, :, len(first) :]
        induced = left.transpose(0, 2, 1) @ right
        if self.local is not None:
            induced += self.standardisation.scale**2 * self.local.covariances(self._scaled(first), self._scaled(second))
        return np.asarray(induced)

    def grid_moments(self) -> GridMoments:
        """Mean and standard deviation of f over the whole grid at once, by matrix products; cell by cell with a local component."""
        sizes = [axis.size for axis in self.grid]
        cells, most = math.prod(sizes), MAX_GRID if self.local is None else MAX_LOCAL_GRID
        if cells > most:
            raise ValueError(
                f"grid_moments holds every cell, so the grid may have at most {most:,} cells; it has {cells:.3g}. "
                "Ask mean(X) and std(X) at the points you need"
            )
        if self.local is not None:
            points = np.stack([axis.ravel() for axis in np.meshgrid(*self.axes, indexing="ij")], axis=1)
            each = self._moments(points)
            std = self.standardisation.scale * np.sqrt(each.variance)
            return GridMoments(self.standardisation.to_user(each.mean).reshape(sizes), std.reshape(sizes))
        moments = cp.grid_moments(self.factors, self.weights)
        return GridMoments(self.standardisation.to_user(moments.mean), np.asarray(self.standardisation.scale * np.sqrt(moments.variance)))

    # --- the next point ------------------------------------------------------------------------------------------

    def expected_improvement(self, X: ArrayLike, best: float | None = None, pending: ArrayLike | None = None) -> Floats:
        """E max(f(x) − threshold, 0) at points, (n,), in the units of y, where larger is better; for smaller, ask `negated()`.

        The threshold is `best`, by default the best observed value. With pending points it is the largest of `best` and f at them, so
        that only what x adds to them counts. Their values are drawn, jointly with f(x) and always the same for the same fit; without
        them the expectation over each draw is in closed form.

        Within each draw f is taken as normal with the moments behind `mean` and `std`. This is exact on axis points and where there are
        no components. Between axis points the factors' remaining variances at different points are taken as independent.
        """
        points, waiting = check_points(X, self.grid), points_of(self, pending, "pending")
        threshold = float(self.y.max() if best is None else best)
        if not math.isfinite(threshold):
            raise ValueError(f"best must be a finite number, in the units of y; got {best!r}")
        mean, variance = self.moments_by_draw(points)
        alone = np.asarray(expected_excess(mean - threshold, np.sqrt(variance)).mean(axis=0))
        if not len(waiting):
            return alone
        blocks = [points[i : i + IMPROVEMENT_BLOCK] for i in range(0, len(points), IMPROVEMENT_BLOCK)]
        beyond = np.concatenate([np.empty(0), *[self._improvement_beyond(waiting, block, threshold) for block in blocks]])
        return np.asarray(np.minimum(beyond, alone))  # so that the error of drawing never makes it more

    def argmax(
        self,
        acquisition: str = "ei",
        beta: float = 2.0,
        exclude: ArrayLike | None = None,
        pending: ArrayLike | None = None,
        *,
        integrate_weights: bool = False,
        seed: int = 0,
    ) -> Floats:
        """The point of the grid to try next when larger is better, (D,); see `bktf.acquisition.choose`."""
        choice = choose(self, acquisition, beta=beta, exclude=exclude, pending=pending, integrate_weights=integrate_weights, seed=seed)
        if choice.point is None:
            raise ValueError(
                "every cell of the grid is excluded or pending: there is nothing left to choose. Allow repeats or refine the axes"
            )
        return choice.point

    def argmin(
        self,
        acquisition: str = "ei",
        beta: float = 2.0,
        exclude: ArrayLike | None = None,
        pending: ArrayLike | None = None,
        *,
        integrate_weights: bool = False,
        seed: int = 0,
    ) -> Floats:
        """The point of the grid to try next when smaller is better, (D,); for more than the point, `choose(posterior.negated(), …)`."""
        return self.negated().argmax(acquisition, beta, exclude, pending, integrate_weights=integrate_weights, seed=seed)

    def negated(self) -> "Posterior":
        """The posterior of −f given −y."""
        standardisation = Standardisation(-self.standardisation.mean, self.standardisation.scale)
        mirrored = replace(self, y=-self.y, weights=-self.weights, standardisation=standardisation)
        if self.local is not None:  # what is known need not be factored again
            mirrored.__dict__["local"] = self.local.negated()
        return mirrored

    # --- the draws themselves ------------------------------------------------------------------------------------

    def aligned_factors(self) -> tuple[Floats, ...]:
        """Factor draws, per axis (K, R, m_d), with sign, order and scale (root mean square 1) matched across draws."""
        return self._aligned().factors

    def aligned_weights(self) -> Floats:
        """The weights (K, R) that go with `aligned_factors`: together they give the same f."""
        return self._aligned().weights

    def label_free(self) -> dict[str, Floats]:
        """Quantities (K,) that do not depend on signs and labels: f at the data, the noise, sorted summaries."""
        f = self.draws_at(self.X)
        return {f"f[{i}]": f[:, i] for i in range(f.shape[1])} | self._label_free_summaries()

    def _label_free_summaries(self) -> dict[str, Floats]:
        """`label_free` without f."""
        quantities = {"noise_std": self.noise_std}
        sizes = np.abs(self.weights)
        for factor in self.factors:
            sizes = sizes * np.sqrt(np.mean(factor**2, axis=2))
        for c, column in enumerate(-np.sort(-sizes, axis=1).T):
            quantities[f"component_size[{c}]"] = column
        for d, axis in enumerate(self.grid):
            if axis.kernel.has_lengthscale:
                columns = np.sort(self.lengthscales[:, self.active[:, d], d], axis=1).T
                for c, column in enumerate(columns[:1] if self.settings.shared_lengthscales else columns):
                    name = "correlation_odds" if axis.kernel.on_levels else "lengthscale"
                    quantities[f"{name}[{d}, {c}]"] = column
        if self.local_logs is not None:
            for d, axis in enumerate(self.grid):
                quantities[f"local_{'correlation_odds' if axis.kernel.on_levels else 'lengthscale'}[{d}]"] = np.exp(self.local_logs[:, d])
            quantities["local_size"] = np.exp(0.5 * self.local_logs[:, -2])
            if not all(axis.kernel.on_levels for axis in self.grid):
                quantities["local_constant_share"] = 1.0 / (1.0 + np.exp(-self.local_logs[:, -1]))
        return quantities

    def diagnostics(self) -> Diagnostics:
        """Rank-normalised R-hat and effective sample size of f at observed and unseen points and of `label_free`'s summaries.

        Print it for a table of the worst and for advice. Data pin f where they are, so chains that agree there may disagree elsewhere:
        f is also asked at up to 64 random cells of the grid that were not observed, always the same for the same fit.

        Where there is a local component, f is drawn, as `draws_at` does, and not its mean within each draw. R-hat then says whether chains
        differ by a noticeable part of the standard deviation of f; means within draws may differ by less than anyone would notice.
        Whether the parameters have mixed is told by the other quantities.
        """
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(DIAGNOSTICS_STREAM,)))
        unseen = self._unseen_cells(rng)
        points = np.concatenate((self.X, unseen))
        if self.local is None:
            f = self.draws_at(points)
        else:  # each point by itself: joint draws take longer and R-hat asks for none
            each = self._moments_by_draw(points)
            f = self.standardisation.to_user(each.mean + np.sqrt(each.variance) * rng.standard_normal(each.mean.shape))
        n = len(self.X)
        at_points = {f"f[{i}]" if i < n else f"f_unseen[{i - n}]": f[:, i] for i in range(len(points))}
        others = self._label_free_summaries()
        groups = [OBSERVED] * n + [UNSEEN] * len(unseen) + [OTHER] * len(others)
        return diagnose(at_points | others, self.settings.n_chains, groups, unseen)

    def to_arviz(self) -> Any:
        """The draws as ArviZ data; needs the extra bktf[arviz]."""
        from bktf.integrations.arviz import to_arviz  # an optional extra

        return to_arviz(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to this .npz file (no pickle); `bktf.load` reads it back."""
        write_posterior(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Posterior":
        """Read a posterior that `save` wrote."""
        return cls(**read_fields(path))

    def moments_by_draw(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and variance of f at points within each draw, (K, n) each, in the units of y.

        Without a local component the variance is 0 on axis points.
        """
        return self.mean_by_draw(X), self.std_by_draw(X) ** 2

    def mean_by_draw(self, X: ArrayLike) -> Floats:
        """Mean of f at points within each draw, (K, n), in the units of y."""
        return self.standardisation.to_user(self._moments_by_draw(check_points(X, self.grid)).mean)

    def std_by_draw(self, X: ArrayLike) -> Floats:
        """Standard deviation of f at points within each draw, (K, n), in the units of y."""
        return np.asarray(self.standardisation.scale * np.sqrt(self._moments_by_draw(check_points(X, self.grid)).variance))

    def local_covariances(self, X: ArrayLike) -> Floats:
        """Covariances of the local component between points given the observations, within each draw, (K, n, n), in squared units of y."""
        if self.local is None:
            raise ValueError("this fit has no local component; fit with local=True")
        return np.asarray(self.standardisation.scale**2 * self.local.covariances_at(self._scaled(check_points(X, self.grid))))

    def component_products(self, X: ArrayLike) -> Floats:
        """Products of the factors of each component at points, (K, R, n), without weights, in the model's units."""
        tables, index = self._drawn_tables(check_points(X, self.grid))
        return cp.products(tables, index)

    # --- inside --------------------------------------------------------------------------------------------------

    def _improvement_beyond(self, pending: Floats, points: Floats, best: float) -> Floats:
        """The expected improvement of points (n, D) over `best` and over f at pending points (p, D)."""
        together = np.concatenate((pending, points))
        mean, variance = self.moments_by_draw(together)
        n = len(together)
        covariance = np.zeros((self.n_draws, n, n)) if self.local is None else self.local_covariances(together)
        covariance[:, np.arange(n), np.arange(n)] = variance
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(PENDING_STREAM,)))
        return improvement_beyond(mean, covariance, len(pending), best, rng)

    def axis_lengthscales(self, d: int) -> Floats:
        """Length-scales (K, R) as the kernels of `processes` want them: NaN not active, 0 where there is none."""
        if self.grid[d].kernel.has_lengthscale:
            return np.ascontiguousarray(self.lengthscales[:, :, d])
        return np.where(self.active[:, d], np.zeros((self.n_draws, 1)), np.nan)

    def _unseen_cells(self, rng: np.random.Generator) -> Floats:
        """Up to N_UNSEEN different random cells of the grid that were not observed, as points (U, D)."""
        drawn = rng.integers(0, [axis.size for axis in self.grid], (4 * N_UNSEEN, len(self.grid)))  # more: some are observed or repeated
        observed = np.stack([axis.locate(self.X[:, d]) for d, axis in enumerate(self.grid)], axis=1)
        _, first = np.unique(np.concatenate((observed, drawn)), axis=0, return_index=True)
        cells = drawn[np.sort(first[first >= len(observed)] - len(observed))[:N_UNSEEN]]
        return np.stack([axis.points[cells[:, d]] for d, axis in enumerate(self.grid)], axis=1)

    def _aligned(self) -> Aligned:
        return align(self.factors, self.weights, self.active)

    def _occurring(self, d: int, column: Floats) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
        """Axis points that occur in a column, scaled coordinates off the axis that occur, and each entry's place among both."""
        axis = self.grid[d]
        place = axis.locate(column)
        on, on_place = np.unique(place[place >= 0], return_inverse=True)
        off, off_place = np.unique(axis.scale(column[place < 0]), return_inverse=True)
        index = np.empty(len(column), dtype=np.int64)
        index[place >= 0] = on_place
        index[place < 0] = on.size + off_place
        return on, off, index

    def _drawn_tables(self, points: Floats) -> tuple[list[Floats], NDArray[np.int64]]:
        """Factor values drawn at the coordinates that occur, and the points as indices into them."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(OFF_GRID_STREAM,)))
        tables, index = [], np.empty(points.shape, dtype=np.int64)
        for d, axis in enumerate(self.grid):
            on, off, index[:, d] = self._occurring(d, points[:, d])
            table = self.states[d][:, :, on, 0]
            if off.size:
                scaled = axis.scale(axis.points)
                drawn = states_between(
                    axis, self.axis_lengthscales(d), self.offsets[:, :, d], scaled, self.states[d], off, threading.Event(), rng
                )
                table = np.concatenate((table, drawn[..., 0]), axis=2)
            tables.append(table)
        return tables, index

    def _moments(self, X: ArrayLike) -> cp.Moments:
        """Mean and variance of f at points, in the model's units, with conditional moments between axis points."""
        if self.local is None:
            return cp.moments(*self._moment_tables(X))
        points = check_points(X, self.grid)
        each = [self._moments_by_draw(points[i : i + LOCAL_BLOCK]) for i in range(0, max(len(points), 1), LOCAL_BLOCK)]
        mean = np.concatenate([e.mean.mean(axis=0) for e in each])
        return cp.Moments(mean, np.concatenate([e.mean.var(axis=0) + e.variance.mean(axis=0) for e in each]))

    def _moments_by_draw(self, points: Floats) -> cp.Moments:
        """Mean and variance of f at points within each draw, (K, n) each, in the model's units."""
        each = cp.moments_by_draw(*self._moment_tables(points))
        if self.local is None:
            return each
        own = self.local.moments_at(self._scaled(points))
        return cp.Moments(each.mean + own.mean, each.variance + own.variance)

    def _scaled(self, points: Floats) -> Floats:
        """Points as the model sees them."""
        return np.stack([axis.scale(points[:, d]) for d, axis in enumerate(self.grid)], axis=1)

    def _moment_tables(self, X: ArrayLike) -> tuple[list[Floats], list[Floats], Floats, NDArray[np.int64]]:
        """Means and variances of the factors at the coordinates that occur, the weights, and the points as indices into them."""
        points = check_points(X, self.grid)
        means, variances, index = [], [], np.empty(points.shape, dtype=np.int64)
        for d, axis in enumerate(self.grid):
            on, off, index[:, d] = self._occurring(d, points[:, d])
            mean = self.states[d][:, :, on, 0]
            variance = np.zeros_like(mean)
            if off.size:
                between = moments_between(
                    axis, self.axis_lengthscales(d), self.offsets[:, :, d], axis.scale(axis.points), self.states[d], off
                )
                mean = np.concatenate((mean, between[0]), axis=2)
                variance = np.concatenate((variance, between[1]), axis=2)
            means.append(mean)
            variances.append(variance)
        return means, variances, self.weights, index
