"""Mixtures: every suggestion has its total, its bounds, its steps and few enough components."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

import bktf
from bktf.cli import main
from bktf.spaces import MixtureSpace, read_space
from bktf.spaces.mixtures import Blends
from seeds import seeded

optuna.logging.set_verbosity(optuna.logging.ERROR)
CASES: dict[str, dict[str, Any]] = {
    "plain": {"total": 1.0},
    "steps": {"total": 100.0, "step": 5.0, "bounds": {"b": (10.0, 60.0)}},
    "few": {"total": 1.0, "step": 0.05, "max_nonzero": 2},
    "bounds": {"total": 2.0, "bounds": {"a": (0.2, 0.7), "c": (0.0, 0.3)}, "max_nonzero": 3},
    "tight": {"total": 1.0, "bounds": {"a": (0.0, 0.4), "b": (0.0, 0.4), "c": (0.0, 0.2), "d": (0.0, 0.1)}},
}  # fmt: skip


def check(amounts: dict[str, float], case: dict[str, Any]) -> None:
    total = case["total"]
    assert sum(amounts.values()) == pytest.approx(total, rel=1e-9)
    assert sum(v > 1e-9 * total for v in amounts.values()) <= case.get("max_nonzero", 4)
    for name, (low, high) in case.get("bounds", {}).items():
        assert low - 1e-9 <= amounts[name] <= high + 1e-9
    step = case.get("step")
    if step is not None:
        for amount in amounts.values():
            assert amount / step == pytest.approx(round(amount / step), abs=1e-6)


@pytest.mark.parametrize("name", list(CASES))
def test_random_blends_and_their_neighbours_are_blends(name: str) -> None:
    case = CASES[name]
    mixed = bktf.mixture("a", "b", "c", "d", **case)
    rng = np.random.default_rng(seeded(0))
    blends = Blends(mixed, np.full(4, math.nan))
    seen = set()
    for _ in range(200):
        amounts = blends.random(rng)
        assert amounts is not None
        for near in [amounts, blends.moved(amounts, 0.2, rng), *blends.exchanges(amounts)[:4]]:
            check(dict(zip("abcd", near.tolist(), strict=True)), case)
            seen.add(tuple(np.round(near, 6).tolist()))
    assert len(seen) > 5


@pytest.mark.parametrize("name", list(CASES))
def test_every_suggestion_is_a_blend(name: str) -> None:
    case = CASES[name]
    space = [bktf.mixture("a", "b", "c", "d", **case), {"kind": bktf.choices("x", "y")}]

    def fn(p: dict[str, Any]) -> float:
        check({n: p[n] for n in "abcd"}, case)
        return float((p["a"] - 0.3) ** 2 + p["b"] * p["d"] + (p["kind"] == "x"))

    result = bktf.minimize(fn, space, n_trials=12, seed=seeded(1))
    points = [tuple(t.params.values()) for t in result.study.trials]
    assert len(set(points)) == 12
    for row in result.suggest(3):
        check({n: row[n] for n in "abcd"}, case)


def test_small_mixtures_are_listed_and_the_best_blend_is_chosen() -> None:
    space = read_space([bktf.mixture("a", "b", "c", "d", total=100, step=5)])
    listed = MixtureSpace.of(space)
    assert listed.points is not None
    assert len(listed.points) == 1771
    rng = np.random.default_rng(seeded(2))
    X = listed.points[rng.choice(1771, 15, replace=False)]
    y = -((X[:, 0] - 30) ** 2) - (X[:, 1] - 20) ** 2 + X[:, 2]
    posterior = bktf.fit([np.arange(0.0, 101.0, 5.0)] * 4, X, y, rank=math.inf, seed=seeded(3))
    found = bktf.acquisition.choose(posterior, feasible=listed, exclude=X)
    gains = posterior.expected_improvement(listed.points)
    assert found.point is not None
    best = gains[np.all(listed.points == found.point, axis=1)][0]
    assert int((gains > best).sum()) <= 4


def test_the_search_of_a_large_mixture_beats_random_blends() -> None:
    names = [f"m{i}" for i in range(8)]
    space = read_space([bktf.mixture(*names, step=0.01, max_nonzero=4)])
    allowed = MixtureSpace.of(space)
    assert not allowed.is_list
    rng = np.random.default_rng(seeded(4))
    X = allowed.random_points(25, rng, {})
    y = -((X - np.array([0.4, 0.3, 0.2, 0.1, 0, 0, 0, 0])) ** 2).sum(axis=1)
    axes = [np.linspace(0, 1, 101)] * 8
    posterior = bktf.fit(axes, X, y, rank=math.inf, seed=seeded(5))
    found = bktf.acquisition.choose(posterior, feasible=allowed, exclude=X)
    assert found.point is not None
    assert allowed(found.point)
    gain = posterior.expected_improvement(found.point[None])[0]
    others = posterior.expected_improvement(allowed.random_points(2000, rng, {}))
    assert gain > others.max()


def test_feasible_fixed_values_pending_points_and_exhaustion_work_with_mixtures() -> None:
    space = [bktf.mixture("a", "b", "c", step=0.25)]
    sampler = bktf.BKTFSampler(
        search_space=space, feasible=lambda p: p["a"] <= 0.5, seed=seeded(6), n_startup_trials=3
    )
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        return sum((i + 1) * trial.suggest_float(n, 0, 1, step=0.25) for i, n in enumerate("abc"))

    study.enqueue_trial({"b": 0.75})
    study.optimize(objective, n_trials=30)
    points = {tuple(t.params.values()) for t in study.trials}
    assert study.trials[0].params["b"] == 0.75
    assert all(sum(p) == pytest.approx(1.0) and p[0] <= 0.5 for p in points)
    assert len(study.trials) == len(points) == 12  # of 15 blends three have a > 0.5
    fresh = optuna.create_study(sampler=bktf.BKTFSampler(search_space=space, seed=seeded(7)))
    asked = [fresh.ask() for _ in range(5)]
    chosen = {tuple(t.suggest_float(n, 0, 1, step=0.25) for n in "abc") for t in asked}
    assert len(chosen) == 5


def test_a_thin_nonlinear_set_is_found() -> None:
    """A ten-thousandth of the box: with 50,000 points it is missed with probability 0.007."""

    def is_thin(p: dict[str, Any]) -> bool:
        return bool(abs(p["x"] * p["y"] - 0.25) < 3.6e-5)

    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    result = bktf.minimize(
        lambda p: p["x"] + p["y"], space, n_trials=4, seed=seeded(9), feasible=is_thin,
        n_startup_trials=2,
    )  # fmt: skip
    assert all(is_thin(t.params) for t in result.study.trials)
    assert len({tuple(t.params.values()) for t in result.study.trials}) == 4
    thin = bktf.minimize(
        lambda p: p["a"], [bktf.mixture("a", "b", "c")], n_trials=4, seed=seeded(10),
        n_startup_trials=2, feasible=lambda p: abs(p["a"] * p["b"] - 0.1) < 3e-3,
    )  # fmt: skip
    assert all(abs(t.params["a"] * t.params["b"] - 0.1) < 3e-3 for t in thin.study.trials)


def test_conditions_and_mixtures_stand_side_by_side() -> None:
    space = [
        bktf.mixture("a", "b", "c"),
        {"kind": bktf.choices("x", "y")},
        bktf.when({"kind": "y"}, T=(0.0, 1.0)),
    ]

    def fn(p: dict[str, Any]) -> float:
        assert ("T" in p) == (p["kind"] == "y")
        assert p["a"] + p["b"] + p["c"] == pytest.approx(1.0)
        return float((p["a"] - 0.3) ** 2 + p.get("T", 0.5))

    result = bktf.minimize(fn, space, n_trials=18, seed=seeded(8))
    assert {t.params["kind"] for t in result.study.trials} == {"x", "y"}


BAD: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "one name": (("a",), {}, "at least two"),
    "twice": (("a", "a"), {}, "names must differ"),
    "total": (("a", "b"), {"total": 0}, "total must be a positive number"),
    "bounds too high": (("a", "b"), {"bounds": {"a": (0.7, 1), "b": (0.6, 1)}}, "bounds exclude the total 1"),
    "bounds too low": (("a", "b"), {"bounds": {"a": (0, 0.2), "b": (0, 0.3)}}, "between 0 and 0.5"),
    "few": (("a", "b", "c"), {"bounds": dict.fromkeys("abc", (0, 0.4)), "max_nonzero": 2}, "bounds exclude"),
    "steps": (("a", "b"), {"step": 0.3}, "cannot reach the total 1"),
    "unknown": (("a", "b"), {"bounds": {"c": (0, 1)}}, "'c', which is no component"),
    "forced": (("a", "b", "c"), {"bounds": dict.fromkeys("abc", (0.1, 1)), "max_nonzero": 2}, "3 components have"),
    "max": (("a", "b"), {"max_nonzero": 0}, "max_nonzero must be a whole number from 1 to 2"),
    "pair": (("a", "b"), {"bounds": {"a": (0.5, 0.1)}}, "bounds of 'a' must be"),
    "step": (("a", "b"), {"step": -1}, "step must be a positive number"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BAD))
def test_mixtures_that_cannot_be_are_refused(name: str) -> None:
    names, arguments, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        bktf.mixture(*names, **arguments)


def test_a_component_that_is_a_parameter_elsewhere_is_refused() -> None:
    with pytest.raises(ValueError, match="'a' is there twice"):
        bktf.minimize(lambda p: p["a"], [bktf.mixture("a", "b"), {"a": (0.0, 1.0)}])


LAB = """
[objective]
name = "strength"
direction = "maximize"
[[mixtures]]
parameters = ["resin", "filler", "solvent"]
total = 100
{more}
[parameters.resin]
type = "float"
low = 20
high = 70
unit = "%"
[parameters.temperature]
type = "float"
low = 20
high = 90
"""


@pytest.mark.parametrize("more", ["", "step = 5", "max_nonzero = 2"])
def test_the_lab_suggests_blends(
    more: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "space.toml").write_text(LAB.format(more=more))
    (tmp_path / "results.csv").write_text("")
    files = [str(tmp_path / name) for name in ("space.toml", "results.csv")]
    for i in range(3):
        assert main(["suggest", *files, "-n", "4", "--append"]) == 0
        table = (tmp_path / "results.csv").read_text().splitlines()
        header = table[0].split(",")
        rows = [line.split(",") for line in table[1:]]
        for j, row in enumerate(rows):
            cells = dict(zip(header, row, strict=True))
            amounts = [float(cells[n]) for n in ("resin", "filler", "solvent")]
            assert sum(amounts) == pytest.approx(100.0, rel=1e-9)
            assert 20 <= amounts[0] <= 70
            if "step" in more:
                assert all(a % 5 == pytest.approx(0.0) for a in amounts)
            if "max" in more:
                assert sum(a > 0 for a in amounts) <= 2
            row[header.index("strength")] = f"{amounts[0] - abs(amounts[1] - 30) + j}"
        text = "\n".join(",".join(row) for row in [header, *rows]) + "\n"
        (tmp_path / "results.csv").write_text(text)
        assert len(rows) == 4 * (i + 1)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "total = 100",
            "total = 10",
            "[[mixtures]] number 1: mixture('resin', 'filler', 'solvent'): the bounds",
        ),
        ("total = 100", "", "[[mixtures]] number 1 total is missing"),
        (
            'parameters = ["resin", "filler", "solvent"]',
            'parameters = "resin"',
            "must be a list of names",
        ),
        (
            'high = 70\nunit = "%"',
            "high = 70\nstep = 3",
            "an amount of a mixture, has an entry 'step'",
        ),
    ],
)
def test_a_bad_mixture_in_the_space_file_is_one_line(
    old: str, new: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "space.toml").write_text(LAB.format(more="").replace(old, new))
    (tmp_path / "results.csv").write_text("")
    assert main(["suggest", str(tmp_path / "space.toml"), str(tmp_path / "results.csv")]) == 2
    assert message in capsys.readouterr().err
