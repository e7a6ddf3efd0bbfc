"""Paths averaged over some axes: again sums of products, of the other axes."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from bktf._typing import Complexes, Floats, Ints
from bktf.product_forms.axis_integrals import axis_means
from bktf.product_forms.axis_measures import AxisMeasure
from bktf.product_forms.path_terms import (
    PathTerms,
    Pieces,
    ProductPaths,
    RealMoments,
    evaluate_terms,
)


@dataclass(frozen=True, eq=False)
class AveragedPaths:
    """N paths averaged over some axes, exactly: products keep their averages as factors."""

    paths: ProductPaths
    kept: tuple[int, ...]  # the other axes
    wave_factors: tuple[Complexes, ...]  # by path, (F,) products of the means of the waves
    real_factors: tuple[Floats, ...]  # by path, (T,) and of the real terms

    @property
    def n_paths(self) -> int:
        """N."""
        return self.paths.n_paths

    @property
    def n_dims(self) -> int:
        """The number of axes that are left."""
        return len(self.kept)

    def values(self, points: Floats) -> Floats:
        """All paths at scaled points (m, D): (N, m)."""
        return np.array([evaluate_terms(self.terms(p), points) for p in range(self.n_paths)])

    def own_values(self, points: Floats) -> Floats:
        """Each path at scaled points of its own, (N, m, D): (N, m)."""
        return np.array([evaluate_terms(self.terms(p), points[p]) for p in range(self.n_paths)])

    def terms(self, path: int) -> "AveragedTerms":
        """One path as a sum of products."""
        wave, real = self.wave_factors[path], self.real_factors[path]
        return AveragedTerms(self.paths.terms(path), self.kept, wave, real)

    def select(self, paths: Ints | list[int]) -> "AveragedPaths":
        """Some of the paths."""
        index = [int(path) for path in paths]
        return replace(
            self,
            paths=self.paths.select(index),
            wave_factors=tuple(self.wave_factors[p] for p in index),
            real_factors=tuple(self.real_factors[p] for p in index),
        )

    def negated(self) -> "AveragedPaths":
        """The paths of −f."""
        return replace(self, paths=self.paths.negated())


@dataclass(frozen=True, eq=False)
class AveragedTerms:
    """One averaged path as a sum of products over the axes that are left."""

    terms: PathTerms
    kept: tuple[int, ...]
    wave_factor: Complexes  # (F,)
    real_factor: Floats  # (T,)

    @property
    def wave_weights(self) -> Complexes:
        """W, (F,)."""
        return self.terms.wave_weights * self.wave_factor

    @property
    def real_weights(self) -> Floats:
        """c, (T,)."""
        return self.terms.real_weights * self.real_factor

    def waves(self, d: int, coords: Floats) -> Complexes:
        """z_d at scaled coordinates (u,) of axis d, (F, u)."""
        return self.terms.waves(self.kept[d], coords)

    def reals(self, d: int, coords: Floats) -> Floats:
        """φ_d at scaled coordinates (u,) of axis d, (T, u)."""
        return self.terms.reals(self.kept[d], coords)

    @property
    def real_key(self) -> Hashable:
        """Averages do not change the real terms along the axes that are left."""
        return self.terms.real_key

    def frequencies(self, d: int) -> Floats | None:
        """ω (F,), where z_d = exp(i·ω·x) on [0, 1]; None on an axis of levels."""
        return self.terms.frequencies(self.kept[d])

    def real_moments(self, d: int) -> RealMoments | None:
        """Moments of φ_d over the uniform measure, where there is a closed form."""
        return self.terms.real_moments(self.kept[d])

    def mixed_covariances(self, d: int) -> Complexes:
        """E[z_d·φ_d] − E[z_d]·E[φ_d] over the uniform measure, (F, T), where `real_moments` is."""
        return self.terms.mixed_covariances(self.kept[d])

    def pieces(self, d: int) -> Pieces:
        """Where φ_d is smooth on an ordered axis."""
        return self.terms.pieces(self.kept[d])


def average_products(paths: ProductPaths, over: Mapping[int, AxisMeasure]) -> AveragedPaths:
    """Any paths averaged over some axes."""
    waves, reals = [], []
    for p in range(paths.n_paths):
        terms = paths.terms(p)
        wave, real = np.ones_like(terms.wave_weights), np.ones_like(terms.real_weights)
        for d, measure in over.items():
            wave_means, real_means = axis_means(terms, d, measure)
            wave, real = wave * wave_means, real * real_means
        waves.append(wave)
        reals.append(real)
    kept = tuple(d for d in range(paths.n_dims) if d not in over)
    return AveragedPaths(paths, kept, tuple(waves), tuple(reals))
