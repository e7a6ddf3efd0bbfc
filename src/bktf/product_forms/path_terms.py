"""Whole functions as sums of products of one-dimensional functions.

    path(x) = Re Σ_f W_f·Π_d z_fd(x_d) + Σ_t c_t·Π_d φ_td(x_d)

The first sum are *waves*, complex exponentials along every axis. The second are *real terms*. A
draw of components has R real terms and no waves. A path of a Gaussian process has F waves, its
prior part, and one real term for each observation. Coordinates are scaled.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from bktf._typing import Complexes, Floats, Ints


class Pieces(NamedTuple):
    """Where the real terms of a path are smooth along an ordered axis."""

    knots: Floats  # (k,) increasing scaled coordinates between which they are smooth
    longest: float  # a panel over which a polynomial of degree 19 or so follows them


class RealMoments(NamedTuple):
    """Means and covariances of real terms along an axis, over the uniform measure on [0, 1]."""

    means: Floats  # (T,)
    covariances: Floats  # (T, T)


class PathTerms(Protocol):
    """One path."""

    @property
    def wave_weights(self) -> Complexes:
        """W, (F,)."""

    @property
    def real_weights(self) -> Floats:
        """c, (T,)."""

    def waves(self, d: int, coords: Floats) -> Complexes:
        """z_d at scaled coordinates (u,) of axis d, (F, u)."""

    def reals(self, d: int, coords: Floats) -> Floats:
        """φ_d at scaled coordinates (u,) of axis d, (T, u)."""

    @property
    def real_key(self) -> Hashable:
        """Paths of the same model with the same key have the same real terms; None: only itself."""

    def frequencies(self, d: int) -> Floats | None:
        """ω (F,), where z_d = exp(i·ω·x) on [0, 1]; None on an axis of levels."""

    def real_moments(self, d: int) -> RealMoments | None:
        """Moments of φ_d over the uniform measure, where there is a closed form."""

    def mixed_covariances(self, d: int) -> Complexes:
        """E[z_d·φ_d] − E[z_d]·E[φ_d] over the uniform measure, (F, T), where `real_moments` is."""

    def pieces(self, d: int) -> Pieces:
        """Where φ_d is smooth on an ordered axis."""


class ProductPaths(Protocol):
    """N paths over the same axes, in the model's units."""

    @property
    def n_paths(self) -> int:
        """N."""

    @property
    def n_dims(self) -> int:
        """D."""

    def values(self, points: Floats) -> Floats:
        """All paths at scaled points (m, D): (N, m)."""

    def own_values(self, points: Floats) -> Floats:
        """Each path at scaled points of its own, (N, m, D): (N, m)."""

    def terms(self, path: int) -> PathTerms:
        """One path as a sum of products."""

    def select(self, paths: Ints | list[int]) -> "ProductPaths":
        """Some of the paths."""

    def negated(self) -> "ProductPaths":
        """The paths of −f."""


def evaluate_terms(terms: PathTerms, points: Floats) -> Floats:
    """A path at scaled points (m, D), (m,), product by product: slow, for any kind of path."""
    waves = np.repeat(terms.wave_weights[:, None], len(points), axis=1)
    reals = np.repeat(terms.real_weights[:, None], len(points), axis=1)
    for d in range(points.shape[1]):
        waves = waves * terms.waves(d, points[:, d])
        reals = reals * terms.reals(d, points[:, d])
    return np.asarray(waves.sum(axis=0).real + reals.sum(axis=0))


@dataclass(frozen=True, eq=False)
class SummedPaths:
    """Paths that are sums of the paths of two models."""

    first: ProductPaths
    second: ProductPaths

    @property
    def n_paths(self) -> int:
        """N."""
        return self.first.n_paths

    @property
    def n_dims(self) -> int:
        """D."""
        return self.first.n_dims

    def values(self, points: Floats) -> Floats:
        """All paths at scaled points (m, D): (N, m)."""
        return self.first.values(points) + self.second.values(points)

    def own_values(self, points: Floats) -> Floats:
        """Each path at scaled points of its own, (N, m, D): (N, m)."""
        return self.first.own_values(points) + self.second.own_values(points)

    def terms(self, path: int) -> "SummedTerms":
        """One path as a sum of products."""
        return SummedTerms(self.first.terms(path), self.second.terms(path))

    def select(self, paths: Ints | list[int]) -> "SummedPaths":
        """Some of the paths."""
        return SummedPaths(self.first.select(paths), self.second.select(paths))

    def negated(self) -> "SummedPaths":
        """The paths of −f."""
        return SummedPaths(self.first.negated(), self.second.negated())


@dataclass(frozen=True, eq=False)
class SummedTerms:
    """One path that is a sum of two."""

    first: PathTerms
    second: PathTerms

    @property
    def wave_weights(self) -> Complexes:
        """W, (F,)."""
        return np.concatenate((self.first.wave_weights, self.second.wave_weights))

    @property
    def real_weights(self) -> Floats:
        """c, (T,)."""
        return np.concatenate((self.first.real_weights, self.second.real_weights))

    def waves(self, d: int, coords: Floats) -> Complexes:
        """z_d at scaled coordinates (u,) of axis d, (F, u)."""
        return np.concatenate((self.first.waves(d, coords), self.second.waves(d, coords)))

    def reals(self, d: int, coords: Floats) -> Floats:
        """φ_d at scaled coordinates (u,) of axis d, (T, u)."""
        return np.concatenate((self.first.reals(d, coords), self.second.reals(d, coords)))

    @property
    def real_key(self) -> Hashable:
        """Every sum has real terms of its own."""
        return None

    def frequencies(self, d: int) -> Floats | None:
        """ω (F,), where z_d = exp(i·ω·x) on [0, 1]; None on an axis of levels."""
        parts = [self.first.frequencies(d), self.second.frequencies(d)]
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if len(known) == len(parts) else None

    def real_moments(self, d: int) -> RealMoments | None:  # noqa: ARG002
        """No closed form covers both parts."""
        return None

    def mixed_covariances(self, d: int) -> Complexes:
        """There is no closed form."""
        raise NotImplementedError(d)

    def pieces(self, d: int) -> Pieces:
        """Where both parts are smooth."""
        first, second = self.first.pieces(d), self.second.pieces(d)
        return Pieces(np.union1d(first.knots, second.knots), min(first.longest, second.longest))


@dataclass(frozen=True, eq=False)
class JoinedPaths:
    """The paths of several models, one model after another."""

    parts: tuple[ProductPaths, ...]

    @property
    def n_paths(self) -> int:
        """N."""
        return sum(part.n_paths for part in self.parts)

    @property
    def n_dims(self) -> int:
        """D."""
        return self.parts[0].n_dims

    def values(self, points: Floats) -> Floats:
        """All paths at scaled points (m, D): (N, m)."""
        return np.concatenate([part.values(points) for part in self.parts])

    def own_values(self, points: Floats) -> Floats:
        """Each path at scaled points of its own, (N, m, D): (N, m)."""
        ends = np.cumsum([part.n_paths for part in self.parts])[:-1]
        pieces = zip(self.parts, np.split(points, ends), strict=True)
        return np.concatenate([part.own_values(piece) for part, piece in pieces])

    def terms(self, path: int) -> PathTerms:
        """One path as a sum of products."""
        part, index = self._located(path)
        return part.terms(index)

    def select(self, paths: Ints | list[int]) -> "JoinedPaths":
        """Some of the paths, each as a part of its own."""
        located = [self._located(int(path)) for path in paths]
        return JoinedPaths(tuple(part.select([index]) for part, index in located))

    def negated(self) -> "JoinedPaths":
        """The paths of −f."""
        return JoinedPaths(tuple(part.negated() for part in self.parts))

    def _located(self, path: int) -> tuple[ProductPaths, int]:
        """The part of a path, and its index there."""
        for part in self.parts:
            if path < part.n_paths:
                return part, path
            path -= part.n_paths
        raise IndexError(path)
