"""From data and a model to what the samplers work on."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bktf._typing import Floats, Ints
from bktf.axis_kernels import Axis, axis_operations, dense, operations, steps_along
from bktf.components import Problem, State, noise_operations
from bktf.gaussian_process import (
    LOG_ODDS_HIGH,
    ProcessModel,
    ProcessProblem,
    empty_model,
    n_logs,
    pair_separations,
)
from bktf.surrogate.model_spec import ModelSpec, active_dimensions


class Data(NamedTuple):
    """Observations as a sampler sees them."""

    grid: tuple[Axis, ...]  # every observed coordinate is a point of its axis
    points: Floats  # (n, D) in the units of the axes
    values: Floats  # (n,) standardised
    noise_precision: float | None  # in the model's units, where the noise is known


class ComponentProblem(NamedTuple):
    """What the Gibbs sampler works on, and the observed points of each axis."""

    problem: Problem
    observed: tuple[Ints, ...]


def make_component_problem(spec: ModelSpec, data: Data) -> ComponentProblem:
    """The Gibbs sampler's view of the data, and the indices of the observed points of each axis."""
    grid, points, priors = data.grid, data.points, spec.priors
    active = active_dimensions(spec, len(grid))
    observed, cells, coords = [], [], []
    for d, axis in enumerate(grid):
        seen, index = np.unique(axis.locate(points[:, d]), return_inverse=True)
        if (
            axis.kernel.kind == dense.FULL_COVARIANCE
        ):  # all levels, because the covariance is of all of them
            seen, index = np.arange(axis.size), axis.locate(points[:, d])
        observed.append(seen)
        cells.append(index)
        coords.append(axis.scale(axis.points)[seen])
    full = np.array([axis.kernel.kind == dense.FULL_COVARIANCE for axis in grid])
    has_matrix = np.array([axis.kernel.covariance is not None for axis in grid]) | full
    matrix_index = np.maximum(np.cumsum(has_matrix) - 1, 0).astype(np.int64)
    largest = max((axis.size for d, axis in enumerate(grid) if has_matrix[d]), default=1)
    covariances = np.zeros((max(int(has_matrix.sum()), 1), largest, largest))
    for d, axis in enumerate(grid):
        if axis.kernel.covariance is not None:
            covariances[matrix_index[d], : axis.size, : axis.size] = axis.kernel.covariance
    learned = np.array([axis.kernel.has_lengthscale for axis in grid])
    equal = np.array([axis.kernel.kind == dense.EQUAL_CORRELATION for axis in grid])
    kinds = np.array([axis.kernel.kind for axis in grid], dtype=np.int64)
    steps = [steps_along(c) for c in coords]
    problem = Problem(
        values=np.ascontiguousarray(data.values),
        cells=np.array(cells, dtype=np.uint32),
        coords=np.concatenate(coords),
        starts=_starts([c.size for c in coords]),
        steps=np.concatenate([s.gap_of for s in steps]),
        gaps=np.concatenate([s.values for s in steps]),
        gap_starts=_starts([s.values.size for s in steps]),
        kinds=kinds,
        periods=np.array([axis.period for axis in grid]),
        covariances=covariances,
        covariance_index=matrix_index,
        operations=axis_operations(kinds, spec.shared_lengthscales),
        learned=learned,
        full=full,
        active=active,
        shared=bool(spec.shared_lengthscales),
        log_means=np.where(
            equal, priors.correlation_logit_mean, priors.lengthscale_log_mean
        ).astype(float),
        log_vars=np.where(equal, priors.correlation_logit_var, priors.lengthscale_log_var).astype(
            float
        ),
        noise_shape=float(priors.noise_shape),
        noise_rate=float(priors.process_noise_rate if spec.residual_process else priors.noise_rate),
        noise_known=data.noise_precision is not None,
        weight_var=float(priors.weight_var),
        shrunk=(active.sum(axis=1) > min(1, len(grid) - 1)) & bool(spec.adapt_rank),
        shrinkage_first=float(priors.shrinkage_first),
        shrinkage_rest=float(priors.shrinkage_rest),
        offset=~full & bool(spec.offsets),
        offset_mean=float(priors.offset_mean),
        offset_var=float(priors.offset_var),
        process=make_process_model(spec, data) if spec.residual_process else empty_model(len(grid)),
        noise_operations=noise_operations(spec.residual_process),
    )
    return ComponentProblem(problem, tuple(observed))


def make_process_model(spec: ModelSpec, data: Data) -> ProcessModel:
    """The covariance of a Gaussian process at the observations, and the priors of its parameters."""
    grid, priors, n_dims = data.grid, spec.priors, len(data.grid)
    on_levels = np.array([axis.kernel.on_levels for axis in grid])
    scaled = np.stack([axis.scale(data.points[:, d]) for d, axis in enumerate(grid)], axis=1)
    shift = priors.process_lengthscale_log_mean + 0.5 * math.log(n_dims)
    means = np.where(on_levels, priors.correlation_logit_mean, shift)
    variances = np.where(
        on_levels, priors.correlation_logit_var, priors.process_lengthscale_log_var
    )
    share = min(priors.process_share_logit_mean + math.log(n_dims), LOG_ODDS_HIGH - 1.0)
    return ProcessModel(
        separations=pair_separations(scaled, on_levels),
        on_levels=on_levels.astype(np.int64),
        log_means=np.append(means, (priors.process_size_log_mean, share)),
        log_vars=np.append(
            variances, (priors.process_size_log_var, priors.process_share_logit_var)
        ),
    )


def make_process_problem(spec: ModelSpec, data: Data) -> ProcessProblem:
    """What the sampler of the Gaussian process works on."""
    return ProcessProblem(
        model=make_process_model(spec, data),
        values=np.ascontiguousarray(data.values),
        noise_shape=float(spec.priors.noise_shape),
        noise_rate=float(spec.priors.process_noise_rate),
        noise_known=int(data.noise_precision is not None),
    )


def _starts(sizes: Sequence[int]) -> Ints:
    """Where each of several pieces begins when they are laid one after the other, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def new_state(problem: Problem) -> State:
    """An empty state of the right sizes."""
    n_components, n_dims = problem.active.shape
    size = max(operations.state_size(int(kind)) for kind in problem.kinds)
    n = problem.values.size
    return State(
        lengthscales=np.zeros((n_components, n_dims)),
        covariances=problem.covariances.copy(),
        factors=np.zeros((n_components, problem.coords.size, size)),
        weights=np.zeros(n_components),
        weight_vars=np.full(n_components, problem.weight_var),
        shrinkage=np.ones(n_components),
        offsets=np.zeros((n_components, n_dims)),
        noise_precision=np.ones(1),
        products=np.zeros((n_components, n)),
        residual=np.zeros(n),
        process_values=np.zeros(n),
        process_logs=np.zeros(n_logs(n_dims)),
    )
