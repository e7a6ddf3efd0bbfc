"""The parts that scores and searches share: weighting, thresholds, allowed maxima, the posterior's view."""

import ast
import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bktf.acquisition.grid_search import Grid, search_grid
from bktf.acquisition.scores import ChanceWeighted, thresholds_of_draws
from bktf.product_forms import best_allowed, best_few_allowed, climb_once
from conftest import ROOT
from seeds import seeded

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Table:
    """A score that is looked up in an array, and that counts the cells it was asked for."""

    def __init__(self, table: Floats, is_log: bool = False, n_enumerable: int = 0) -> None:
        self.table, self.is_log, self.n_enumerable = table, is_log, n_enumerable
        self.n_asked = 0

    def values(self, cells: NDArray[Any]) -> Floats:
        self.n_asked += len(cells)
        return np.asarray(self.table[tuple(cells.T)])

    def starting_cells(self) -> Ints:
        return np.empty((0, self.table.ndim), dtype=np.int64)


class ClimbingTable(Table):
    """The same with an ascent that never leaves its starts."""

    def climb(self, cells: Ints, values: Floats, excluded: Ints) -> tuple[Ints, Floats]:
        assert all(
            (excluded == cell).all(axis=1).any() == (value == -np.inf)
            for cell, value in zip(cells, values, strict=True)
        )
        return cells, values


def everything(sizes: tuple[int, ...]) -> Ints:
    return np.array(list(itertools.product(*map(range, sizes))))


def test_a_weighted_score_promises_less_beyond_the_worst_value_and_keeps_what_is_below() -> None:
    plain = np.array([-3.0, -1.0, 0.5, 4.0])
    score = ChanceWeighted(
        Table(plain), lambda cells: np.array([0.5, 0.5, 0.1, 0.5])[cells[:, 0]], -1.0
    )
    np.testing.assert_allclose(score.values(np.arange(4)[:, None]), [-3.0, -1.0, -0.85, 1.5])


def test_a_logarithm_is_weighted_by_the_logarithm_of_the_chance_and_stays_finite() -> None:
    score = ChanceWeighted(
        Table(np.zeros(3), is_log=True), lambda cells: np.array([0.0, 0.25, 7.0])[cells[:, 0]], 0.0
    )
    values = score.values(np.arange(3)[:, None])
    np.testing.assert_allclose(values[1:], [np.log(0.25), 0.0])
    assert np.isfinite(values[0])
    assert values[0] < -600


def test_a_draw_must_exceed_the_best_value_and_its_own_at_pending_points() -> None:
    at_pending = np.array([[0.1, 2.0], [-5.0, -6.0], [1.5, 0.0]])
    np.testing.assert_array_equal(thresholds_of_draws(1.0, at_pending), [2.0, 1.0, 1.5])
    np.testing.assert_array_equal(thresholds_of_draws(1.0, np.empty((3, 0))), [1.0, 1.0, 1.0])


def test_the_best_allowed_is_asked_for_in_the_order_of_values() -> None:
    rng = np.random.default_rng(seeded(0))
    for _ in range(50):
        cells, values = np.arange(20)[:, None], rng.integers(0, 9, 20).astype(float)
        allowed = rng.random(20) < 0.3
        asked: list[int] = []

        def is_allowed(
            cell: Ints, asked: list[int] = asked, allowed: NDArray[np.bool_] = allowed
        ) -> bool:
            asked.append(int(cell[0]))
            return bool(allowed[cell[0]])

        found = best_allowed(cells, values, is_allowed, 3.0)
        expected = max(values[allowed], default=-np.inf)
        if expected > 3.0:
            assert found is not None
            assert found[1] == expected
        else:
            assert found is None
        assert all(values[i] > 3.0 for i in asked)
        few = best_few_allowed(cells, values, is_allowed, 4)
        assert [value for _, value in few] == sorted(values[allowed], reverse=True)[:4]


def test_a_step_of_an_ascent_never_lowers_the_value_and_keeps_to_allowed_cells() -> None:
    rng = np.random.default_rng(seeded(1))
    for _ in range(30):
        table, allowed = rng.standard_normal((5, 4, 3)), rng.random((5, 4, 3)) < 0.6
        start = tuple(rng.integers(0, table.shape))
        allowed[start] = True
        lines = [(d, np.arange(m)) for d, m in enumerate(table.shape)]
        is_allowed = Table(allowed.astype(float)).values
        cell, value = climb_once(
            Table(table).values,
            lines,
            (np.array(start), table[start]),
            lambda c: bool(is_allowed(c[None])[0]),  # noqa: B023
        )
        assert allowed[tuple(cell)]
        assert value == table[tuple(cell)] >= table[start]
        first = np.where(allowed[:, start[1], start[2]], table[:, start[1], start[2]], -np.inf)
        assert value >= first.max()


@pytest.mark.parametrize("n_enumerable", [0, 1000])
def test_a_search_finds_the_best_of_allowed_cells_with_and_without_a_pool(
    n_enumerable: int,
) -> None:
    rng = np.random.default_rng(seeded(2))
    sizes = (6, 5, 4)
    for _ in range(10):
        table = rng.standard_normal(sizes)
        excluded = {tuple(c) for c in rng.integers(0, sizes, (30, 3)).tolist()}
        feasible = rng.random(sizes) < 0.5
        free = np.ones(sizes, dtype=bool)
        free[tuple(np.array(list(excluded)).T)] = False
        incumbents = everything(sizes)[:1]
        plain = Table(table, n_enumerable=n_enumerable)
        found = search_grid(plain, Grid(sizes, excluded, incumbents), rng)
        assert found.at is not None
        assert found.score == table[tuple(found.at)]
        assert free[tuple(found.at)]
        assert found.is_exact == (n_enumerable > 0)
        assert (
            found.score == table[free].max()
        )  # the ascent too: 512 starts see nearly all of 120 cells
        pool = np.argwhere(feasible)
        for known in (None, pool):
            restricted = Grid(
                sizes,
                excluded,
                incumbents,
                lambda c, feasible=feasible: bool(feasible[tuple(c)]),  # type: ignore[misc]
                known,
            )
            scored = Table(table)
            best = search_grid(scored, restricted, rng)
            assert best.score == table[free & feasible].max()
            assert best.is_exact
            assert scored.n_asked <= (len(pool) if known is not None else table.size)


def test_where_compiled_ascents_are_walled_in_another_cell_is_found() -> None:
    """A grid too large to look at whole, of which everything but one cell is excluded."""
    sizes = (7, 5)
    last = (6, 4)
    excluded = {tuple(c) for c in everything(sizes).tolist()} - {last}
    table = np.zeros(sizes)
    rng = np.random.default_rng(seeded(3))
    found = search_grid(
        ClimbingTable(table), Grid(sizes, excluded, np.zeros((1, 2), dtype=np.int64)), rng
    )
    assert found.at is not None
    assert tuple(found.at) == last
    nothing = search_grid(
        ClimbingTable(table), Grid(sizes, excluded | {last}, np.zeros((1, 2), dtype=np.int64)), rng
    )
    assert nothing.at is None
    assert (nothing.method, nothing.is_exact) == ("nothing left", True)


def test_a_search_that_finds_nothing_feasible_does_not_claim_that_there_is_nothing() -> None:
    sizes = (60, 60, 60)
    grid = Grid(sizes, set(), np.zeros((1, 3), dtype=np.int64), lambda _: False)
    found = search_grid(Table(np.zeros(sizes)), grid, np.random.default_rng(seeded(4)))
    assert found.at is None
    assert not found.is_exact


def test_only_the_view_reads_attributes_of_a_posterior() -> None:
    for path in (ROOT / "src" / "bktf" / "acquisition").glob("*.py"):
        tree = ast.parse(path.read_text())
        modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not any(module.startswith("bktf.surrogate") for module in modules), path.name
        read = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "posterior"
        }
        assert not read or path.name == "posterior_view.py", f"{path.name} reads {read}"
