"""The paper's baselines: fast prediction equals scikit-learn's, acquisitions are what they say."""

import itertools
import warnings

import numpy as np
import pytest

from seeds import seeded
from studies.methods import (
    PAPER_METHODS,
    PAPER_SETTINGS,
    OnCells,
    OptunaMethod,
    choose_methods,
    run_settings,
)
from studies.methods import gaussian_process as baseline
from studies.problems import PAPER_PROBLEMS


@pytest.fixture(scope="module")
def fitted() -> tuple[baseline.FittedGP, np.ndarray]:
    rng = np.random.default_rng(seeded(0))
    X = rng.random((17, 3))
    y = np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 2]
    return baseline.fit_gp(X, y, seeded(0)), y


def test_moments_are_those_of_scikit_learn(fitted: tuple[baseline.FittedGP, np.ndarray]) -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    gp, y = fitted
    kernel = ConstantKernel(gp.amplitude) * Matern(gp.lengthscales, nu=1.5) + WhiteKernel(gp.noise)
    whole = GaussianProcessRegressor(kernel, alpha=1e-10, optimizer=None).fit(
        gp.X, (y - y.mean()) / y.std()
    )
    points = np.random.default_rng(seeded(1)).random((50, 3))
    mean, std = gp.predict(points)
    expected_mean, expected_std = whole.predict(points, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        std**2 + gp.noise, expected_std**2, rtol=1e-6, atol=1e-9
    )  # scikit-learn's is of a noisy y


@pytest.mark.parametrize("sizes", [(7,), (4, 5), (3, 4, 5), (3, 2, 3, 2)])
def test_grid_moments_in_blocks_are_those_of_the_points(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seeded(2))
    X = rng.random((9, len(sizes)))
    gp = baseline.fit_gp(X, X.sum(axis=1) ** 2, seeded(0))
    axes = tuple(np.linspace(0, 1, m) for m in sizes)
    blocks = [np.stack(block) for block in gp.on_grid(axes)]
    points = np.array(list(itertools.product(*axes)))
    np.testing.assert_allclose(
        np.concatenate(blocks, axis=1), np.stack(gp.predict(points)), rtol=1e-7, atol=1e-9
    )


def test_the_best_cell_is_the_best_of_enumeration_without_the_excluded(
    fitted: tuple[baseline.FittedGP, np.ndarray],
) -> None:
    gp, y = fitted
    axes = tuple(np.linspace(0, 1, 6) for _ in range(3))
    points = np.array(list(itertools.product(*axes)))
    for acquisition in ("ei", "ucb"):
        score = baseline.make_score(acquisition, y, 2.0)
        values = score(*gp.predict(points))
        order = np.argsort(-values)
        assert baseline.best_cell(gp, axes, score, np.array([], dtype=np.int64)) == order[0]
        assert baseline.best_cell(gp, axes, score, order[[3, 0, 1, 2]]) == order[4]


def test_expected_improvement_is_the_mean_of_what_normal_draws_gain() -> None:
    rng = np.random.default_rng(seeded(3))
    draws = rng.standard_normal(2_000_000)
    for mean, std in ((0.3, 0.5), (-1.0, 0.4), (2.0, 1.0)):
        gains = np.maximum(mean + std * draws - 0.7, 0)
        ours = baseline.expected_improvement(0.7)(np.array([mean]), np.array([std]))[0]
        assert abs(ours - gains.mean()) < 5 * gains.std() / np.sqrt(draws.size)


def test_the_search_in_the_box_is_at_least_as_good_as_a_fine_grid(
    fitted: tuple[baseline.FittedGP, np.ndarray],
) -> None:
    gp, y = fitted
    points = np.array(list(itertools.product(np.linspace(0, 1, 25), repeat=3)))
    for acquisition in ("ei", "ucb"):
        score = baseline.make_score(acquisition, y, 2.0)
        best = baseline.best_in_box(gp, score)
        assert (best >= 0).all()
        assert (best <= 1).all()
        assert score(*gp.predict(best[None]))[0] >= score(*gp.predict(points)).max() - 1e-3


def test_constant_and_two_values_can_be_fitted_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in (np.array([1.0, 1.0]), np.array([0.0, 3.0])):
            gp = baseline.fit_gp(np.array([[0.1, 0.2], [0.7, 0.9]]), y, seeded(0))
            assert np.isfinite(gp.predict(np.array([[0.5, 0.5]]))).all()


@pytest.mark.usefixtures("quiet_optuna")
@pytest.mark.parametrize("name", PAPER_METHODS)
def test_every_method_chooses_in_the_box_and_grid_methods_never_a_cell_twice(name: str) -> None:
    problem = PAPER_PROBLEMS["schaffer"]
    grid = problem.grid
    settings = run_settings(name, 4, PAPER_SETTINGS | {"n_sweeps": 30, "n_burn_in": 10})
    method, again = (PAPER_METHODS[name].make(problem, seeded(5), settings) for _ in range(2))
    points = problem.start_points(seeded(5))
    for params, value in zip(points, problem.values(points), strict=True):
        method.tell(params, value)
        again.tell(params, value)
    for _ in range(4):
        params = method.ask()
        assert params == again.ask()
        row = problem.to_row(params)
        assert (row >= grid.low).all()
        assert (row <= grid.high).all()
        if not name.startswith("gp-"):
            np.testing.assert_allclose(grid.points(grid.cells(row[None]))[0], row)
        points.append(params)
        method.tell(params, problem.function(params))
        again.tell(params, problem.function(params))
    if not name.startswith("gp-") and name != "tpe":
        X = np.stack([problem.to_row(params) for params in points])
        assert len(set(grid.flat(X).tolist())) == len(X)


@pytest.mark.usefixtures("quiet_optuna")
def test_tpe_is_told_every_cell_and_value() -> None:
    problem = PAPER_PROBLEMS["branin"]
    method = PAPER_METHODS["tpe"].make(problem, seeded(0), {})
    points = problem.start_points(seeded(0))
    for params in points:
        method.tell(params, problem.function(params))
    for _ in range(5):
        points.append(method.ask())
        method.tell(points[-1], problem.function(points[-1]))
    assert isinstance(method, OnCells)
    assert isinstance(method.method, OptunaMethod)
    trials = method.method.study.trials
    assert [t.value for t in trials] == [problem.function(params) for params in points]
    assert [t.params for t in trials] == [problem.cell_of(params) for params in points]


def test_families_stand_for_their_methods_and_unknown_names_are_refused() -> None:
    assert choose_methods(["bktf", "tpe"]) == ["bktf-max", "bktf-ucb", "bktf-ei", "tpe"]
    assert choose_methods([]) == list(PAPER_METHODS)
    with pytest.raises(ValueError, match=r"one of bktf-max.*got 'gpp'"):
        choose_methods(["gpp"])
