"""What the sampler works on: records of plain arrays that compiled code can take.

Notation (docs/notation.md)
    n observations, D dimensions, R components, K kept draws, M observed coordinates over all axes,
    S numbers in the largest state, q components in a block
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf._compiled import record
from bktf.axis_kernels import AxisOperations
from bktf.components.residual_process import NoiseOperations
from bktf.gaussian_process import ProcessModel

Floats = NDArray[np.float64]


@record
class Problem(NamedTuple):
    """Everything that stays the same during a run."""

    values: Floats  # (n,) standardised observations
    cells: NDArray[np.uint32]  # (D, n) place of each observation among its axis's observed coordinates
    coords: Floats  # (M,) observed coordinates, axis after axis, increasing
    starts: NDArray[np.int64]  # (D + 1,) where each axis begins in coords
    steps: NDArray[np.int64]  # (M,) which of its axis's gaps lies before each coordinate
    gaps: Floats  # the different gaps, axis after axis
    gap_starts: NDArray[np.int64]  # (D + 1,) where each axis begins in gaps
    kinds: NDArray[np.int64]  # (D,) kernel of each axis, numbered in `axis_kernels.operations`
    periods: Floats  # (D,) period of a periodic axis
    covariances: Floats  # (≥ 1, ·, ·) covariance matrices given by the user, and room for those that are learned
    covariance_index: NDArray[np.int64]  # (D,) which of them an axis has
    operations: AxisOperations  # how to draw length-scales and factors under these kernels
    learned: NDArray[np.bool_]  # (D,) whether the axis has a length-scale (or the odds of a correlation)
    full: NDArray[np.bool_]  # (D,) whether it learns a covariance matrix
    active: NDArray[np.bool_]  # (R, D) which dimensions each component uses
    shared: bool  # one length-scale per dimension for all components
    log_means: Floats  # (D,) of the prior of the length-scale, or of the odds
    log_vars: Floats  # (D,)
    noise_shape: float
    noise_rate: float
    noise_known: bool
    weight_var: float
    shrunk: NDArray[np.bool_]  # (R,) components whose weights a multiplicative gamma process shrinks, more from one to the next
    shrinkage_first: float  # shapes of its gamma variables
    shrinkage_rest: float
    offset: NDArray[np.bool_]  # (D,) axes whose factors vary around an offset instead of around 0
    offset_mean: float
    offset_var: float
    process: ProcessModel  # the residual process; empty where there is none
    noise_operations: NoiseOperations  # how to draw noise and weights, with or without a residual process


@record
class State(NamedTuple):
    """Where a chain is; the updates write into it."""

    lengthscales: Floats  # (R, D)
    covariances: Floats  # as in the problem, with those that are learned
    factors: Floats  # (R, M, S) factor, offset included, and scaled derivatives; 1 where the component is not active
    weights: Floats  # (R,)
    weight_vars: Floats  # (R,) of their priors
    shrinkage: Floats  # (R,) the gamma variables, 1 for a component that is not shrunk
    offsets: Floats  # (R, D) 0 where there is none
    noise_precision: Floats  # (1,)
    products: Floats  # (R, n) product of the factors at each observation
    residual: Floats  # (n,) values − Σ weight·product − process_values
    process_values: Floats  # (n,) the residual process at the observations; 0 without one
    process_logs: Floats  # (D + 2,) its parameters


@record
class Work(NamedTuple):
    """Room for the block that is being updated."""

    suffixes: Floats  # (q, D + 1, n)
    prefixes: Floats  # (q, n)
    sensitivities: Floats  # (q, n) derivative of f by the factor value
    remainder: Floats  # (n,) what the block has to explain


@record
class Draws(NamedTuple):
    """What a run keeps."""

    lengthscales: Floats  # (K, R, D)
    factors: Floats  # (K, R, M, S)
    weights: Floats  # (K, R)
    weight_vars: Floats  # (K, R)
    offsets: Floats  # (K, R, D)
    noise_precision: Floats  # (K,)
    process_logs: Floats  # (K, D + 2)
