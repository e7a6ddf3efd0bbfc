"""Annealed and tempered populations: powers, weights, and joint draws against dense algebra."""

import math
from typing import Any

import numpy as np
import pytest

from bktf._compiled import to_pseudo_observations
from bktf.axis_kernels import matern32_block, steps_along
from bktf.components import annealed_powers, systematic
from bktf.components.population import ANNEALED_SHARE, FIRST_POWER
from bktf.components.tempered import STEP_EFFICIENCY, next_power, normalised
from bktf.gaussian_process import Evidence
from bktf.surrogate.fit_components import make_component_problem
from bktf.surrogate.model_spec import ModelSpec, make_axes
from bktf.surrogate.observed_values import Data
from bktf.surrogate.rank_draws import log_mean_evidence, mix_ranks
from seeds import seeded


def test_powers_grow_from_the_first_to_one_and_stay() -> None:
    powers = annealed_powers(48, 32)
    n_annealed = int(ANNEALED_SHARE * 32)
    assert powers[0] == pytest.approx(FIRST_POWER)
    assert np.all(np.diff(powers[: n_annealed + 1]) > 0)
    ratios = powers[1 : n_annealed + 1] / powers[:n_annealed]
    assert ratios == pytest.approx(np.full(n_annealed, ratios[0]))
    assert np.all(powers[n_annealed:] == 1.0)
    assert powers.size == 48


@pytest.mark.parametrize("n_burn_in", [0, 1, 2])
def test_a_chain_without_burn_in_is_not_annealed(n_burn_in: int) -> None:
    assert np.all(annealed_powers(5, n_burn_in) == 1.0)


def test_the_next_power_keeps_the_weights_nearly_equal() -> None:
    rng = np.random.default_rng(seeded(0))
    logs, weights = 50.0 * rng.standard_normal(64), normalised(rng.standard_normal(64))
    power, powers = 0.0, []
    while power < 1.0:
        following = next_power(logs, weights, power)
        factor = np.exp((following - power) * (logs - logs.max()))
        efficiency = (weights @ factor) ** 2 / (weights @ factor**2)
        assert efficiency >= STEP_EFFICIENCY * (1 - 1e-9)
        if following < 1.0:
            assert efficiency == pytest.approx(STEP_EFFICIENCY, rel=1e-6)
        assert following > power
        power = following
        powers.append(power)
    assert powers[-1] == 1.0
    assert len(powers) > 10


def test_equal_likelihoods_need_one_step() -> None:
    assert next_power(np.full(8, -1e6), np.full(8, 1 / 8), 0.3) == 1.0


def test_particles_are_chosen_as_often_as_their_weights_say() -> None:
    rng = np.random.default_rng(seeded(1))
    weights = normalised(rng.standard_normal(40))
    for _ in range(50):
        counts = np.bincount(systematic(weights, rng), minlength=40)
        assert counts.sum() == 40
        assert np.abs(counts - 40 * weights).max() < 1.0


def test_the_mean_evidence_is_that_of_the_values_not_of_their_logarithms() -> None:
    values = np.array([1.0, 2.0, 6.0])
    found = log_mean_evidence(np.log(values) - 1000.0)
    assert found.log == pytest.approx(math.log(3.0) - 1000.0)
    assert found.error == pytest.approx(values.std(ddof=1) / math.sqrt(3) / 3.0)
    assert log_mean_evidence(np.array([5.0])) == Evidence(5.0, math.inf)


def test_factors_drawn_together_have_the_moments_of_dense_algebra() -> None:
    """Three factors with lengths of their own, at six points, one of which nobody observed."""
    rng = np.random.default_rng(seeded(2))
    m, q, n_draws = 6, 3, 20_000
    coords = np.sort(rng.random(m))
    lengthscales, steps = np.array([0.3, 0.7, 1.5]), steps_along(coords)
    roots = rng.standard_normal((m, q, q))
    matrices, information = 3.0 * roots @ roots.transpose(0, 2, 1), rng.standard_normal((m, q))
    matrices[2], information[2] = 0.0, 0.0
    directions, precisions, targets = np.ones((m, q, q)), np.empty((m, q)), np.empty((m, q))
    to_pseudo_observations(information.copy(), matrices.copy(), directions, precisions, targets)
    prior, likelihood = np.zeros((q * m, q * m)), np.zeros((q * m, q * m))
    vector = np.zeros(q * m)
    for k, lengthscale in enumerate(lengthscales):
        r = math.sqrt(3) * np.abs(coords[:, None] - coords) / lengthscale
        prior[k * m : (k + 1) * m, k * m : (k + 1) * m] = (1 + r) * np.exp(-r)
    for j in range(m):
        own = np.arange(q) * m + j
        likelihood[np.ix_(own, own)], vector[own] = matrices[j], information[j]
    covariance = np.linalg.inv(np.linalg.inv(prior) + likelihood)
    mean = covariance @ vector
    out, draws = np.zeros((q, m, 2)), np.empty((n_draws, q * m))
    for i in range(n_draws):
        matern32_block.draw_block(
            lengthscales, steps.values, steps.gap_of, directions, precisions, targets, out, rng
        )
        draws[i] = out[:, :, 0].ravel()
    # Whitened draws are standard normal: their means and squares by χ², at 1e-6 each.
    white = np.linalg.solve(np.linalg.cholesky(covariance), (draws - mean).T)
    assert np.abs(white.mean(axis=1)).max() < 5.5 / math.sqrt(n_draws)
    second = white @ white.T / n_draws
    assert np.abs(second - np.eye(q * m)).max() < 5.5 * math.sqrt(2.0 / n_draws)


class Stub:
    """Stands for the draws of one rank."""

    def __init__(self, rank: float, n_draws: int) -> None:
        self.rank, self.n_draws = rank, n_draws


def test_ranks_are_mixed_by_prior_times_evidence_without_repeats() -> None:
    stubs: list[Any] = [Stub(1, 500), Stub(2, 500), Stub(math.inf, 60)]
    evidences = [Evidence(-3.0, 0.1), Evidence(-2.0, 0.1), Evidence(-2.5, 0.1)]
    prior = [0.5, 0.2, 0.3]
    mixed = mix_ranks(stubs, evidences, prior, 500)
    weights = np.array(prior) * np.exp([-3.0, -2.0, -2.5])
    shares = weights / weights.sum()
    assert [part.probability for part in mixed.parts] == pytest.approx(shares.tolist())
    counts = np.array([part.chosen.size for part in mixed.parts])
    assert counts.sum() == int(60 / shares[2])  # the process has no more draws
    assert np.abs(counts - shares * counts.sum()).max() <= 1.0
    assert all(np.unique(part.chosen).size == part.chosen.size for part in mixed.parts)
    certain = mix_ranks(stubs[:2], [Evidence(-900.0, 0.1), Evidence(-2.0, 0.1)], [0.5, 0.5], 400)
    assert [part.chosen.size for part in certain.parts] == [0, 400]


@pytest.mark.parametrize(("rank", "is_joint"), [(1, False), (2, True), (8, True), (9, False)])
def test_factors_of_a_few_components_are_drawn_together(rank: int, is_joint: bool) -> None:
    """One has nothing to share, and the cost is cubic in their number."""
    spec = ModelSpec(rank=rank)
    data = Data(make_axes(spec, [[0.0, 1.0]]), np.array([[0.0], [1.0]]), np.zeros(2), None)
    assert make_component_problem(spec, data).problem.joint.tolist() == [is_joint]
