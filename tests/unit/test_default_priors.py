"""The priors that hold where nothing else is said, and where chains of a process start."""

import math

import numpy as np
import pytest

from bktf.axis_kernels.axes import Axis
from bktf.axis_kernels.kernel_spec import resolve_kernels
from bktf.gaussian_process.process_sampler import start_of_chain
from bktf.surrogate.fit_components import make_component_problem
from bktf.surrogate.fit_process import make_process_problem
from bktf.surrogate.model_spec import ModelSpec
from bktf.surrogate.observed_values import Data
from bktf.surrogate.priors import Priors
from seeds import seeded


def data_in(n_dims: int) -> Data:
    """Three observations on a diagonal."""
    points = np.array([0.0, 0.5, 1.0])
    axes = tuple(Axis(points, kernel) for kernel in resolve_kernels("matern32", [3] * n_dims))
    return Data(axes, np.repeat(points[:, None], n_dims, axis=1), np.zeros(3), None)


def test_length_scales_of_components_have_the_papers_prior() -> None:
    """Half an axis long, give or take a factor of two: log l ~ N(log 0.5, 0.5)."""
    problem = make_component_problem(ModelSpec(), data_in(3)).problem
    assert problem.log_means == pytest.approx([math.log(0.5)] * 3)
    assert problem.log_vars == pytest.approx([0.5] * 3)


def test_the_noise_of_components_is_a_tenth_of_the_spread_a_priori() -> None:
    """Gamma(1, 0.01): the mean of the precision is 100."""
    priors = Priors()
    assert (priors.noise_shape, priors.noise_rate) == (1.0, 0.01)
    assert priors.weight_var == 1.0


@pytest.mark.parametrize("n_dims", [1, 4])
def test_length_scales_of_a_process_are_two_fifths_of_an_axis_times_root_d(n_dims: int) -> None:
    model = make_process_problem(ModelSpec(rank=math.inf), data_in(n_dims)).model
    assert np.exp(model.log_means[:n_dims]) == pytest.approx([0.4 * math.sqrt(n_dims)] * n_dims)
    assert model.log_vars[:n_dims] == pytest.approx([1.0] * n_dims)


def test_chains_of_a_process_start_with_a_tenth_of_the_spread_or_the_known_noise() -> None:
    problem = make_process_problem(ModelSpec(rank=math.inf), data_in(2))
    _, learned = start_of_chain(problem, None, np.random.default_rng(seeded(0)))
    assert 1.0 / np.sqrt(learned) == pytest.approx([0.1])
    _, known = start_of_chain(problem, 25.0, np.random.default_rng(seeded(0)))
    assert known.tolist() == [25.0]
