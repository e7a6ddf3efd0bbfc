"""The parts of the sampler that are not statistical: bookkeeping against plain loops."""

import numpy as np
import pytest
from prior_preservation import UPDATES, apply, draw_joint, make_setup

import oracles
from bktf._compiled import slice_sampling
from bktf._compiled import vector_loops as sums
from bktf.axis_kernels.factor_updates import update_markov
from bktf.components.chain_state import State
from bktf.components.population import make_joint_work
from bktf.surrogate.fit_components import new_state
from seeds import seeded


@pytest.mark.parametrize("q", [1, 2, 4])
def test_evidence_per_coordinate_equals_plain_loops(q: int) -> None:
    rng = np.random.default_rng(seeded(0))
    n, m = 30, 6
    cells = rng.integers(0, m, n).astype(np.uint32)
    sensitivities, remainder = rng.standard_normal((q, n)), rng.standard_normal(n)
    information, matrices = np.zeros((m, q)), np.zeros((m, q, q))
    sums.gather_evidence(cells, sensitivities, remainder, 2.5, information, matrices)
    slow_information, slow_matrices = oracles.evidence_by_coordinate(
        cells, sensitivities, remainder, 2.5, m
    )
    np.testing.assert_allclose(information, slow_information, atol=1e-12)
    np.testing.assert_allclose(matrices, slow_matrices, atol=1e-12)


@pytest.mark.parametrize("q", [1, 2, 4])
@pytest.mark.parametrize("n", [3, 40])
def test_pseudo_observations_carry_all_the_information(q: int, n: int) -> None:
    """Σ precision·direction·directionᵀ and Σ precision·target·direction give back what was gathered, singular or not."""
    rng = np.random.default_rng(seeded(1))
    m = 3
    cells = (np.arange(n) % m).astype(np.uint32)
    sensitivities, remainder = rng.standard_normal((q, n)), rng.standard_normal(n)
    information, matrices = oracles.evidence_by_coordinate(cells, sensitivities, remainder, 7.0, m)
    directions, precisions, targets = np.empty((m, q, q)), np.empty((m, q)), np.empty((m, q))
    sums.to_pseudo_observations(
        information.copy(), matrices.copy(), directions, precisions, targets
    )
    np.testing.assert_allclose(
        np.einsum("jk,jka,jkb->jab", precisions, directions, directions), matrices, atol=1e-10
    )
    np.testing.assert_allclose(
        np.einsum("jk,jk,jka->ja", precisions, targets, directions), information, atol=1e-10
    )
    assert np.all(precisions >= 0)


def test_an_observation_that_says_nothing_is_left_out() -> None:
    directions, precisions, targets = np.empty((2, 1, 1)), np.empty((2, 1)), np.empty((2, 1))
    matrices = np.array([[[0.0]], [[1e-310]]])
    sums.to_pseudo_observations(
        np.array([[0.0], [1e-155]]), matrices, directions, precisions, targets
    )
    assert np.all(precisions == 0)
    assert np.all(np.isfinite(targets))


def test_the_slice_interval_holds_the_point_and_respects_the_bounds() -> None:
    rng = np.random.default_rng(seeded(2))
    for x in (-6.9, 0.0, 0.3, 6.9):
        for _ in range(100):
            here, level, left, right = slice_sampling.open_slice(np.exp(x), 0.0, 0.0, 1.0, rng)
            assert here == pytest.approx(x)
            assert np.log(1e-3) <= left <= x + 1e-12
            assert x - 1e-12 <= right <= np.log(1e3)
            assert right - left <= np.log(10) + 1e-12
            assert level <= -0.5 * x * x + 1e-12
            proposal, needed = slice_sampling.propose(left, right, level, 0.0, 1.0, rng)
            assert left <= proposal <= right
            assert needed == pytest.approx(level + 0.5 * proposal**2)


def test_slice_shrinkage_keeps_the_point_inside() -> None:
    assert slice_sampling.shrink(0.0, 1.0, 0.5, 0.2) == (0.2, 1.0)
    assert slice_sampling.shrink(0.0, 1.0, 0.5, 0.9) == (0.0, 0.9)


def test_the_fast_update_draws_what_the_general_one_draws() -> None:
    """One component alone with Matérn 3/2: same random numbers, same result, up to rounding."""
    setup = make_setup(sizes=(6, 4), n=14, active=[(0, 1), (1,)])
    problem = setup.problem
    general = problem._replace(operations=problem.operations._replace(matern32=update_markov()))
    start = new_state(problem)
    draw_joint(problem, start, np.random.default_rng(seeded(3)))
    ends = []
    for form in (problem, general):
        state, work, rng = (
            State(*(a.copy() for a in start)),
            make_joint_work(problem),
            np.random.default_rng(seeded(4)),
        )
        apply(UPDATES.index("two sweeps"), form, state, work, rng)
        ends.append(state)
    for fast, slow in zip(*ends, strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-6, atol=1e-8)


def test_gathering_for_one_factor_equals_gathering_for_a_block() -> None:
    rng = np.random.default_rng(seeded(5))
    n, m = 30, 7
    cells = rng.integers(0, m - 1, n).astype(np.uint32)  # the last coordinate is not observed
    prefix, suffix, remainder = rng.standard_normal((3, n))
    precisions, targets = np.empty((m, 1)), np.empty((m, 1))
    sums.gather_single_factor(1.5, prefix, suffix, remainder, cells, 2.5, precisions, targets)
    information, matrices = oracles.evidence_by_coordinate(
        cells, (1.5 * prefix * suffix)[None], remainder, 2.5, m
    )
    np.testing.assert_allclose(precisions[:, 0], matrices[:, 0, 0], atol=1e-12)
    np.testing.assert_allclose(precisions * targets, information, atol=1e-12)
    assert precisions[-1, 0] == targets[-1, 0] == 0.0
