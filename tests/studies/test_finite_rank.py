"""The study of inference at finite rank: what it measures, and its tables."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import bktf
from bktf.surrogate import Warp
from seeds import seeded
from studies.finite_rank import mixing, ranks, rules, screen
from studies.lines import Line, key_of
from studies.methods.two_ranks import MIN_SHARE, Forecast, finite_share, two_ranks
from studies.problems import COMPARISON_PROBLEMS, DEVELOPMENT


def test_every_run_of_the_mixing_study_is_named_once() -> None:
    runs = mixing.mixing_runs(list(mixing.METHODS), mixing.N_SETS)
    names = [(r["problem"], r["method"], r["seed"], r["settings"]["noise_rate"]) for r in runs]
    assert len(set(names)) == len(names)
    counts = {name: sum(r["method"] == name for r in runs) for name in mixing.METHODS}
    assert counts["gibbs"] == counts["annealed"] == mixing.N_SETS * len(mixing.SIZES) * 2
    assert counts["annealed, ten times"] == len(mixing.SIZES) * 2


def test_a_line_says_how_well_fits_agree_and_predict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixing, "MANY_FITS", 3)
    run = mixing.mixing_runs(["gibbs"], 1)[0]
    short = {"n_sweeps": 6, "n_burn_in": 3, "n_chains": 2, "n_fits": 3, "n": 12}
    line = mixing.run_mixing({**run, "settings": run["settings"] | short})
    assert len(line["log_density"]) == len(line["log_density_normal"]) == 3
    assert line["effective_draws"] > 0
    assert 0 <= line["covered"] <= line["covered_with_noise"] <= 1
    assert line["commit"] is None or isinstance(line["commit"], str)


def mixing_line(problem: str, method: str, seed: int, rate: float, density: float) -> Line:
    return {
        "problem": problem,
        "method": method,
        "seed": seed,
        "settings": {"noise_rate": rate},
        "log_density": [density, density],
        "log_density_normal": [density + 1, density + 1],
        "effective_draws": 10.0 * (seed + 1),
        "covered": 0.8 + 0.1 * seed,
        "covered_with_noise": 0.9,
        "seconds": 0.1,
    }


def test_the_tables_of_mixing_are_means_over_data_sets() -> None:
    lines = [
        mixing_line(problem, "gibbs", seed, 0.01, -1.0 - seed)
        for problem in mixing.SIZES
        for seed in range(2)
    ]
    row = mixing.mixing_table(lines).splitlines()[2]
    assert row.startswith("| 0.01 | gibbs | 15 (10 to 20) |")
    assert "| -1.50 / -0.50 | -2.00 / -1.00 |" in row
    assert "85 ± 5 / 90 ± 0, 2" in mixing.coverage_table(lines)


def test_data_meet_the_condition() -> None:
    rng = np.random.default_rng(seeded(0))
    axes = [np.linspace(0, 1, 12)] * 3
    X, y = ranks._draw_data(axes, 3, rng, is_prior=False)
    assert X.shape == (ranks.N_POINTS, 3)
    assert len(np.unique(X, axis=0)) == ranks.N_POINTS
    assert np.isfinite(y).all()


def test_products_have_the_size_and_correlation_of_the_prior() -> None:
    """The product of factors at two neighbours correlates by Matérn 3/2 at the prior's lengths."""
    rng, axes = np.random.default_rng(seeded(1)), [np.linspace(0, 1, 3)]
    priors = bktf.Priors(lengthscale_log_var=1e-12, process_size_log_var=1e-12)
    drawn = np.array([ranks._components(axes, 2, rng, priors)[0] for _ in range(20_000)])
    r = math.sqrt(3) * 0.5 / 0.5
    wanted = (1 + r) * math.exp(-r)
    # Products of two normals have heavy tails; five standard errors of each estimate
    squares, cross = drawn[:, 0] ** 2, drawn[:, 0] * drawn[:, 1]
    assert abs(squares.mean() - 0.5) < 5 * squares.std() / math.sqrt(len(drawn))
    assert abs(cross.mean() - 0.5 * wanted) < 5 * cross.std() / math.sqrt(len(drawn))


def test_a_run_of_the_gamma_process_counts_components() -> None:
    key = next(key for key in ranks.rank_runs() if key["method"] == "gamma process")
    short = {"rank": 3, "n_sweeps": 6, "n_burn_in": 3, "n_chains": 2}
    line = ranks.run_rank({**key, "settings": key["settings"] | short})
    assert line["true_rank"] == 1
    assert sum(line["probabilities"]) == pytest.approx(1)
    assert len(line["probabilities"]) == 3


def rank_line(method: str, truth: int, seed: int, probabilities: list[float]) -> Line:
    return dict(ranks._key(method, truth if method == "condition" else None, seed)) | {
        "true_rank": truth,
        "probabilities": probabilities,
        "errors": [0.5] * len(probabilities),
        "seconds": 4.0,
    }


def test_the_tables_of_ranks_count_hits() -> None:
    lines = [
        rank_line("condition", 1, 0, [0.9, 0.1, 0.0, 0.0, 0.0]),
        rank_line("condition", 1, 1, [0.1, 0.8, 0.1, 0.0, 0.0]),
        rank_line("condition", 3, 0, [0.0, 0.0, 0.0, 0.0, 1.0]),
        rank_line("prior", 1, 0, [0.6, 0.4, 0.0, 0.0]),
        rank_line("prior", 2, 1, [0.6, 0.4, 0.0, 0.0]),
    ]
    lines.append(lines[0] | {"settings": {"particles": [4, 128]}})  # of another time
    table = ranks.recovery_table(lines)
    assert "| evidence | rank 1 | 2 | 50 % | 100 % |" in table
    assert "| evidence | all | 3 | 33 % | 67 % |" in table
    shrunk = next(key for key in ranks.rank_runs() if key["method"] == "gamma process")
    lines.append(dict(shrunk) | {"true_rank": 1, "probabilities": [0, 0.2, 0.8], "seconds": 1.0})
    assert "| gamma process | all | 1 | 0 % | 0 % |" in ranks.recovery_table(lines)
    calibration = ranks.calibration_table(lines)
    assert "| 50 to 80 % | 2 | 60.0 % | 50.0 % |" in calibration
    assert "| 0 to 5 % | 4 | 0.0 % | 0.0 % |" in calibration


def test_the_problems_of_the_rules_are_of_the_development_half() -> None:
    runs = rules.rule_runs()
    assert len({key_of(run) for run in runs}) == len(runs)
    for names, is_finite in ((rules.FINITE_PROBLEMS, True), (rules.CONTINUOUS_PROBLEMS, False)):
        assert len(set(names)) == 6
        for name in names:
            problem = COMPARISON_PROBLEMS[name]
            assert problem.half == DEVELOPMENT
            assert (problem.kind != "continuous") == is_finite


def test_a_forecast_of_warped_values_is_a_density_of_plain_ones() -> None:
    """Its integral over plain values is 1."""
    warp = Warp(best=1.0, scale=0.3)
    forecast = Forecast(0.2, 0.16, warp)
    y = np.concatenate((warp.inverse(np.linspace(-3.0, 1.0, 4001)), np.linspace(1.0, 4.0, 3001)))
    density = np.exp([forecast.log_density(value) for value in y])
    assert float(np.trapezoid(density, y)) == pytest.approx(1.0, abs=1e-3)


def test_every_rank_has_a_share_of_the_suggestions() -> None:
    shares = [finite_share(x) for x in (-math.inf, -1e6, -1.0, 0.0, 1.0, 1e6)]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(MIN_SHARE)
    assert shares[3] == 0.5
    assert shares[-1] == pytest.approx(1 - MIN_SHARE)


@pytest.mark.parametrize("rule", rules.RULES)
def test_a_rule_suggests_points_of_the_space_and_keeps_a_record(rule: str) -> None:
    problem = COMPARISON_PROBLEMS["grid-branin"]
    short = {"inference": "annealed", "n_sweeps": 8, "n_burn_in": 4, "n_chains": 2}
    method = two_ranks(problem, seeded(0), rule, short)
    for params in problem.start_points(0):
        method.tell(params, problem.values([params])[0])
    tried = []
    for _ in range(2):
        params = method.ask()
        tried.append(params)
        method.tell(params, problem.values([params])[0])
    for params in tried:
        assert all(d._contains(d.to_internal_repr(params[k])) for k, d in problem.space.items())
    assert tried[0] != tried[1]
    assert len(method.leads) == (2 if rule == "scores" else 0)  # type: ignore[attr-defined]


def test_the_table_of_rules_is_paired_with_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "KINDS", {"finite": ("grid-branin",)})

    def line(method: str, seed: int, values: list[float]) -> Line:
        return {
            "problem": "grid-branin",
            "method": method,
            "seed": seed,
            "settings": {"budget": 4},
            "n_start": 1,
            "values": values,
            "cpu_seconds": {"total": 2.0},
        }

    lines = [line(rules.REFERENCE, s, [90.0, 80, 70, 60, 50]) for s in range(2)]
    lines += [line("scores", s, [90.0, 20, 20, 20, 10]) for s in range(2)]
    table = rules.rules_table(lines).splitlines()
    assert [row.split("|")[1].strip() for row in table[2:]] == [rules.REFERENCE, "scores"]
    assert table[3].count("ahead") == 3
    assert "| 2 | 0.5 |" in table[3]


def test_a_screen_is_read_from_the_table_that_is_given(tmp_path: Path) -> None:
    rows = [
        f"{base},{heat},{10 * (base == 'b') + heat}"
        for base, heat in itertools.product("ab", (1, 2))
    ]
    path = tmp_path / "screen.csv"
    path.write_text("\n".join(["base,heat,yield", *rows]) + "\n", encoding="utf-8")
    key = next(key for key in screen.screen_runs() if key["method"] == "process")
    line = screen.run_screen(path, key)
    assert min(line["values"]) == -12.0  # all four are tried at most once
    assert len(line["values"]) <= 4
    table = screen.screen_table([line, line | {"method": "components", "values": [-11.0]}])
    assert "| process | 12.00 | 12.0 |  | 1 |" in table
    assert "| components | 11.00 | 11.0 | -1.00 [-1.00, -1.00] | 1 |" in table
