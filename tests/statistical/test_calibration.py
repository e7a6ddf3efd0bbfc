"""Simulation-based calibration: where chains mix, the truth's rank among posterior draws is uniform."""

import math
import threading

import numpy as np
import pytest
from scipy import stats

from bktf import gibbs
from bktf.axes import Axis
from bktf.chains import run_chain
from bktf.fitting import make_problem, new_state
from bktf.model import Priors, Settings, resolve_kernels
from seeds import seeded

N_REPLICATES = 250
N_BINS = 10
LEVEL = 1e-4 / 4  # four columns of ranks: a right sampler fails a test once in ten thousand
THIN = 15
PRIORS = Priors(noise_shape=4.0, noise_rate=2.0)  # noise about as large as the signal, so that chains mix


@pytest.mark.parametrize(("kernel", "shared"), [("matern32", False), ("matern52", True), ("squared_exponential", False)])
def test_f_at_observed_and_unobserved_points_is_calibrated(kernel: str, shared: bool) -> None:
    rng = np.random.default_rng(seeded(20))
    n_sweeps, n_burn_in = 1990, 500
    points = [np.array([0.0, 0.15, 0.4, 0.7, 1.0]), np.array([0.0, 0.35, 0.6, 1.0])]
    axes = tuple(Axis(p, k) for p, k in zip(points, resolve_kernels(kernel, [5, 4]), strict=True))
    settings = Settings(shared_lengthscales=shared)
    active = np.ones((2, 2), dtype=bool)
    whole = np.array([[points[0][i], points[1][j]] for i in range(5) for j in range(4)])
    seen = np.array([0, 1, 4, 9, 13, 16])  # leaves axis point 0.4 of the first and 1.0 of the second axis unobserved
    asked = np.array([9, 0, 11, 19])  # two observed cells, two that need the fill
    truth_problem, _ = make_problem(axes, whole, np.zeros(len(whole)), active, PRIORS, settings, None)
    problem, observed = make_problem(axes, whole[seen], np.zeros(len(seen)), active, PRIORS, settings, None)
    truth, state = new_state(truth_problem), new_state(problem)
    ranks = np.empty((N_REPLICATES, len(asked)), dtype=int)
    for k in range(N_REPLICATES):
        gibbs.draw_prior(truth_problem, truth, rng)
        gibbs.refresh(truth_problem, truth)
        f = -truth.residual
        problem.values[:] = f[seen] + rng.standard_normal(len(seen)) / math.sqrt(truth.noise_precision[0])
        gibbs.draw_prior(problem, state, rng)
        chain = run_chain(problem, axes, observed, state, n_sweeps, n_burn_in, rng, rng, threading.Event(), lambda _: None)
        i, j = asked // 4, asked % 4
        draws = np.einsum("kr,krn->kn", chain.weights, chain.states[0][:, :, i, 0] * chain.states[1][:, :, j, 0])
        ranks[k] = np.sum(draws[::THIN] < f[asked], axis=0)
    n_draws = (n_sweeps - n_burn_in + THIN - 1) // THIN  # 100: ranks 0 … 100
    for column in ranks.T:
        counts = np.histogram(column, bins=np.linspace(-0.5, n_draws + 0.5, N_BINS + 1))[0]
        assert stats.chisquare(counts).pvalue > LEVEL
