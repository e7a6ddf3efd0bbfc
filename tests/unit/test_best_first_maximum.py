"""The exact maximum against enumeration, in value, on nasty forms and with cells excluded."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from bktf.product_forms.best_first_maximum import hull_in_space, maximum_over_draws
from bktf.product_forms.maximum_forms import Forms, make_forms
from seeds import seeded

Floats = NDArray[np.float64]
STYLES = [
    "plain",
    "whole numbers",
    "equal factors",
    "constant axis",
    "zero weights",
    "repeated points",
    "positive",
    "one value",
]


def make_case(
    rng: np.random.Generator, rank: int, main: bool, style: str
) -> tuple[Forms, NDArray[np.int64]]:
    """A few draws of a random form on a small grid, and all cells of it."""
    D = int(rng.integers(2 if main else 1, 7))
    sizes = rng.integers(1, {1: 12, 2: 8, 3: 5}.get(D, 4), D)
    n_components = rank + (D if main else 0)
    active = np.ones((n_components, D), dtype=bool)
    if main:
        active[rank:] = np.eye(D, dtype=bool)
    K = int(rng.integers(1, 5))
    factors = [rng.standard_normal((K, n_components, m)) for m in sizes]
    weights = rng.standard_normal((K, n_components))
    if style == "whole numbers":
        factors = [np.rint(f) for f in factors]
    elif style == "equal factors":
        factors = [np.repeat(f[:, :1], n_components, axis=1) for f in factors]
    elif style == "constant axis":
        factors[int(rng.integers(D))][:] = 1.0
    elif style == "zero weights":
        weights[:, rng.integers(n_components)] = 0.0
    elif style == "repeated points":
        factors = [f[:, :, rng.integers(0, f.shape[2], f.shape[2])] for f in factors]
    elif style == "positive":
        factors = [np.abs(f) for f in factors]
    elif style == "one value":
        factors = [np.full_like(f, 0.7) for f in factors]
    for d, factor in enumerate(factors):
        factor[:, ~active[:, d]] = 1.0
    cells = np.array(list(itertools.product(*(range(m) for m in sizes))))
    return make_forms(factors, weights, active), cells


def exclude(rng: np.random.Generator, cells: NDArray[np.int64]) -> set[tuple[int, ...]]:
    """From no cell to all but one, the extremes often."""
    n = len(cells)
    count = int(rng.choice(np.array([0, n - 1, rng.integers(0, n), min(n - 1, 3)])))
    return {tuple(c) for c in cells[rng.permutation(n)[:count]]}


@pytest.mark.parametrize(
    ("rank", "main", "n_cases"),
    [(1, False, 400), (1, True, 400), (2, False, 600), (2, True, 400), (3, False, 400)],
)
def test_the_exact_maximum_equals_enumeration(rank: int, main: bool, n_cases: int) -> None:
    rng = np.random.default_rng(seeded(10 * rank + main))
    for case in range(n_cases):
        forms, cells = make_case(rng, rank, main, STYLES[case % len(STYLES)])
        excluded = exclude(rng, cells)
        free = np.array([c for c in cells if tuple(c) not in excluded])
        values = forms.values(free)
        found = maximum_over_draws(forms, excluded)
        assert found is not None
        assert tuple(found.cell) not in excluded
        scale = max(1.0, np.abs(values).max())
        assert abs(found.value - values.max()) <= 1e-9 * scale
        assert abs(forms.values(found.cell[None])[found.draw, 0] - values.max()) <= 1e-9 * scale
        assert found.bound == found.value


@pytest.mark.parametrize(("rank", "main"), [(3, True), (4, False), (5, True), (6, False)])
def test_the_certificate_is_never_wrong_for_higher_ranks(
    rank: int, main: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bktf.product_forms import best_first_maximum as search

    rng = np.random.default_rng(seeded(rank))
    closed = 0
    for case in range(100):
        monkeypatch.setattr(search, "BUDGET", int(rng.choice([1, 30, 3000])))
        forms, cells = make_case(rng, rank, main, STYLES[case % len(STYLES)])
        excluded = exclude(rng, cells)
        free = np.array([c for c in cells if tuple(c) not in excluded])
        truth = forms.values(free).max()
        found = maximum_over_draws(forms, excluded)
        assert found is not None
        slack = 1e-9 * max(1.0, abs(truth))
        assert tuple(found.cell) not in excluded
        assert found.value <= truth + slack
        assert found.bound >= truth - slack
        assert abs(forms.values(found.cell[None])[found.draw, 0] - found.value) <= slack
        closed += found.bound - found.value <= slack
    assert closed >= 50  # 71 to 88 in 16 runs; with 72 in a hundred, below 50 with a chance of 1e-6


@pytest.mark.parametrize(
    ("rank", "main"), [(1, False), (2, False), (2, True), (3, False), (4, False)]
)
def test_nothing_left_is_a_clear_result(rank: int, main: bool) -> None:
    rng = np.random.default_rng(seeded(5))
    forms, cells = make_case(rng, rank, main, "plain")
    assert maximum_over_draws(forms, {tuple(c) for c in cells}) is None


def test_a_hull_in_space_keeps_the_vertices_of_flat_and_straight_sets() -> None:
    rng = np.random.default_rng(seeded(6))
    square = np.array([[x, y, 2 * x - y + 1] for x in range(5) for y in range(5)], dtype=float)
    corners = {0, 4, 20, 24}
    assert corners <= set(hull_in_space(square).tolist())
    line = np.linspace(0, 1, 9)[:, None] * np.array([1.0, -2.0, 3.0])
    assert {0, 8} <= set(hull_in_space(line).tolist())
    assert len(hull_in_space(np.ones((7, 3)))) == 1
    ball = rng.standard_normal((500, 3))
    for direction in rng.standard_normal((200, 3)):
        assert int((ball @ direction).argmax()) in hull_in_space(ball)


def test_nearly_equal_factors_with_cancelling_weights_stay_exact() -> None:
    """The variation of f then lies in a direction that is 1e-10 of the others.

    The hull must not flatten it away.
    """
    rng = np.random.default_rng(seeded(7))
    cells = np.array(list(itertools.product(range(4), repeat=3)))
    for _ in range(60):
        base = [rng.standard_normal((1, 1, 4)) for _ in range(3)]
        factors = [np.repeat(b, 3, axis=1) + 1e-10 * rng.standard_normal((1, 3, 4)) for b in base]
        forms = make_forms(factors, np.array([[1.0, 1.0, -2.0]]), np.ones((3, 3), dtype=bool))
        found = maximum_over_draws(forms, set())
        assert found is not None
        values = forms.values(cells)[0]
        assert forms.values(found.cell[None])[0, 0] >= values.max() - 1e-3 * np.ptp(values)
