"""One run: what a method is told, when it ends, and what its line says."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from optuna.distributions import FloatDistribution, IntDistribution

from studies.problems import TASKS, Params, Problem, tuning_problem
from studies.runner import line_of, optimise

PROBLEM = Problem(
    name="sum",
    space={"a": IntDistribution(0, 9), "b": FloatDistribution(0.0, 1.0)},
    function=lambda p: float(p["a"] + p["b"]),
    minimum=0.0,
    budget=3,
)
START: list[Params] = [{"a": 1, "b": 0.5}, {"a": 2, "b": 0.25}]
KEY = {"experiment": "e", "problem": "sum", "method": "m", "seed": 0, "settings": {"budget": 3}}


@dataclass
class Scripted:
    """A method that asks for given points and remembers what it was told."""

    asked: list[Params]
    told: list[tuple[Params, float]] = field(default_factory=list)

    def tell(self, params: Params, value: float) -> None:
        self.told.append((params, value))

    def ask(self) -> Params:
        return self.asked[len(self.told) - len(START)]


def test_a_method_is_told_the_start_and_then_what_was_really_tried() -> None:
    method = Scripted([{"a": 3.4, "b": 0.1}, {"a": 1, "b": 0.5}, {"a": 0.2, "b": 0.0}])
    run = optimise(PROBLEM, method, START, 3, seed=0)
    tried = [*START, {"a": 3, "b": 0.1}, {"a": 1, "b": 0.5}, {"a": 0, "b": 0.0}]
    assert run.points == [params for params, _ in method.told] == tried
    assert run.values == run.observed == [1.5, 2.25, 3.1, 1.5, 0.0]
    assert run.n_start == 2
    assert run.n_repeats == 1
    assert len(run.cpu_seconds) == 3


def test_a_run_ends_where_a_value_says_so() -> None:
    method = Scripted([{"a": 3, "b": 0.1}, {"a": 0, "b": 0.0}, {"a": 5, "b": 0.0}])
    run = optimise(PROBLEM, method, START, 3, seed=0, stop=lambda value: value == 0.0)
    assert run.values == [1.5, 2.25, 3.1, 0.0]


def test_noise_depends_on_the_seed_alone_and_is_recorded_beside_the_values() -> None:
    noisy = replace(PROBLEM, noise_std=0.5)
    asked = [{"a": i, "b": 0.0} for i in range(3)]
    runs = [optimise(noisy, Scripted(a), START, 3, seed=4) for a in (asked, asked[::-1])]
    first, second = (np.subtract(run.observed, run.values) for run in runs)
    np.testing.assert_allclose(first, second, atol=1e-12)
    assert np.all(first != 0)
    other = optimise(noisy, Scripted(asked), START, 3, seed=5)
    assert other.observed != runs[0].observed
    line = line_of(KEY, noisy, runs[0], ())
    assert line["observed"] == pytest.approx(runs[0].observed)
    assert line["values"] == [1.5, 2.25, 0.0, 1.0, 2.0]
    assert line["points"] == [[1, 0.5], [2, 0.25], [0, 0.0], [1, 0.0], [2, 0.0]]
    plain = optimise(PROBLEM, Scripted(asked), START, 3, seed=4)
    assert "observed" not in line_of(KEY, PROBLEM, plain, ())


def test_the_problem_of_a_task_has_whole_numbers_and_reads_its_losses_from_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studies.problems.tuning.compute_loss", lambda _, c: float(sum(c)))
    problem = tuning_problem(TASKS["nn-regressor"], tmp_path)
    start = problem.start_points(3)
    assert len(start) == 3
    assert all(isinstance(value, int) for params in start for value in params.values())
    assert problem.values(start) == [float(sum(params.values())) for params in start]
    asked = {"neurons": 10.4, "batch": 63.5, "epochs": 20.0}
    assert problem.nearest(asked) == {"neurons": 10, "batch": 64, "epochs": 20}
