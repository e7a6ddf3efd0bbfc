"""The posterior: draws, predictions, the next point, diagnostics."""

import math
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bktf._checks import whole_number
from bktf._typing import Bools, Floats, Ints
from bktf.acquisition import Draws, choose, points_of
from bktf.axis_kernels import Axis, check_points
from bktf.product_forms import Moments
from bktf.surrogate import diagnostics as diagnosing
from bktf.surrogate.diagnostics import Diagnostics
from bktf.surrogate.improvement_at import improvement_at
from bktf.surrogate.meaning import Meaning, check_names
from bktf.surrogate.model_spec import ModelSpec
from bktf.surrogate.observed_values import Standardisation
from bktf.surrogate.posterior_file import PosteriorFields, write_posterior
from bktf.surrogate.priors import Priors
from bktf.surrogate.sample_paths import SamplePaths

# Spawn keys of the fit's seed. Chains take (0, ·), draws of f (1,) between axis points and (2,) of
# a process, improvements beyond pending points (4,), paths (5, ·).
DIAGNOSTICS_STREAM = 3
N_UNSEEN = 64  # unseen cells whose mixing the diagnostics look at
NOTHING_LEFT = (
    "every cell of the grid is excluded or pending: there is nothing left to choose. Allow repeats "
    "or refine the axes"
)
MAX_PATHS = 100_000  # more are a mistake: memory would run out


@dataclass(frozen=True)
class GridMoments:
    """Posterior mean and standard deviation of f over the grid, (m_1, …, m_D), in units of y."""

    mean: Floats
    std: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Draws from the posterior of f, in the order chain after chain (K = chains × kept sweeps).

    `weights`, `noise_precision` and `lengthscales` are in the model's units (inputs on [0, 1],
    z-scored y); everything else is in the user's. Predictions are of f, not of noisy observations
    of it.
    """

    grid: tuple[Axis, ...]
    X: Floats  # (n, D)
    y: Floats  # (n,)
    spec: ModelSpec
    seed: int
    standardisation: Standardisation
    draws: Draws
    described: Meaning | None = None  # names, values and direction, where they are known

    def __repr__(self) -> str:
        """Sizes and the noise level."""
        shape = " × ".join(str(axis.size) for axis in self.grid)
        low, high = np.quantile(self.noise_std, [0.05, 0.95])
        sizes = f"{self.n_draws} draws, rank {self.rank}, {len(self.y)} observations"
        noise = f"noise std {low:.3g} to {high:.3g}"
        return f"<bktf.Posterior: {sizes} on a grid of {shape}, {noise}>"

    @property
    def meaning(self) -> Meaning:
        """Names, values and direction of what was fitted."""
        return self.described or Meaning(check_names(None, len(self.grid)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in the order of the columns of X."""
        return self.meaning.names

    @property
    def n_draws(self) -> int:
        """K, the number of kept draws of all chains together."""
        return self.draws.n_draws

    @property
    def rank(self) -> float:
        """R, the number of components; infinity for a Gaussian process."""
        return self.draws.rank

    @property
    def axes(self) -> tuple[Floats, ...]:
        """The axes that were used, observed coordinates included, in the user's units."""
        return tuple(axis.points for axis in self.grid)

    @property
    def priors(self) -> Priors:
        """The priors of the fit."""
        return self.spec.priors

    @property
    def lengthscales(self) -> Floats:
        """Length-scales on axes scaled to [0, 1], (K, R, D); at infinite rank (K, D).

        On a categorical axis they are the odds of the correlation (at infinite rank NaN; see
        `correlations`). They are NaN where a component is not active or an axis has none.
        """
        return self.draws.lengthscales

    @property
    def correlations(self) -> Floats:
        """Correlation between any two levels of a categorical axis, NaN on other axes.

        The shape is (K, R, D), at infinite rank (K, D).
        """
        return self.draws.correlations

    @property
    def noise_precision(self) -> Floats:
        """Precision of the observation noise in the model's units, (K,)."""
        return self.draws.noise_precision

    @property
    def noise_std(self) -> Floats:
        """Standard deviation of the observation noise in the units of y, (K,)."""
        return np.asarray(self.standardisation.scale / np.sqrt(self.noise_precision))

    # --- finite rank: weights and factors --------------------------------------------------------

    @property
    def active(self) -> Bools:
        """Which dimensions each component uses, (R, D)."""
        return self.draws.components.active

    @property
    def weights(self) -> Floats:
        """The weights of the components, (K, R), in the model's units."""
        return self.draws.components.weights

    @property
    def factors(self) -> tuple[Floats, ...]:
        """Factor draws, per axis (K, R, m_d); raw: signs and labels switch between draws.

        See `aligned_factors`.
        """
        return self.draws.components.factors

    @property
    def ranks(self) -> Ints:
        """Number of components that matter in each draw, (K,).

        Those with at least 1 % of the variance of all components over the grid.
        """
        return self.draws.components.ranks

    def aligned_factors(self) -> tuple[Floats, ...]:
        """Factor draws, per axis (K, R, m_d), with sign and order matched across draws.

        Each factor is scaled to a root mean square of 1.
        """
        return self.draws.components.aligned().factors

    def aligned_weights(self) -> Floats:
        """The weights (K, R) that go with `aligned_factors`: together they give the same f."""
        return self.draws.components.aligned().weights

    def component_products(self, X: ArrayLike) -> Floats:
        """Products of each component's factors at points, (K, R, n).

        Without weights, in the model's units.
        """
        return self.draws.components.products_at(check_points(X, self.grid))

    def level_covariance(self, d: int) -> Floats:
        """Posterior mean of the covariance between the levels of a "wishart" axis, (m_d, m_d).

        It averages the exact conditional means given each draw's factors.
        """
        return self.draws.components.level_covariance(d)

    # --- f at points -----------------------------------------------------------------------------

    def draws_at(self, X: ArrayLike) -> Floats:
        """Draws of f at points anywhere inside the box, (K, n); joint over the points of one call.

        Always the same for the same fit and the same call. At finite rank, a coordinate between
        axis points is an exact draw of the factor given the stored states.
        """
        return self.standardisation.to_user(self.draws.draw_at(check_points(X, self.grid)))

    def mean(self, X: ArrayLike) -> Floats:
        """Posterior mean of f at points anywhere inside the box, (n,)."""
        return self.standardisation.to_user(self.draws.moments(check_points(X, self.grid)).mean)

    def std(self, X: ArrayLike) -> Floats:
        """Posterior standard deviation of f at points anywhere inside the box, (n,)."""
        return self._deviation(self.draws.moments(check_points(X, self.grid)))

    def quantile(self, X: ArrayLike, q: float | ArrayLike) -> Floats:
        """Posterior quantile of f at points: (n,) for one level q, (len(q), n) for several."""
        levels = np.asarray(q, dtype=float)
        if not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"quantile levels must lie in [0, 1]; got {q!r}")
        return np.asarray(np.quantile(self.draws_at(X), levels, axis=0))

    def kernel(self, X: ArrayLike, X2: ArrayLike | None = None) -> Floats:
        """The covariance that each draw induces between points, (K, n, n2).

        It comes from the draw's factors and weights, or from its process, in squared units of y.

        Paper: eq. (10), the second layer of the deep-GP view.
        """
        first = check_points(X, self.grid)
        second = first if X2 is None else check_points(X2, self.grid, "X2")
        covariances = self.draws.induced_covariances(first, second)
        return np.asarray(self.standardisation.scale**2 * covariances)

    def grid_moments(self) -> GridMoments:
        """Mean and standard deviation of f over the whole grid.

        By matrix products; with a process, cell by cell.
        """
        moments = self.draws.grid_moments()
        return GridMoments(self.standardisation.to_user(moments.mean), self._deviation(moments))

    def paths(self, n: int, seed: int | None = None) -> SamplePaths:
        """Whole functions drawn from the posterior: call the result with points (m, D) for (n, m).

        Always the same for the same fit; `seed` gives others. At infinite rank they cycle through
        the draws of the parameters. At finite rank they are draws, so there are at most K of them.
        """
        number = None if seed is None else whole_number("seed", seed, 0)
        forms = self.draws.paths(whole_number("n", n, 1, MAX_PATHS), number)
        return SamplePaths(forms, self.grid, self.standardisation, self.meaning, self)

    # --- the next point --------------------------------------------------------------------------

    def expected_improvement(
        self, X: ArrayLike, best: float | None = None, pending: ArrayLike | None = None
    ) -> Floats:
        """E max(f(x) − threshold, 0) at points, (n,), in the units of y, where larger is better.

        Where smaller is better, use `negated()`.

        The threshold is `best`, by default the best observed value. With pending points it is the
        largest of `best` and f at them, so that only what x adds to them counts. Values at pending
        points are drawn jointly with f(x), always the same for the same fit. Without pending points
        the expectation within each draw is in closed form.

        Within each draw f is taken as normal with the moments behind `mean` and `std`. This is
        exact on axis points and at infinite rank. Between axis points the factors' remaining
        variances at different points are taken as independent.
        """
        points, waiting = check_points(X, self.grid), points_of(self, pending, "pending")
        threshold = float(self.y.max() if best is None else best)
        if not math.isfinite(threshold):
            raise ValueError(f"best must be a finite number, in the units of y; got {best!r}")
        units = self.standardisation
        best_z = float(units.to_model(np.array(threshold)))
        return units.scale * improvement_at(self.draws, self.seed, points, waiting, best_z)

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
        """The point of the grid to try next when larger is better, (D,).

        See `bktf.acquisition.choose`.
        """
        choice = choose(
            self,
            acquisition,
            beta=beta,
            exclude=exclude,
            pending=pending,
            integrate_weights=integrate_weights,
            seed=seed,
        )
        if choice.point is None:
            raise ValueError(NOTHING_LEFT)
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
        """The point of the grid to try next when smaller is better, (D,).

        For more than the point, `choose(posterior.negated(), …)`.
        """
        return self.negated().argmax(
            acquisition, beta, exclude, pending, integrate_weights=integrate_weights, seed=seed
        )

    def negated(self) -> "Posterior":
        """The posterior of −f given −y."""
        standardisation = Standardisation(-self.standardisation.mean, self.standardisation.scale)
        described = None if self.described is None else self.described.negated()
        return replace(
            self,
            y=-self.y,
            draws=self.draws.negated(),
            standardisation=standardisation,
            described=described,
        )

    # --- the draws themselves --------------------------------------------------------------------

    def label_free(self) -> dict[str, Floats]:
        """Quantities (K,) that do not depend on signs and labels.

        These are f at the data, the noise, and sorted summaries.
        """
        f = self.draws_at(self.X)
        return {f"f[{i}]": f[:, i] for i in range(f.shape[1])} | self._label_free_summaries()

    def _label_free_summaries(self) -> dict[str, Floats]:
        """`label_free` without f."""
        return {"noise_std": self.noise_std} | self.draws.summaries()

    def diagnostics(self) -> Diagnostics:
        """Rank-normalised R-hat and effective sample sizes; print it for the worst and for advice.

        The quantities are f at observed and at unseen points, and the summaries of `label_free`.
        Data determine f where they are, so chains that agree there may disagree elsewhere. So f is
        also taken at up to 64 random cells of the grid that were not observed. They are the same
        cells whenever the fit is the same.

        Where there is a Gaussian process, f is drawn, as by `draws_at`, and not its mean within
        each draw. R-hat then says whether chains differ by a noticeable part of the standard
        deviation of f. The other quantities show whether the parameters have mixed.
        """
        stream = np.random.SeedSequence(self.seed, spawn_key=(DIAGNOSTICS_STREAM,))
        rng = np.random.default_rng(stream)
        unseen = diagnosing.random_unseen_cells(self.grid, self.X, N_UNSEEN, rng)
        points = np.concatenate((self.X, unseen))
        f = self.standardisation.to_user(self.draws.draw_each(points, rng))
        n = len(self.X)
        names = [f"f[{i}]" for i in range(n)] + [f"f_unseen[{i}]" for i in range(len(unseen))]
        at_points = {name: f[:, i] for i, name in enumerate(names)}
        others = self._label_free_summaries()
        kinds = diagnosing.OBSERVED, diagnosing.UNSEEN, diagnosing.OTHER
        groups = np.repeat(kinds, (n, len(unseen), len(others))).tolist()
        return diagnosing.diagnose(at_points | others, self.spec.lengths.n_chains, groups, unseen)

    def to_arviz(self) -> Any:
        """The draws as ArviZ data; needs the extra bktf[arviz]."""
        from bktf.integrations.arviz import to_arviz  # an optional extra

        return to_arviz(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to this .npz file (no pickle); `bktf.load` reads it back."""
        fields = PosteriorFields(*(getattr(self, name) for name in PosteriorFields._fields))
        write_posterior(path, fields)

    def moments_by_draw(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and variance of f at points within each draw, (K, n) each, in the units of y.

        At finite rank the variance is 0 on axis points.
        """
        return self.mean_by_draw(X), self.std_by_draw(X) ** 2

    def mean_by_draw(self, X: ArrayLike) -> Floats:
        """Mean of f at points within each draw, (K, n), in the units of y."""
        moments = self.draws.moments_by_draw(check_points(X, self.grid))
        return self.standardisation.to_user(moments.mean)

    def std_by_draw(self, X: ArrayLike) -> Floats:
        """Standard deviation of f at points within each draw, (K, n), in the units of y."""
        return self._deviation(self.draws.moments_by_draw(check_points(X, self.grid)))

    def covariances_by_draw(self, X: ArrayLike) -> Floats:
        """Covariances of f between points within each draw, (K, n, n), in squared units of y.

        At finite rank it is 0 between different points: given a draw, its factors are known.
        """
        covariances = self.draws.covariances_by_draw(check_points(X, self.grid))
        return np.asarray(self.standardisation.scale**2 * covariances)

    # --- inside ----------------------------------------------------------------------------------

    def _deviation(self, moments: Moments) -> Floats:
        """Standard deviations in the units of y."""
        return np.asarray(self.standardisation.scale * np.sqrt(moments.variance))
