"""A posterior as the acquisitions use it; no other module of the package reads its attributes.

Scores and searches work in the model's units: inputs on [0, 1], z-scored y.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from bktf._typing import Bools, Floats, Ints
from bktf.acquisition.draws_protocol import Draws
from bktf.axis_kernels import Axis, check_points
from bktf.gaussian_process import ConditionalProcess


class Units(Protocol):
    """Units of y: z = (y − mean) / scale."""

    @property
    def mean(self) -> float:
        """Mean of y."""

    @property
    def scale(self) -> float:
        """Standard deviation of y."""

    def to_model(self, y: Floats) -> Floats:
        """Values (n,) in the model's units."""


class PosteriorLike(Protocol):
    """The attributes of a posterior that are read here; see `bktf.Posterior`."""

    @property
    def grid(self) -> tuple[Axis, ...]:
        """The axes."""

    @property
    def X(self) -> Floats:
        """Observed points (n, D) in the user's units."""

    @property
    def y(self) -> Floats:
        """Observed values (n,)."""

    @property
    def seed(self) -> int:
        """The seed of the fit."""

    @property
    def standardisation(self) -> Units:
        """The units of y."""

    @property
    def draws(self) -> Draws:
        """The draws of f."""


class GridFactors(NamedTuple):
    """The components of K draws on the points of a grid."""

    factors: tuple[Floats, ...]  # per axis (K, R, m_d)
    weights: Floats  # (K, R)
    active: Bools  # (R, D)


class WeightPosterior(NamedTuple):
    """The normal distribution of the weights given each draw's factors and noise."""

    means: Floats  # (K, R)
    roots: Floats  # (K, R, R) inverse Cholesky factors of the precisions, lower triangular


class PosteriorView(NamedTuple):
    """A posterior, as the acquisitions use it."""

    posterior: PosteriorLike

    @property
    def grid(self) -> tuple[Axis, ...]:
        """The axes."""
        return self.posterior.grid

    @property
    def seed(self) -> int:
        """The seed of the fit."""
        return self.posterior.seed

    @property
    def n_draws(self) -> int:
        """K."""
        return self.posterior.draws.n_draws

    @property
    def has_components(self) -> bool:
        """Whether draws have components, with or without a process."""
        return self.posterior.draws.rank < math.inf

    @property
    def process(self) -> ConditionalProcess | None:
        """The Gaussian process of each draw, where there is one."""
        return self.posterior.draws.process

    @property
    def z(self) -> Floats:
        """The observed values (n,) in the model's units."""
        return self.posterior.standardisation.to_model(self.posterior.y)

    @property
    def units(self) -> Units:
        """The user's units of y."""
        return self.posterior.standardisation

    def best(self, given: float | None) -> float:
        """The threshold of an improvement: the value given in units of y, or the best observed."""
        if given is None:
            return float(self.z.max())
        return float(self.units.to_model(np.array([given]))[0])

    def best_points(self, n: int) -> Floats:
        """At most n observed points with the best values, best first, in the user's units."""
        return self.posterior.X[np.argsort(-self.z, kind="stable")[:n]]

    def components_on(self, kept: Sequence[Ints]) -> GridFactors:
        """The components on the part of the grid with these indices of each axis."""
        components = self.posterior.draws.components
        pairs = zip(components.factors, kept, strict=True)
        factors = tuple(f if i.size == f.shape[2] else f[:, :, i] for f, i in pairs)
        return GridFactors(factors, components.weights, components.active)

    def components_at(self, points: Floats) -> Floats:
        """The sum of the components of each draw at points (n, D) in the user's units, (K, n)."""
        if not len(points) or not self.has_components:
            return np.zeros((self.n_draws, len(points)))
        components = self.posterior.draws.components
        return np.asarray(
            np.einsum("kr,krn->kn", components.weights, components.products_at(points))
        )

    def weight_posterior(self) -> WeightPosterior:
        """The posterior of the weights given each draw's factors and noise."""
        components = self.posterior.draws.components
        at_data = components.products_at(self.posterior.X)  # (K, R, n)
        noise_precision = components.noise_precision[:, None, None]
        prior_vars = components.weight_vars[:, :, None]
        identity = np.eye(at_data.shape[1])
        information = noise_precision * at_data @ at_data.transpose(0, 2, 1) + identity / prior_vars
        root = np.linalg.cholesky(information)
        inverse_root = np.linalg.solve(root, np.broadcast_to(identity, root.shape))
        moment = (noise_precision * at_data @ self.z[:, None])[:, :, 0]
        half = np.einsum("kar,kr->ka", inverse_root, moment)
        return WeightPosterior(np.einsum("kar,ka->kr", inverse_root, half), inverse_root)

    def scaled(self, points: Floats) -> Floats:
        """Points (n, D) in the model's units."""
        columns = [axis.scale(points[:, d]) for d, axis in enumerate(self.grid)]
        return np.stack(columns, axis=1)

    def unscaled(self, points: Floats) -> Floats:
        """Scaled points (n, D) in the user's units."""
        columns = [axis.unscale(points[:, d]) for d, axis in enumerate(self.grid)]
        return np.stack(columns, axis=1)

    def located(self, points: Floats) -> Ints:
        """The cells (n, D) of points; −1 on an axis where a point lies between axis points."""
        columns = [axis.locate(points[:, d]) for d, axis in enumerate(self.grid)]
        return np.stack(columns, axis=1)

    def checked(self, points: ArrayLike | None, what: str) -> Floats:
        """Points (n, D) inside the box; none for None or an empty list."""
        return points_of(self.posterior, points, what)


class HasGrid(Protocol):
    """Anything with axes."""

    @property
    def grid(self) -> tuple[Axis, ...]:
        """The axes."""


def points_of(posterior: HasGrid, points: ArrayLike | None, what: str) -> Floats:
    """Points (n, D) inside the box; none where None or an empty list was given."""
    if points is None or np.size(points) == 0:
        return np.empty((0, len(posterior.grid)))
    return check_points(points, posterior.grid, what)
