"""The problems of the comparison: what is said of them is true, and the halves do not leak."""

from collections import Counter

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from method_checks import check_answers
from seeds import seeded
from studies.methods.other_packages import Cube
from studies.problems.classics import CLASSICS, moved
from studies.problems.comparison_problems import CONTESTS, DEVELOPMENT, N_START, TEST, Contest, sample, start_points

ALL = pytest.mark.parametrize("contest", CONTESTS.values(), ids=CONTESTS)


def test_there_are_enough_problems_and_the_halves_are_alike_in_kind() -> None:
    assert len(CONTESTS) >= 36
    by_half = {half: Counter(c.group for c in CONTESTS.values() if c.half == half) for half in (DEVELOPMENT, TEST)}
    assert by_half[DEVELOPMENT].keys() == by_half[TEST].keys() == {"paper", "classic", "emulator", "mixed", "noisy", "table"}
    for group in by_half[TEST]:
        assert abs(by_half[DEVELOPMENT][group] - by_half[TEST][group]) <= 2
    for kind in ("continuous", "grid", "mixed"):
        assert all(sum(c.kind == kind and c.half == half for c in CONTESTS.values()) >= 4 for half in (DEVELOPMENT, TEST))


def test_a_function_and_its_control_are_in_the_same_half() -> None:
    for name, contest in CONTESTS.items():
        if name.endswith("-shifted"):
            assert CONTESTS[name.removesuffix("-shifted")].half == contest.half


@ALL
def test_no_random_value_is_below_the_stated_minimum(contest: Contest) -> None:
    rng = np.random.default_rng(seeded(0))
    values = np.array([contest.function(sample(contest.space, rng)) for _ in range(1000)])
    assert np.isfinite(values).all()
    assert values.min() >= contest.minimum - 1e-9
    assert contest.value_range > 0


@ALL
def test_start_points_are_the_same_for_a_seed_and_lie_in_the_space(contest: Contest) -> None:
    points = start_points(contest, 3)
    assert points == start_points(contest, 3)
    assert points != start_points(contest, 4)
    assert len(points) == N_START
    for name, distribution in contest.space.items():
        assert all(distribution._contains(distribution.to_internal_repr(p[name])) for p in points)


@pytest.mark.parametrize("name", CLASSICS)
@pytest.mark.parametrize("rotate", [False, True])
def test_a_moved_function_has_its_minimum_where_it_says(name: str, rotate: bool) -> None:
    if name in ("michalewicz", "eggholder"):
        pytest.skip("its formula holds on its own box only")
    classic, n_dims = CLASSICS[name], 4
    function, place = moved(classic, n_dims, 5, rotate)
    assert function(place[None])[0] == pytest.approx(classic.minimum(n_dims), abs=1e-9)
    assert (place > classic.low).all()
    assert (place < classic.high).all()
    rng = np.random.default_rng(seeded(1))
    near = place + 1e-3 * rng.standard_normal((500, n_dims))
    far = rng.uniform(classic.low, classic.high, (5000, n_dims))
    assert function(np.concatenate((near, far))).min() >= classic.minimum(n_dims) - 1e-9


@pytest.mark.parametrize("name", [n for n, c in CONTESTS.items() if c.kind != "grid" and c.group != "table"])
def test_no_local_search_ends_below_the_stated_minimum(name: str) -> None:
    from scipy.optimize import minimize

    contest = CONTESTS[name]
    rng = np.random.default_rng(seeded(2))
    cube = Cube(contest.space)
    points = sorted((sample(contest.space, rng) for _ in range(300)), key=contest.function)[:3]
    for point in points:
        start = cube.to_numbers(point)
        free = [d for d, dist in enumerate(contest.space.values()) if isinstance(dist, FloatDistribution)]

        def value(u: np.ndarray, start: np.ndarray = start, free: list[int] = free) -> float:
            at = start.copy()
            at[free] = u
            return contest.function(cube.to_params(at))

        found = minimize(value, start[free], method="Nelder-Mead", bounds=[(0, 1)] * len(free), options={"maxfev": 400})
        assert found.fun >= contest.minimum - 1e-9


def test_coordinates_and_parameters_are_inverse() -> None:
    rng = np.random.default_rng(seeded(4))
    for contest in CONTESTS.values():
        cube = Cube(contest.space)
        for _ in range(20):
            point = sample(contest.space, rng)
            back = cube.to_params(cube.to_numbers(point))
            for name, distribution in contest.space.items():
                if isinstance(distribution, CategoricalDistribution | IntDistribution):
                    assert back[name] == point[name]
                else:
                    assert back[name] == pytest.approx(point[name], rel=1e-9)


def test_random_samples_reach_every_choice_and_both_ends() -> None:
    space = {"c": CategoricalDistribution(["a", "b"]), "i": IntDistribution(2, 8, step=3), "f": FloatDistribution(0.0, 1.0, step=0.5)}
    rng = np.random.default_rng(seeded(0))
    seen = [sample(space, rng) for _ in range(200)]
    assert {p["c"] for p in seen} == {"a", "b"}
    assert {p["i"] for p in seen} == {2, 5, 8}
    assert {p["f"] for p in seen} == {0.0, 0.5, 1.0}


@pytest.mark.usefixtures("quiet_optuna")
@pytest.mark.parametrize("method", ["bktf", "random", "tpe"])
def test_players_that_need_no_extra_answer_in_the_space(method: str) -> None:
    for name in ("tilted-branin", "grid-schaffer", "levy4r"):
        check_answers(method, name)
