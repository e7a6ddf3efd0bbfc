"""Scores under draws with a Gaussian process, alone or with components.

Within a draw f is normal at every point, so each score is a closed form of its moments there.
"""

from typing import NamedTuple

import numpy as np

from bktf._typing import Floats, Ints
from bktf.acquisition import process_log_ei as loops
from bktf.acquisition.posterior_view import GridFactors, PosteriorView
from bktf.acquisition.scores import MAX_COMPARED, thresholds_of_draws
from bktf.gaussian_process import ConditionalProcess, condition_process
from bktf.product_forms import cp_values as cp

MAX_DRAWS = 16  # draws that are used; each costs O(n²) per cell
SCREEN_DRAWS, N_SCREENED = 4, 96  # draws that screen candidates of a box, and how many stay
MAX_UNSCREENED = 4e6  # correlations with observations up to which no screening is done
MAX_WORK = 2e9  # operations of comparing cells one by one


def n_comparable(process: ConditionalProcess) -> int:
    """The number of cells up to which all of them are compared."""
    n_draws = min(len(process.logs), MAX_DRAWS)
    work = n_draws * len(process.observed) ** 2
    return min(MAX_COMPARED, int(MAX_WORK // work))


class GivenPending(NamedTuple):
    """A subset of the draws of a process, each conditioned on its values at pending points."""

    process: ConditionalProcess
    thresholds: Floats  # (K,)
    kept: Ints  # (K,) their indices among all draws


def given_pending(
    view: PosteriorView,
    best: float,
    pending: Floats,
    rng: np.random.Generator,
) -> GivenPending:
    """A subset of the draws; each takes its own sample at pending points (p, D) as observed."""
    assert view.process is not None
    process, kept = view.process.thinned(MAX_DRAWS)
    if not len(pending):
        return GivenPending(process, thresholds_of_draws(best, np.empty((len(kept), 0))), kept)
    scaled, of_components = view.scaled(pending), view.components_at(pending)[kept]
    drawn = process.draw_at(scaled, rng)
    thresholds = thresholds_of_draws(best, drawn + of_components)
    observed = np.concatenate((process.observed, process.in_context(scaled)))
    residuals = np.concatenate((process.residuals, drawn), axis=1)
    noise_precision = process.noise_precision
    conditioned = condition_process(
        observed, process.on_levels, process.logs, noise_precision, residuals
    )
    process = conditioned._replace(context=process.context, descriptors=process.descriptors)
    return GivenPending(process, thresholds, kept)


class ProcessScore(NamedTuple):
    """Log EI, or UCB, of the cells of a grid."""

    process: ConditionalProcess
    tables: tuple[Floats, ...]  # per axis (K, m_d, n)
    components: GridFactors | None  # of the same draws
    thresholds: Floats  # (K,)
    beta: float | None  # of UCB; None for log EI

    @property
    def is_log(self) -> bool:
        """Only for EI."""
        return self.beta is None

    @property
    def n_enumerable(self) -> int:
        """Each cell is expensive."""
        return n_comparable(self.process)

    def starting_cells(self) -> Ints:
        """None, because the maxima of draws are not known."""
        return np.empty((0, len(self.tables)), dtype=np.int64)

    def moments(self, cells: Ints) -> cp.Moments:
        """Mean and variance (K, n) of f within each draw at cells (n, D)."""
        moments = self.process.moments(self.tables, cells)
        if self.components is None:
            return moments
        of_components = cp.values(self.components.factors, self.components.weights, cells)
        return cp.Moments(moments.mean + of_components, moments.variance)

    def values(self, cells: Ints) -> Floats:
        """Scores (n,) of cells (n, D)."""
        mean, variance = self.moments(cells)
        if self.beta is None:
            by_cell = np.ascontiguousarray(mean.T), np.ascontiguousarray(variance.T)
            return np.asarray(loops.log_improvements(*by_cell, self.thresholds))
        center, square = mean.mean(axis=0), (mean**2 + variance).mean(axis=0)
        spread = np.sqrt(np.maximum(square - center**2, 0.0))
        return np.asarray(center + self.beta * spread)


def process_score(
    given: GivenPending,
    axes: tuple[Floats, ...],  # scaled points
    components: GridFactors | None,  # of all draws
    beta: float | None,
) -> ProcessScore:
    """The score of the cells of some axes: UCB where beta is given, log EI otherwise."""
    process, thresholds, kept = given
    tables = tuple(process.table(d, points) for d, points in enumerate(axes))
    if components is not None:
        factors = tuple(f[kept] for f in components.factors)
        components = GridFactors(factors, components.weights[kept], components.active)
    return ProcessScore(process, tables, components, thresholds, beta)


class ProcessBoxScore(NamedTuple):
    """Log EI at scaled points of a box; only for draws without components."""

    process: ConditionalProcess
    thresholds: Floats  # (K,)

    @property
    def is_log(self) -> bool:
        """Always."""
        return True

    def values(self, points: Floats) -> Floats:
        """Log EI (N,) at scaled points (N, D)."""
        mean, variance = self.process.moments_at(points)
        by_point = np.ascontiguousarray(mean.T), np.ascontiguousarray(variance.T)
        return np.asarray(loops.log_improvements(*by_point, self.thresholds))

    def promising(self, points: Floats) -> Floats:
        """The points (N, D) to compare: all, or the best under few draws where they are many."""
        n_draws, n = self.process.coefficients.shape
        if n_draws <= SCREEN_DRAWS or n_draws * n * points.size <= MAX_UNSCREENED:
            return points
        process, kept = self.process.thinned(SCREEN_DRAWS)
        rough = ProcessBoxScore(process, self.thresholds[kept]).values(points)
        return points[np.argsort(-rough, kind="stable")[:N_SCREENED]]

    def values_and_gradients(self, points: Floats) -> tuple[Floats, Floats]:
        """Log EI (N,) and its gradients (N, D) at scaled points (N, D); 0 on axes of levels."""
        process = self.process
        covariance, slopes = process.covariances_and_slopes(points)
        mean, variance, solved = process.moments_given(covariance)
        by_point = np.ascontiguousarray(mean.T), np.ascontiguousarray(variance.T)
        by_mean, by_variance = np.empty((2, *by_point[0].shape))
        values = loops.log_improvements_and_derivatives(
            *by_point, self.thresholds, by_mean, by_variance
        )
        # Derivatives of log EI by the log covariances: the mean is linear in the covariances, the
        # variance is the prior variance minus the squares of what `solved` holds.
        weights = by_mean.T[:, :, None] * process.coefficients[:, None, :]
        weights -= 2.0 * by_variance.T[:, :, None] * (solved @ process.roots)
        weights *= covariance
        gradients = np.zeros(points.shape)
        gradients[:, process.searched_axes] = np.einsum("kni,dkni->nd", weights, slopes)
        return np.asarray(values), gradients


def process_box_score(process: ConditionalProcess, thresholds: Floats) -> ProcessBoxScore:
    """Log EI over the box of the axes of a process."""
    return ProcessBoxScore(process, thresholds)
