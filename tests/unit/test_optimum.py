"""The posterior of the optimum: against all cells, in both directions, and its summaries."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bktf
from bktf.acquisition import DomainPart, SearchDomain
from bktf.analysis import INACTIVE, Estimate, optimum
from bktf.analysis.optimum_place import Place, densest_draw, shortest_intervals
from bktf.axis_kernels import MATERN52, Axis, AxisKernel
from bktf.surrogate import Meaning
from seeds import seeded

Floats = NDArray[np.float64]
AXES = [np.linspace(0, 10, 6), np.linspace(0, 1, 5), np.arange(3.0)]
KERNELS = [None, None, "categorical"]


def fitted(rank: float = math.inf, **settings: Any) -> bktf.Posterior:
    """A fit of a bowl with its smallest value at (4, 0.5, level 1)."""
    rng = np.random.default_rng(seeded(0))
    X = np.column_stack([rng.choice(axis, 16) for axis in AXES])
    y = (X[:, 0] / 10 - 0.4) ** 2 + (X[:, 1] - 0.5) ** 2 + 0.3 * (X[:, 2] != 1)
    given: dict[str, Any] = {"names": ["flow", "share", "kind"], "kernel": KERNELS} | settings
    return bktf.fit(AXES, X, y, rank=rank, seed=seeded(1), **given)


def cells() -> Floats:
    """All cells of the grid."""
    return np.array(list(itertools.product(*AXES)))


@pytest.mark.parametrize("rank", [2, math.inf])
def test_the_draws_are_maxima_of_paths_over_all_cells(rank: float) -> None:
    posterior = fitted(rank)
    found = optimum(posterior, "maximize", n_paths=40)
    every = posterior.paths(40)(cells())
    np.testing.assert_allclose(found.value_draws, every.max(axis=1), atol=1e-9)
    np.testing.assert_allclose(found.x_draws, cells()[every.argmax(axis=1)])
    assert found.is_exact
    assert found.missed == 0.0
    means = posterior.mean(posterior.X)
    best = posterior.X[means.argmax()]
    assert found.best == posterior.meaning.params(best)
    np.testing.assert_allclose(found.best_draws, posterior.paths(40)(best[None])[:, 0])
    gaps = every.max(axis=1) - found.best_draws
    for eps in (0.0, 0.01, 0.1, 10.0):
        assert found.within(eps) == pytest.approx(np.mean(gaps <= eps + 1e-9))
    assert found.value == pytest.approx(Estimate.of(every.max(axis=1)))


def test_minimising_is_maximising_the_negative() -> None:
    posterior = fitted()
    first = optimum(posterior, "minimize", n_paths=30)
    second = optimum(posterior.negated(), "maximize", n_paths=30)
    np.testing.assert_allclose(first.value_draws, -second.value_draws)
    np.testing.assert_allclose(first.x_draws, second.x_draws)
    assert first.within(0.02) == second.within(0.02)
    assert first.value.low == pytest.approx(-second.value.high)
    assert np.all(first.value_draws <= first.best_draws)


def test_the_summaries_of_a_well_known_bowl_find_its_bottom() -> None:
    found = optimum(fitted(), "minimize", n_paths=100)
    assert found.best_level["kind"][1.0] > 0.9
    assert sum(found.best_level["kind"].values()) == pytest.approx(1.0)
    assert 4.0 in found.region("flow")
    assert found.x == {"flow": 4.0, "share": 0.5, "kind": 1.0}
    assert "smallest value" in str(found)
    assert "within" not in found.best_level


def test_the_search_domain_of_a_posterior_holds_for_every_path() -> None:
    posterior = fitted()
    domain = SearchDomain(feasible=lambda x: bool(x[0] > 5))
    limited = replace(posterior, described=replace(posterior.meaning, domain=domain))
    found = optimum(limited, "minimize", n_paths=40)
    allowed = cells()[cells()[:, 0] > 5]
    every = posterior.negated().paths(40)(allowed)
    np.testing.assert_allclose(found.value_draws, -every.max(axis=1), atol=1e-9)
    assert np.all(found.x_draws[:, 0] > 5)
    assert float(found.best["flow"]) > 5


def test_a_search_is_a_lower_bound_that_is_near_the_exact_maximum() -> None:
    """The same paths, over a grid that can be compared and by the search of a large one."""
    axis = np.linspace(0, 1, 65)
    rng = np.random.default_rng(seeded(2))
    X = rng.choice(axis, (12, 2))
    y = np.sin(6 * X[:, 0]) * np.cos(5 * X[:, 1])
    posterior = bktf.fit([axis, axis], X, y, rank=math.inf, seed=0)
    searched = optimum(posterior, "maximize", n_paths=64)
    grid = np.array(list(itertools.product(axis, axis)))
    exact = posterior.paths(64)(grid).max(axis=1)
    short = exact - searched.value_draws
    assert np.all(short > -1e-9)
    assert np.mean(short) < 0.02 * y.std()
    assert np.mean(short < 1e-9) > 0.9


def test_names_levels_and_inactive_parameters_are_in_the_users_words() -> None:
    axes = [np.arange(2.0), np.append(np.linspace(0, 1, 5), np.inf)]
    X = np.array([[0, np.inf], [0, np.inf], [1, 0.0], [1, 0.5], [1, 1.0]])
    posterior = bktf.fit(
        axes, X, [0.0, 0.1, 1.0, 2.0, 1.0], rank=math.inf, seed=0, kernel=["categorical", None]
    )
    parts = (DomainPart({0: 0.0, 1: math.inf}, {}), DomainPart({0: 1.0}, {}))
    labels = {0: lambda x: ("none", "some")[int(x)]}
    meaning = Meaning(("kind", "dose"), "minimize", values=labels, domain=SearchDomain(parts))
    found = optimum(replace(posterior, described=meaning), n_paths=30)
    assert set(found.best_level["kind"]) == {"none", "some"}
    assert found.best_level["kind"]["none"] == found.best_level["dose"][INACTIVE]
    assert found.direction == "minimize"
    assert found.best == {"kind": "none"}


# --- summaries of places -------------------------------------------------------------------------


def test_intervals_hold_the_share_of_draws_that_they_should() -> None:
    axis = Axis(np.geomspace(1, 1000, 30), AxisKernel(MATERN52), log=True)
    rng = np.random.default_rng(seeded(3))
    draws = 10 ** np.clip(
        np.where(rng.random(4000) < 0.7, rng.normal(0.6, 0.1, 4000), rng.normal(2.2, 0.1, 4000)),
        0, 3,
    )  # fmt: skip
    intervals = shortest_intervals(Place.of(axis, True), draws, 0.9)
    assert len(intervals) == 2
    held = sum(np.mean((draws >= low) & (draws <= high)) for low, high in intervals)
    # The kernel density is wider than the draws, so a little more than 90 % is held.
    assert 0.89 <= held <= 0.97
    assert shortest_intervals(Place.of(axis, True), draws[:0], 0.9) == ()


def test_the_densest_draw_is_in_the_larger_group() -> None:
    axis = Axis(np.linspace(0, 1, 30), AxisKernel(MATERN52))
    rng = np.random.default_rng(seeded(4))
    groups = np.concatenate((rng.normal(0.2, 0.02, 60), rng.normal(0.8, 0.02, 40)))[:, None]
    assert groups[densest_draw([Place.of(axis, True)], groups), 0] == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize(
    ("draws", "text"),
    [
        (np.arange(1, 100) / 100, "0.50 (0.05 to 0.95)"),
        (np.full(5, 3.0), "3 (3 to 3)"),
        (500 + 0.8 * np.arange(-49, 50), "500 (464 to 536)"),
        (1e-11 * np.arange(1, 100), "5.0e-10 (5e-11 to 9.5e-10)"),
    ],
)
def test_estimates_are_written_with_the_digits_that_they_have(draws: Floats, text: str) -> None:
    def numbers(line: str) -> list[float]:
        return [float(part.strip("()")) for part in line.replace(" to ", " ").split()]

    assert numbers(str(Estimate.of(draws))) == pytest.approx(numbers(text), rel=1e-2)
    assert len(str(Estimate.of(draws))) <= len(text) + 2


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, 'direction must be "maximize" or "minimize": a fit has none'),
        ({"direction": "up"}, "direction must be .* got 'up'"),
        ({"direction": "maximize", "n_paths": 1}, "n_paths must be a whole number of at least 19"),
    ],
)
def test_bad_arguments_are_one_clear_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        optimum(fitted(), **arguments)


def test_what_is_asked_of_the_answer_is_checked() -> None:
    found = optimum(fitted(), "minimize", n_paths=20)
    for eps in (-1.0, math.nan, "much", True):
        with pytest.raises(ValueError, match="eps must be a finite number of at least 0"):
            found.within(eps)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'temperature' is not a parameter; there are 'flow'"):
        found.region("temperature")
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        found.region("flow", 1.5)
    other = replace(fitted().meaning, direction="minimize")
    with pytest.raises(ValueError, match="the study is there to minimize"):
        optimum(replace(fitted(), described=other), "maximize")
    with pytest.raises(ValueError, match="at least 3 observed values; the posterior has 2"):
        optimum(bktf.fit([AXES[0]], [[0.0], [2.0]], [0.0, 1.0], seed=0), "maximize")
