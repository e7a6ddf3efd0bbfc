"""Everything one can ask of the draws, against the definition."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import bktf
from bktf.surrogate.model_spec import FLAGS
from seeds import seeded

Floats = NDArray[np.float64]
AXES = [np.linspace(0, 2, 9), np.array([-1.0, 0.0, 0.2, 1.0, 3.0])]


@pytest.fixture(scope="module")
def posterior() -> bktf.Posterior:
    return fitted()


def fitted(**settings: object) -> bktf.Posterior:
    rng = np.random.default_rng(seeded(0))
    X = np.stack([axis[rng.integers(0, axis.size, 14)] for axis in AXES], axis=1)
    y = 10 + 5 * np.sin(2 * X[:, 0]) * X[:, 1] + 0.2 * rng.standard_normal(14)
    arguments: dict[str, object] = {
        "seed": seeded(2),
        "rank": 3,
        "n_sweeps": 400,
        "n_burn_in": 100,
        **settings,
    }
    return bktf.fit(AXES, X, y, **arguments)  # type: ignore[arg-type]


def on_grid() -> Floats:
    return np.stack(np.meshgrid(*AXES, indexing="ij"), axis=-1).reshape(-1, 2)


OFF_GRID = np.array([[0.1, 0.1], [0.11, 0.1], [1.93, -0.5], [0.25, 2.0], [1.0, 0.05], [2.0, 2.9]])


def test_draws_on_the_grid_are_the_form_of_factors_and_weights(posterior: bktf.Posterior) -> None:
    form = np.einsum("kr,kri,krj->kij", posterior.weights, *posterior.factors).reshape(
        posterior.n_draws, -1
    )
    expected = posterior.standardisation.mean + posterior.standardisation.scale * form
    np.testing.assert_allclose(posterior.draws_at(on_grid()), expected, rtol=1e-10)
    np.testing.assert_allclose(posterior.mean(on_grid()), expected.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(posterior.std(on_grid()), expected.std(axis=0), rtol=1e-8)
    moments = posterior.grid_moments()
    np.testing.assert_allclose(moments.mean.ravel(), expected.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(moments.std.ravel(), expected.std(axis=0), atol=1e-6)


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52", "squared_exponential"])
def test_moments_off_the_grid_are_those_of_many_draws(kernel: str) -> None:
    """Conditional moments against draws of the same posterior."""
    posterior = fitted(kernel=kernel, n_sweeps=3100, n_burn_in=100)
    mean, variance = posterior.moments_by_draw(OFF_GRID)
    np.testing.assert_allclose(posterior.mean(OFF_GRID), mean.mean(axis=0))
    np.testing.assert_allclose(
        posterior.std(OFF_GRID), np.sqrt(mean.var(axis=0) + variance.mean(axis=0))
    )
    # Given the chain these are independent with mean 0 and variance 1: within 3.0 and 3.0 standard
    # errors in 40 fits, limits at 6 and 8,
    # because products of two normals have longer tails.
    white = (posterior.draws_at(OFF_GRID) - mean) / np.sqrt(variance)
    assert np.all(np.abs(white.mean(axis=0)) < 6 / np.sqrt(len(white)))
    assert np.all(np.abs((white**2).mean(axis=0) - 1) < 8 * np.sqrt(2 / len(white)))


def test_an_off_grid_draw_is_not_the_nearest_cell_and_is_joint_over_points(
    posterior: bktf.Posterior,
) -> None:
    draws = posterior.draws_at(OFF_GRID)
    nearest = posterior.draws_at([[0.0, 0.0], [0.0, 0.0]])
    assert not np.any(draws[:, 0] == nearest[:, 0])
    near_twins = np.corrcoef(draws[:, 0], draws[:, 1])[0, 1]  # 0.01 apart on one axis
    assert near_twins > 0.97  # at least 0.9946 (30 seeds)


def test_the_same_call_gives_the_same_draws(posterior: bktf.Posterior) -> None:
    np.testing.assert_array_equal(posterior.draws_at(OFF_GRID), posterior.draws_at(OFF_GRID))


def test_quantiles_are_those_of_the_draws(posterior: bktf.Posterior) -> None:
    np.testing.assert_array_equal(
        posterior.quantile(OFF_GRID, [0.1, 0.9]),
        np.quantile(posterior.draws_at(OFF_GRID), [0.1, 0.9], axis=0),
    )


def test_the_induced_kernel_is_the_papers(posterior: bktf.Posterior) -> None:
    """k(x, x′) = Σ λ² Π g(x) g(x′), here for two grid points, in squared units of y."""
    g0, g1 = posterior.factors
    x, x2 = (3, 1), (7, 4)
    expected = np.sum(
        posterior.weights**2 * g0[:, :, x[0]] * g1[:, :, x[1]] * g0[:, :, x2[0]] * g1[:, :, x2[1]],
        axis=1,
    )
    scale = posterior.standardisation.scale
    got = posterior.kernel([[AXES[0][3], AXES[1][1]]], [[AXES[0][7], AXES[1][4]]])
    np.testing.assert_allclose(got[:, 0, 0], scale**2 * expected, rtol=1e-10)
    K = posterior.kernel(OFF_GRID)
    np.testing.assert_allclose(K, K.transpose(0, 2, 1), rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-9 * np.abs(K).max()


def test_aligned_factors_give_the_same_function(posterior: bktf.Posterior) -> None:
    aligned, weights = posterior.aligned_factors(), posterior.aligned_weights()
    before = np.einsum("kr,kri,krj->kij", posterior.weights, *posterior.factors)
    np.testing.assert_allclose(np.einsum("kr,kri,krj->kij", weights, *aligned), before, atol=1e-10)
    for factor in aligned:
        np.testing.assert_allclose(np.mean(factor**2, axis=2), 1.0)


def test_alignment_undoes_label_sign_and_scale_changes() -> None:
    from bktf.components.alignment import align

    rng = np.random.default_rng(seeded(3))
    base = [rng.standard_normal((2, 7)), rng.standard_normal((2, 6)), rng.standard_normal((2, 5))]
    K = 50
    order = np.array([rng.permutation(2) for _ in range(K)])
    signs = rng.choice([-1.0, 1.0], (3, K, 2))
    sizes = rng.uniform(0.2, 5.0, (3, K, 2))
    factors = [signs[d, :, :, None] * sizes[d, :, :, None] * base[d][order] for d in range(3)]
    weights = np.array([2.0, 3.0])[order]
    aligned = align(factors, weights, np.ones((2, 3), dtype=bool))
    for factor in aligned.factors:
        np.testing.assert_allclose(factor, np.broadcast_to(factor[:1], factor.shape), atol=1e-12)


def test_alignment_never_mixes_components_with_different_active_sets() -> None:
    posterior = fitted(active=[(0,), (1,), (0, 1)], rank=3)
    aligned = posterior.aligned_factors()
    assert np.all(aligned[1][:, 0] == 1.0)
    assert np.all(aligned[0][:, 1] == 1.0)


def test_diagnostics_cover_f_noise_and_sorted_summaries(posterior: bktf.Posterior) -> None:
    report = posterior.diagnostics()
    assert {"f[0]", "f[13]", "noise_std", "component_size[2]", "lengthscale[1, 2]"} <= set(
        report.names
    )
    assert len(report.names) == len(report.rhat) == len(report.ess)
    assert "R-hat" in str(report)


def test_label_free_quantities_do_not_change_when_components_trade_places(
    posterior: bktf.Posterior,
) -> None:
    from dataclasses import replace

    order, draws = [2, 0, 1], posterior.draws.components
    swapped = replace(
        posterior,
        draws=replace(
            draws,
            weights=draws.weights[:, order],
            lengthscales=draws.lengthscales[:, order],
            states=tuple(s[:, order] for s in draws.states),
        ),
    )
    for name, values in posterior.label_free().items():
        np.testing.assert_allclose(swapped.label_free()[name], values, rtol=1e-10, err_msg=name)


def test_leave_one_out_predicts_each_point_from_the_others() -> None:
    posterior = fitted()
    result = bktf.leave_one_out(posterior)
    assert (
        result.mean.shape
        == result.std.shape
        == result.log_density.shape
        == result.pit.shape
        == (14,)
    )
    assert np.all((result.pit >= 0) & (result.pit <= 1))
    in_sample = np.abs(posterior.mean(posterior.X) - posterior.y)
    assert np.mean(np.abs(result.mean - result.y)) > np.mean(
        in_sample
    )  # at least six times as large (30 seeds)
    assert "coverage" in str(result)
    some = bktf.leave_one_out(posterior, index=[3, 5])
    np.testing.assert_array_equal(some.mean, result.mean[[3, 5]])


def test_leave_one_out_is_a_refit_without_the_point() -> None:
    posterior = fitted(noise_std=0.3)
    refit = bktf.fit(
        posterior.axes, posterior.X[1:], posterior.y[1:], seed=seeded(2), rank=3, n_sweeps=400, n_burn_in=100, noise_std=0.3
    )  # fmt: skip
    result = bktf.leave_one_out(posterior, index=[0])
    assert result.mean[0] == pytest.approx(refit.mean(posterior.X[:1])[0])
    assert result.std[0] == pytest.approx(np.hypot(refit.std(posterior.X[:1])[0], 0.3))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": [np.eye(9) * 0.5 + 0.5, bktf.Periodic(2.0)]},
        {"active": [(0,), (0, 1)], "noise_std": 0.1, "n_chains": 2, "shared_lengthscales": True},
    ],
)
def test_a_saved_posterior_comes_back_the_same(settings: dict[str, object], tmp_path: Path) -> None:
    posterior = fitted(n_sweeps=20, n_burn_in=10, **settings)
    path = tmp_path / "posterior.npz"
    posterior.save(path)
    back = bktf.load(path)
    np.testing.assert_array_equal(back.draws_at(posterior.X), posterior.draws_at(posterior.X))
    assert (back.seed, back.priors, back.spec.lengths, back.spec.noise_std, back.rank) == (
        posterior.seed, posterior.priors, posterior.spec.lengths, posterior.spec.noise_std, posterior.rank
    )  # fmt: skip
    assert [getattr(back.spec, name) for name in FLAGS] == [
        getattr(posterior.spec, name) for name in FLAGS
    ]
    again = {"warm_start": back, "n_sweeps": 5, "n_burn_in": 2}
    np.testing.assert_array_equal(
        fitted(**settings, **again).weights,
        fitted(**settings, **{**again, "warm_start": posterior}).weights,
    )
    assert [p.name for p in tmp_path.iterdir()] == ["posterior.npz"]


def test_a_file_that_is_no_posterior_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.savez(tmp_path / "pickled.npz", settings=np.array([object()], dtype=object))
    for name in ("text.npz", "other.npz", "pickled.npz"):
        with pytest.raises(ValueError, match="is not a posterior that bktf saved"):
            bktf.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        bktf.load(tmp_path / "missing.npz")


def test_a_failed_save_leaves_the_old_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    posterior = fitted(n_sweeps=6, n_burn_in=3)
    path = tmp_path / "posterior.npz"
    posterior.save(path)
    before = path.read_bytes()

    def broken(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", broken)
    with pytest.raises(OSError, match="disk full"):
        posterior.save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_the_text_form_says_what_it_is(posterior: bktf.Posterior) -> None:
    assert "300 draws, rank 3, 14 observations on a grid of 9 × 5" in repr(posterior)
