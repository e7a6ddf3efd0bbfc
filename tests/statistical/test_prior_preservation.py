"""Each update, and the whole sweep, leaves the joint distribution of parameters and data as it is."""

import numpy as np
import pytest
from prior_preservation import UPDATES, corrected, make_setup, p_values
from process_preservation import make_process_setup, p_values_of_process

from bktf.axis_kernels.kernel_spec import Kernel

N = 6000
# The chance that a right update fails a check, whatever the seed; a test makes one or two checks
LEVEL = 5e-5

PARTIAL = [(0, 1), (0,), (1,)]
N_ELLIPTICAL = 1500  # replicates; each finds a mode of its own
CORRELATED = 0.4 + 0.6 * np.eye(4)


def check(update: str, seed: int, **setup: object) -> None:
    check_p_values(p_values(make_setup(**setup), update, N, seed))  # type: ignore[arg-type]


def check_process(seed: int, **setup: object) -> None:
    check_p_values(p_values_of_process(make_process_setup(**setup), N, seed))  # type: ignore[arg-type]


def check_p_values(p: dict[str, float]) -> None:
    value, worst = corrected(p)
    assert value > LEVEL, f"{worst}: p = {value:.2e} after Bonferroni over {len(p)}"


@pytest.mark.parametrize("update", UPDATES[:4])
@pytest.mark.parametrize("active", [None, PARTIAL])
@pytest.mark.parametrize("shared", [False, True])
def test_the_prior_is_preserved_with_matern32(
    update: str, active: list[tuple[int, ...]] | None, shared: bool
) -> None:
    check(update, 1, active=active, shared=shared)


@pytest.mark.parametrize("kernel", ["matern12", "matern52", "squared_exponential", "periodic"])
@pytest.mark.parametrize("shared", [False, True])
def test_the_prior_is_preserved_with_other_kernels(kernel: Kernel, shared: bool) -> None:
    check("two sweeps", 2, kernel=kernel, shared=shared)


def test_the_prior_is_preserved_with_different_kernels_on_different_axes() -> None:
    check("two sweeps", 3, kernel=[CORRELATED, "matern52"], active=PARTIAL)
    check("two sweeps", 4, kernel=["matern32", "squared_exponential"], active=PARTIAL, shared=True)


@pytest.mark.parametrize("update", ["axes", "two sweeps"])
@pytest.mark.parametrize("shared", [False, True])
def test_the_prior_is_preserved_with_unordered_levels(update: str, shared: bool) -> None:
    check(update, 7, kernel=["categorical", "matern32"], active=PARTIAL, shared=shared)
    check(update, 8, kernel="categorical", sizes=(2, 5), n=11, shared=shared)


@pytest.mark.parametrize("update", ["covariances", "axes", "two sweeps"])
@pytest.mark.parametrize("shared", [False, True])
def test_the_prior_is_preserved_with_a_full_covariance_between_levels(
    update: str, shared: bool
) -> None:
    check(update, 9, kernel=["wishart", "matern32"], active=PARTIAL, shared=shared)
    check(update, 10, kernel="wishart", sizes=(2, 4), n=10, shared=shared)


@pytest.mark.parametrize("kernel", ["matern32", "matern52", "categorical"])
def test_the_prior_is_preserved_with_inactive_coordinates(kernel: Kernel) -> None:
    check("two sweeps", 30, kernel=kernel, inactive=True)


def test_joint_draws_preserve_the_prior_with_inactive_coordinates() -> None:
    check("joint sweeps", 31, inactive=True)


def test_the_prior_is_preserved_at_infinite_rank_with_inactive_coordinates() -> None:
    check_process(32, inactive=True)


def test_the_prior_is_preserved_in_three_dimensions_with_known_noise() -> None:
    check("two sweeps", 5, sizes=(4, 3, 2), n=12, noise_known=True)


def test_the_prior_is_preserved_in_one_dimension() -> None:
    check("two sweeps", 6, sizes=(5,), n=8)


@pytest.mark.parametrize("shared", [False, True])
def test_the_prior_is_preserved_with_a_residual_process(shared: bool) -> None:
    check("two sweeps", 11, residual_process=True, shared=shared)
    check(
        "two sweeps",
        12,
        residual_process=True,
        active=PARTIAL,
        kernel=["categorical", "matern32"],
        shared=shared,
    )


def test_the_prior_is_preserved_at_infinite_rank() -> None:
    check_process(13)
    check_process(14, sizes=(4, 3, 2), n=12, noise_known=True)


def test_the_prior_is_preserved_at_infinite_rank_with_unordered_levels() -> None:
    check_process(20, kernel=["categorical", None])
    check_process(21, kernel="categorical", sizes=(2, 5), n=11)


@pytest.mark.parametrize(
    ("seed", "setup"),
    [
        (22, {}),
        (23, {"sizes": (4, 3, 2), "n": 12, "noise_known": True}),
        (24, {"kernel": ["categorical", None]}),
    ],
)
def test_updates_of_all_parameters_at_once_preserve_the_prior(
    seed: int, setup: dict[str, object]
) -> None:
    problem = make_process_setup(**setup)  # type: ignore[arg-type]
    check_p_values(p_values_of_process(problem, N_ELLIPTICAL, seed, elliptical=True))


@pytest.mark.parametrize("update", ["shrinkage", "two sweeps"])
def test_the_prior_is_preserved_where_the_rank_adapts(update: str) -> None:
    check(update, 15, adapt_rank=True, active=[(0, 1)] * 3)
    check(update, 16, adapt_rank=True, active=[*PARTIAL, (0, 1)])


@pytest.mark.parametrize("update", ["axes", "two sweeps"])
def test_the_prior_is_preserved_with_offsets(update: str) -> None:
    check(update, 17, offsets=True)
    check(update, 18, offsets=True, active=PARTIAL, kernel=["categorical", "matern52"])


def test_the_prior_is_preserved_with_everything_together() -> None:
    check("two sweeps", 19, offsets=True, adapt_rank=True, residual_process=True)


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_the_prior_is_preserved_where_factors_are_drawn_together(power: float) -> None:
    check("joint sweeps", 25, power=power)
    check("joint sweeps", 26, active=PARTIAL, kernel=["matern32", "matern52"], power=power)
    check("joint sweeps", 27, active=[*PARTIAL, (0, 1)], offsets=True, power=power)


def test_the_prior_is_preserved_under_a_power_of_the_likelihood() -> None:
    check("two sweeps", 28, power=0.4)
    check("two sweeps", 29, power=0.4, shared=True, active=PARTIAL)
    check("two sweeps", 30, power=0.4, residual_process=True)


@pytest.mark.parametrize("update", ["two sweeps", "joint sweeps"])
def test_the_prior_is_preserved_where_the_size_is_learned_beside_a_constant(update: str) -> None:
    check(update, 31, comparable=True)
    check(update, 32, comparable=True, kernel=["categorical", "matern32"], power=0.4)
