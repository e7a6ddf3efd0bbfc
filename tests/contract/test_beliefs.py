"""Where the optimum is expected: points go there first, and the data decide in the end."""

from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from scipy import stats

import bktf
from bktf.cli import main
from bktf.engine.beliefs import STRENGTH, make_belief
from bktf.spaces import read_space
from seeds import seeded

optuna.logging.set_verbosity(optuna.logging.ERROR)
SPACE = {
    "x": (0.0, 10.0),
    "rate": optuna.distributions.FloatDistribution(1e-4, 1.0, log=True),
    "n": (1, 8),
    "kind": bktf.choices("a", "b", "c"),
    "size": bktf.choices("s", "m", "l", ordered=True),
}
EXPECTED: dict[str, Any] = {
    "x": (7.0, 0.5),
    "rate": stats.lognorm(s=0.5, scale=0.01),
    "n": (3, 1.0),
    "kind": {"b": 3.0, "c": 1.0},
    "size": {"m": 1.0},
}


def value(p: dict[str, Any]) -> float:
    log_rate = (np.log10(p["rate"]) + 2) ** 2
    return float((p["x"] - 7) ** 2 + log_rate + (p["n"] - 3) ** 2 + 3 * (p["kind"] != "b"))


def test_weights_are_densities_to_a_power_that_fades() -> None:
    parameters = read_space(SPACE).modelled
    belief = make_belief(parameters, EXPECTED)
    assert belief is not None
    mode = 0.01 * np.exp(-0.25)  # of the lognormal density
    point = np.array([[7.5, mode, 3.0, 1.0, 1.0]])
    expected = np.exp(-0.5)  # one standard deviation of x; everything else at its largest
    for n in (1, 5, 50):
        weight = belief.weight(point, n)[0]
        assert weight == pytest.approx(expected ** (STRENGTH / n), rel=0.05)
    away = np.array([[7.5, mode, 3.0, 0.0, 1.0]])
    assert 0.0 < belief.weight(away, 1)[0] < 1e-3  # nothing is excluded
    inactive = np.array([[np.inf, mode, 3.0, 1.0, 1.0]])
    assert belief.weight(inactive, 1)[0] == pytest.approx(1.0, rel=0.05)


def test_a_right_belief_finds_better_points_early() -> None:
    # Were both alike, four of four pairs would agree with probability 0.06.
    pairs = [
        [
            bktf.minimize(value, SPACE, n_trials=8, seed=seeded(s), expected_optimum=given).fun
            for given in (EXPECTED, None)
        ]
        for s in range(4)
    ]
    assert sum(right < plain for right, plain in pairs) >= 3


def test_some_of_the_start_is_drawn_from_the_belief() -> None:
    result = bktf.minimize(
        value, SPACE, n_trials=8, n_startup_trials=8, seed=seeded(1), expected_optimum=EXPECTED
    )
    near = [abs(t.params["x"] - 7) < 2 and t.params["size"] == "m" for t in result.study.trials]
    assert all(near[:6:2])
    assert not all(near[1::2])


def test_a_list_and_a_mixture_start_where_the_optimum_is_expected() -> None:
    rows = [{"x": i / 200, "y": (i * 37 % 200) / 200} for i in range(200)]
    listed = bktf.minimize(
        lambda p: p["x"], candidates=rows, n_trials=5, n_startup_trials=5, seed=seeded(2),
        expected_optimum={"x": (0.3, 0.01)},
    )  # fmt: skip
    assert all(abs(t.params["x"] - 0.3) < 0.06 for t in listed.study.trials[::2])
    mixed = bktf.minimize(
        lambda p: p["a"], [bktf.mixture("a", "b", "c")], n_trials=5, n_startup_trials=5,
        seed=seeded(3), expected_optimum={"a": (0.4, 0.02)},
    )  # fmt: skip
    assert all(abs(t.params["a"] - 0.4) < 0.15 for t in mixed.study.trials[::2])


def test_a_narrow_belief_is_as_narrow_as_it_says() -> None:
    space = {"n": (1, 10**6), "y": (0.0, 1.0)}
    result = bktf.minimize(
        lambda p: p["y"], space, n_trials=5, n_startup_trials=5, seed=seeded(4),
        expected_optimum={"n": (12345, 50), "y": (0.302, 2e-5)},
    )  # fmt: skip
    for t in result.study.trials[::2]:
        assert abs(t.params["n"] - 12345) < 300
        assert abs(t.params["y"] - 0.302) < 2e-4


def test_beliefs_go_with_candidates_mixtures_and_conditions() -> None:
    rows = [{"x": float(i), "kind": "abc"[i % 3]} for i in range(20)]
    listed = bktf.minimize(
        lambda p: p["x"], candidates=rows, expected_optimum={"x": (15.0, 1.0)}, n_trials=9, seed=1
    )
    assert len(listed.study.trials) == 9
    mixed = bktf.minimize(
        lambda p: p["a"], [bktf.mixture("a", "b", "c")], expected_optimum={"a": (0.5, 0.1)},
        n_trials=8, seed=1,
    )  # fmt: skip
    assert all(sum(t.params.values()) == pytest.approx(1) for t in mixed.study.trials)
    space = [{"k": bktf.choices("u", "v")}, bktf.when({"k": "u"}, z=(0.0, 1.0))]
    found = bktf.minimize(
        lambda p: p.get("z", 0.5), space, expected_optimum={"z": (0.2, 0.1)}, n_trials=8, seed=1
    )
    assert all(("z" in t.params) == (t.params["k"] == "u") for t in found.study.trials)


BAD: dict[str, tuple[Any, str]] = {
    "empty": ({}, "must be a dictionary"),
    "name": ({"q": (1.0, 1.0)}, "expected_optimum names 'q'"),
    "deviation": ({"x": (1.0, 0.0)}, "centre, standard deviation"),
    "level": ({"kind": {"z": 1.0}}, "'z' is no choice"),
    "weights": ({"kind": {"a": 0.0}}, "one of them positive"),
    "category": ({"kind": (1.0, 1.0)}, "because 'kind' is a category"),
    "number": ({"x": {"a": 1.0}}, "'x' is a number"),
    "nothing": ({"x": "high"}, "an object with a method pdf"),
    "outside": ({"x": stats.uniform(20, 1)}, "positive somewhere in the range"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_beliefs_that_make_no_sense_are_refused(name: str) -> None:
    expected, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        bktf.minimize(value, SPACE, expected_optimum=expected)


LAB = """
[objective]
name = "yield"
direction = "maximize"
[expected_optimum]
temperature = {more}
solvent = {{ DMF = 3, water = 1 }}
[parameters.temperature]
type = "float"
low = 20
high = 120
[parameters.solvent]
type = "category"
values = ["water", "DMF", "toluene"]
"""


def test_the_lab_takes_beliefs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space, results = tmp_path / "space.toml", tmp_path / "results.csv"
    space.write_text(LAB.format(more="{ centre = 80, sd = 2 }"))
    results.write_text("")
    assert main(["suggest", str(space), str(results)]) == 0
    line = capsys.readouterr().out.splitlines()[2]
    assert 70 < float(line.split()[0]) < 90
    for more, message in (
        ("5", "[expected_optimum] temperature must be a table"),
        ("{ centre = 3 }", "sd is missing"),
    ):
        space.write_text(LAB.format(more=more))
        assert main(["suggest", str(space), str(results)]) == 2
        assert message in capsys.readouterr().err
