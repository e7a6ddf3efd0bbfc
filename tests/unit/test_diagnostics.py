"""R-hat and effective sample size on chains whose truth is known, and what is said about them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import bktf
from bktf.surrogate.diagnostics import (
    OBSERVED,
    OTHER,
    UNSEEN,
    diagnose,
    effective_sample_size,
    rank_normalised_rhat,
)
from seeds import seeded

Floats = NDArray[np.float64]
GRID = [np.linspace(0, 1, 6), np.arange(4.0)]


def whole_number_chains() -> dict[str, Floats]:
    """Four chains of 51 draws each, from integer arithmetic alone."""
    chain, time = np.arange(4)[:, None], np.arange(51)[None, :]
    k = 51 * chain + time
    noise = (k * 7919 + k * k * 104729 % 6007) % 1009
    cases = {
        "alike": noise,
        "apart": noise + 300 * chain,
        "spreads": (noise - 504) * (1 + 2 * chain),
        "drifting": noise + 12 * time,
        "tied": noise % 7,
        "sticky": noise[:, 8 * (time[0] // 8)],
    }
    return {name: values.astype(float)[:, :, None] for name, values in cases.items()}


# ArviZ 0.23.4 on the same draws: rhat(…, method="rank") and ess(…, method="bulk")
ARVIZ = {
    "alike": (1.0109730018132264, 196.42),
    "apart": (1.4574353544064984, 8.96),
    "spreads": (1.313868504046963, 169.25),
    "drifting": (1.094017490763391, 29.79),
    "tied": (1.0076899499565204, 186.50),
    "sticky": (1.171086344478706, 24.94),
}


@pytest.mark.parametrize("name", list(ARVIZ))
def test_the_figures_are_those_of_arviz(name: str) -> None:
    chains = whole_number_chains()[name]
    rhat, ess = ARVIZ[name]
    np.testing.assert_allclose(rank_normalised_rhat(chains), rhat, rtol=1e-10)
    np.testing.assert_allclose(
        effective_sample_size(chains), ess, rtol=0.07
    )  # ArviZ cuts off the sum of lags a little later


def test_all_quantities_together_have_the_figures_of_each_alone() -> None:
    chains = whole_number_chains()
    together = np.concatenate(list(chains.values()), axis=2)
    np.testing.assert_allclose(
        rank_normalised_rhat(together),
        [rank_normalised_rhat(c)[0] for c in chains.values()],
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        effective_sample_size(together),
        [effective_sample_size(c)[0] for c in chains.values()],
        rtol=1e-9,
    )


def test_draws_are_given_chain_after_chain() -> None:
    chains = whole_number_chains()
    found = diagnose({name: values.ravel() for name, values in chains.items()}, 4)
    assert found.names == tuple(chains)
    for i, values in enumerate(chains.values()):
        assert found.rhat[i] == pytest.approx(
            rank_normalised_rhat(values)[0], rel=0.01
        )  # rounding breaks ties
        assert found.ess[i] == pytest.approx(effective_sample_size(values)[0], rel=1e-9)


def test_independent_draws_count_fully() -> None:
    chains = np.random.default_rng(seeded(0)).standard_normal((4, 1000, 20))
    # Largest of 400: 0.0028; and the share of the draws that count is 0.97 ± 0.045.
    assert np.all(np.abs(rank_normalised_rhat(chains) - 1) < 0.01)
    assert np.all(np.abs(effective_sample_size(chains) / 4000 - 1) < 0.3)


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_an_autoregressive_chain_counts_by_its_correlation_time(rho: float) -> None:
    rng = np.random.default_rng(seeded(1))
    chains = np.zeros((4, 20_000, 5))
    for t in range(1, chains.shape[1]):
        chains[:, t] = rho * chains[:, t - 1] + np.sqrt(1 - rho**2) * rng.standard_normal((4, 5))
    expected = 80_000 * (1 - rho) / (1 + rho)
    # The mean of five has a standard deviation of 0.021 for rho = 0.9, 0.008 for 0.5 (four seeds):
    # the limit is 5.7 of them away.
    assert abs(np.mean(effective_sample_size(chains)) / expected - 1) < 0.12


def test_chains_in_different_places_are_noticed() -> None:
    chains = (
        np.random.default_rng(seeded(2)).standard_normal((4, 500, 1))
        + 3.0 * np.arange(4)[:, None, None]
    )
    assert rank_normalised_rhat(chains)[0] > 2
    assert effective_sample_size(chains)[0] < 20


def test_chains_in_different_places_are_noticed_under_heavy_tails() -> None:
    quantiles = stats.cauchy.ppf(
        (np.arange(200) + 0.5) / 200
    )  # without a variance: a few draws would hide the shift
    chains = np.stack(
        [
            np.random.default_rng(seeded(c)).permutation(quantiles) + (10.0 if c == 3 else 0.0)
            for c in range(4)
        ]
    )[:, :, None]
    assert rank_normalised_rhat(chains)[0] > 1.15


def test_chains_of_different_spread_are_noticed() -> None:
    chains = (
        np.random.default_rng(seeded(2)).standard_normal((4, 500, 1))
        * np.array([1.0, 1.0, 1.0, 4.0])[:, None, None]
    )
    assert rank_normalised_rhat(chains)[0] > 1.1


def test_a_trend_within_one_chain_is_noticed() -> None:
    chains = (
        np.random.default_rng(seeded(3)).standard_normal((1, 500, 1))
        + np.linspace(0, 6, 500)[None, :, None]
    )
    assert rank_normalised_rhat(chains)[0] > 1.5


def test_antithetic_draws_count_more_but_not_without_bound() -> None:
    chains = np.tile([1.0, -1.0], 250)[None, :, None] + 0.1 * np.random.default_rng(
        seeded(4)
    ).standard_normal((1, 500, 1))
    assert 500 < effective_sample_size(chains)[0] <= 500 * np.log10(500)


def test_constant_and_very_short_chains_do_not_crash() -> None:
    assert rank_normalised_rhat(np.ones((2, 10, 3))).tolist() == [1.0] * 3
    assert effective_sample_size(np.ones((2, 10, 3))).tolist() == [20.0] * 3
    assert np.isnan(rank_normalised_rhat(np.ones((2, 3, 1)))[0])
    assert np.isnan(effective_sample_size(np.ones((2, 1, 1)))[0])


def test_chains_that_each_stand_still_in_a_place_of_their_own_have_an_infinite_rhat() -> None:
    assert rank_normalised_rhat(np.array([np.zeros(10), np.ones(10)])[:, :, None])[0] == np.inf


def test_draws_near_the_largest_number_do_not_overflow() -> None:
    draws = 1.7e308 * np.random.default_rng(seeded(6)).uniform(-1, 1, 40)
    # A power of two: rounding would break ties between distances from the median in other ways.
    np.testing.assert_allclose(
        diagnose({"f": draws}, 2).rhat, diagnose({"f": draws * 2.0**-1000}, 2).rhat, rtol=1e-12
    )


# --- words
# -------------------------------------------------------------------------------------------------------------


def report_on(
    observed: float, unseen: float, other: float, n_chains: int, n_draws: int = 1600
) -> str:
    """The report on ten quantities of each group.

    The numbers are shifts of the last quarter of the draws, in standard deviations.
    """
    quantiles = stats.norm.ppf((np.arange(n_draws // 8) + 0.5) / (n_draws // 8))
    rng = np.random.default_rng(seeded(7))
    quantities, groups = {}, []
    for group, shift in [(OBSERVED, observed), (UNSEEN, unseen), (OTHER, other)]:
        for i in range(10):
            parts = [
                rng.permutation(quantiles) for _ in range(8)
            ]  # half a chain each has the same location and spread
            quantities[f"{group}[{i}]"] = np.concatenate(parts) + shift * np.repeat(
                [0.0, 1.0], [n_draws * 3 // 4, n_draws // 4]
            )
            groups.append(group)
    return str(diagnose(quantities, n_chains, groups))


def test_the_summary_names_the_worst_quantity() -> None:
    rng = np.random.default_rng(seeded(5))
    report = str(
        diagnose({"good": rng.standard_normal(400), "drifting": np.linspace(0, 1, 400)}, 1)
    )
    assert report.splitlines()[1].startswith("drifting")
    assert "R-hat above 1.1: 1 of 2 other quantities" in report


def test_mixed_chains_are_said_to_be_fine() -> None:
    report = report_on(0, 0, 0, n_chains=4)
    assert "0 of 10 observed points, 0 of 10 unseen points, 0 of 10 other quantities" in report
    assert report.endswith("No sign of poor mixing")


def test_one_chain_is_told_what_it_cannot_show() -> None:
    assert "n_chains=4" in report_on(0, 0, 0, n_chains=1)


def test_few_effective_draws_are_told_to_run_longer() -> None:
    assert "n_sweeps" in report_on(0, 0, 0, n_chains=4, n_draws=80)


def test_parameters_that_have_not_mixed_are_told_to_run_longer() -> None:
    report = report_on(0, 0, 3, n_chains=4)
    assert "0 of 10 observed points, 0 of 10 unseen points, 10 of 10 other quantities" in report
    assert "run longer (n_sweeps)" in report
    assert "disagree" not in report


@pytest.mark.parametrize(
    ("n_chains", "says"),
    [(4, "The chains disagree at unseen points"), (1, "first and second half")],
)
def test_chains_that_differ_at_unseen_points_are_told_that_std_is_a_lower_bound(
    n_chains: int, says: str
) -> None:
    report = report_on(0, 3, 0, n_chains=n_chains)
    assert "0 of 10 observed points, 10 of 10 unseen points, 0 of 10 other quantities" in report
    assert says in report
    assert "std at unseen points as a lower bound" in report


# --- of a posterior
# ----------------------------------------------------------------------------------------------------


def fitted(**changes: object) -> bktf.Posterior:
    """Eight observations on a grid of 6 × 4; the second axis may be made one of levels."""
    rng = np.random.default_rng(seeded(8))
    cells = np.stack([np.tile([0, 2, 3, 5], 2), rng.permutation(np.arange(8) % 4)], axis=1)
    X = np.stack([GRID[0][cells[:, 0]], GRID[1][cells[:, 1]]], axis=1)
    settings: dict[str, object] = {
        "seed": seeded(3),
        "n_sweeps": 60,
        "n_burn_in": 20,
        "n_chains": 2,
    }
    return bktf.fit(GRID, X, np.sin(3 * X[:, 0]) + X[:, 1], **settings | changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"kernel": ["matern32", "categorical"]},
        {"rank": math.inf},
        {"rank": 1, "residual_process": True},
    ],
)
def test_f_is_asked_at_cells_that_were_not_observed(changes: dict[str, object]) -> None:
    posterior = fitted(**changes)
    report = posterior.diagnostics()
    observed, asked = {tuple(x) for x in posterior.X}, {tuple(x) for x in report.unseen}
    assert not observed & asked
    assert asked <= {(a, b) for a in posterior.axes[0] for b in posterior.axes[1]}
    assert (
        len(asked) == len(report.unseen) == 24 - len(observed)
    )  # a small grid is asked as a whole
    assert [n for n, g in zip(report.names, report.groups, strict=True) if g == UNSEEN] == [
        f"f_unseen[{i}]" for i in range(len(asked))
    ]
    assert np.all(np.isfinite(report.rhat))
    np.testing.assert_array_equal(posterior.diagnostics().rhat, report.rhat)


def test_a_large_grid_is_asked_at_sixty_four_cells() -> None:
    X = np.random.default_rng(seeded(9)).uniform(0, 1, (5, 30))
    posterior = bktf.fit(
        [np.linspace(0, 1, 50)] * 30, X, X.sum(axis=1), seed=seeded(0), n_sweeps=10, n_burn_in=2
    )
    assert len(np.unique(posterior.diagnostics().unseen, axis=0)) == 64


def test_a_grid_observed_everywhere_has_no_unseen_points() -> None:
    report = bktf.fit(
        [[0.0, 1.0]], [[0.0], [1.0]], [0.0, 1.0], seed=seeded(0), n_sweeps=60, n_burn_in=20
    ).diagnostics()
    assert report.count_above(UNSEEN) == (0, 0)
    assert "unseen" not in str(report)


def test_chains_that_agree_at_the_data_and_differ_elsewhere_are_noticed() -> None:
    settings = {"seed": seeded(0), "rank": 1, "n_sweeps": 120, "n_burn_in": 20, "n_chains": 2}
    posterior = bktf.fit([np.linspace(0, 1, 5)], [[0.0], [0.5], [1.0]], [0.0, 1.0, 0.0], **settings)  # type: ignore[arg-type]
    rng = np.random.default_rng(seeded(10))
    factor = rng.standard_normal((200, 1, 5))
    factor[100:, :, [1, 3]] += 6.0  # in the second chain, where nothing was observed
    draws = replace(
        posterior.draws.components, weights=np.ones((200, 1)), states=(factor[..., None],)
    )
    made = replace(posterior, draws=draws)
    report = made.diagnostics()
    assert report.count_above(OBSERVED) == (0, 3)
    assert report.count_above(UNSEEN) == (2, 2)
    assert "The chains disagree at unseen points" in str(report)


@pytest.mark.parametrize(("n_chains", "spread", "trusted"), [(32, 1.0, True), (4, 1.0, False)])
def test_many_chains_that_differ_are_trusted_as_so_many_draws(
    n_chains: int, spread: float, trusted: bool
) -> None:
    """Each chain stays near a place of its own; 32 of them are 32 draws, four are four."""
    rng = np.random.default_rng(seeded(5))
    places = spread * np.repeat(rng.standard_normal((n_chains, 1)), 16, axis=1)
    quantities = {
        f"f_unseen[{i}]": (places + 0.05 * rng.standard_normal((n_chains, 16))).ravel()
        for i in range(20)
    }
    found = diagnose(quantities, n_chains, [UNSEEN] * 20)
    assert found.count_above(UNSEEN) == (20, 20)
    assert ("may be trusted" in found.advice) is trusted
    assert ("lower bound" in found.advice) is not trusted
