"""What `bktf.fit(rank=math.inf)` promises: a Gaussian process, with answers of the same kind as at finite rank."""

import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import bktf
from bktf._compiled.paced_calls import PACE
from bktf.gaussian_process import process_sampler
from bktf.surrogate.model_spec import ModelSpec
from seeds import seeded
from work_clock import WorkClock

Floats = NDArray[np.float64]
AXES = [np.linspace(0, 1, 6), np.arange(3.0), np.linspace(-2, 2, 5)]
KERNELS = [None, "categorical", "matern52"]
POINTS = np.array([[0.13, 1.0, -1.7], [0.5, 2.0, 0.25], [1.0, 0.0, 2.0]])


def data(n: int = 14, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seeded(seed))
    X: Floats = np.column_stack((rng.random(n), rng.integers(0, 3, n), rng.uniform(-2, 2, n)))
    y: Floats = 10 + 3 * np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)
    return X, y


def fitted(**settings: Any) -> bktf.Posterior:
    return bktf.fit(
        AXES, *data(), **{"seed": seeded(1), "rank": math.inf, "kernel": KERNELS, **settings}
    )


@pytest.fixture(scope="module")
def posterior() -> bktf.Posterior:
    return fitted()


# --- what it has ---------------------------------------------------------------------------------


def test_shapes_follow_the_contract(posterior: bktf.Posterior) -> None:
    K, D = 32, 3
    assert posterior.rank == math.inf
    assert (
        posterior.mean(POINTS).shape
        == posterior.std(POINTS).shape
        == posterior.quantile(POINTS, 0.9).shape
        == (3,)
    )
    assert (
        posterior.draws_at(POINTS).shape
        == posterior.mean_by_draw(POINTS).shape
        == posterior.std_by_draw(POINTS).shape
        == (K, 3)
    )
    assert posterior.lengthscales.shape == posterior.correlations.shape == (K, D)
    assert posterior.noise_precision.shape == posterior.noise_std.shape == (K,)
    assert posterior.kernel(POINTS, POINTS[:2]).shape == (K, 3, 2)
    assert posterior.covariances_by_draw(POINTS).shape == (K, 3, 3)
    assert posterior.grid_moments().mean.shape == tuple(axis.size for axis in posterior.axes)
    assert "32 draws, rank inf, 14 observations" in repr(posterior)


def test_ordered_axes_have_lengthscales_and_levels_have_correlations(
    posterior: bktf.Posterior,
) -> None:
    process = posterior.draws.process
    assert process is not None
    np.testing.assert_array_equal(
        np.isnan(posterior.lengthscales), np.broadcast_to([False, True, False], (32, 3))
    )
    np.testing.assert_array_equal(
        np.isnan(posterior.correlations), np.broadcast_to([True, False, True], (32, 3))
    )
    np.testing.assert_allclose(posterior.lengthscales[:, [0, 2]], np.exp(process.logs[:, [0, 2]]))
    odds = np.exp(process.logs[:, 1])
    np.testing.assert_allclose(posterior.correlations[:, 1], odds / (1 + odds))


def test_the_correlation_of_levels_is_that_of_the_kernel(posterior: bktf.Posterior) -> None:
    """Points that differ in their level alone."""
    between = posterior.kernel([[0.5, 0.0, 0.25]], [[0.5, 0.0, 0.25], [0.5, 2.0, 0.25]])[:, 0]
    np.testing.assert_allclose(
        between[:, 1] / between[:, 0], posterior.correlations[:, 1], rtol=1e-12
    )


def test_variances_are_the_diagonal_of_covariances(posterior: bktf.Posterior) -> None:
    covariances = posterior.covariances_by_draw(POINTS)
    np.testing.assert_allclose(
        np.diagonal(covariances, axis1=1, axis2=2), posterior.std_by_draw(POINTS) ** 2, rtol=1e-12
    )
    np.testing.assert_allclose(covariances, covariances.transpose(0, 2, 1), rtol=1e-9, atol=1e-12)


def test_the_posterior_has_learned_the_function() -> None:
    misses, elsewhere = [], []
    for k in range(7):
        X, y = data(40, k)
        posterior = bktf.fit(AXES, X[:30], y[:30], seed=seeded(k), rank=math.inf, kernel=KERNELS)
        at_data = np.abs(posterior.mean(X[:30]) - y[:30]) / (
            posterior.std(X[:30]) + posterior.noise_std.max()
        )
        misses.append(at_data.max())
        elsewhere.append(np.corrcoef(posterior.mean(X[30:]), y[30:])[0, 1])
    # At most 1.02 deviations at the data (40 seeds). Elsewhere 1 - 10^(-1.9 ± 0.5), one of 40 below
    # 0.9. Were one in 30,
    # four of seven would be with a chance of 4e-5.
    assert max(misses) < 3
    assert np.median(elsewhere) > 0.9


def test_without_a_kernel_every_ordered_axis_has_the_same() -> None:
    X, y = data()
    ordered = [AXES[0], AXES[2]]
    settings: dict[str, Any] = {"seed": seeded(1), "rank": math.inf, "n_sweeps": 8, "n_burn_in": 4}
    named = bktf.fit(ordered, X[:, [0, 2]], y, kernel="matern52", **settings)
    for kernel in (None, [None, None], [None, "matern52"]):
        left_out = bktf.fit(ordered, X[:, [0, 2]], y, kernel=kernel, **settings)
        np.testing.assert_array_equal(
            left_out.draws_at(POINTS[:, [0, 2]]), named.draws_at(POINTS[:, [0, 2]])
        )


# --- what it has not -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["factors", "weights", "ranks", "active"])
def test_what_components_have_is_an_error_that_says_what_to_ask(
    name: str, posterior: bktf.Posterior
) -> None:
    with pytest.raises(
        AttributeError,
        match=r"no weights and no factors\. Ask mean, std, draws_at, lengthscales or kernel instead",
    ):
        getattr(posterior, name)
    assert not hasattr(posterior, name)


def test_questions_about_components_are_errors_that_say_what_to_ask(
    posterior: bktf.Posterior,
) -> None:
    for ask in (
        posterior.aligned_factors,
        posterior.aligned_weights,
        lambda: posterior.component_products(POINTS),
    ):
        with pytest.raises(
            AttributeError, match="Ask mean, std, draws_at, lengthscales or kernel instead"
        ):
            ask()


@pytest.mark.parametrize(
    "kernel", ["matern12", "matern32", "periodic", bktf.Periodic(1.0), "squared_exponential"]
)
def test_other_kernels_are_refused(kernel: Any) -> None:
    X, y = data()
    for given in (kernel, [None, kernel], [kernel, "matern52"]):
        with pytest.raises(
            ValueError,
            match=r'an ordered axis has the kernel "matern52".*the kernel of axis [01] is another',
        ):
            bktf.fit([AXES[0], AXES[2]], X[:, [0, 2]], y, rank=math.inf, kernel=given)


@pytest.mark.parametrize("kernel", ["wishart", np.eye(3)])
def test_other_kernels_of_levels_are_refused(kernel: Any) -> None:
    with pytest.raises(
        ValueError, match=r'an axis of levels "categorical"; the kernel of axis 1 is another'
    ):
        fitted(kernel=[None, kernel, None])


@pytest.mark.parametrize(
    "refused",
    [
        {"active": [(0, 1)]}, {"active": []}, {"adapt_rank": True}, {"offsets": True}, {"shared_lengthscales": True},
        {"residual_process": True},
    ],
    ids=lambda refused: next(iter(refused)),
)  # fmt: skip
def test_what_is_about_components_is_refused(refused: dict[str, Any]) -> None:
    with pytest.raises(
        ValueError, match=f"{next(iter(refused))} is about components, and infinite rank has none"
    ):
        fitted(**refused)


def test_a_warm_start_of_another_kind_of_rank_is_refused(posterior: bktf.Posterior) -> None:
    kernels = ["matern32", "categorical", "matern32"]
    finite = fitted(rank=2, kernel=kernels, n_sweeps=4, n_burn_in=2)
    for settings in (
        {"warm_start": finite},
        {"warm_start": posterior, "rank": 2, "kernel": kernels},
    ):
        with pytest.raises(ValueError, match="warm_start must be of the same kind"):
            fitted(**settings)
    again = fitted(warm_start=posterior)  # with few observations it has no effect
    np.testing.assert_array_equal(again.mean(posterior.X), fitted().mean(posterior.X))


@pytest.mark.parametrize(
    "rank", [0, -1, 2.5, 2.0, True, np.True_, -math.inf, math.nan, None, "inf", 1j]
)
def test_a_rank_that_is_neither_whole_nor_infinite_is_refused(rank: Any) -> None:
    with pytest.raises(
        ValueError,
        match=r"rank must be a whole number of at least 1, \"auto\", or math\.inf for a Gaussian process; got ",
    ):
        fitted(rank=rank, kernel=None)


def test_infinity_may_come_from_numpy() -> None:
    short: dict[str, Any] = {"n_sweeps": 4, "n_burn_in": 2}
    np.testing.assert_array_equal(
        fitted(rank=np.float64(np.inf), **short).mean(POINTS), fitted(**short).mean(POINTS)
    )


# --- how long it runs ----------------------------------------------------------------------------


def test_by_default_the_chains_are_as_long_as_the_rank_needs(posterior: bktf.Posterior) -> None:
    assert tuple(posterior.spec.lengths) == tuple(ModelSpec(rank=math.inf).lengths) == (40, 24, 2)
    assert tuple(ModelSpec(rank=2).lengths) == (48, 32, 32)
    assert tuple(ModelSpec(rank=2, inference="gibbs").lengths) == (400, 200, 1)
    assert tuple(ModelSpec(rank=math.inf, n_sweeps=50).lengths) == (50, 24, 2)
    assert tuple(ModelSpec(rank=2, n_burn_in=7, n_chains=3).lengths) == (400, 7, 3)
    finite = bktf.fit([AXES[0]], data()[0][:, :1], data()[1], seed=seeded(0))
    assert (finite.n_draws, tuple(finite.spec.lengths)) == (512, (48, 32, 32))


def test_sweeps_below_the_default_burn_in_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"n_burn_in must lie in \[0, n_sweeps\); got 24 with n_sweeps=20"
    ):
        fitted(n_sweeps=20)


def test_the_same_seed_gives_the_same_draws_whatever_the_threads(posterior: bktf.Posterior) -> None:
    np.testing.assert_array_equal(fitted(n_threads=1).draws_at(POINTS), posterior.draws_at(POINTS))
    assert not np.array_equal(fitted(seed=seeded(2)).draws_at(POINTS), posterior.draws_at(POINTS))
    assert posterior.draws.process is not None
    first, second = np.split(posterior.draws.process.logs, 2)
    assert not np.isin(first, second).any()  # the chains are not copies of each other


def test_the_progress_bar_counts_sweeps(capsys: pytest.CaptureFixture[str]) -> None:
    fitted(n_sweeps=30, n_burn_in=10, show_progress_bar=True)
    assert "60/60" in capsys.readouterr().err


def test_compiled_calls_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a sweep costs is found out by trying: one sweep at first, then what fits the pace."""
    clock = WorkClock(monkeypatch, cost=PACE / 3.5)
    clock.charge(process_sampler, "run_sweeps", lambda arguments: arguments[6])
    fitted(n_sweeps=30, n_burn_in=10, n_chains=1)
    assert clock.counts["run_sweeps"][0] == 1
    assert max(clock.counts["run_sweeps"]) == 3
    assert sum(clock.counts["run_sweeps"]) == 30


def test_known_noise_is_kept_and_in_the_units_of_y() -> None:
    np.testing.assert_allclose(fitted(noise_std=0.25, n_sweeps=8, n_burn_in=4).noise_std, 0.25)


# --- files, leaving out, other packages ----------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {
            "noise_std": 0.1,
            "n_chains": 3,
            "n_sweeps": 9,
            "n_burn_in": 4,
            "log": [False, False, True],
        },
    ],
)
def test_a_saved_posterior_comes_back_the_same(settings: dict[str, Any], tmp_path: Path) -> None:
    X, y = data()
    axes, shift = (
        ([*AXES[:2], np.geomspace(1, 100, 5)], np.array([0, 0, 3]))
        if "log" in settings
        else (AXES, np.zeros(3))
    )
    X, points = X + shift, POINTS + shift
    priors = bktf.Priors(process_noise_rate=0.02)
    posterior = bktf.fit(
        axes, X, y, seed=seeded(1), rank=math.inf, kernel=KERNELS, priors=priors, **settings
    )
    posterior.save(tmp_path / "fit.npz")
    back = bktf.load(tmp_path / "fit.npz")
    assert (back.rank, back.seed, back.priors, back.spec.lengths, back.spec.noise_std) == (
        math.inf, posterior.seed, priors, posterior.spec.lengths, posterior.spec.noise_std
    )  # fmt: skip
    for name in ("draws_at", "mean", "std", "kernel", "covariances_by_draw"):
        np.testing.assert_array_equal(
            getattr(back, name)(points), getattr(posterior, name)(points), err_msg=name
        )
    for name in ("lengthscales", "correlations", "noise_std", "X", "y"):
        np.testing.assert_array_equal(getattr(back, name), getattr(posterior, name), err_msg=name)
    np.testing.assert_array_equal(
        bktf.leave_one_out(back, index=[3]).mean, bktf.leave_one_out(posterior, index=[3]).mean
    )


def test_leaving_one_out_is_a_refit_without_the_point(posterior: bktf.Posterior) -> None:
    left = bktf.leave_one_out(posterior, index=[2, 5], refit=True)
    for place, i in enumerate((2, 5)):
        X, y = np.delete(posterior.X, i, axis=0), np.delete(posterior.y, i)
        without = bktf.fit(posterior.axes, X, y, seed=seeded(1), rank=math.inf, kernel=KERNELS)
        here = posterior.X[i : i + 1]
        deviations = np.hypot(without.std_by_draw(here)[:, 0], without.noise_std)
        mixture = stats.norm(without.mean_by_draw(here)[:, 0], deviations)
        assert left.mean[place] == pytest.approx(without.mean(here)[0], rel=1e-9)
        assert left.log_density[place] == pytest.approx(
            math.log(mixture.pdf(posterior.y[i]).mean()), rel=1e-9
        )
        assert left.pit[place] == pytest.approx(mixture.cdf(posterior.y[i]).mean(), rel=1e-9)


def test_the_draws_go_to_arviz_without_components(
    posterior: bktf.Posterior, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "arviz", SimpleNamespace(from_dict=lambda groups: groups))
    variables = posterior.to_arviz()["posterior"]
    parameters = {
        "process_lengthscale_0",
        "process_correlation_odds_1",
        "process_lengthscale_2",
        "process_size",
        "process_constant_share",
    }
    assert set(variables) == parameters | {"f", "noise_std"}
    assert {v.shape[:2] for v in variables.values()} == {(2, 16)}
