"""Whole functions drawn from a Gaussian process given its observations, as sums of products.

A path of the prior is a sum of F waves with random frequencies. Along each axis the kernel
ρ + (1 − ρ)·Matérn 5/2 is the characteristic function of a mixture: with probability ρ the axis is
absent from the wave; otherwise its frequency is t with 5 degrees of freedom, over the length-scale.
(`wave_orders` says how axes and frequencies are drawn, so that rare waves do not make paths
extreme.)
On a category a wave is absent with the correlation as probability; otherwise each level has a phase
of its own. An inactive coordinate is, with the weight w of the covariance, at the middle of the
axis, and otherwise has a phase of its own. Amplitudes are Rayleigh and phases uniform, so each wave
is normal at any single point. Every path has new frequencies, so mean and covariance over paths
are those of the process for every F; F only matters for what depends on the whole distribution.

Given observations, v = C⁻¹·(y − prior path − noise) adds one product for each observation
(pathwise conditioning, Wilson et al. 2020):

    path(x) = prior path(x) + Σ_i v_i·k(x, x_i)
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from bktf._compiled import sum_cosines
from bktf._typing import Complexes, Floats, Ints
from bktf.gaussian_process.conditional_process import ConditionalProcess
from bktf.gaussian_process.covariance import FROM_FAR, MIDDLE_WEIGHT, SQRT5
from bktf.gaussian_process.kernel_integrals import KernelIntegrals
from bktf.gaussian_process.wave_orders import draw_frequencies, draw_subsets
from bktf.product_forms import Pieces, RealMoments

N_FEATURES = 256  # F; docs/analysis.md has the measurements behind it
T_DOF = 5.0  # degrees of freedom of the frequencies: twice the smoothness of the kernel
MAX_ANGLES = 4_000_000  # in memory together


@dataclass(frozen=True, eq=False)
class ProcessPaths:
    """N paths of a process, as functions of its D axes at its context; scaled coordinates."""

    process: ConditionalProcess
    draws: Ints  # (N,) the draw of the parameters of each path
    frequencies: Floats  # (N, F, D) of ordered axes; 0 where the axis is absent or has levels
    inactive_angles: Floats  # (N, F, D) what an inactive coordinate adds on an ordered axis
    level_angles: dict[int, Floats]  # by axis of levels, what each adds, (N, F, m_d)
    offsets: Floats  # (N, F)
    amplitudes: Floats  # (N, F)
    coefficients: Floats  # (N, n) v

    @property
    def n_paths(self) -> int:
        """N."""
        return len(self.draws)

    @property
    def n_dims(self) -> int:
        """D."""
        return self.process.n_dims

    @property
    def n_features(self) -> int:
        """F."""
        return int(self.amplitudes.shape[1])

    def values(self, points: Floats) -> Floats:
        """All paths at scaled points (m, D): (N, m)."""
        out = np.zeros((self.n_paths, len(points)))
        for draw in np.unique(self.draws):
            mine = np.flatnonzero(self.draws == draw)
            process = self.process.select(np.array([draw]))
            for block in process.blocks(len(points)):
                covariance = process.covariances_with_observed(points[block])[0]
                out[mine, block] = self.coefficients[mine] @ covariance.T
        for p in range(self.n_paths):
            self._add_waves(p, points, out[p])
        return out

    def own_values(self, points: Floats) -> Floats:
        """Each path at scaled points of its own, (N, m, D): (N, m)."""
        return np.array([self.select([p]).values(points[p])[0] for p in range(self.n_paths)])

    def prior_values(self, path: int, points: Floats) -> Floats:
        """The waves of one path at scaled points (m, D), (m,)."""
        out = np.zeros(len(points))
        self._add_waves(path, points, out)
        return out

    def _add_waves(self, path: int, points: Floats, out: Floats) -> None:
        """Add the waves of one path at scaled points (m, D) to out (m,)."""
        size = max(MAX_ANGLES // max(self.n_features, 1), 1)
        for first in range(0, len(points), size):
            block = slice(first, first + size)
            angles = self.angles(path, points[block])
            sum_cosines(angles, self.amplitudes[path], out[block])

    def angles(self, path: int, points: Floats) -> Floats:
        """The angles of the waves of one path at scaled points (m, D), (m, F)."""
        ordered = points.copy()
        is_inactive = (points > FROM_FAR) & ~self.process.axis_levels
        ordered[is_inactive] = 0.0
        angles = ordered @ self.frequencies[path].T + self.offsets[path]
        for d in np.flatnonzero(is_inactive.any(axis=0)).tolist():
            angles += is_inactive[:, d, None] * self.inactive_angles[path, :, d]
        for d, table in self.level_angles.items():
            angles += table[path][:, points[:, d].astype(np.intp)].T
        return np.ascontiguousarray(angles)

    def terms(self, path: int) -> "ProcessTerms":
        """One path as a sum of products."""
        return ProcessTerms(self.select([path]))

    def select(self, paths: "Ints | list[int]") -> "ProcessPaths":
        """Some of the paths."""
        index = np.asarray(paths, dtype=np.intp)
        return replace(
            self,
            draws=self.draws[index],
            frequencies=self.frequencies[index],
            inactive_angles=self.inactive_angles[index],
            level_angles={d: table[index] for d, table in self.level_angles.items()},
            offsets=self.offsets[index],
            amplitudes=self.amplitudes[index],
            coefficients=self.coefficients[index],
        )

    def negated(self) -> "ProcessPaths":
        """The paths of −f."""
        return replace(
            self,
            process=self.process.negated(),
            amplitudes=-self.amplitudes,
            coefficients=-self.coefficients,
        )


@dataclass(frozen=True, eq=False)
class ProcessTerms:
    """One path of a process as a sum of products; `paths` holds this one alone."""

    paths: ProcessPaths

    @property
    def process(self) -> ConditionalProcess:
        """The process with the parameters of the path."""
        return self.paths.process.select(self.paths.draws)

    @property
    def wave_weights(self) -> Complexes:
        """W, (F,)."""
        return np.asarray(self.paths.amplitudes[0] * np.exp(1j * self.paths.offsets[0]))

    @property
    def real_weights(self) -> Floats:
        """c, (n,): the coefficients times what the context contributes to the covariance."""
        process = self.process
        weights = self.paths.coefficients[0] * process.prior_variances[0]
        for d, coordinate in enumerate(process.context, start=process.n_dims):
            weights = weights * process.table(d, np.array([coordinate]))[0, 0]
        return np.asarray(weights)

    def waves(self, d: int, coords: Floats) -> Complexes:
        """z_d at scaled coordinates (u,) of axis d, (F, u)."""
        if d in self.paths.level_angles:
            angles = self.paths.level_angles[d][0][:, coords.astype(np.intp)]
            return np.asarray(np.exp(1j * angles))
        is_inactive = coords > FROM_FAR
        active = self.paths.frequencies[0, :, d, None] * np.where(is_inactive, 0.0, coords)
        inactive = self.paths.inactive_angles[0, :, d, None]
        return np.asarray(np.exp(1j * np.where(is_inactive, inactive, active)))

    def reals(self, d: int, coords: Floats) -> Floats:
        """The covariance along axis d with each observation, (n, u)."""
        return np.asarray(self.process.table(d, coords)[0].T)

    @property
    def real_key(self) -> Hashable:
        """Paths of one draw of the parameters have the same covariances along the axes."""
        return int(self.paths.draws[0])

    def frequencies(self, d: int) -> Floats | None:
        """ω (F,), where z_d = exp(i·ω·x) on [0, 1]; None on an axis of levels."""
        return None if d in self.paths.level_angles else self.paths.frequencies[0, :, d]

    def real_moments(self, d: int) -> RealMoments | None:
        """Moments of the covariances along axis d over the uniform measure; None on levels."""
        if d in self.paths.level_angles:
            return None
        own = self._integrals(d)
        return own.moments() if own.is_inside else None

    def mixed_covariances(self, d: int) -> Complexes:
        """E[z_d·φ_d] − E[z_d]·E[φ_d] over the uniform measure, (F, n)."""
        return self._integrals(d).with_waves(self.paths.frequencies[0, :, d])

    def pieces(self, d: int) -> Pieces:
        """Between the observations a covariance is smooth over a length-scale."""
        own = self._integrals(d)
        return Pieces(np.unique(own.knots), min(SQRT5 / own.rate, 0.25))

    def _integrals(self, d: int) -> KernelIntegrals:
        """The covariances along axis d as functions to be integrated."""
        process, draw = self.paths.process, self.paths.draws[0]
        rate = SQRT5 * math.exp(-process.logs[draw, d])
        return KernelIntegrals(rate, float(process.shares[draw]), process.observed[:, d])


@dataclass(frozen=True, eq=False)
class _Features:
    """Random waves over all axes of the observations, A = D + C + E of them."""

    frequencies: Floats  # (N, F, A)
    inactive_angles: Floats  # (N, F, A)
    level_angles: dict[int, Floats]  # by axis, (N, F, levels)
    shares: Floats  # (N, F) of the prior variance

    def angles_along(self, a: int, coords: Floats) -> Floats:
        """What scaled coordinates (u,) of one axis add to the angles, (N, F, u)."""
        if a in self.level_angles:
            return self.level_angles[a][:, :, coords.astype(np.intp)]
        is_inactive = coords > FROM_FAR
        active = self.frequencies[:, :, a, None] * np.where(is_inactive, 0.0, coords)
        return np.where(is_inactive, self.inactive_angles[:, :, a, None], active)


def draw_process_paths(
    process: ConditionalProcess,
    n_levels: list[int],
    n_paths: int,
    n_features: int,
    rng: np.random.Generator,
) -> ProcessPaths:
    """Paths of the process given its observations; they cycle through the parameter draws.

    n_levels: of each of the D axes, how many points it has.
    """
    n_dims, draws = process.n_dims, np.arange(n_paths) % len(process.logs)
    features = _draw_features(process, draws, n_levels, n_features, rng)
    offsets = rng.uniform(0.0, 2.0 * math.pi, (n_paths, n_features))
    scales = np.sqrt(process.prior_variances[draws][:, None] * features.shares)
    amplitudes = scales * np.sqrt(rng.chisquare(2.0, (n_paths, n_features)))
    noise = rng.standard_normal((n_paths, len(process.observed)))
    # The waves at the observations, over all their axes
    prior = _waves_at_observations(process, features, offsets, amplitudes)
    # The waves as functions of the D axes: the context is fixed, descriptors follow from levels.
    for a, coordinate in enumerate(process.context, start=n_dims):
        offsets = offsets + features.angles_along(a, np.array([coordinate]))[:, :, 0]
    level_angles = {d: features.level_angles[d] for d in range(n_dims) if process.on_levels[d]}
    for table in process.descriptors:
        for i, a in enumerate(process.described_axes[table.axis]):
            more = features.angles_along(a, table.values[:, i])
            level_angles[table.axis] = level_angles[table.axis] + more
    noise /= np.sqrt(process.noise_precision[draws])[:, None]
    targets = process.residuals[draws] - prior - noise
    coefficients = np.empty_like(targets)
    for draw in np.unique(draws):
        mine, root = draws == draw, process.roots[draw]
        coefficients[mine] = (targets[mine] @ root.T) @ root
    return ProcessPaths(
        process=process,
        draws=draws,
        frequencies=np.ascontiguousarray(features.frequencies[:, :, :n_dims]),
        inactive_angles=np.ascontiguousarray(features.inactive_angles[:, :, :n_dims]),
        level_angles=level_angles,
        offsets=offsets,
        amplitudes=amplitudes,
        coefficients=coefficients,
    )


def mean_path(process: ConditionalProcess, n_levels: list[int]) -> ProcessPaths:
    """The posterior mean within each draw of the parameters, as K paths without waves."""
    rng = np.random.default_rng(0)  # nothing is drawn: there are no waves
    bare = draw_process_paths(process, n_levels, len(process.logs), 0, rng)
    return replace(bare, coefficients=process.coefficients)


def _draw_features(
    process: ConditionalProcess,
    draws: Ints,
    n_levels: list[int],
    n_features: int,
    rng: np.random.Generator,
) -> _Features:
    """New waves for every path, over all axes of the observations."""
    n_axes, shape = process.observed.shape[1], (len(draws), n_features)
    frequencies = np.zeros((*shape, n_axes))
    inactive_angles = np.zeros((*shape, n_axes))
    level_angles: dict[int, Floats] = {}
    correlations = 1.0 / (1.0 + np.exp(-process.logs[:, :n_axes]))  # of axes with levels
    absent = np.where(process.on_levels, correlations, process.shares[:, None])
    is_absent_on, shares = draw_subsets(absent, draws, n_features, rng)
    ordered = ~is_absent_on & ~process.on_levels
    standard, weights = draw_frequencies(ordered, T_DOF, rng)
    for a in range(n_axes):
        log, is_absent = process.logs[draws, a][:, None], is_absent_on[:, :, a]
        if process.on_levels[a]:
            count = n_levels[a] if a < process.n_dims else _n_context_levels(process, a)
            angles = rng.uniform(0.0, 2.0 * math.pi, (*shape, count))
            level_angles[a] = np.where(is_absent[:, :, None], 0.0, angles)
            continue
        drawn = standard[:, :, a] * np.exp(-log)
        frequencies[:, :, a] = np.where(is_absent, 0.0, drawn)
        own_phase = rng.uniform(0.0, 2.0 * math.pi, shape)
        is_middle = rng.random(shape) < MIDDLE_WEIGHT
        inactive = np.where(is_middle, 0.5 * drawn, own_phase)
        inactive_angles[:, :, a] = np.where(is_absent, 0.0, inactive)
    return _Features(frequencies, inactive_angles, level_angles, shares * weights)


def _n_context_levels(process: ConditionalProcess, a: int) -> int:
    """How many levels an axis of the context has."""
    asked_for = process.context[a - process.n_dims]
    return int(max(process.observed[:, a].max(), asked_for)) + 1


def _waves_at_observations(
    process: ConditionalProcess, features: _Features, offsets: Floats, amplitudes: Floats
) -> Floats:
    """The waves of each path at the observations, (N, n)."""
    observed = process.observed
    n_paths, n_features = amplitudes.shape
    out = np.zeros((n_paths, len(observed)))
    size = max(MAX_ANGLES // max(n_features * len(observed), 1), 1)
    for first in range(0, n_paths, size):
        block = slice(first, first + size)
        part = _Features(
            features.frequencies[block],
            features.inactive_angles[block],
            {a: table[block] for a, table in features.level_angles.items()},
            features.shares[block],
        )
        angles = np.repeat(offsets[block][:, :, None], len(observed), axis=2)
        for a in range(observed.shape[1]):
            angles += part.angles_along(a, observed[:, a])
        transposed = np.ascontiguousarray(angles.transpose(0, 2, 1))
        for i, path in enumerate(range(n_paths)[block]):
            sum_cosines(transposed[i], amplitudes[path], out[path])
    return out
