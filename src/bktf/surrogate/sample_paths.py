"""Whole functions drawn from a posterior, in the user's units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, overload

import numpy as np
from numpy.typing import ArrayLike

from bktf._typing import Floats
from bktf.acquisition import PosteriorLike, PosteriorView, maximise_paths
from bktf.axis_kernels import Axis, check_points
from bktf.components import ComponentPaths
from bktf.gaussian_process import ProcessPaths
from bktf.product_forms import (
    AveragedPaths,
    AxisMeasure,
    JoinedPaths,
    ProductPaths,
    SummedPaths,
)
from bktf.surrogate.averaging import average_paths, keep_axes, usual_measure
from bktf.surrogate.meaning import Meaning
from bktf.surrogate.observed_values import Standardisation

SEARCH_STREAM = 6  # spawn key of the fit's seed for the candidates of a search


class HasNegated(PosteriorLike, Protocol):
    """A posterior, as its paths know it."""

    def negated(self) -> "HasNegated":
        """The posterior of −f."""


@dataclass(frozen=True, eq=False, repr=False)
class SamplePaths(Sequence["SamplePaths"]):
    """N whole functions. Call it with points (m, D): the values of every path, (N, m).

    At infinite rank a path is a sum of random waves and of one product for each observation; mean
    and covariance over paths are those of the posterior. At finite rank paths are the draws of the
    fit; between axis points they are the factors' conditional means, and `missing_std` says how
    much they vary too little there.
    """

    forms: ProductPaths  # in the model's units
    grid: tuple[Axis, ...]
    standardisation: Standardisation
    meaning: Meaning
    origin: "HasNegated | None" = None  # the posterior; None where some parameters are averaged

    def __repr__(self) -> str:
        """How many."""
        waves = f", {self.n_features} waves each" if self.n_features else ""
        return f"<bktf.SamplePaths: {len(self)} functions of {len(self.grid)} parameters{waves}>"

    def __len__(self) -> int:
        """N."""
        return self.forms.n_paths

    @overload
    def __getitem__(self, index: int) -> "SamplePaths": ...

    @overload
    def __getitem__(self, index: slice) -> "SamplePaths": ...

    def __getitem__(self, index: int | slice) -> "SamplePaths":
        """One path, or some of them."""
        chosen = np.arange(len(self))[index]
        return replace(self, forms=self.forms.select(np.atleast_1d(chosen)))

    @property
    def n_features(self) -> int:
        """Random waves of each path at infinite rank; 0 at finite rank."""
        ends = {0, len(self) - 1} if len(self) else set()  # of several ranks, the last is infinite
        return max((len(self.forms.terms(p).wave_weights) for p in ends), default=0)

    def __call__(self, X: ArrayLike) -> Floats:
        """The value of every path at points (m, D), (N, m), in the units of y."""
        return self.standardisation.to_user(self.forms.values(self.scaled(X)))

    def along(self, name: str | int, values: ArrayLike, at: ArrayLike) -> Floats:
        """The value of every path where one parameter moves and the others stay, (N, m).

        Args:
            name: of the parameter, or the number of its axis.
            values: coordinates (m,) of that parameter.
            at: the point (D,) that gives the others.
        """
        d, line = self.meaning.axis(name), _vector("values", values)
        point = _vector("at", at)
        if point.size != len(self.grid):
            wanted = f"at must be one point of shape ({len(self.grid)},)"
            raise ValueError(f"{wanted}; got {point.size} coordinates")
        points = np.repeat(point[None], line.size, axis=0)
        points[:, d] = line
        return self(points)

    def integrate(
        self, over: str | Sequence[str], measures: Mapping[str, AxisMeasure] | None = None
    ) -> "SamplePaths":
        """The paths averaged over some parameters, exactly, as functions of the others.

        Parameters are independent, and even on their scale, whole numbers and levels over their
        values. Where a parameter may be inactive, the average is over the values it may take.

        Args:
            over: names of parameters; at least one other must be left.
            measures: by name, how a parameter is spread instead.
        """
        listed: list[str] = [over] if isinstance(over, str) else list(over)
        axes = [self.meaning.axis(name) for name in listed]
        if not axes or len(set(axes)) < len(axes) or len(axes) == len(self.grid):
            wanted = "over must name different parameters, and leave at least one other"
            raise ValueError(f"{wanted}; got {over!r}")
        given = {} if measures is None else dict(measures)
        for name, measure in given.items():
            if name not in listed or not isinstance(measure, AxisMeasure):
                wanted = "measures must give an AxisMeasure for parameters of over"
                raise ValueError(f"{wanted}; got {name!r}: {measure!r}")
        chosen = {
            d: given.get(name) or usual_measure(self.grid[d], self.meaning.measure(d))
            for name, d in zip(listed, axes, strict=True)
        }
        kept = tuple(d for d in range(len(self.grid)) if d not in chosen)
        return replace(
            self,
            forms=average_paths(self.forms, chosen),
            grid=tuple(self.grid[d] for d in kept),
            meaning=keep_axes(self.meaning, kept),
            origin=None,
        )

    def maximise(self) -> tuple[Floats, Floats]:
        """Where each path is largest over what may be suggested, (N, D), and its value there, (N,).

        Exact on finite spaces that can be compared and at finite rank, elsewhere by a search.
        """
        return self._best(is_largest=True)

    def minimise(self) -> tuple[Floats, Floats]:
        """Where each path is smallest over what may be suggested, (N, D), and its value there."""
        return self._best(is_largest=False)

    def _best(self, *, is_largest: bool) -> tuple[Floats, Floats]:
        """The maxima of the paths, or of their negatives."""
        if self.origin is None:
            raise ValueError(
                "paths that were averaged over some parameters cannot be maximised; maximise them "
                "before, or compare their values at points"
            )
        origin, forms = (
            (self.origin, self.forms)
            if is_largest
            else (self.origin.negated(), self.forms.negated())
        )
        stream = np.random.SeedSequence(origin.seed, spawn_key=(SEARCH_STREAM,))
        rng = np.random.default_rng(stream)
        found = maximise_paths(PosteriorView(origin), forms, self.meaning.domain, rng)
        return found.points, self.standardisation.to_user(
            found.values if is_largest else -found.values
        )

    def missing_std(self, X: ArrayLike) -> Floats:
        """The standard deviation that paths lack at points (m, D), (m,); 0 at infinite rank."""
        missing = _missing_variance(self.forms, self.scaled(X))
        return np.asarray(self.standardisation.scale * np.sqrt(missing))

    def scaled(self, X: ArrayLike) -> Floats:
        """Points (m, D) in the model's units."""
        points = check_points(X, self.grid)
        return np.stack([axis.scale(points[:, d]) for d, axis in enumerate(self.grid)], axis=1)


def _vector(what: str, values: ArrayLike) -> Floats:
    """Numbers as a vector; a single one counts as a vector of one."""
    try:
        vector = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers; got {values!r}") from None
    if vector.ndim != 1:
        raise ValueError(f"{what} must be numbers in one dimension; got shape {vector.shape}")
    return vector


def _missing_variance(forms: ProductPaths, points: Floats) -> Floats:
    """The variance that paths lack at scaled points (m, D), on average over them, (m,)."""
    if isinstance(forms, ComponentPaths):
        return forms.missing_variance(points)
    if isinstance(forms, SummedPaths):
        return _missing_variance(forms.first, points) + _missing_variance(forms.second, points)
    if isinstance(forms, JoinedPaths):
        parts = [part.n_paths * _missing_variance(part, points) for part in forms.parts]
        return np.asarray(sum(parts) / forms.n_paths)
    assert isinstance(forms, ProcessPaths | AveragedPaths)
    return np.zeros(len(points))
