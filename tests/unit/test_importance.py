"""Sobol indices of paths: against brute force, against known functions, and as properties."""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bktf
from bktf.analysis import importance, measures_of
from bktf.analysis.importance import shares_of, variances_of_paths
from bktf.gaussian_process.kernel_integrals import KernelIntegrals
from bktf.gaussian_process.sample_paths import ProcessPaths
from bktf.product_forms import UNIFORM, AxisMeasure, PathTerms, axis_means, axis_moments, panel_rule
from bktf.surrogate import Meaning
from seeds import seeded

Floats = NDArray[np.float64]
AXES = [np.linspace(0.0, 1.0, 5), np.geomspace(0.01, 10.0, 4), np.arange(3.0)]
RANKS = {"process": math.inf, "components": 2, "components and a process": 1}


class Beta:
    """A density as SciPy's, 6·x·(1 − x)."""

    def pdf(self, x: float) -> float:
        return 6.0 * x * (1.0 - x)


DENSITIES: dict[str, Any] = {"x0": Beta(), "x1": (1.0, 2.0), "x2": {0.0: 1, 1.0: 3}}


def fitted(rank: float = math.inf, **settings: Any) -> bktf.Posterior:
    """A fit on an ordered axis, a logarithmic one and a category."""
    rng = np.random.default_rng(seeded(1))
    X = np.stack([rng.random(16), 10.0 ** rng.uniform(-2, 1, 16), rng.integers(0, 3, 16)], axis=1)
    y = np.sin(4 * X[:, 0]) + 0.4 * np.log(X[:, 1]) * X[:, 2] + 0.3 * rng.standard_normal(16)
    return bktf.fit(
        AXES, X, y, seed=seeded(0), rank=rank, log=[False, True, False],
        kernel=[None, None, "categorical"], residual_process=rank == 1, **settings,
    )  # fmt: skip


@pytest.fixture(scope="module")
def process() -> bktf.Posterior:
    return fitted()


def panels(posterior: bktf.Posterior, d: int) -> tuple[Floats, Floats]:
    """Nodes between all axis points, among them the observations, for the uniform measure.

    They are so dense that the fastest wave of two paths is followed.
    """
    axis, terms = posterior.grid[d], [posterior.paths(2).forms.terms(p) for p in range(2)]
    frequencies = [own.frequencies(d) for own in terms]
    fastest = max(float(np.abs(w).max(initial=1.0)) for w in frequencies if w is not None)
    ends = np.union1d(axis.scale(axis.points), [0.0, 1.0])
    return panel_rule(ends, min(0.1, 4.0 / fastest), 10)


def true_nodes(
    posterior: bktf.Posterior, densities: Mapping[str, Any] | None
) -> list[tuple[Floats, Floats]]:
    """Nodes and weights of the three axes, from the definition."""
    first, (t, w) = panels(posterior, 0), panels(posterior, 1)
    if densities is None:
        return [first, (t, w), (np.arange(3.0), np.full(3, 1 / 3))]
    x = posterior.grid[1].unscale(t)
    normal = w * np.exp(-0.5 * ((x - 1.0) / 2.0) ** 2) * x  # d x / d log x = x
    beta = first[1] * 6.0 * first[0] * (1.0 - first[0])
    levels = (np.arange(3.0), np.array([0.25, 0.75, 0.0]))
    return [(first[0], beta), (t, normal / normal.sum()), levels]


def brute_force(values: Floats, weights: list[Floats]) -> dict[tuple[int, ...], float]:
    """Variances of E[f | x_S] for all S, from a table of f."""
    found = {}
    for n in range(4):
        for kept in itertools.combinations(range(3), n):
            table = values
            for d in reversed(range(3)):
                if d not in kept:
                    table = np.tensordot(table, weights[d], (d, 0))
            second = np.square(table)
            for d in reversed(kept):
                second = second @ weights[d]
            found[kept] = float(second)
    return {kept: second - found[()] for kept, second in found.items()}


@pytest.mark.parametrize("densities", [None, DENSITIES], ids=["uniform", "densities"])
@pytest.mark.parametrize("rank", RANKS.values(), ids=RANKS)
def test_indices_of_a_path_are_those_of_brute_force(
    rank: float, densities: Mapping[str, Any] | None
) -> None:
    """To 1e-8. Measured: below 1e-10, and 2e-9 for densities, over 20 seeds."""
    posterior = fitted(rank)
    nodes = true_nodes(posterior, densities)
    forms = posterior.paths(2).forms.select([1])
    parts = variances_of_paths(forms, measures_of(posterior, densities), True)
    points = np.stack(np.meshgrid(*(x for x, _ in nodes), indexing="ij"), axis=-1).reshape(-1, 3)
    shape = [x.size for x, _ in nodes]
    for path, values in enumerate(forms.values(points)):
        true = brute_force(values.reshape(shape), [w for _, w in nodes])
        own = parts[path]
        limit = 1e-8 * true[0, 1, 2]
        assert abs(own.variance - true[0, 1, 2]) < limit
        for d in range(3):
            others = tuple(e for e in range(3) if e != d)
            assert abs(own.first[d] - true[(d,)]) < limit
            assert abs(own.total[d] - (true[0, 1, 2] - true[others])) < limit
        for a, b in itertools.combinations(range(3), 2):
            assert abs(own.pairs[a, b] - (true[a, b] - true[(a,)] - true[(b,)])) < limit
            assert own.pairs[a, b] == pytest.approx(own.pairs[b, a], abs=limit)


@pytest.mark.parametrize("length", [1e-3, 0.05, 0.6, 5.0, 1000.0])
def test_integrals_of_a_kernel_are_those_of_a_quadrature(length: float) -> None:
    """For every length-scale, also with observations at the ends and inactive ones."""
    rng = np.random.default_rng(seeded(2))
    observed = np.concatenate((np.sort(rng.random(9)), [0.0, 1.0, 1e7]))
    own = KernelIntegrals(math.sqrt(5.0) / length, 0.3, observed)
    coords, weights = panel_rule(np.union1d(own.knots, [0.0, 1.0]), min(length, 0.1))
    r = own.rate * np.abs(own.knots[:, None] - coords)
    values = own.share + own.sizes[:, None] * (1.0 + r + r * r / 3.0) * np.exp(-r)
    centred = values - (values @ weights)[:, None]
    means, covariances = own.moments()
    np.testing.assert_allclose(means, values @ weights, atol=1e-13)
    np.testing.assert_allclose(covariances, (centred * weights) @ centred.T, atol=1e-13)
    frequencies = np.array([0.0, 1e-9, 0.001, 1.0, -7.0, 50.0])
    waves = np.exp(1j * frequencies[:, None] * coords)
    expected = (waves * weights) @ centred.T
    np.testing.assert_allclose(own.with_waves(frequencies), expected, atol=1e-11)


@pytest.mark.parametrize("rank", RANKS.values(), ids=RANKS)
def test_moments_along_an_axis_are_those_of_many_nodes(rank: float) -> None:
    posterior = fitted(rank)
    terms: PathTerms = posterior.paths(1).forms.terms(0)
    exact = axis_moments(terms, 0, UNIFORM)
    coords, weights = panels(posterior, 0)
    sums = axis_moments(terms, 0, AxisMeasure(coords, weights))
    turn = exact.phases
    np.testing.assert_allclose(turn * exact.wave_means, sums.wave_means, atol=1e-9)
    np.testing.assert_allclose(exact.real_means, sums.real_means, atol=1e-9)
    np.testing.assert_allclose(exact.reals, sums.reals, atol=1e-9)
    np.testing.assert_allclose(turn[:, None] * exact.mixed, sums.mixed, atol=1e-9)
    np.testing.assert_allclose(turn[:, None] * exact.waves * turn, sums.waves, atol=1e-9)
    means = axis_means(terms, 0, UNIFORM)
    np.testing.assert_allclose(means[0], sums.wave_means, atol=1e-9)
    np.testing.assert_allclose(means[1], sums.real_means, atol=1e-9)


@pytest.mark.parametrize("rank", [math.inf, 2], ids=["process", "components"])
def test_effects_of_a_path_add_up(rank: float) -> None:
    """Effects of one and of two parameters are not negative and do not exceed totals."""
    posterior = fitted(rank)
    parts = variances_of_paths(posterior.paths(20).forms, measures_of(posterior, None), True)
    first, total, pairs = shares_of(parts)
    slack = 1e-9
    assert first.min() > -slack
    assert pairs.min() > -slack
    assert np.all(first + pairs.sum(axis=2) <= total + slack)
    assert np.all(first.sum(axis=1) + 0.5 * pairs.sum(axis=(1, 2)) <= 1.0 + slack)
    assert np.all(total.sum(axis=1) >= 1.0 - slack)


@pytest.mark.parametrize("rank", RANKS.values(), ids=RANKS)
def test_importance_is_the_same_for_the_negative_function(rank: float) -> None:
    posterior = fitted(rank)
    forms, measures = posterior.paths(3).forms, measures_of(posterior, None)
    own = shares_of(variances_of_paths(forms, measures, True))
    negative = shares_of(variances_of_paths(forms.negated(), measures, True))
    for first, second in zip(own, negative, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-12)


def test_a_constant_path_has_indices_of_zero(process: bktf.Posterior) -> None:
    forms = process.paths(2).forms
    assert isinstance(forms, ProcessPaths)
    nothing = replace(forms, amplitudes=0 * forms.amplitudes, coefficients=0 * forms.coefficients)
    parts = variances_of_paths(nothing, measures_of(process, None), True)
    assert all(np.all(share == 0.0) for share in shares_of(parts))


def ishigami(X: Floats) -> Floats:
    x = math.pi * (2.0 * X - 1.0)
    s = np.sin(x[:, 0])
    return np.asarray(s + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * s)


def g_function(X: Floats) -> Floats:
    a = np.array([0.0, 1.0, 4.5])
    return np.asarray(np.prod((np.abs(4.0 * X - 2.0) + a) / (1.0 + a), axis=1))


def mixed(X: Floats) -> Floats:
    level = np.floor(X[:, 2]).astype(int)
    g, h = np.array([1.0, 0.5, -0.5])[level], np.array([0.0, 0.5, 1.0])[level]
    return np.asarray(np.sin(2.0 * math.pi * X[:, 0]) * g + h + X[:, 1] ** 2)


# By function: how many observations, first and total indices, the interaction of x0 and x2
KNOWN: dict[str, tuple[Callable[[Floats], Floats], int, list[float], list[float], float]] = {
    "ishigami": (ishigami, 200, [0.3139, 0.4424, 0.0], [0.5576, 0.4424, 0.2437], 0.2437),
    "g-function": (g_function, 150, [0.7219, 0.1805, 0.0239], [0.7897, 0.2415, 0.0342], 0.0080),
    "mixed": (mixed, 80, [0.1103, 0.1765, 0.3309], [0.4963, 0.1765, 0.7132], 0.3860),
}


@pytest.mark.parametrize("function", KNOWN)
def test_known_indices_are_found_from_enough_data(function: str) -> None:
    """Means within 0.05."""
    values, n, first, total, pair = KNOWN[function]
    rng = np.random.default_rng(seeded(3))
    X = rng.random((n, 3))
    is_mixed = function == "mixed"
    if is_mixed:
        X[:, 2] = rng.integers(0, 3, n)
    axes = [np.linspace(0.0, 1.0, 6)] * 2 + [np.arange(3.0) if is_mixed else np.linspace(0, 1, 6)]
    kernel = [None, None, "categorical" if is_mixed else None]
    posterior = bktf.fit(axes, X, values(X), seed=seeded(0), rank=math.inf, kernel=kernel)
    found = importance(posterior, n_paths=19)
    for d, name in enumerate(posterior.names):
        assert abs(found.first[name].mean - first[d]) < 0.05
        assert abs(found.total[name].mean - total[d]) < 0.05
    assert abs(found.pairs["x0", "x2"].mean - pair) < 0.05


def test_the_record_takes_pairs_in_both_orders_and_prints_the_most_important_first(
    process: bktf.Posterior,
) -> None:
    found = importance(process, n_paths=19)
    assert found.pairs["x0", "x1"] == found.pairs["x1", "x0"]
    assert len(found.pairs) == 3
    with pytest.raises(KeyError, match="two different names"):
        found.pairs["x0", "x9"]
    lines = str(found).splitlines()
    order = sorted(process.names, key=lambda name: -found.total[name].mean)
    assert [line.split()[0] for line in lines[2:5]] == order
    assert len(importance(process, n_paths=19, pairs=False).pairs) == 0


def test_intervals_are_within_zero_and_one_and_in_order(process: bktf.Posterior) -> None:
    found = importance(process, n_paths=20)
    for estimate in (*found.first.values(), *found.total.values(), *found.pairs.values()):
        assert 0.0 <= estimate.low <= estimate.high <= 1.0
    assert importance(process, n_paths=20).total == found.total
    assert importance(process, n_paths=20, seed=1).total != found.total


def test_an_axis_with_a_single_point_has_no_importance() -> None:
    rng = np.random.default_rng(seeded(4))
    X = np.stack([rng.random(10), np.full(10, 2.0)], axis=1)
    posterior = bktf.fit([np.linspace(0, 1, 5), [2.0]], X, X[:, 0] ** 2, seed=0, rank=math.inf)
    found = importance(posterior, n_paths=19)
    assert found.total["x1"].high == 0.0
    assert found.first["x0"].low == pytest.approx(1.0)


def conditional_posterior() -> bktf.Posterior:
    """A fit of x + 2·y, or of x where kind is 1: there y is inactive."""
    rng = np.random.default_rng(seeded(5))
    points = np.array([conditional_point(row) for row in rng.random((50, 3))])
    values = points[:, 1] + np.where(points[:, 0] == 0.0, 2.0 * points[:, 2], 0.0)
    values[np.isinf(points[:, 2])] = points[np.isinf(points[:, 2]), 1]
    axes = [np.arange(2.0), np.linspace(0, 1, 5), np.append(np.linspace(0, 1, 5), np.inf)]
    posterior = bktf.fit(
        axes, points, values, seed=seeded(0), rank=math.inf, kernel=["categorical", None, None]
    )
    meaning = Meaning(("kind", "x", "y"), point_at=conditional_point)
    return replace(posterior, described=meaning)


def conditional_point(units: Floats) -> Floats:
    """Where kind is 1, y is inactive."""
    kind = float(units[0] >= 0.5)
    return np.array([kind, units[1], np.inf if kind else units[2]])


def test_a_parameter_has_no_effect_where_its_condition_does_not_hold() -> None:
    """Known: variances 1/12 of x, 1/12 of y alone, 1/4 of kind, 1/12 of both together.

    Within 0.1; the error of 4·256 points is about 0.02.
    """
    found = importance(conditional_posterior(), n_paths=19)
    for name, first, total in (("x", 1 / 6, 1 / 6), ("y", 1 / 6, 1 / 3), ("kind", 1 / 2, 2 / 3)):
        assert abs(found.first[name].mean - first) < 0.1
        assert abs(found.total[name].mean - total) < 0.1
        assert found.total[name].low <= total + 0.02
        assert found.total[name].high >= total - 0.02
    assert abs(found.pairs["kind", "y"].mean - 1 / 6) < 0.1
    assert found.pairs["x", "y"].mean < 0.1


def test_densities_are_refused_where_parameters_have_conditions() -> None:
    with pytest.raises(ValueError, match="densities cannot be given where parameters have cond"):
        importance(conditional_posterior(), n_paths=19, densities={"x": (0.5, 0.1)})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"densities": {"rate": (0.5, 0.1)}},
            "named after parameters, 'x0', 'x1', 'x2'; got 'rate'",
        ),
        ({"densities": (0.5, 0.1)}, "must be a dictionary"),
        ({"densities": {"x0": (0.5, 0.0)}}, "the second positive"),
        ({"densities": {"x0": {0.0: 1.0}}}, "is a number in a range"),
        ({"densities": {"x2": (0.5, 0.1)}}, "has levels"),
        ({"densities": {"x2": {7.0: 1.0}}}, "7.0 is no level of 'x2'"),
        ({"densities": {"x2": {0.0: 0.0}}}, "one of them positive"),
        ({"densities": {"x0": "flat"}}, "an object with a method pdf"),
        ({"n_paths": 0}, "n_paths must be a whole number of at least 1"),
    ],
)
def test_what_cannot_be_is_refused_with_one_error(
    process: bktf.Posterior, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        importance(process, **arguments)
