"""The chance that an evaluation succeeds, learned from the points that failed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bktf._typing import Floats, Ints
from bktf.engine.history import History
from bktf.product_forms import cp_values as cp
from bktf.surrogate import Posterior

SHARPNESS = 12.0  # of the step from failure (0) to success (1): the chance at 0 is 0.25 %
MIN_CAUTION, MAX_CAUTION = 1.0, 400.0  # powers of the chance of success
CAUTION_WINDOW = 30  # latest trials whose share of failures sets the caution


@dataclass(frozen=True, eq=False)
class Chance:
    """The chance of success at points, to the power that `caution` gives."""

    success: Posterior  # of 1 where a trial succeeded and 0 where it failed
    power: float

    def __call__(self, points: Floats) -> Floats:
        """The chance (n,) at points (n, D)."""
        return self._of_draws(self.success.draws_at(points))

    def on_axes(self, axes: tuple[Floats, ...]) -> Callable[[Ints], Floats]:
        """The chance as a function of cells (n, D), fast enough for a search over many.

        All points of the axes must be points of the success model.
        """
        grid = self.success.grid
        indices = [axis.locate(points) for axis, points in zip(grid, axes, strict=True)]
        factors = zip(self.success.factors, indices, strict=True)
        tables = [np.ascontiguousarray(factor[:, :, j]) for factor, j in factors]
        to_user = self.success.standardisation.to_user
        weights = self.success.weights
        return lambda cells: self._of_draws(to_user(cp.values(tables, weights, cells)))

    def _of_draws(self, success: Floats) -> Floats:
        """The chance (n,) from draws (K, n) of success."""
        exponent = np.clip(SHARPNESS * (0.5 - success), -50.0, 50.0)
        return np.asarray((1.0 / (1.0 + np.exp(exponent))).mean(axis=0) ** self.power)


def caution(history: History) -> float:
    """The power to which the chance of success is raised.

    It is 12 where a tenth of the latest trials failed and doubles with every further 3 %. The model
    of success is rough, and improvement looks largest where nothing has a value. So plain
    EI × chance spends up to four fifths of its trials in a quarter of the space that fails;
    docs/sampler.md has the figures.
    """
    latest = history.tried[-CAUTION_WINDOW:].tolist()
    failed = {tuple(row) for row in history.failed.tolist()}
    share = sum(tuple(row) in failed for row in latest) / max(len(latest), 10)
    return float(np.clip(12.0 * 2.0 ** ((share - 0.1) / 0.03), MIN_CAUTION, MAX_CAUTION))
