"""Slices and marginals: closed forms against quadrature, bands, acquisitions, conditions, bad input."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq

import bktf
from bktf.analysis import (
    Marginal,
    Score,
    acquisition_along,
    average_acquisition,
    marginal_of,
    measures_of,
    slice_along,
)
from bktf.analysis.averaged_draws import average_by_draw
from bktf.analysis.normal_mixture import NormalMixture
from bktf.components import ComponentDraws
from bktf.gaussian_process import Descriptors, Evidence, ProcessDraws
from bktf.gaussian_process.averaged_process import mean_matern
from bktf.product_forms import UNIFORM, AxisMeasure
from bktf.surrogate import (
    Meaning,
    ModelSpec,
    RankDraws,
    add_descriptors,
    fit_model,
    fold_descriptors,
    in_context,
)
from bktf.surrogate.rank_draws import RankPart
from seeds import seeded

Floats = NDArray[np.float64]
INF = math.inf
SHORT: dict[str, Any] = {"n_chains": 1, "n_sweeps": 16, "n_burn_in": 8}
AXES = [np.linspace(0, 2, 6), np.geomspace(0.1, 10, 5), np.arange(3.0)]
KERNELS: list[str | None] = [None, None, "categorical"]
LOG = [False, True, False]
NAMES = ["time", "rate", "kind"]
LABELS = ("red", "green", "blue")


def data(n: int = 10) -> tuple[Floats, Floats]:
    """Points on an ordered axis, a logarithmic one and a category, and noisy values."""
    rng = np.random.default_rng(seeded(0))
    logarithm = rng.uniform(np.log(0.1), np.log(10), n)
    X: Floats = np.column_stack((rng.uniform(0, 2, n), np.exp(logarithm), rng.integers(0, 3, n)))
    y: Floats = 5 + np.sin(3 * X[:, 0]) + logarithm * X[:, 2] + 0.1 * rng.standard_normal(n)
    return X, y


def fitted(rank: float = INF, **settings: Any) -> bktf.Posterior:
    """A short fit to `data` with names."""
    settings = {"kernel": KERNELS, "log": LOG, "seed": seeded(1), "names": NAMES, **settings}
    return bktf.fit(AXES, *data(), rank=rank, **{**SHORT, **settings})


@pytest.fixture(scope="module")
def posterior() -> bktf.Posterior:
    return fitted()


@pytest.fixture(scope="module")
def finite() -> bktf.Posterior:
    return fitted(2, n_sweeps=40, n_burn_in=20)


@pytest.fixture(scope="module")
def of_a_study(posterior: bktf.Posterior) -> bktf.Posterior:
    """The same with a direction, and with labels of the category."""
    values = {2: lambda x: LABELS[int(x)]}
    return replace(posterior, described=Meaning(tuple(NAMES), "minimize", values=values))


def panels(n: int = 24, knots: Floats | None = None) -> tuple[Floats, Floats]:
    """A Gauss-Legendre rule on pieces of [0, 1], which end at knots."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    ends = np.union1d(np.linspace(0, 1, n + 1), [] if knots is None else knots)
    widths = np.diff(ends)[:, None]
    coords = (ends[:-1, None] + 0.5 * widths * (nodes + 1.0)).ravel()
    return coords, (0.5 * widths * weights).ravel()


def by_quadrature(
    posterior: bktf.Posterior, points: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Mean and variance within each draw of a weighted sum of f at points, (K,) each."""
    mean = posterior.draws.moments_by_draw(points).mean @ weights
    covariance = posterior.draws.covariances_by_draw(points)
    return mean, np.einsum("i,kij,j->k", weights, covariance, weights)


def checked(
    posterior: bktf.Posterior,
    over: Mapping[int, AxisMeasure],
    point: Floats,
    columns: Mapping[int, Floats],
    weights: Floats,
) -> None:
    """The closed form at a point against the sum over points with other columns."""
    points = np.repeat(point[None], weights.size, axis=0)
    for d, column in columns.items():
        points[:, d] = column
    mean, variance = by_quadrature(posterior, points, weights)
    found = average_by_draw(posterior.draws, over, point[None])
    np.testing.assert_allclose(found.mean[:, 0], mean, atol=1e-8)
    np.testing.assert_allclose(found.variance[:, 0], variance, atol=1e-8)


# --- averages in closed form ---------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1e-3, 0.3, 0.99, 1.01, 5.0, 200.0, 2000.0])
def test_the_mean_correlation_is_that_of_quadrature(rate: float) -> None:
    t, weights = panels(4000)
    r = rate * t
    expected = 2 * weights @ ((1 - t) * (1 + r + r * r / 3) * np.exp(-r))
    assert mean_matern(rate) == pytest.approx(expected, rel=1e-12)


LEVELS = AxisMeasure(np.arange(3.0), np.full(3, 1 / 3))


def test_averages_at_infinite_rank_are_those_of_a_fine_quadrature(
    posterior: bktf.Posterior,
) -> None:
    t, w = panels()
    point = np.array([0.7, 0.4, 1.0])
    checked(posterior, {0: UNIFORM}, point, {0: 2 * t}, w)
    checked(posterior, {1: UNIFORM}, point, {1: 0.1 * 100**t}, w)
    checked(posterior, {2: LEVELS}, point, {2: np.arange(3.0)}, np.full(3, 1 / 3))
    both = {0: np.repeat(2 * t, 3), 2: np.tile(np.arange(3.0), t.size)}
    checked(posterior, {0: UNIFORM, 2: LEVELS}, point, both, np.repeat(w / 3, 3))


def test_averages_over_two_axes_are_those_of_quadrature(posterior: bktf.Posterior) -> None:
    """Variances need all pairs of points, so their rule is coarse."""
    point = np.array([0.7, 0.4, 1.0])
    found = average_by_draw(posterior.draws, {0: UNIFORM, 1: UNIFORM}, point[None])
    for n in (24, 3):
        t, w = panels(n)
        points = np.repeat(point[None], t.size**2, axis=0)
        points[:, 0], points[:, 1] = np.repeat(2 * t, t.size), np.tile(0.1 * 100**t, t.size)
        weights = np.outer(w, w).ravel()
        if n == 24:
            mean = posterior.draws.moments_by_draw(points).mean @ weights
            np.testing.assert_allclose(found.mean[:, 0], mean, atol=1e-8)
        else:
            variance = by_quadrature(posterior, points, weights)[1]
            np.testing.assert_allclose(found.variance[:, 0], variance, atol=2e-3)


def test_averages_over_a_density_are_those_of_a_fine_quadrature(posterior: bktf.Posterior) -> None:
    t, w = panels()
    measures = measures_of(posterior, {"time": (0.9, 0.3), "rate": stats.expon(scale=3.0)})
    point = np.array([0.7, 0.4, 1.0])
    time, rate = 2 * t, 0.1 * 100**t
    density = w * stats.norm.pdf(time, 0.9, 0.3)
    checked(posterior, {0: measures[0]}, point, {0: time}, density / density.sum())
    density = w * np.exp(-rate / 3.0) * rate
    checked(posterior, {1: measures[1]}, point, {1: rate}, density / density.sum())


def test_averages_in_a_context_are_those_of_a_fine_quadrature() -> None:
    t, w = panels()
    X, y = data(14)
    context = np.arange(14) % 2.0
    wide = bktf.fit(
        [*AXES, np.arange(2.0)], np.column_stack((X, context)), y + context, rank=INF,
        kernel=[*KERNELS, None], log=[*LOG, False], seed=seeded(2), **SHORT,
    )  # fmt: skip
    narrow = in_context(wide, 7, [1.0])
    checked(narrow, {0: UNIFORM}, np.array([0.7, 0.4, 1.0]), {0: 2 * t}, w)


def test_averages_over_levels_with_descriptors_are_sums() -> None:
    rng, numbers = np.random.default_rng(seeded(3)), np.array([[0.0], [0.4], [1.0], [0.6]])
    X: Floats = np.column_stack((rng.integers(0, 3, 12), rng.random(12)))
    y = numbers[X[:, 0].astype(int), 0] + X[:, 1] + 0.1 * rng.standard_normal(12)
    spec = ModelSpec(rank=INF, kernel=["categorical", None], log=[False, False], **SHORT)
    described = (Descriptors(0, numbers),)
    axes = [np.arange(4.0), np.linspace(0, 1, 4)]
    wide = fit_model(*add_descriptors(spec, axes, X, described), y, seeded(4))
    folded = fold_descriptors(wide, spec, described)
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    measure = AxisMeasure(np.arange(4.0), weights)
    checked(folded, {0: measure}, np.array([0.0, 0.3]), {0: np.arange(4.0)}, weights)
    t, w = panels()
    checked(folded, {1: UNIFORM}, np.array([3.0, 0.3]), {1: t}, w)


def test_averages_at_finite_rank_are_those_of_paths(finite: bktf.Posterior) -> None:
    both = fitted(2, residual_process=True, n_sweeps=12, n_burn_in=8)
    points = np.array([[0.7, 0.4, 1.0], [0.4, 9.0, 2.0]])
    for one in (finite, both):
        found = average_by_draw(one.draws, {0: UNIFORM, 2: LEVELS}, points)
        # Of a residual process, paths of the mean; of components the draws themselves
        paths = replace(one.paths(1), forms=one.draws.mean_paths()).integrate(["time", "kind"])
        expected = one.standardisation.to_model(paths(points[:, 1:2]))
        np.testing.assert_allclose(found.mean, expected, atol=1e-9)
        for d, axis in enumerate(one.grid[:2]):
            t, w = panels(200, axis.scale(axis.points))
            values = axis.unscale(t)
            line = np.repeat(points[:1], t.size, axis=0)
            line[:, d] = values
            mean = one.draws.moments_by_draw(line).mean @ w
            found = average_by_draw(one.draws, {d: UNIFORM}, points[:1])
            np.testing.assert_allclose(found.mean[:, 0], mean, atol=1e-8)
    paths = finite.paths(finite.n_draws).integrate(["time", "kind"])
    curve = marginal_of(finite, "rate", values=[0.4, 9.0])
    values = paths(points[:, 1:2])
    np.testing.assert_allclose(curve.mean, values.mean(axis=0), rtol=1e-9)
    total = np.hypot(values.std(axis=0), paths.missing_std(points[:, 1:2]))
    np.testing.assert_allclose(curve.std, total, rtol=1e-9)


def test_averages_at_infinite_rank_are_those_of_many_paths(posterior: bktf.Posterior) -> None:
    point, n = np.array([[0.7, 0.4, 1.0]]), 800
    paths = posterior.paths(n)
    values = posterior.standardisation.to_model(paths.integrate(["time", "kind"])(point[:, 1:2]))
    moments = average_by_draw(posterior.draws, {0: UNIFORM, 2: LEVELS}, point)
    draws = np.arange(n) % posterior.n_draws
    z = (values[:, 0] - moments.mean[draws, 0]) / np.sqrt(moments.variance[draws, 0])
    assert abs(z.mean()) * math.sqrt(n) < 5.0
    assert abs((z**2).mean() - 1.0) * math.sqrt(n) / (z**2).std() < 5.0


def test_the_average_of_several_ranks_is_that_of_their_draws(
    posterior: bktf.Posterior, finite: bktf.Posterior
) -> None:
    known, chosen = Evidence(0.0, 0.1), (np.array([0, 3, 5]), np.array([1, 2]))
    assert isinstance(finite.draws, ComponentDraws)
    assert isinstance(posterior.draws, ProcessDraws)
    first, second = finite.draws, posterior.draws
    draws = RankDraws(
        (
            RankPart(first, chosen[0], known, 0.5, 0.6),
            RankPart(second, chosen[1], known, 0.5, 0.4),
        )
    )
    both = replace(posterior, draws=draws)
    points = np.array([[0.7, 0.4, 0.0], [0.7, 0.4, 2.0]])
    curve = marginal_of(both, "kind", values=[0, 2])
    parts = [average_by_draw(part, {0: UNIFORM, 1: UNIFORM}, points) for part in (first, second)]
    means = np.concatenate([part.mean[rows] for part, rows in zip(parts, chosen, strict=True)])
    expected = posterior.standardisation.to_user(means.mean(axis=0))
    np.testing.assert_allclose(curve.mean, expected, rtol=1e-9)


# --- bands ---------------------------------------------------------------------------------------


def test_quantiles_of_a_mixture_are_where_its_distribution_function_is_the_level() -> None:
    rng = np.random.default_rng(seeded(6))
    mean, std = rng.normal(0, 3, (7, 5)), rng.uniform(0.01, 2, (7, 5))
    weights = rng.dirichlet(np.ones(7), 5).T
    mixture = NormalMixture(weights, mean, std)
    for level in (0.01, 0.25, 0.5, 0.95):
        np.testing.assert_allclose(mixture.distribution(mixture.quantile(level)), level, atol=1e-10)
    steps = NormalMixture(
        np.full((4, 1), 0.25), np.array([[3.0], [1.0], [2.0], [4.0]]), np.zeros((4, 1))
    )
    assert [steps.quantile(q)[0] for q in (0.2, 0.25, 0.3, 0.75, 1.0)] == pytest.approx(
        [1, 1, 2, 3, 4]
    )


def test_bands_of_a_slice_are_quantiles_of_the_mixture_over_draws(
    posterior: bktf.Posterior,
) -> None:
    at = np.array([0.3, 0.4, 1.0])
    curve = slice_along(posterior, "time", at, [0.0, 1.5])
    points = np.array([[0.0, 0.4, 1.0], [1.5, 0.4, 1.0]])
    means, stds = posterior.mean_by_draw(points), posterior.std_by_draw(points)
    for level, (low, high) in curve.bands.items():
        for end, q in ((low, 0.5 - level / 2), (high, 0.5 + level / 2)):
            for i in range(2):

                def excess(x: float, i: int = i, q: float = q) -> float:
                    return float(stats.norm.cdf(x, means[:, i], stds[:, i]).mean() - q)

                assert end[i] == pytest.approx(brentq(excess, -50, 50, xtol=1e-12), abs=1e-8)
    assert (curve.bands[0.9][0] < curve.bands[0.5][0]).all()
    assert (curve.bands[0.5][1] < curve.bands[0.9][1]).all()


# --- slices --------------------------------------------------------------------------------------


def test_a_slice_is_the_posterior_at_its_points(
    posterior: bktf.Posterior, finite: bktf.Posterior
) -> None:
    for one in (posterior, finite):
        curve = slice_along(one, "rate", {"time": 1.0, "kind": 2})
        assert curve.names == ("rate",)
        assert curve.mean.shape == curve.std.shape == (41,) or curve.mean.shape == (42,)
        points = np.column_stack(
            [np.full(curve.mean.size, 1.0), curve.coordinates[0], np.full(curve.mean.size, 2.0)]
        )
        np.testing.assert_allclose(curve.mean, one.mean(points), rtol=1e-10)
        np.testing.assert_allclose(curve.std, one.std(points), rtol=1e-8)
        assert curve.at == {"time": 1.0, "kind": 2.0}
        assert not curve.is_inactive.any()
        np.testing.assert_array_equal(curve.observed, one.X[:, [1]])
        np.testing.assert_array_equal(curve.y, one.y)
        ratios = curve.coordinates[0][1:] / curve.coordinates[0][:-1]
        assert np.median(ratios) == pytest.approx(100 ** (1 / 40))  # even on the logarithmic scale


def test_a_slice_along_two_parameters_is_a_table(of_a_study: bktf.Posterior) -> None:
    curve = slice_along(
        of_a_study, ("kind", "time"), {"rate": 2.0}, [["blue", "red"], [0.0, 0.5, 1.0]]
    )
    assert curve.values == (["blue", "red"], [0.0, 0.5, 1.0])
    assert curve.mean.shape == curve.bands[0.9][0].shape == (2, 3)
    assert curve.mean[0, 1] == pytest.approx(of_a_study.mean([[0.5, 2.0, 2.0]])[0])
    assert curve.observed.shape == (10, 2)
    whole = slice_along(of_a_study, ("kind", "time"))
    assert whole.values[0] == list(LABELS)
    assert whole.mean.shape[0] == 3


def test_a_slice_passes_through_the_best_tried_point_where_there_is_a_direction(
    posterior: bktf.Posterior, of_a_study: bktf.Posterior
) -> None:
    best = posterior.X[int(posterior.mean(posterior.X).argmin())]
    curve = slice_along(of_a_study, "time")
    assert curve.at == {"rate": best[1], "kind": LABELS[int(best[2])]}
    assert best[0] in curve.coordinates[0]
    assert slice_along(of_a_study.negated(), "time").at == curve.at
    levels, counts = np.unique(posterior.X[:, 2], return_counts=True)
    middle = slice_along(posterior, "time").at
    assert middle == {"rate": pytest.approx(1.0), "kind": levels[counts.argmax()]}
    given = slice_along(of_a_study, "time", {"kind": "green"}).at
    assert given == {"rate": best[1], "kind": "green"}


def test_finite_parameters_show_all_their_values(posterior: bktf.Posterior) -> None:
    whole = AxisMeasure(np.linspace(0, 1, 5), np.full(5, 0.2))
    one = replace(posterior, described=Meaning(tuple(NAMES), measures={0: whole}))
    assert slice_along(one, "time").coordinates[0].tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert slice_along(one, "rate").at["time"] == 1.0
    expected = np.mean(
        [slice_along(one, "kind", {"time": x, "rate": 1.0}).mean for x in (0, 0.5, 1, 1.5, 2)],
        axis=0,
    )
    fixed = AxisMeasure(np.array([0.5]), np.array([1.0]))
    one = replace(posterior, described=Meaning(tuple(NAMES), measures={0: whole, 1: fixed}))
    np.testing.assert_allclose(marginal_of(one, "kind").mean, expected, rtol=1e-9)


def test_whole_numbers_are_shown_once_and_others_are_no_values(posterior: bktf.Posterior) -> None:
    whole = AxisMeasure(np.array([0.0, 0.5, 1.0]), np.full(3, 1 / 3))
    values: dict[int, Any] = {0: lambda x: round(x), 1: lambda x: max(round(x), 0.1)}
    one = replace(posterior, described=Meaning(tuple(NAMES), values=values, measures={0: whole}))
    assert slice_along(one, "time").values == ([0, 1, 2],)
    shown = slice_along(one, "rate").values[0]
    assert shown[1:] == list(range(1, 11))
    assert slice_along(one, "kind", {"time": 1, "rate": 3.0}).at == {"time": 1, "rate": 3}
    with pytest.raises(ValueError, match=r"0\.5 is no value of 'time'; there are 0, 1, 2"):
        slice_along(one, "time", values=[0.5])
    with pytest.raises(ValueError, match=r"2\.6 is no value of 'rate'; the nearest is 3"):
        slice_along(one, "kind", {"rate": 2.6})


def test_marginals_have_the_moments_of_the_averages(posterior: bktf.Posterior) -> None:
    curve = marginal_of(posterior, ("kind", "rate"), {"time": (0.5, 0.2)}, [[0, 2], [0.5, 3.0]])
    measure = measures_of(posterior, {"time": (0.5, 0.2)})[0]
    points = np.array([[0, 0.5, 0], [0, 3.0, 0], [0, 0.5, 2], [0, 3.0, 2]])
    within = average_by_draw(posterior.draws, {0: measure}, points)
    units = posterior.standardisation
    expected = units.to_user(within.mean.mean(axis=0)).reshape(2, 2)
    np.testing.assert_allclose(curve.mean, expected, rtol=1e-10)
    variance = within.mean.var(axis=0) + within.variance.mean(axis=0)
    np.testing.assert_allclose(curve.std, units.scale * np.sqrt(variance).reshape(2, 2), rtol=1e-9)
    assert curve.error is None
    alone = bktf.fit([AXES[0]], data()[0][:, :1], data()[1], rank=INF, seed=0, **SHORT)
    here = marginal_of(alone, "x0", values=[0.3])
    assert here.mean[0] == pytest.approx(alone.mean([[0.3]])[0])
    assert here.std[0] == pytest.approx(alone.std([[0.3]])[0])


# --- conditions ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def conditional() -> bktf.Posterior:
    """Kind 0 has x in [0, 1], kind 1 has z in [0, 2]."""
    rng, n = np.random.default_rng(seeded(7)), 16
    kind = np.arange(n) % 2.0
    x, z = np.where(kind == 0, rng.random(n), INF), np.where(kind == 1, 2 * rng.random(n), INF)
    y = np.where(kind == 0, np.where(kind == 0, x, 0) ** 2, 1 + np.where(kind == 1, z, 0))
    axes = [np.arange(2.0), np.array([0, 0.5, 1, INF]), np.array([0, 1.0, 2, INF])]
    fit = bktf.fit(
        axes, np.stack((kind, x, z), axis=1), y + 0.05 * rng.standard_normal(n), rank=INF,
        kernel=["categorical", None, None], seed=seeded(8), **SHORT,
    )  # fmt: skip

    def point_at(units: Floats) -> Floats:
        is_first = units[0] < 0.5
        return np.array([0.0, units[1], INF] if is_first else [1.0, INF, 2 * units[2]])

    meaning = Meaning(("kind", "x", "z"), "minimize", point_at=point_at)
    return replace(fit, described=meaning)


def test_a_slice_marks_where_its_parameter_is_inactive(conditional: bktf.Posterior) -> None:
    curve = slice_along(conditional, ("kind", "x"), {"kind": 0, "x": 0.3}, [[0, 1], [0.2, 0.8]])
    assert curve.is_inactive.tolist() == [[False, False], [True, True]]
    assert (
        curve.mean[1, 0]
        == curve.mean[1, 1]
        == pytest.approx(conditional.mean([[1.0, INF, 1.0]])[0])
    )
    assert curve.mean[0, 1] == pytest.approx(conditional.mean([[0.0, 0.8, INF]])[0])
    along = slice_along(conditional, "z", {"kind": 0, "x": 0.3}, [0.5, 1.5])
    assert along.is_inactive.all()
    assert along.mean.tolist() == pytest.approx([conditional.mean([[0.0, 0.3, INF]])[0]] * 2)
    assert acquisition_along(conditional, "z", {"kind": 0, "x": 0.3}, [0.5]).is_inactive.all()


def test_a_marginal_in_a_conditional_space_averages_over_both_branches(
    conditional: bktf.Posterior,
) -> None:
    t, w = panels(6)
    curve = marginal_of(conditional, "kind")
    first = np.stack((0 * t, t, np.full(t.size, INF)), axis=1)
    second = np.stack((0 * t + 1, np.full(t.size, INF), 2 * t), axis=1)
    assert curve.error is not None
    for i, points in enumerate((first, second)):
        mean, variance = by_quadrature(conditional, points, w)
        units = conditional.standardisation
        assert abs(curve.mean[i] - units.to_user(mean.mean())) < 6 * curve.error[i] + 1e-9
        std = units.scale * np.sqrt(variance.mean() + mean.var())
        assert curve.std[i] == pytest.approx(std, rel=0.3)
    of_x = marginal_of(conditional, "x", values=[0.2, 0.9])
    assert of_x.error is not None
    in_second = conditional.mean(second) @ w
    for i, x in enumerate((0.2, 0.9)):
        expected = 0.5 * conditional.mean([[0.0, x, INF]])[0] + 0.5 * in_second
        assert abs(of_x.mean[i] - expected) < 6 * of_x.error[i] + 0.02
    with pytest.raises(ValueError, match="densities are not supported in a conditional space"):
        marginal_of(conditional, "kind", {"x": (0.5, 0.1)})


# --- acquisitions --------------------------------------------------------------------------------


def test_an_acquisition_along_a_parameter_is_that_at_its_points(
    posterior: bktf.Posterior, of_a_study: bktf.Posterior
) -> None:
    at, values = {"rate": 1.0, "kind": "red"}, [0.2, 1.0, 1.9]
    points = np.array([[x, 1.0, 0.0] for x in values])
    negated = posterior.negated()
    found = acquisition_along(of_a_study, "time", at, values)
    np.testing.assert_allclose(found.score, negated.expected_improvement(points), rtol=1e-9)
    assert (found.acquisition, found.error, found.at) == ("ei", None, at)
    ucb = acquisition_along(of_a_study, "time", at, values, Score("ucb", beta=3.0))
    np.testing.assert_allclose(ucb.score, negated.mean(points) + 3 * negated.std(points), rtol=1e-9)
    high = acquisition_along(
        posterior, "time", {"rate": 1.0, "kind": 0}, values, Score("max", "maximize")
    )
    np.testing.assert_allclose(high.score, posterior.mean(points), rtol=1e-9)


def test_an_averaged_acquisition_is_that_of_a_quadrature_within_its_error(
    of_a_study: bktf.Posterior,
) -> None:
    t, w = panels(3)
    values = [0.1, 1.1]
    found = average_acquisition(of_a_study, "time", values=values)
    assert found.error is not None
    assert found.at is None
    negated = of_a_study.negated()
    for i, x in enumerate(values):
        expected = 0.0
        for level in range(3):
            points = np.column_stack((np.full(t.size, x), 0.1 * 100**t, np.full(t.size, level)))
            expected += float(negated.expected_improvement(points) @ w) / 3
        assert abs(found.score[i] - expected) < 6 * found.error[i]
        assert found.error[i] < 0.1 * of_a_study.y.std()
    again = average_acquisition(of_a_study, "time", values=values)
    np.testing.assert_array_equal(again.score, found.score)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [slice_along, marginal_of, acquisition_along, average_acquisition])
def test_what_is_no_parameter_or_value_is_refused(make: Any, of_a_study: bktf.Posterior) -> None:
    unknown: list[Any] = ["weight", 3, True, ("time", "weight")]
    for along in unknown:
        with pytest.raises(
            ValueError, match="is not a parameter; there are 'time', 'rate', 'kind'"
        ):
            make(of_a_study, along)
    repeated: list[Any] = [("time", "time"), (), ("time", 0), ("time", "rate", "kind")]
    for along in repeated:
        with pytest.raises(
            ValueError, match="along must name one parameter, or two different ones"
        ):
            make(of_a_study, along)
    with pytest.raises(
        ValueError, match="'pink' is no value of 'kind'; there are 'red', 'green', 'blue'"
    ):
        make(of_a_study, "kind", values=["red", "pink"])
    with pytest.raises(ValueError, match=r"'time' must lie in \[0, 2\]; got 3"):
        make(of_a_study, "time", values=[3])
    for value in ("a", math.nan, None, True):
        with pytest.raises(ValueError, match="'time' must be a finite number"):
            make(of_a_study, "time", values=[value])
    with pytest.raises(ValueError, match="values must be a list"):
        make(of_a_study, "time", values="ab")
    with pytest.raises(ValueError, match="at least one value"):
        make(of_a_study, "time", values=[])
    with pytest.raises(ValueError, match="values of two parameters must be two lists"):
        make(of_a_study, ("time", "rate"), values=[1.0])
    with pytest.raises(ValueError, match=r"a slice is one of a bktf\.Posterior; got ndarray"):
        make(of_a_study.X, "time")


@pytest.mark.parametrize("make", [slice_along, acquisition_along])
def test_a_fixed_point_that_is_none_is_refused(make: Any, of_a_study: bktf.Posterior) -> None:
    for at in ([0.1, 0.2], [[0.1, 0.2, 0.0]], "abc", 1.0):
        with pytest.raises(
            ValueError, match="at must be a dictionary of values by name, or 3 coordinates"
        ):
            make(of_a_study, "time", at)
    with pytest.raises(ValueError, match="at must lie inside the box"):
        make(of_a_study, "time", [0.1, 99.0, 0.0])
    with pytest.raises(ValueError, match="'weight' is not a parameter"):
        make(of_a_study, "time", {"weight": 1.0})
    with pytest.raises(ValueError, match="'pink' is no value of 'kind'"):
        make(of_a_study, "time", {"kind": "pink"})


def test_densities_of_what_is_not_averaged_are_refused(of_a_study: bktf.Posterior) -> None:
    for make in (marginal_of, average_acquisition):
        with pytest.raises(ValueError, match="average over; 'time' is not one"):
            make(of_a_study, "time", {"time": (0.5, 0.1)})
        with pytest.raises(ValueError, match="densities must be named after parameters"):
            make(of_a_study, "time", {"weight": (0.5, 0.1)})


def test_an_acquisition_needs_a_known_name_and_a_direction(posterior: bktf.Posterior) -> None:
    with pytest.raises(
        ValueError, match="acquisition must be one of 'ei', 'ucb', 'max'; got 'thompson'"
    ):
        acquisition_along(posterior, "time", score=Score("thompson"))
    with pytest.raises(ValueError, match='direction must be "maximize" or "minimize"'):
        acquisition_along(posterior, "time")
    with pytest.raises(ValueError, match="beta must be a number of at least 0"):
        acquisition_along(posterior, "time", score=Score("ucb", "maximize", -1.0))


def test_records_are_of_their_kind(posterior: bktf.Posterior) -> None:
    assert isinstance(marginal_of(posterior, "kind"), Marginal)
