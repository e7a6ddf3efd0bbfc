"""The study of pruning: its tables of learning curves and its runs."""

import optuna
import pytest
from optuna.trial import FixedTrial

from studies.problems import DEVELOPMENT, TEST
from studies.pruning.__main__ import STUDY
from studies.pruning.curves import N_STEPS, SPACES, configurations, curves
from studies.pruning.problems import PROBLEMS


@pytest.mark.parametrize("name", list(SPACES))
def test_there_is_a_curve_for_every_configuration(name: str) -> None:
    found = curves(name)
    assert len(found) == len(configurations(name)) <= 1000
    assert {len(curve) for curve in found.values()} == {N_STEPS[name]}


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_the_objective_returns_its_last_report(name: str) -> None:
    problem = PROBLEMS[name]
    table = SPACES[problem.table]
    best = min(curves(problem.table).items(), key=lambda item: item[1][-1])
    params = {key: table[key].index(value) for key, value in best[0]}
    trial = FixedTrial(params)
    assert problem.objective(trial) == problem.minimum  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["random", "bktf-estimates"])
def test_a_pruned_trial_counts_as_the_worst_and_its_steps_are_counted(method: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    (key, *_) = STUDY.runs([DEVELOPMENT], [method], 1)
    line = STUDY.run({**key, "settings": {"trials": 14}})
    problem = PROBLEMS[key["problem"]]
    assert len(line["values"]) == 14
    n_worst = sum(v == pytest.approx(problem.worst, rel=1e-4) for v in line["values"])
    assert n_worst == line["n_pruned"] > 0
    assert line["n_steps"] < 14 * N_STEPS[problem.table]
    assert {p.half for p in PROBLEMS.values()} == {DEVELOPMENT, TEST}
