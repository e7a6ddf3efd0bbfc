"""What a chain of the Gaussian process works on: records of plain arrays that compiled code can take.

Notation: n observations, D dimensions, P pairs of observations i ≤ j, row by row.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf._compiled import record

Floats = NDArray[np.float64]


@record
class ProcessModel(NamedTuple):
    """The covariance of a process at the observations, up to its parameters, and their priors."""

    separations: Floats  # (D, P) distances on scaled axes; on levels 1 where they differ, else 0
    on_levels: NDArray[np.int64]  # (D,)
    log_means: Floats  # (D + 2,) of the normal priors of the parameters; see `covariance`
    log_vars: Floats  # (D + 2,)


@record
class ProcessProblem(NamedTuple):
    """Everything that stays the same during a run."""

    model: ProcessModel
    values: Floats  # (n,) standardised observations
    noise_shape: float  # of the gamma prior of the noise precision
    noise_rate: float
    noise_known: int  # 1 where the noise precision is given, else 0


def pair_separations(points: Floats, on_levels: NDArray[np.bool_]) -> Floats:
    """Distances (D, P) between scaled points (n, D) along each axis; on levels whether they differ."""
    first, second = np.triu_indices(len(points))
    distances = np.abs(points[first] - points[second]).T
    return np.ascontiguousarray(np.where(on_levels[:, None], distances > 0, distances).astype(float))


def empty_model(n_dims: int) -> ProcessModel:
    """A model without observations, for a sampler that has no process."""
    nothing = np.zeros(0)
    return ProcessModel(np.zeros((n_dims, 0)), np.zeros(n_dims, dtype=np.int64), nothing, nothing)
