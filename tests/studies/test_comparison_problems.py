"""The problems of the comparison: what is said of them is true, and the halves do not leak."""

from collections import Counter

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from method_checks import check_answers
from seeds import seeded
from studies.comparison.tables import KINDS
from studies.problems import (
    COMPARISON_PROBLEMS,
    DEVELOPMENT,
    TEST,
    ComparisonProblem,
    UnitCube,
    sample,
)
from studies.problems.classics import CLASSICS, moved

ALL = pytest.mark.parametrize("problem", COMPARISON_PROBLEMS.values(), ids=COMPARISON_PROBLEMS)


def test_there_are_enough_problems_and_the_halves_are_alike_in_kind() -> None:
    assert len(COMPARISON_PROBLEMS) >= 36
    by_half = {
        half: Counter(c.group for c in COMPARISON_PROBLEMS.values() if c.half == half)
        for half in (DEVELOPMENT, TEST)
    }
    assert (
        by_half[DEVELOPMENT].keys()
        == by_half[TEST].keys()
        == {"paper", "classic", "emulator", "mixed", "noisy", "table"}
    )
    for group in by_half[TEST]:
        assert abs(by_half[DEVELOPMENT][group] - by_half[TEST][group]) <= 2
    for kind in KINDS:
        assert all(
            sum(c.kind == kind and c.half == half for c in COMPARISON_PROBLEMS.values()) >= 3
            for half in (DEVELOPMENT, TEST)
        )


def test_a_function_and_its_control_are_in_the_same_half() -> None:
    for name, problem in COMPARISON_PROBLEMS.items():
        if name.endswith("-shifted"):
            assert COMPARISON_PROBLEMS[name.removesuffix("-shifted")].half == problem.half


@ALL
def test_no_random_value_is_below_the_stated_minimum(problem: ComparisonProblem) -> None:
    rng = np.random.default_rng(seeded(0))
    values = np.array([problem.function(sample(problem.space, rng)) for _ in range(1000)])
    assert np.isfinite(values).all()
    assert values.min() >= problem.minimum - 1e-9
    assert problem.value_range > 0


@ALL
def test_start_points_are_the_same_for_a_seed_and_lie_in_the_space(
    problem: ComparisonProblem,
) -> None:
    points = problem.start_points(3)
    assert points == problem.start_points(3)
    assert points != problem.start_points(4)
    assert len(points) == problem.n_start == 10
    for name, distribution in problem.space.items():
        assert all(distribution._contains(distribution.to_internal_repr(p[name])) for p in points)


@pytest.mark.parametrize("name", CLASSICS)
@pytest.mark.parametrize("rotate", [False, True])
def test_a_moved_function_has_its_minimum_where_it_says(name: str, rotate: bool) -> None:
    if name in ("michalewicz", "eggholder"):
        pytest.skip("its formula holds on its own box only")
    classic, n_dims = CLASSICS[name], 4
    function, minimiser = moved(classic, n_dims, 5, rotate)
    assert function(minimiser[None])[0] == pytest.approx(classic.minimum(n_dims), abs=1e-9)
    assert (minimiser > classic.low).all()
    assert (minimiser < classic.high).all()
    rng = np.random.default_rng(seeded(1))
    near = minimiser + 1e-3 * rng.standard_normal((500, n_dims))
    far = rng.uniform(classic.low, classic.high, (5000, n_dims))
    assert function(np.concatenate((near, far))).min() >= classic.minimum(n_dims) - 1e-9


@pytest.mark.parametrize(
    "name", [n for n, c in COMPARISON_PROBLEMS.items() if c.kind != "grid" and c.group != "table"]
)
def test_no_local_search_ends_below_the_stated_minimum(name: str) -> None:
    from scipy.optimize import minimize

    problem = COMPARISON_PROBLEMS[name]
    rng = np.random.default_rng(seeded(2))
    cube = UnitCube(problem.space)
    points = sorted((sample(problem.space, rng) for _ in range(300)), key=problem.function)[:3]
    for point in points:
        start = cube.to_numbers(point)
        free = [
            d
            for d, dist in enumerate(problem.space.values())
            if isinstance(dist, FloatDistribution)
        ]

        def value(u: np.ndarray, start: np.ndarray = start, free: list[int] = free) -> float:
            at = start.copy()
            at[free] = u
            return problem.function(cube.to_params(at))

        found = minimize(
            value,
            start[free],
            method="Nelder-Mead",
            bounds=[(0, 1)] * len(free),
            options={"maxfev": 400},
        )
        assert found.fun >= problem.minimum - 1e-9


def test_coordinates_and_parameters_are_inverse() -> None:
    rng = np.random.default_rng(seeded(4))
    for problem in COMPARISON_PROBLEMS.values():
        cube = UnitCube(problem.space)
        for _ in range(20):
            point = sample(problem.space, rng)
            back = cube.to_params(cube.to_numbers(point))
            for name, distribution in problem.space.items():
                if isinstance(distribution, CategoricalDistribution | IntDistribution):
                    assert back[name] == point[name]
                else:
                    assert back[name] == pytest.approx(point[name], rel=1e-9)


def test_random_samples_reach_every_choice_and_both_ends() -> None:
    space = {
        "c": CategoricalDistribution(["a", "b"]),
        "i": IntDistribution(2, 8, step=3),
        "f": FloatDistribution(0.0, 1.0, step=0.5),
    }
    rng = np.random.default_rng(seeded(0))
    seen = [sample(space, rng) for _ in range(200)]
    assert {p["c"] for p in seen} == {"a", "b"}
    assert {p["i"] for p in seen} == {2, 5, 8}
    assert {p["f"] for p in seen} == {0.0, 0.5, 1.0}


@pytest.mark.usefixtures("quiet_optuna")
@pytest.mark.parametrize("method", ["bktf", "random", "tpe"])
def test_methods_that_need_no_extra_answer_in_the_space(method: str) -> None:
    for name in ("tilted-branin", "grid-schaffer", "levy4r"):
        check_answers(method, name)
