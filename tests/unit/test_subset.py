"""Which observations a process sees when there are too many: properties of the subset."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bktf.engine.observation_filters import (
    BEST_SHARE,
    LATEST_SHARE,
    N_INCUMBENTS,
    NEAREST_SHARE,
    choose_subset,
)
from seeds import seeded

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
SIZE = 60
ORDERED = np.zeros(3, dtype=bool)
MIXED = np.array([False, True, False])


def observations(seed: int, n: int = 400) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seeded(seed))
    X = rng.random((n, 3))
    X[:, 1] = rng.integers(0, 4, n)
    return X, rng.standard_cauchy(n)


def distances(X: Floats, on_levels: Flags, point: Floats) -> Floats:
    apart = np.abs(X - point)
    return np.asarray(np.sqrt((np.where(on_levels, apart > 0, apart) ** 2).sum(axis=1)))


@pytest.mark.parametrize("on_levels", [ORDERED, MIXED])
@pytest.mark.parametrize("seed", range(5))
def test_the_subset_holds_the_best_the_latest_and_the_nearest(seed: int, on_levels: Flags) -> None:
    X, y = observations(seed)
    kept = choose_subset(X, on_levels, y, SIZE)
    assert kept.size == SIZE == np.unique(kept).size
    assert np.all(np.diff(kept) > 0)
    best_first = np.argsort(-y)
    assert set(best_first[: round(BEST_SHARE * SIZE)]) <= set(kept)
    assert set(range(400 - round(LATEST_SHARE * SIZE), 400)) <= set(kept)
    certain = set(best_first[: round(BEST_SHARE * SIZE)]) | set(
        range(400 - round(LATEST_SHARE * SIZE), 400)
    )
    nearest = np.min([distances(X, on_levels, X[i]) for i in best_first[:N_INCUMBENTS]], axis=0)
    others = [i for i in np.argsort(nearest, kind="stable") if i not in certain]
    assert set(others[: round(NEAREST_SHARE * SIZE)]) <= set(kept)


def test_the_rest_of_the_subset_leaves_no_region_empty() -> None:
    """Farthest-first filling: what is left out is nearer to the subset than it would be without the filling."""
    X, y = observations(7)
    y = np.where(X[:, 0] < 0.5, y + 1e6, y)  # the best are all on one side
    kept = choose_subset(X, ORDERED, y, SIZE)
    gap = np.array([distances(X[kept], ORDERED, x).min() for x in X])
    few = np.argsort(-y)[: round(BEST_SHARE * SIZE)]
    gap_of_best = np.array([distances(X[few], ORDERED, x).min() for x in X])
    assert gap.max() < gap_of_best.max()
    assert np.any(X[kept, 0] > 0.9)


@pytest.mark.parametrize("levels", [(1, 5, 9), (9, 1, 5), (5, 9, 1)])
def test_the_rest_of_the_subset_does_not_know_the_numbers_of_levels(
    levels: tuple[int, ...],
) -> None:
    """Of three points on further levels, the two that are farthest on the other axis are kept."""
    X = np.zeros((15, 2))
    X[:, 0] = np.linspace(0, 1e-3, 15)
    X[3:6] = np.stack(((1.0, 0.5, 0.2), levels), axis=1)
    y = -np.arange(15.0)
    y[3:6] = -50.0
    kept = choose_subset(X, np.array([False, True]), y, 10)  # 4 of the best, 2 latest, 2 nearest
    assert [i for i in kept.tolist() if i in (3, 4, 5)] == [3, 4]


def test_all_observations_are_kept_where_they_are_few() -> None:
    X, y = observations(1, 20)
    assert choose_subset(X, ORDERED, y, 20).tolist() == list(range(20))


def test_repeated_points_do_not_stop_the_choice() -> None:
    X = np.zeros((50, 3))
    assert choose_subset(X, ORDERED, np.zeros(50), 10).size == 10


@pytest.mark.parametrize("on_levels", [ORDERED, MIXED])
@pytest.mark.parametrize("seed", range(3))
def test_the_subset_is_that_of_the_rule_applied_one_point_at_a_time(
    seed: int, on_levels: Flags
) -> None:
    """Two different levels are 1 apart, whatever their numbers; the rest is filled farthest first."""
    X, y = observations(seed, 120)
    apart = [
        [
            sum(
                (a != b) if level else (a - b) ** 2
                for a, b, level in zip(x, z, on_levels, strict=True)
            )
            for z in X
        ]
        for x in X
    ]
    size, best_first = 40, sorted(range(120), key=lambda i: -y[i])
    kept = set(best_first[:16]) | set(range(114, 120))
    by_distance = sorted(
        range(120), key=lambda i: min(apart[i][j] for j in best_first[:N_INCUMBENTS])
    )
    kept |= set([i for i in by_distance if i not in kept][:8])
    while len(kept) < size:
        left = [i for i in range(120) if i not in kept]
        kept.add(max(left, key=lambda i: min(apart[i][j] for j in kept)))
    assert choose_subset(X, on_levels, y, size).tolist() == sorted(kept)
