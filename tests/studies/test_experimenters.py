"""The study of what experimenters have: its problems, runs and tables."""

import numpy as np
import pytest

from studies.experimenters.__main__ import PARTS, _rank_of_choice, all_runs, run_one, tables
from studies.experimenters.problems import COMPONENTS, PROBLEMS, amounts_of, optimum_of
from studies.lines import Line, key_of
from studies.problems import COMPARISON_PROBLEMS
from studies.problems.problem import sample


@pytest.mark.parametrize("name", [n for n, p in PROBLEMS.items() if p.space])
def test_no_random_point_is_below_the_minimum(name: str) -> None:
    problem = PROBLEMS[name]
    rng = np.random.default_rng(1)
    values = [problem.fn(sample(problem.space, rng)) for _ in range(100)]
    assert min(values) >= problem.minimum - 1e-9
    assert problem.spread > 0


@pytest.mark.parametrize("name", ["levy4r", "table-forest-wine"])
def test_the_place_of_a_right_belief_is_the_optimum(name: str) -> None:
    problem = COMPARISON_PROBLEMS[name]
    assert problem.values([optimum_of(name)])[0] == pytest.approx(problem.minimum, abs=1e-6)


def test_every_run_is_named_once_and_simple_runs_are_made() -> None:
    runs = all_runs(PARTS, 2)
    assert len({key_of(run) for run in runs}) == len(runs)
    for method in ("random", "local"):
        (key, *_) = [r for r in runs if r["problem"] == "synergy" and r["method"] == method]
        line = run_one(None, key)
        assert len(line["values"]) == 40
        assert min(line["values"]) >= PROBLEMS["synergy"].minimum - 1e-9


def test_a_suggested_blend_is_among_the_best() -> None:
    assert 1 <= _rank_of_choice(3) <= 20
    even = dict.fromkeys(COMPONENTS, 0.1)
    assert amounts_of(even).sum() == pytest.approx(1.0)


def test_the_tables_name_every_part() -> None:
    def line(problem: str, method: str, seed: int, value: float) -> Line:
        part = PROBLEMS[problem].part
        return {
            "experiment": f"experimenters-{part}", "problem": problem, "method": method,
            "seed": seed, "n_start": 1, "values": [value + 5] * 5 + [value + 1] * 15,
            "n_repeats": 0, "cpu_seconds": {"total": 1.0},
        }  # fmt: skip

    lines = [
        line(p.name, method, seed, p.minimum + 0.1 * i)
        for p in PROBLEMS.values()
        for i, method in enumerate(p.methods)
        for seed in range(3)
    ]
    found = tables(lines)
    assert all(name in found["experimenters"] for name in PROBLEMS)
    assert "earlier − fresh" in found["experimenters_paired"]
