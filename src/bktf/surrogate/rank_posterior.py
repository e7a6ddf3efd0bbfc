"""The posterior of `fit(rank="auto")`: draws of several ranks, in proportion to their evidence."""

import itertools
import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bktf._typing import Floats
from bktf.acquisition import (
    WHOLE_FUNCTIONS,
    PosteriorView,
    SearchDomain,
    check_acquisition,
    maximise_paths,
    points_of,
)
from bktf.axis_kernels import Axis
from bktf.surrogate.diagnostics import Diagnostics
from bktf.surrogate.fit_ranks import spec_of_rank
from bktf.surrogate.posterior import NOTHING_LEFT, Posterior
from bktf.surrogate.posterior_file import read_fields
from bktf.surrogate.rank_draws import RankDraws

ROUGH = 1.0  # nats; evidences with a larger standard error give rough probabilities
MAX_COMPARED = 5_000  # cells of a grid that are all compared; of larger ones some axes at a time
MAX_ROUNDS = 50  # of the search along the axes


@dataclass(frozen=True, eq=False, repr=False)
class RankPosterior(Posterior):
    """A posterior whose draws are of ranks 1 to 4 and of infinite rank.

    `mean`, `std`, `quantile`, `draws_at`, `argmax` and `save` are of all ranks together. Factors,
    weights and length-scales are of one rank: `posterior.by_rank[2].factors`.
    """

    def __repr__(self) -> str:
        """Sizes, the probabilities of the ranks, and how far they may be trusted."""
        shares = ", ".join(f"{r}: {100 * p:.0f} %" for r, p in self.rank_probabilities.items())
        sizes = f"{self.n_draws} draws of ranks {shares}; {len(self.y)} observations"
        if self.largest_evidence_error > ROUGH:
            sizes += f"; evidences are known to ± {self.largest_evidence_error:.1f} nats only"
        return f"<bktf.Posterior: {sizes}>"

    @property
    def rank_draws(self) -> RankDraws:
        """The draws, rank after rank."""
        assert isinstance(self.draws, RankDraws)
        return self.draws

    @property
    def rank_probabilities(self) -> dict[float, float]:
        """The posterior probability of every rank that was compared."""
        return {part.rank: part.probability for part in self.rank_draws.parts}

    @property
    def log_evidences(self) -> dict[float, float]:
        """The log evidence of every rank, in nats of z-scored y."""
        return {part.rank: part.evidence.log for part in self.rank_draws.parts}

    @property
    def log_evidence_errors(self) -> dict[float, float]:
        """The standard errors of `log_evidences`."""
        return {part.rank: part.evidence.error for part in self.rank_draws.parts}

    @property
    def largest_evidence_error(self) -> float:
        """The largest standard error among ranks that have a noticeable probability."""
        parts = self.rank_draws.parts
        return max(part.evidence.error for part in parts if part.probability > 0.01)

    @property
    def log_evidence(self) -> float:
        """The log evidence averaged over the ranks by their prior, in nats of z-scored y."""
        parts = self.rank_draws.parts
        logs = [math.log(p.prior) + p.evidence.log for p in parts]
        return float(np.logaddexp.reduce(logs))

    @property
    def log_evidence_se(self) -> float:
        """The standard error of `log_evidence`, from those of the ranks."""
        parts = self.rank_draws.parts
        return math.sqrt(sum((part.probability * part.evidence.error) ** 2 for part in parts))

    @property
    def by_rank(self) -> dict[float, Posterior]:
        """The posterior of each rank alone, with all its draws."""
        return {
            part.rank: Posterior(
                part.draws.axes, self.X, self.y, spec_of_rank(self.spec, part.rank), self.seed,
                self.standardisation, part.draws,
            )
            for part in self.rank_draws.parts
        }  # fmt: skip

    def diagnostics(self) -> Diagnostics:
        """Refused: what was not explored shows in the errors of the evidences."""
        raise ValueError(
            'a fit with rank="auto" has no chains to compare. `log_evidence_errors` says how well '
            "populations of particles agree; for chains, fit one rank"
        )

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
        """The point of the grid to try next when larger is better, (D,), over all ranks.

        "max" and "thompson" are maxima of paths of all ranks. Otherwise up to 5,000 cells are all
        compared; of a larger grid the best points of each rank and, from there, the points along
        the axes.
        """
        check_acquisition(acquisition)
        if integrate_weights:
            raise ValueError(
                'a fit with rank="auto" has no weights to integrate out. Take one rank, as in '
                "posterior.by_rank[2].argmax(…)"
            )
        waiting = points_of(self, pending, "pending")
        taken = np.concatenate((points_of(self, exclude, "exclude"), waiting))
        if acquisition in WHOLE_FUNCTIONS:
            return self._best_of_paths(acquisition == "thompson", taken, seed)
        cells = GridCells(self.grid, taken)

        def score(points: Floats) -> Floats:
            if acquisition == "ei":
                return self.expected_improvement(points, pending=waiting)
            return self.mean(points) + beta * self.std(points)

        if math.prod(axis.size for axis in self.grid) <= MAX_COMPARED:
            found = cells.allowed(cells.all_points())
            if not len(found):
                raise ValueError(NOTHING_LEFT)
            return np.asarray(found[np.argmax(score(found))])
        starts = [
            one.argmax(acquisition, beta, exclude, pending, seed=seed)
            for rank, one in self.by_rank.items()
            if self.rank_probabilities[rank] > 0.01
        ]
        points = np.array(starts)
        best = points[np.argmax(score(points))]
        for _ in range(MAX_ROUNDS):
            around = cells.allowed(cells.along_axes(best))
            scores = score(np.vstack((best, around)))
            if np.argmax(scores) == 0:
                break
            best = around[np.argmax(scores) - 1]
        return np.asarray(best)

    def _best_of_paths(self, only_one: bool, taken: Floats, seed: int) -> Floats:
        """The maximum of one path, or of as many as there are draws, that is not taken."""
        rng = np.random.default_rng([seed, self.seed])
        paths = self.draws.paths(self.n_draws, seed)
        if only_one:
            paths = paths.select([int(rng.integers(paths.n_paths))])
        found = maximise_paths(PosteriorView(self), paths, SearchDomain(), rng, taken)
        best = int(found.values.argmax())
        if found.values[best] == -np.inf:
            raise ValueError(NOTHING_LEFT)
        return np.asarray(found.points[best])


@dataclass(frozen=True, eq=False)
class GridCells:
    """The cells of a grid that are not taken."""

    grid: tuple[Axis, ...]
    taken: Floats  # (n, D)

    def all_points(self) -> Floats:
        """Every cell, (N, D)."""
        return np.array(list(itertools.product(*(axis.points for axis in self.grid))))

    def along_axes(self, point: Floats) -> Floats:
        """The cells that differ from a point in one coordinate, (N, D)."""
        rows = []
        for d, axis in enumerate(self.grid):
            moved = np.repeat(point[None], axis.size, axis=0)
            moved[:, d] = axis.points
            rows.append(moved)
        return np.concatenate(rows)

    def allowed(self, points: Floats) -> Floats:
        """Those points that are not taken."""
        gone = set(self._cells(self.taken))
        return np.asarray(points[[cell not in gone for cell in self._cells(points)]])

    def _cells(self, points: Floats) -> list[tuple[int, ...]]:
        """Points as indices into the axes."""
        if not len(points):
            return []
        columns = [axis.locate(points[:, d]) for d, axis in enumerate(self.grid)]
        return [tuple(int(i) for i in row) for row in np.stack(columns, axis=1)]


def load(path: str | os.PathLike[str]) -> Posterior:
    """Read a posterior that `Posterior.save` wrote."""
    fields = read_fields(path)
    is_of_all = isinstance(fields.draws, RankDraws)
    return RankPosterior(*fields) if is_of_all else Posterior(*fields)
