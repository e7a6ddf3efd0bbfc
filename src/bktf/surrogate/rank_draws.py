"""Draws of the models of several ranks, in proportion to the ranks' probabilities."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np

from bktf._typing import Floats, Ints
from bktf.axis_kernels import Axis
from bktf.components import ComponentDraws
from bktf.gaussian_process import (
    MAX_PROCESS_GRID,
    ConditionalProcess,
    Evidence,
    ProcessDraws,
    moments_of_every_cell,
    moments_over_draws,
)
from bktf.product_forms import JoinedPaths, Moments


class RankPart(NamedTuple):
    """The model of one rank."""

    draws: ComponentDraws | ProcessDraws  # all of this rank
    chosen: Ints  # indices of those that are among the draws of all ranks
    evidence: Evidence
    prior: float  # probability
    probability: float  # given the data

    @property
    def rank(self) -> float:
        """R, or infinity."""
        return self.draws.rank


@dataclass(frozen=True, eq=False)
class RankDraws:
    """Draws of all ranks, rank after rank."""

    parts: tuple[RankPart, ...]

    process: ConditionalProcess | None = None  # there is none of all draws

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, those of the first rank; others have the same points."""
        return self.parts[0].draws.axes

    @property
    def n_draws(self) -> int:
        """K."""
        return sum(part.chosen.size for part in self.parts)

    @property
    def rank(self) -> float:
        """The most probable rank."""
        return max(self.parts, key=lambda part: part.probability).rank

    @property
    def components(self) -> ComponentDraws:
        """Refused: there are draws of several ranks."""
        _refuse("factors and weights")

    @property
    def lengthscales(self) -> Floats:
        """Refused: there are draws of several ranks."""
        _refuse("length-scales")

    @property
    def correlations(self) -> Floats:
        """Refused: there are draws of several ranks."""
        _refuse("correlations")

    @property
    def noise_precision(self) -> Floats:
        """Precision of the observation noise, (K,)."""
        return self._rows(lambda draws: draws.noise_precision)

    def draw_at(self, points: Floats) -> Floats:
        """Draws of f at points (n, D), (K, n), joint over them; the same for the same call."""
        return self._rows(lambda draws: draws.draw_at(points))

    def draw_each(self, points: Floats, rng: np.random.Generator) -> Floats:
        """Draws of f at points, (K, n), that need not be joint over the points."""
        return self._rows(lambda draws: draws.draw_each(points, rng))

    def moments(self, points: Floats) -> Moments:
        """Mean and variance of f at points over all draws, (n,) each."""
        return moments_over_draws(self, points)

    def moments_by_draw(self, points: Floats) -> Moments:
        """Mean and variance of f at points within each draw, (K, n) each."""
        found = [
            (part.draws.moments_by_draw(points), part.chosen)
            for part in self.parts
            if part.chosen.size
        ]
        return Moments(
            np.concatenate([moments.mean[chosen] for moments, chosen in found]),
            np.concatenate([moments.variance[chosen] for moments, chosen in found]),
        )

    def covariances_by_draw(self, points: Floats) -> Floats:
        """Covariances of f between points within each draw, (K, n, n)."""
        return self._rows(lambda draws: draws.covariances_by_draw(points))

    def induced_covariances(self, first: Floats, second: Floats) -> Floats:
        """The covariance between points that each draw induces, (K, n, n2)."""
        return self._rows(lambda draws: draws.induced_covariances(first, second))

    def grid_moments(self) -> Moments:
        """Mean and variance of f over the whole grid, (m_1, …, m_D) each, cell by cell."""
        return moments_of_every_cell(self, MAX_PROCESS_GRID)

    def paths(self, n_paths: int, seed: int | None = None) -> JoinedPaths:
        """Whole functions of all ranks, in proportion to their probabilities."""
        used = [part for part in self.parts if part.chosen.size]
        ends = np.cumsum([part.chosen.size for part in used]) / self.n_draws
        counts = np.diff(np.round(np.concatenate(([0.0], ends)) * n_paths)).astype(int)
        pairs = list(zip(used, counts.tolist(), strict=True))
        for part, count in pairs:
            if part.rank < math.inf and count > part.draws.n_draws:
                known = f"rank {part.rank:g} has {part.draws.n_draws} draws"
                raise ValueError(
                    f"at finite rank paths are the draws of the fit: {n_paths} paths would take "
                    f"{count} of rank {part.rank:g}, but {known}. Ask for fewer paths"
                )
        return JoinedPaths(tuple(part.draws.paths(count, seed) for part, count in pairs if count))

    def mean_paths(self) -> JoinedPaths:
        """The mean of f within each draw, as whole functions."""
        used = [part for part in self.parts if part.chosen.size]
        return JoinedPaths(tuple(part.draws.mean_paths().select(part.chosen) for part in used))

    def negated(self) -> "RankDraws":
        """Draws of −f."""
        return RankDraws(tuple(part._replace(draws=part.draws.negated()) for part in self.parts))

    def summaries(self) -> dict[str, Floats]:
        """No quantity but the noise is one of all ranks."""
        return {}

    def _rows(self, values: Callable[[ComponentDraws | ProcessDraws], Floats]) -> Floats:
        """Values (K, …) of the draws of all ranks."""
        return np.concatenate(
            [values(part.draws)[part.chosen] for part in self.parts if part.chosen.size]
        )


def _refuse(what: str) -> NoReturn:
    """Say where quantities of one rank are."""
    raise ValueError(
        f'a fit with rank="auto" has no {what} of all ranks together; take one rank, as in '
        "posterior.by_rank[2]"
    )


def mix_ranks(
    draws: list[ComponentDraws | ProcessDraws],
    evidences: list[Evidence],
    prior: list[float],
    n_draws: int,
) -> RankDraws:
    """Draws of all ranks in proportion to prior times evidence, about n_draws of them."""
    with np.errstate(divide="ignore"):
        logs = np.log(prior) + np.array([evidence.log for evidence in evidences])
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    # So many that no rank has to repeat its draws
    total = min(n_draws, *(d.n_draws / s for d, s in zip(draws, shares, strict=True) if s > 0))
    counts = np.diff(np.round(np.concatenate(([0.0], np.cumsum(shares))) * max(int(total), 1)))
    parts = []
    for i, (part, evidence) in enumerate(zip(draws, evidences, strict=True)):
        spread = np.linspace(0, part.n_draws, int(counts[i]), endpoint=False).astype(np.int64)
        parts.append(RankPart(part, spread, evidence, float(prior[i]), float(shares[i])))
    return RankDraws(tuple(parts))


def log_mean_evidence(logs: Floats) -> Evidence:
    """The mean of independent estimates of the evidence, from their logarithms, and its error."""
    scaled = np.exp(logs - logs.max())
    error = scaled.std(ddof=1) / math.sqrt(logs.size) / scaled.mean() if logs.size > 1 else math.inf
    return Evidence(float(logs.max() + np.log(scaled.mean())), float(error))
