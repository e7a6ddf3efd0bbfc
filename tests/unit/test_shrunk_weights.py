"""With `adapt_rank`, weights are drawn with the prior variances that the shrinkage gives them."""

import numpy as np
import pytest
from prior_preservation import draw_joint, make_setup

from bktf.components import gibbs
from bktf.components.chain_state import Draws, Work
from bktf.components.chains import steps_per_sweep
from bktf.gaussian_process import n_logs
from bktf.surrogate.fit_components import new_state
from seeds import seeded


@pytest.mark.parametrize("residual_process", [False, True])
def test_a_weight_whose_prior_variance_is_next_to_nothing_is_next_to_nothing(
    residual_process: bool,
) -> None:
    """The last step of a sweep draws the weights: the second has a prior deviation of 1e-9."""
    setup = make_setup(adapt_rank=True, residual_process=residual_process)
    problem, rng = setup.problem, np.random.default_rng(seeded(0))
    state = new_state(problem)
    draw_joint(problem, state, rng)
    state.weights[:] = 1.0
    state.weight_vars[:] = 1.0, 1e-18
    gibbs.refresh(problem, state)
    n_components, n_dims = problem.active.shape
    n, per_sweep = problem.values.size, steps_per_sweep(problem)
    work = Work(np.empty((1, n_dims + 1, n)), np.empty((1, n)), np.empty((1, n)), np.empty(n))
    draws = Draws(
        lengthscales=np.empty((1, n_components, n_dims)),
        factors=np.empty((1, *state.factors.shape)),
        weights=np.empty((1, n_components)),
        weight_vars=np.empty((1, n_components)),
        offsets=np.empty((1, n_components, n_dims)),
        noise_precision=np.empty(1),
        process_logs=np.empty((1, n_logs(n_dims))),
    )
    gibbs.run(problem, state, work, draws, 0, per_sweep, per_sweep - 1, 1, rng)
    assert abs(draws.weights[0, 1]) < 1e-7  # a hundred deviations
    assert abs(draws.weights[0, 0]) > 1e-8
