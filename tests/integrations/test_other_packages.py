"""The other packages of the comparison: each answers in the space, learns, and repeats itself."""

from typing import Any

import pytest

from method_checks import check_answers
from studies.comparison.calibration import run_calibration
from studies.comparison.runs import run_comparison
from studies.methods import COMPARISON_METHODS

pytest.importorskip("smac")

METHODS = ("gp", "cmaes", "botorch", "skopt", "smac")


def key(method: str, problem: str, budget: int = 3) -> dict[str, Any]:
    return {
        "experiment": "compare",
        "problem": problem,
        "method": method,
        "seed": 0,
        "settings": {"budget": budget, "n_start": 10},
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "name",
    [
        "tilted-branin",
        "grid-schaffer",
        "levy4r",
        "network-like",
        "branin-noisy",
        "table-svm-digits",
    ],
)
def test_a_package_answers_in_the_space(method: str, name: str) -> None:
    check_answers(method, name)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_run(method: str) -> None:
    first, second = (run_comparison(key(method, "grid-branin")) for _ in range(2))
    assert first["values"] == second["values"]
    assert set(COMPARISON_METHODS[method].packages) <= set(first["versions"])


@pytest.mark.parametrize("method", ["gp", "botorch", "skopt", "smac"])
def test_a_model_of_what_it_was_told_beats_the_start(method: str) -> None:
    """Twelve questions about a smooth function of two numbers: a method that heard nothing of its start would rarely come this far."""
    values = run_comparison(key(method, "branin-noisy", 12))["values"]
    assert min(values[10:]) < min(values[:10])
    assert min(values[10:]) < 3.0


def test_botorchs_surrogate_is_judged_like_ours() -> None:
    line = run_calibration(
        {
            "experiment": "calibration",
            "problem": "levy4r",
            "method": "botorch",
            "seed": 0,
            "settings": {"n": 20},
        }
    )
    assert all(0.0 <= c <= 1.0 for c in line["coverage"])
    assert line["crps"] > 0.0
