"""R-hat and effective sample size on chains whose truth is known."""

import numpy as np
import pytest

from bktf.diagnostics import diagnose, effective_sample_size, split_rhat
from seeds import seeded


def test_independent_draws_count_fully() -> None:
    chains = np.random.default_rng(seeded(0)).standard_normal((4, 1000, 20))
    assert np.all(np.abs(split_rhat(chains) - 1) < 0.01)
    assert np.all(np.abs(effective_sample_size(chains) / 4000 - 1) < 0.25)


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_an_autoregressive_chain_counts_by_its_correlation_time(rho: float) -> None:
    rng = np.random.default_rng(seeded(1))
    chains = np.zeros((4, 20_000, 5))
    for t in range(1, chains.shape[1]):
        chains[:, t] = rho * chains[:, t - 1] + np.sqrt(1 - rho**2) * rng.standard_normal((4, 5))
    expected = 80_000 * (1 - rho) / (1 + rho)
    assert np.all(np.abs(effective_sample_size(chains) / expected - 1) < 0.15)


def test_chains_in_different_places_are_noticed() -> None:
    chains = np.random.default_rng(seeded(2)).standard_normal((4, 500, 1)) + 3.0 * np.arange(4)[:, None, None]
    assert split_rhat(chains)[0] > 2
    assert effective_sample_size(chains)[0] < 20


def test_a_trend_within_one_chain_is_noticed() -> None:
    chains = np.random.default_rng(seeded(3)).standard_normal((1, 500, 1)) + np.linspace(0, 6, 500)[None, :, None]
    assert split_rhat(chains)[0] > 1.5


def test_antithetic_draws_count_more_but_not_without_bound() -> None:
    chains = np.tile([1.0, -1.0], 250)[None, :, None] + 0.1 * np.random.default_rng(seeded(4)).standard_normal((1, 500, 1))
    assert 500 < effective_sample_size(chains)[0] <= 500 * np.log10(500)


def test_constant_and_very_short_chains_do_not_crash() -> None:
    assert split_rhat(np.ones((2, 10, 3))).tolist() == [1.0] * 3
    assert effective_sample_size(np.ones((2, 10, 3))).tolist() == [20.0] * 3
    assert np.isnan(split_rhat(np.ones((2, 3, 1)))[0])


def test_the_summary_names_the_worst_quantity() -> None:
    rng = np.random.default_rng(seeded(5))
    report = str(diagnose({"good": rng.standard_normal(400), "drifting": np.linspace(0, 1, 400)}, 1))
    assert report.splitlines()[1].startswith("drifting")
    assert "1 of 2 quantities have R-hat above 1.1" in report
