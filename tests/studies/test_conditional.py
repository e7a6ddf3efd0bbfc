"""The study of conditional spaces: its objectives, its runs and its tables."""

from typing import Any

import optuna
import pytest
from optuna.trial import FixedTrial

from seeds import seeded
from studies.conditional.__main__ import STUDY
from studies.conditional.model_tree import configurations, suggest_config, tree_losses
from studies.conditional.problems import PROBLEMS
from studies.lines import Line, key_of
from studies.problems import DEVELOPMENT, TEST

BEST: dict[str, dict[str, Any]] = {
    "optimisers": {"decay": 1e-3, "optimiser": "adam", "rate_adam": 2e-3, "beta": 0.93},
    "layers": {
        "layers": 2, "width0": 64, "width1": 32, "dropout": True, "dropout_rate": 0.2, "rate": 3e-3,
    },
    "steps": {
        "preprocessing": "reduce", "components": 12, "kernel": "rbf", "C": 10.0, "gamma": 0.025,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", list(BEST))
def test_the_stated_minimum_is_reached(name: str) -> None:
    problem = PROBLEMS[name]
    assert problem.objective(FixedTrial(BEST[name])) == pytest.approx(problem.minimum)


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_no_random_trial_is_below_the_minimum(name: str) -> None:
    problem = PROBLEMS[name]
    sampler = optuna.samplers.RandomSampler(seed=seeded(0))
    trials = optuna.create_study(sampler=sampler)
    trials.optimize(problem.objective, n_trials=200)
    values = [t.value for t in trials.trials if t.value is not None]
    assert len(values) == 200
    assert min(values) >= problem.minimum
    assert len({tuple(t.params) for t in trials.trials}) > 1  # branches


@pytest.mark.parametrize("data", ["digits", "cancer"])
def test_a_tree_of_models_has_a_loss_for_every_configuration(data: str) -> None:
    losses = tree_losses(data)
    assert len(losses) == len(list(configurations())) <= 1000
    assert all(0 <= value <= 1 for value in losses.values())
    params = {"model": "network", "layers": 2, "width0": 1, "width1": 4, "rate": 2, "alpha": 0}
    config = suggest_config(FixedTrial(params))
    assert config["width1"] == 64
    assert tuple(config.items()) in losses


def test_every_run_is_named_once_and_both_halves_have_problems() -> None:
    runs = STUDY.runs([DEVELOPMENT, TEST], list(STUDY.samplers), 2)
    assert len({key_of(run) for run in runs}) == len(runs) == 2 * 5 * 5
    halves = [p.half for p in PROBLEMS.values()]
    assert halves.count(DEVELOPMENT) == 3
    assert halves.count(TEST) == 2


def test_a_run_is_a_whole_study() -> None:
    runs = STUDY.runs([DEVELOPMENT], ["random"], 1)
    line = STUDY.run({**runs[0], "settings": {"trials": 12}})
    assert len(line["values"]) == len(line["points"]) == 12
    assert line["points"][0].keys() <= {
        "decay", "optimiser", "rate_sgd", "momentum", "rate_adam", "beta"
    }  # fmt: skip


def test_the_tables_rank_and_pair_methods() -> None:
    def line(problem: str, method: str, seed: int, value: float) -> Line:
        return {
            "problem": problem,
            "method": method,
            "seed": seed,
            "n_start": 2,
            "values": [1.0, 1.0, value, value],
            "n_repeats": 0,
            "cpu_seconds": {"total": 4.0},
        }

    values = {"random": 0.9, "tpe": 0.6, "bktf": 0.3}
    lines = [
        line(problem, method, seed, value + 0.01 * seed)
        for problem in PROBLEMS
        for method, value in values.items()
        for seed in range(3)
    ]
    found = STUDY.tables(lines)
    first = found["conditional"].splitlines()[2]
    assert first.startswith("| development | bktf | 1.00 |")
    assert "bktf − tpe" in found["conditional_paired"]
    assert found["conditional_paired"].count("ahead") >= 4
