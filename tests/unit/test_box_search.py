"""The search of a box on axes with certain values: grids that are too large to compare, many levels, regions."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import bktf
from bktf.acquisition import choose
from bktf.acquisition.box_search import MAX_LINE, NEAR_STEPS, Box
from bktf.acquisition.process_scores import N_SCREENED, process_box_score
from seeds import seeded

Floats = NDArray[np.float64]
SIZES = (9, 8, 3, 7)


def fitted(seed: int, n: int = 40) -> bktf.Posterior:
    """A process on a grid of whole numbers with levels on its third axis."""
    rng = np.random.default_rng([seeded(0), seed])
    axes = [np.arange(float(size)) for size in SIZES]
    X = np.stack([rng.integers(0, size, n) for size in SIZES], axis=1).astype(float)
    y = -((X[:, 0] - 5) ** 2) - 0.5 * (X[:, 1] - X[:, 0] / 2) ** 2 + 3 * (X[:, 2] == 1) - X[:, 3]
    kernels = [None, None, "categorical", None]
    return bktf.fit(
        axes, X, y, rank=math.inf, kernel=kernels, seed=seeded(seed), n_sweeps=14, n_burn_in=6
    )


@pytest.mark.parametrize("seed", range(6))
def test_on_a_grid_the_search_by_gradient_finds_the_best_cell_or_nearly(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest of 1,512 cells by comparing all of them, against the search.

    It was the largest in 60 of 60 fits. A random cell has next to no EI in the median.
    """
    posterior = fitted(seed)
    compared = choose(posterior, exclude=posterior.X, seed=seeded(seed))
    assert compared.method == "enumeration"
    monkeypatch.setattr("bktf.acquisition.process_scores.MAX_WORK", 1.0)
    found = choose(posterior, exclude=posterior.X, seed=seeded(seed))
    assert found.method == "gradient ascent"
    assert found.point is not None
    assert all(x in range(size) for x, size in zip(found.point, SIZES, strict=True))
    assert not np.any(np.all(found.point == posterior.X, axis=1))
    assert 0.5 * compared.value < found.value <= compared.value * (1 + 1e-9)


def test_cells_that_are_taken_are_not_chosen_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bktf.acquisition.process_scores.MAX_WORK", 1.0)
    posterior = fitted(7)
    taken = posterior.X
    for _ in range(12):
        point = choose(posterior, exclude=taken, seed=seeded(1)).point
        assert point is not None
        assert not np.any(np.all(taken == point, axis=1))
        taken = np.concatenate((taken, point[None]))


def test_with_a_fixed_axis_the_search_keeps_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bktf.acquisition.process_scores.MAX_WORK", 1.0)
    posterior = fitted(8)
    for fixed in ({0: 3.0}, {2: 2.0, 3: 6.0}):
        point = choose(posterior, exclude=posterior.X, fixed=fixed, seed=seeded(2)).point
        assert point is not None
        assert {d: point[d] for d in fixed} == fixed


def test_many_candidates_are_screened_by_few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best candidate of all draws is among those that stay; without need all stay."""
    posterior = fitted(9)
    assert posterior.draws.process is not None
    process = posterior.draws.process
    score = process_box_score(process, np.full(posterior.n_draws, 0.5))
    rng = np.random.default_rng(seeded(4))
    points = np.stack([rng.random(400), rng.random(400), rng.integers(0, 3, 400), rng.random(400)])
    candidates = points.T.astype(float)
    assert score.promising(candidates) is candidates
    monkeypatch.setattr("bktf.acquisition.process_scores.MAX_UNSCREENED", 0)
    kept = score.promising(candidates)
    assert len(kept) == N_SCREENED
    best = candidates[score.values(candidates).argmax()]
    assert np.any(np.all(kept == best, axis=1))


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_in_a_box_the_choice_goes_where_trials_succeed(side: float) -> None:
    rng = np.random.default_rng(seeded(5))
    X = rng.random((15, 2))
    axes = [np.linspace(0, 1, 5)] * 2
    fit = bktf.fit(axes, X, np.sin(5 * X).sum(axis=1), rank=math.inf, seed=seeded(6))

    def chance(points: Floats) -> Floats:
        """Next to nothing on one side of the middle."""
        return np.where(side * (points[:, 0] - 0.5) > 0, 1.0, 1e-12)

    point = choose(fit, exclude=X, chance=chance, free=(0, 1), seed=seeded(7)).point
    assert point is not None
    assert side * (point[0] - 0.5) > 0


def box_of(axes: tuple[Floats, ...], is_continuous: list[bool], is_ordered: list[bool]) -> Box:
    return Box(
        axes,
        np.array(is_continuous),
        np.array(is_ordered),
        np.array([[axis[0] for axis in axes]]),
        lambda _: True,
    )


def test_points_are_moved_to_the_nearest_values_of_finite_axes() -> None:
    axes = (np.array([0.0, 1.0]), np.array([0.0, 0.3, 1.0]), np.arange(3.0))
    box = box_of(axes, [True, False, False], [True, True, False])
    moved = box.snap(np.array([[0.123, 0.2, 1.0], [0.9, 0.7, 2.0]]))
    assert moved.tolist() == [[0.123, 0.3, 1.0], [0.9, 1.0, 2.0]]


def test_a_line_has_all_values_of_a_short_axis_and_some_of_a_long_one() -> None:
    axes = (np.linspace(0, 1, 11), np.linspace(0, 1, 501), np.arange(1000.0))
    box = box_of(axes, [False] * 3, [True, True, False])
    rng = np.random.default_rng(seeded(3))
    assert box.line(0, 0.5, rng).tolist() == axes[0].tolist()
    near = box.line(1, float(axes[1][100]), rng)
    assert near.tolist() == axes[1][100 + np.array(NEAR_STEPS)].tolist()
    at_end = box.line(1, 0.0, rng)
    assert at_end.min() >= 0.0
    levels = box.line(2, 4.0, rng)
    assert np.unique(levels).size == levels.size == MAX_LINE
