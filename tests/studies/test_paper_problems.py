"""The paper's problems: what the records say of them is true."""

import numpy as np
import pytest

from seeds import seeded
from studies.problems import on_cells
from studies.problems.paper_problems import (
    CONTROLS,
    INTRO,
    INTRO_CONTROL,
    PAPER,
    PAPER_PROBLEMS,
    PaperProblem,
    make_griewank,
)

ALL = pytest.mark.parametrize("problem", PAPER_PROBLEMS.values(), ids=PAPER_PROBLEMS)


@ALL
def test_minimisers_lie_in_the_box_and_attain_the_minimum(problem: PaperProblem) -> None:
    points = np.array(problem.minimisers)
    assert (points >= problem.grid.low).all()
    assert (points <= problem.grid.high).all()
    np.testing.assert_allclose(problem.array_function(points), problem.minimum, atol=1e-9)


@ALL
def test_no_value_is_below_the_stated_minimum(problem: PaperProblem) -> None:
    rng = np.random.default_rng(seeded(0))
    low, high = np.array(problem.grid.low), np.array(problem.grid.high)
    X = low + (high - low) * rng.random((200_000, problem.n_dims))
    nearby = np.clip(
        np.array(problem.minimisers[0])
        + 1e-3 * (high - low) * rng.standard_normal((2_000, problem.n_dims)),
        low,
        high,
    )
    assert problem.array_function(np.concatenate((X, nearby))).min() >= problem.minimum - 1e-12


@ALL
def test_no_local_search_ends_below_the_stated_minimum(problem: PaperProblem) -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(seeded(1))
    low, high = np.array(problem.grid.low), np.array(problem.grid.high)
    X = low + (high - low) * rng.random((5_000, problem.n_dims))
    for x in X[np.argsort(problem.array_function(X))[:8]]:
        found = minimize(
            lambda z: float(problem.array_function(z[None])[0]),
            x,
            bounds=list(zip(low, high, strict=True)),
        )
        assert found.fun >= problem.minimum - 1e-9


@ALL
def test_best_and_worst_grid_value_equal_enumeration(problem: PaperProblem) -> None:
    values = problem.grid_values()
    assert values.size == problem.grid.n_cells
    np.testing.assert_allclose(values.min(), problem.best_grid_value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(values.max(), problem.worst_grid_value, rtol=1e-12, atol=1e-15)


def test_every_problem_has_a_control_whose_best_cell_is_elsewhere_and_not_in_the_centre() -> None:
    for problem, control in zip((INTRO, *PAPER), (INTRO_CONTROL, *CONTROLS), strict=True):
        assert control.name == f"{problem.name}-shifted"
        assert control.is_control
        assert control.best_grid_value == problem.best_grid_value
        cells = [
            np.array(np.unravel_index(p.grid_values().argmin(), p.grid.sizes))
            for p in (problem, control)
        ]
        assert (cells[0] != cells[1]).all()
        assert (cells[1] != (np.array(control.grid.sizes) - 1) / 2).all()


def test_stated_values_are_those_of_the_literature() -> None:
    assert PAPER_PROBLEMS["branin"].minimum == pytest.approx(0.397887, abs=1e-6)
    assert PAPER_PROBLEMS["hartmann6"].minimum == pytest.approx(-3.32237, abs=1e-5)
    assert INTRO.best_grid_value == pytest.approx(-0.6053, abs=1e-4)
    assert np.isfinite(
        PAPER_PROBLEMS["damavandi"].grid_values()
    ).all()  # the formula as printed is 0/0 in 141 cells


@pytest.mark.parametrize("n_dims", [1, 2, 5])
def test_griewank_of_any_dimension_knows_its_worst_cell(n_dims: int) -> None:
    for problem in (make_griewank(n_dims), make_griewank(n_dims, (1, -4, 3, 2, -2)[:n_dims])):
        assert problem.worst_grid_value == pytest.approx(problem.grid_values().max(), rel=1e-12)


def test_griewank_refuses_what_has_no_optimum_in_the_box() -> None:
    with pytest.raises(ValueError, match="from -5 to 5"):
        make_griewank(2, (6, 0))
    with pytest.raises(ValueError, match="at least 1"):
        make_griewank(0)


def test_start_points_are_cells_without_the_best_and_the_same_for_a_seed() -> None:
    for problem in (PAPER_PROBLEMS["schaffer"], PAPER_PROBLEMS["branin"], INTRO):
        for seed in range(40):
            start = problem.start_points(seed)
            points = np.stack([problem.to_row(params) for params in start])
            assert points.shape == (problem.n_start, problem.n_dims)
            assert start == problem.start_points(seed)
            np.testing.assert_allclose(problem.grid.points(problem.grid.cells(points)), points)
            assert problem.array_function(points).min() > problem.best_grid_value


def test_a_start_design_with_the_best_cell_is_drawn_again() -> None:
    from dataclasses import replace

    # Eight of nine cells: all designs but one hold the best.
    schaffer = PAPER_PROBLEMS["schaffer"]
    tiny = replace(schaffer, grid=replace(schaffer.grid, sizes=(3, 3)), n_start=8)
    assert min(tiny.values(tiny.start_points(0))) > 0
    with pytest.raises(ValueError, match="fewer start points"):
        replace(tiny, n_start=9).start_points(0)


def test_cells_and_points_are_inverse_and_the_function_of_cells_is_that_of_points() -> None:
    problem = PAPER_PROBLEMS["branin-shifted"]
    best = problem.best_grid_value
    cells = on_cells(problem, name="cells", minimum=best, budget=problem.budget)
    assert cells.kind == "grid"
    values = []
    for cell in ({"x0": i, "x1": j} for i in range(14) for j in range(14)):
        point = problem.point_of(cell)
        assert problem.cell_of(point) == cell
        assert cells.function(cell) == problem.function(point) == problem.values([point])[0]
        values.append(cells.function(cell))
    np.testing.assert_allclose(values, problem.grid_values(), rtol=1e-12)
    assert problem.is_best_cell(min(values))


def test_flat_indices_and_points_are_inverse() -> None:
    grid = PAPER_PROBLEMS["griewank3"].grid
    flat = np.array([0, 7, 500, grid.n_cells - 1])
    np.testing.assert_array_equal(grid.flat(grid.points_at(flat)), flat)
    np.testing.assert_array_equal(grid.point_at(7), grid.points_at(np.array([7]))[0])
