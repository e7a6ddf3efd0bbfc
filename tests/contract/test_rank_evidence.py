"""`fit(rank="auto")`: ranks by their evidence, and a posterior of all of them."""

import itertools
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import bktf
from bktf.gaussian_process import process_evidence
from bktf.surrogate import fit_ranks
from bktf.surrogate.fit_components import make_component_problem
from bktf.surrogate.fit_process import _density, _modes, make_process_problem
from bktf.surrogate.model_spec import ModelSpec, make_axes
from bktf.surrogate.observed_values import Data
from bktf.surrogate.priors import Priors
from bktf.surrogate.rank_draws import log_mean_evidence
from bktf.surrogate.run_chains import _chain_call
from seeds import seeded

AXES = [np.linspace(0, 1, 6), np.linspace(0, 2, 5)]
RNG = np.random.default_rng(0)
X = np.stack([RNG.choice(axis, 24) for axis in AXES], axis=1)
Y = 10.0 + np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + 0.05 * RNG.standard_normal(24)


@pytest.fixture(scope="module", autouse=True)
def few_particles() -> Iterator[None]:
    """A quarter of the particles: these tests are not about precision."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_ranks, "N_PARTICLES", 16)
        yield


@pytest.fixture(scope="module")
def posterior() -> Any:
    return bktf.fit(AXES, X, Y, rank="auto", seed=seeded(0))


# --- the evidence against quadrature -------------------------------------------------------------


def small_data(spec: ModelSpec) -> Data:
    """Three observations at two points of one axis."""
    grid = make_axes(spec, [[0.0, 1.0]])
    return Data(grid, np.array([[0.0], [1.0], [1.0]]), np.array([0.9, -0.4, -0.7]), None)


def correlation(log_lengthscale: Any, nu: int) -> Any:
    """Matérn 3/2 or 5/2 at distance 1."""
    r = math.sqrt(nu) * np.exp(-log_lengthscale)
    return (1 + r + (r * r / 3 if nu == 5 else 0.0)) * np.exp(-r)


def log_mean_density(grids: list[tuple[Any, Any]], scales: Any, values: Any) -> float:
    """The log density of three values averaged over parameters on grids with weights.

    `scales` gives, from the parameters, the variance of f, its correlation between the two points,
    and a variance that all values share; the last parameter is the precision of the noise.
    """
    mesh = np.meshgrid(*(points for points, _ in grids), indexing="ij")
    weights = np.prod(np.meshgrid(*(w for _, w in grids), indexing="ij"), axis=0)
    size, rho, constant = scales(*mesh[:-1])
    apart = np.stack([np.ones_like(mesh[0]), rho + 0 * mesh[0]])[[0, 1, 1, 1, 0, 0, 1, 0, 0]]
    covariance = (size * apart + constant).reshape(3, 3, -1).transpose(2, 0, 1)
    covariance = covariance + np.eye(3) / mesh[-1].reshape(-1, 1, 1)
    solved = np.linalg.solve(covariance, np.broadcast_to(values, (len(covariance), 3))[..., None])
    squares = np.einsum("i,nij->n", values, solved)
    log_det = np.linalg.slogdet(2 * math.pi * covariance)[1]
    return math.log(float(weights.ravel() @ np.exp(-0.5 * (log_det + squares))))


def normal_grid(mean: float, variance: float, n: int) -> tuple[Any, Any]:
    """Points and weights of Gauss–Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return mean + math.sqrt(variance) * nodes, weights / weights.sum()


def noise_grid(n: int) -> tuple[Any, Any]:
    """Precisions of the noise and their weights under Gamma(3, 1), by Gauss–Laguerre."""
    nodes, weights = np.polynomial.laguerre.laggauss(n)
    weights = weights * nodes**2
    return nodes, weights / weights.sum()


PRIORS = Priors(noise_shape=3.0, noise_rate=1.0, process_noise_rate=1.0)


def test_the_evidence_of_one_component_agrees_with_quadrature() -> None:
    """Here f = λ·g + c with g ~ N(0, [[1, ρ], [ρ, 1]]): y is normal given λ, ρ, σ and the noise."""
    spec = ModelSpec(rank=1, comparable=True, priors=PRIORS)
    data = small_data(spec)
    made = make_component_problem(spec, data)
    groups = [
        fit_ranks._temper_group(made, data, _chain_call(i, seeded(3), *stop_and_report()))
        for i in range(40)
    ]
    found = log_mean_evidence(np.array([group.log_evidence for group in groups]))

    def scales(weight: Any, log_size: Any, log_lengthscale: Any) -> Any:
        return weight**2 * np.exp(log_size), correlation(log_lengthscale, 3), PRIORS.weight_var

    grids = [
        normal_grid(0.0, 1.0, 41),
        normal_grid(PRIORS.process_size_log_mean, PRIORS.process_size_log_var, 11),
        normal_grid(PRIORS.lengthscale_log_mean, PRIORS.lengthscale_log_var, 11),
        noise_grid(16),
    ]
    exact = log_mean_density(grids, scales, data.values)
    assert found.error < 0.05
    assert abs(found.log - exact) < 5 * found.error + 0.01


def stop_and_report() -> Any:
    return threading.Event(), lambda _: None


def test_the_evidence_of_a_process_agrees_with_quadrature() -> None:
    spec = ModelSpec(rank=math.inf, priors=PRIORS)
    data = small_data(spec)
    problem = make_process_problem(spec, data)
    density = _density(problem, data)
    modes = _modes(density, data, None)
    found = process_evidence(density, modes, np.random.default_rng(seeded(1)))
    model = problem.model

    def scales(log_lengthscale: Any, log_size: Any, log_odds: Any) -> Any:
        share = 1 / (1 + np.exp(-log_odds))
        return np.exp(log_size), share + (1 - share) * correlation(log_lengthscale, 5), 0.0

    grids = [normal_grid(m, v, 15) for m, v in zip(model.log_means, model.log_vars, strict=True)]
    exact = log_mean_density([*grids, noise_grid(16)], scales, data.values)
    assert found.error < 0.1
    assert abs(found.log - exact) < 5 * found.error + 0.01


def test_the_noise_grid_integrates_its_density() -> None:
    nodes, weights = noise_grid(10)
    assert weights @ nodes == pytest.approx(3.0)
    assert weights @ np.log1p(nodes) == pytest.approx(
        integrate.quad(lambda t: math.log1p(t) * stats.gamma(3).pdf(t), 0, 50)[0], rel=1e-3
    )


# --- the posterior of all ranks ------------------------------------------------------------------


def test_probabilities_are_of_all_ranks_and_follow_the_evidence(posterior: Any) -> None:
    shares, logs = posterior.rank_probabilities, posterior.log_evidences
    assert list(shares) == [1, 2, 3, 4, math.inf]
    assert sum(shares.values()) == pytest.approx(1.0)
    for rank in (2, 3, 4, math.inf):
        assert math.log(shares[rank] / shares[1]) == pytest.approx(logs[rank] - logs[1])
    expected = np.logaddexp.reduce([log - math.log(5) for log in logs.values()])
    assert posterior.log_evidence == pytest.approx(expected)
    assert isinstance(posterior.log_evidence_se, float)
    assert 0 < posterior.log_evidence_se < 3


def test_draws_are_in_proportion_to_the_probabilities(posterior: Any) -> None:
    counts = [part.chosen.size for part in posterior.draws.parts]
    shares = np.array(list(posterior.rank_probabilities.values()))
    assert sum(counts) == posterior.n_draws == len(posterior.draws_at(X))
    assert np.abs(np.array(counts) - shares * posterior.n_draws).max() <= 1.0


def test_moments_are_those_of_the_draws_of_all_ranks(posterior: Any) -> None:
    points = np.array([[0.2, 0.5], [0.8, 1.5]])
    wanted = sum(
        posterior.rank_probabilities[rank] * one.mean(points)
        for rank, one in posterior.by_rank.items()
    )
    assert posterior.mean(points) == pytest.approx(wanted, abs=0.1)
    draws = posterior.draws_at(points)
    assert posterior.std(points) == pytest.approx(draws.std(axis=0), rel=0.3)
    assert np.all(posterior.quantile(points, 0.9) > posterior.mean(points))
    assert posterior.negated().mean(points) == pytest.approx(-posterior.mean(points))


def test_argmax_compares_all_cells_and_leaves_out_what_is_excluded(posterior: Any) -> None:
    cells = np.array(list(itertools.product(*AXES)))
    improvement = posterior.expected_improvement(cells)
    assert posterior.argmax("ei") == pytest.approx(cells[np.argmax(improvement)])
    bound = posterior.mean(cells) + 2.0 * posterior.std(cells)
    best = cells[np.argmax(bound)]
    assert posterior.argmax("ucb") == pytest.approx(best)
    assert not np.allclose(posterior.argmax("ucb", exclude=best[None]), best)
    with pytest.raises(ValueError, match="nothing left"):
        posterior.argmax(exclude=cells)


def test_argmax_on_a_large_grid_is_at_least_as_good_as_each_rank(
    posterior: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bktf.surrogate.rank_posterior.MAX_COMPARED", 0)
    point = posterior.argmax("ei", exclude=X)
    likely = [r for r, p in posterior.rank_probabilities.items() if p > 0.01]
    others = np.array([posterior.by_rank[rank].argmax("ei", exclude=X) for rank in likely])
    scores = posterior.expected_improvement(np.vstack((point, others)))
    assert scores[0] == scores.max()
    assert not np.any(np.all(np.isclose(X, point), axis=1))


def test_what_is_of_one_rank_points_to_by_rank(posterior: Any) -> None:
    for name in ("factors", "weights", "lengthscales", "correlations", "active"):
        with pytest.raises(ValueError, match=r"posterior\.by_rank\[2\]"):
            getattr(posterior, name)
    assert posterior.by_rank[2].factors[0].shape[0] == posterior.by_rank[2].n_draws
    assert posterior.by_rank[2].rank == 2
    with pytest.raises(ValueError, match="log_evidence_errors"):
        posterior.diagnostics()
    with pytest.raises(ValueError, match="leave_one_out refits one rank"):
        bktf.leave_one_out(posterior)
    with pytest.raises(ValueError, match="no weights to integrate out"):
        posterior.argmax("ei", integrate_weights=True)


@pytest.mark.parametrize("acquisition", ["max", "thompson"])
def test_whole_functions_of_all_ranks_choose_a_cell_that_is_not_excluded(
    posterior: Any, acquisition: str
) -> None:
    chosen = [posterior.argmax(acquisition, exclude=posterior.X, seed=s) for s in range(3)]
    cells = [axis.locate(np.array([c[d] for c in chosen])) for d, axis in enumerate(posterior.grid)]
    assert np.min(cells) >= 0
    for point in chosen:
        assert not np.any(np.all(np.isclose(posterior.X, point), axis=1))


def test_a_saved_posterior_of_all_ranks_is_the_same(posterior: Any, tmp_path: Path) -> None:
    posterior.save(tmp_path / "fit.npz")
    loaded = bktf.load(tmp_path / "fit.npz")
    assert isinstance(loaded, type(posterior))
    np.testing.assert_array_equal(loaded.draws_at(X), posterior.draws_at(X))
    assert loaded.rank_probabilities == posterior.rank_probabilities
    assert loaded.log_evidence == posterior.log_evidence
    assert loaded.by_rank[math.inf].rank == math.inf


def test_the_prior_of_the_ranks_counts() -> None:
    few: Any = bktf.fit(AXES, X, Y, rank="auto", rank_prior={2: 3, 3: 1}, seed=seeded(0))
    assert list(few.rank_probabilities) == [2, 3]
    logs = few.log_evidences
    odds = few.rank_probabilities[2] / few.rank_probabilities[3]
    assert math.log(odds) == pytest.approx(math.log(3) + logs[2] - logs[3])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank_prior": {5: 1.0}}, "1, 2, 3, 4 and math.inf"),
        ({"rank_prior": {2: -1.0}}, "at least 0"),
        ({"rank_prior": {2: 0.0}}, "one of them positive"),
        ({"n_chains": 2}, "without n_chains"),
        ({"offsets": True}, "without offsets"),
        ({"active": [(0, 1)]}, "without active"),
    ],
)
def test_options_of_one_rank_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bktf.fit(AXES, X, Y, rank="auto", **settings)


def test_a_rank_prior_needs_rank_auto() -> None:
    with pytest.raises(ValueError, match='rank_prior is for rank="auto"'):
        bktf.fit(AXES, X, Y, rank=2, rank_prior={2: 1.0})
