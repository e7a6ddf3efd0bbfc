"""Standings from lines, against numbers worked out by hand."""

import math
from typing import Any

import numpy as np
import pytest

from bktf.experiments.arena import CONTESTS
from bktf.experiments.calibration import crps_of_draws, crps_of_normal
from bktf.experiments.contests import contest_jobs, settings_of
from bktf.experiments.standings import _ranks, duel, evaluations_to_close, incumbents, normalised, regrets, standings
from seeds import seeded

LEVY, ALPINE = CONTESTS["levy4r"], CONTESTS["alpine5r"]  # their minimum is 0


def line(method: str, seed: int, values: list[float], problem: str = "levy4r", **more: Any) -> dict[str, Any]:
    own = {
        "problem": problem,
        "method": method,
        "seed": seed,
        "n_start": 2,
        "values": values,
        "n_repeats": 1,
        "cpu_seconds": {"total": 2.0},
    }
    return own | more


def test_the_incumbent_is_what_looked_best_and_is_judged_without_noise() -> None:
    noisy = line("bktf", 0, [5.0, 4.0, 9.0, 1.0, 2.0], observed=[5.0, 6.0, 3.0, 3.5, 2.5])
    np.testing.assert_array_equal(incumbents(noisy), [5, 5, 9, 9, 2])
    np.testing.assert_array_equal(incumbents(line("bktf", 0, [5.0, 4.0, 9.0, 1.0])), [5, 4, 4, 1])


def test_regrets_are_taken_at_a_quarter_half_and_all_of_the_budget() -> None:
    np.testing.assert_array_equal(regrets(line("bktf", 0, [9.0, 8.0, 7.0, 6.0, 5.0, 4.0]), LEVY), [7, 6, 4])


def test_regrets_are_normalised_by_random_searchs_median_end() -> None:
    lines = [line("random", s, [9.0, 8.0, v]) for s, v in enumerate((2.0, 4.0, 6.0))] + [line("bktf", 0, [9.0, 8.0, 1.0])]
    assert normalised(lines, LEVY, "bktf")[0][-1] == 0.25


def test_ranks_share_ties() -> None:
    np.testing.assert_array_equal(_ranks(np.array([0.3, 0.1, 0.3, 0.9])), [2.5, 1, 2.5, 4])


def test_standings_average_over_the_contests_all_methods_have() -> None:
    lines = [line(m, s, [9.0, 8.0, v]) for m, v in (("random", 4.0), ("bktf", 1.0), ("tpe", 2.0)) for s in range(2)]
    lines += [line(m, 0, [9.0, 8.0, v], "alpine5r") for m, v in (("random", 4.0), ("bktf", 3.0), ("tpe", 1.0))]
    lines += [line("bktf", 0, [9.0, 8.0, 1.0], "borehole")]
    found = standings(lines, [LEVY, ALPINE, CONTESTS["borehole"]], ["bktf", "random", "tpe"])
    assert found["bktf"].regret[-1] == pytest.approx((0.25 + 0.75) / 2)
    assert (found["bktf"].rank, found["tpe"].rank, found["random"].rank) == (1.5, 1.5, 3)
    assert found["bktf"].repeats == 1.0
    assert found["bktf"].cpu_seconds == 2.0
    assert found["bktf"].n_seeds == 1
    assert found["bktf"].n_contests == 2
    assert found["bktf"].close == 0.0
    assert math.isnan(found["bktf"].evaluations)
    assert standings(lines, [LEVY], ["bktf", "smac"]) == {}


def test_a_duel_counts_what_the_interval_says() -> None:
    rng = np.random.default_rng(seeded(0))
    lines = [line("random", s, [9.0, 8.0, 4.0], p) for s in range(8) for p in ("levy4r", "alpine5r")]
    for s in range(8):
        lines += [line("bktf", s, [9.0, 8.0, 1.0 + 0.1 * rng.random()]), line("tpe", s, [9.0, 8.0, 2.0 + 0.1 * rng.random()])]
        lines += [line(m, s, [9.0, 8.0, 2.0 + rng.standard_normal() * 0.1], "alpine5r") for m in ("bktf", "tpe")]
    result = duel(lines, [LEVY, ALPINE], "bktf", "tpe")
    assert result is not None
    assert (result.wins, result.ties, result.losses) == (1, 1, 0)
    back = duel(lines, [LEVY, ALPINE], "tpe", "bktf")
    assert back is not None
    assert (back.wins, back.losses) == (0, 1)
    assert back.difference == pytest.approx(-result.difference)
    assert result.low <= result.difference <= result.high
    assert duel(lines, [CONTESTS["borehole"]], "bktf", "tpe") is None
    few = duel([x for x in lines if x["seed"] < 2], [LEVY, ALPINE], "bktf", "tpe")
    assert few is not None
    assert (few.wins, few.ties, few.losses) == (0, 0, 0)  # two seeds prove nothing
    assert few.difference < 0


def test_evaluations_to_close_count_from_the_first_query() -> None:
    close = 0.005 * LEVY.value_range
    assert evaluations_to_close(line("bktf", 0, [9e9, 8e9, 7e9, close]), LEVY) == 2
    assert evaluations_to_close(line("bktf", 0, [9e9, 8e9, 7e9, 6e9]), LEVY) == np.inf
    lines = [line(m, 0, [9e9, 8e9, 7e9, close]) for m in ("bktf", "random")] + [line("bktf", 0, [9.0, 8.0, 7.0], "alpine5r")]
    lines.append(line("random", 0, [9.0, 8.0, 7.0], "alpine5r"))
    found = standings(lines, [LEVY, ALPINE], ["bktf"])["bktf"]
    assert (found.close, found.evaluations) == (0.5, 2.0)


def test_a_problem_that_random_search_solves_does_not_outweigh_the_others() -> None:
    lines = [line("random", 0, [9.0, 8.0, 0.0]), line("bktf", 0, [9.0, 8.0, 0.01 * LEVY.value_range])]
    assert normalised(lines, LEVY, "bktf")[0][-1] == pytest.approx(1.0)


def test_crps_of_draws_and_of_normals_agree_and_are_the_integral() -> None:
    rng = np.random.default_rng(seeded(1))
    mean, std, truth = np.array([0.3, -1.0]), np.array([0.7, 2.0]), np.array([0.9, -1.2])
    draws = mean + std * rng.standard_normal((200_000, 2))
    # The relative error has a standard deviation of 0.0029 (0.0091 with 20,000 draws, 60 seeds): the limit is 7 of them away.
    np.testing.assert_allclose(crps_of_draws(draws, truth), crps_of_normal(mean, std, truth), rtol=0.02)
    few = rng.standard_normal((7, 1))
    grid = np.linspace(-9, 9, 200_001)
    steps = (few[:, :1] <= grid).mean(axis=0) - (grid >= 0.4)
    assert crps_of_draws(few, np.array([0.4]))[0] == pytest.approx(np.sum(steps**2) * (grid[1] - grid[0]), rel=1e-3)


def test_jobs_give_dear_peers_fewer_seeds_and_bktf_its_settings() -> None:
    jobs = contest_jobs(["bktf", "smac"], ["levy4r"], None, False)
    assert sum(j["method"] == "bktf" for j in jobs) == 10
    assert sum(j["method"] == "smac" for j in jobs) == 2
    assert sum(j["method"] == "smac" for j in contest_jobs(["smac"], ["levy4r"], 5, False)) == 5
    assert settings_of("bktf", "levy4r", False)["strategy"]["rank"] >= 1
    assert "strategy" not in settings_of("tpe", "levy4r", False)
