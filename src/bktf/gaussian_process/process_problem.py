"""The data of a chain of the Gaussian process: records of arrays that compiled code can take.

Notation: n observations, D dimensions, P pairs of observations i ≤ j, row by row.
"""

from typing import NamedTuple

import numpy as np

from bktf._compiled import record
from bktf._typing import Bools, Floats, Ints
from bktf.gaussian_process.covariance import write_separations


@record
class ProcessModel(NamedTuple):
    """The covariance of a process at the observations, up to its parameters, and their priors."""

    separations: Floats  # (D, P) distances on scaled axes; on levels 1 where they differ, else 0
    on_levels: Ints  # (D,)
    log_means: Floats  # (D + 2,) of the normal priors of the parameters; see `covariance`
    log_vars: Floats  # (D + 2,)


@record
class ProcessProblem(NamedTuple):
    """The data, priors and settings of a run."""

    model: ProcessModel
    values: Floats  # (n,) standardised observations
    noise_shape: float  # of the gamma prior of the noise precision
    noise_rate: float
    noise_known: int  # 1 where the noise precision is given, else 0


def pair_separations(points: Floats, on_levels: Bools) -> Floats:
    """Distances (D, P) between scaled points (n, D) along each axis.

    On levels 1 where they differ, else 0.
    """
    n, n_dims = points.shape
    separations = np.empty((n_dims, n * (n + 1) // 2))
    write_separations(np.ascontiguousarray(points), np.asarray(on_levels), separations)
    return separations


def empty_model(n_dims: int) -> ProcessModel:
    """A model without observations, for a sampler that has no process."""
    nothing = np.zeros(0)
    return ProcessModel(np.zeros((n_dims, 0)), np.zeros(n_dims, dtype=np.int64), nothing, nothing)


def n_logs(n_dims: int) -> int:
    """The number of parameters of a process; see `covariance`."""
    return n_dims + 2
