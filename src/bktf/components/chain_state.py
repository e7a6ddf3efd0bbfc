"""The data and the state of the sampler: records of arrays that compiled code can take.

Notation (docs/notation.md)
    n observations, D dimensions, R components, K kept draws, M observed coordinates over all axes,
    S numbers in the largest state, q components in a block
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf._compiled import record
from bktf._typing import Bools, Floats, Ints
from bktf.axis_kernels import AxisOperations
from bktf.components.noise_operations import NoiseOperations
from bktf.gaussian_process import ProcessModel


@record
class Problem(NamedTuple):
    """The data, priors and settings of a run."""

    values: Floats  # (n,) standardised observations
    # (D, n) index of each observation among the observed coordinates of the axis
    cells: NDArray[np.uint32]
    coords: Floats  # (M,) observed coordinates, increasing on each axis, one axis after another
    starts: Ints  # (D + 1,) where each axis begins in coords
    steps: Ints  # (M,) index of the gap before each coordinate, among the gaps of its axis
    gaps: Floats  # the distinct gaps, one axis after another
    gap_starts: Ints  # (D + 1,) where each axis begins in gaps
    kinds: Ints  # (D,) kernel of each axis, numbered in `axis_kernels.operations`
    periods: Floats  # (D,) period of a periodic axis
    # (≥ 1, ·, ·) covariance matrices given by the user, and buffers for those that are learned
    covariances: Floats
    covariance_index: Ints  # (D,) index of an axis's covariance among them
    joint: Bools  # (D,) axes whose factors an annealed chain also draws together
    operations: AxisOperations  # updates of length-scales and factors under these kernels
    learned: Bools  # (D,) whether the axis has a length-scale (or the odds of a correlation)
    full: Bools  # (D,) whether it learns a covariance matrix
    active: Bools  # (R, D) which dimensions each component uses
    shared: bool  # one length-scale per dimension for all components
    log_means: Floats  # (D,) of the prior of the length-scale, or of the odds
    log_vars: Floats  # (D,)
    noise_shape: float
    noise_rate: float
    noise_known: bool
    weight_var: float
    size_log_mean: float  # of the prior of the components' total variance, where it is learned
    size_log_var: float  # 0 where it is not: then each weight has the variance `weight_var`
    n_sized: int  # components that share it; one more may be a constant
    # (R,) components whose weights a multiplicative gamma process shrinks increasingly
    shrunk: Bools
    shrinkage_first: float  # shape of its first gamma variable
    shrinkage_rest: float  # shape of the others
    offset: Bools  # (D,) axes whose factors vary around an offset instead of around 0
    offset_mean: float
    offset_var: float
    process: ProcessModel  # the residual process; empty where there is none
    noise_operations: NoiseOperations  # updates of noise and weights


@record
class State(NamedTuple):
    """The current state of a chain; updates overwrite it."""

    lengthscales: Floats  # (R, D)
    covariances: Floats  # as in the problem, with the current learned ones
    # (R, M, S) factor, offset included, and scaled derivatives; 1 where the component is not active
    factors: Floats
    weights: Floats  # (R,)
    weight_vars: Floats  # (R,) of their priors
    shrinkage: Floats  # (R,) the gamma variables, 1 for a component that is not shrunk
    offsets: Floats  # (R, D) 0 where a factor has none
    noise_precision: Floats  # (1,) times `power`
    power: Floats  # (1,) to which the likelihood is raised: 1, or less in an annealed chain
    products: Floats  # (R, n) product of the factors at each observation
    residual: Floats  # (n,) values − Σ weight·product − process_values
    process_values: Floats  # (n,) the residual process at the observations; 0 without one
    process_logs: Floats  # (D + 2,) its parameters

    @property
    def n_particles(self) -> int:
        """The number of particles of a population, whose arrays have a leading axis."""
        return len(self.weights)


@record
class Work(NamedTuple):
    """Buffers for the block that is being updated."""

    suffixes: Floats  # (q, D + 1, n)
    prefixes: Floats  # (q, n)
    sensitivities: Floats  # (q, n) derivative of f by the factor value
    remainder: Floats  # (n,) values without the contributions of all other components


@record
class Draws(NamedTuple):
    """The draws that a run stores."""

    lengthscales: Floats  # (K, R, D)
    factors: Floats  # (K, R, M, S)
    weights: Floats  # (K, R)
    weight_vars: Floats  # (K, R)
    offsets: Floats  # (K, R, D)
    noise_precision: Floats  # (K,)
    process_logs: Floats  # (K, D + 2)
