"""Descriptors of categories: similar levels are predicted to behave alike, as far as data agree."""

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

import bktf
from bktf._typing import Floats
from bktf.cli import main
from bktf.engine import Engine, History, Objective, make_settings
from bktf.gaussian_process import Descriptors
from bktf.spaces import read_space
from bktf.surrogate import ModelSpec, add_descriptors, fit_model, fold_descriptors
from seeds import seeded

optuna.logging.set_verbosity(optuna.logging.ERROR)
LEVELS = [f"l{i}" for i in range(12)]
NUMBERS = np.random.default_rng(3).random((12, 2))
NUMBERS = (NUMBERS - NUMBERS.min(axis=0)) / np.ptp(NUMBERS, axis=0)


def table() -> dict[str, list[float]]:
    return {level: NUMBERS[i].tolist() for i, level in enumerate(LEVELS)}


def effect(level: int) -> float:
    return float(3 * (NUMBERS[level, 0] - 0.4) ** 2)


def test_the_folded_process_is_that_over_all_axes() -> None:
    rng = np.random.default_rng(seeded(0))
    X: Floats = np.stack((rng.integers(0, 12, 20).astype(float), rng.random(20)), axis=1)
    y = np.array([effect(int(row[0])) for row in X]) + X[:, 1]
    axes = [np.arange(12.0), np.linspace(0, 1, 5)]
    spec = ModelSpec(rank=math.inf, kernel=["categorical", None], log=[False, False])
    described = (Descriptors(0, NUMBERS),)
    wide_spec, wide_axes, wide_X = add_descriptors(spec, axes, X, described)
    wide = fit_model(wide_spec, wide_axes, wide_X, y, seeded(1))
    folded = fold_descriptors(wide, spec, described)
    points = np.stack((np.arange(12.0), rng.random(12)), axis=1)
    whole = np.column_stack((points, NUMBERS))
    assert folded.mean(points) == pytest.approx(wide.mean(whole), rel=1e-10)
    assert folded.std(points) == pytest.approx(wide.std(whole), rel=1e-8)
    assert folded.kernel(points) == pytest.approx(wide.kernel(whole), rel=1e-10)
    assert folded.draws_at(points) == pytest.approx(wide.draws_at(whole), rel=1e-7)
    process = folded.draws.process
    assert process is not None
    tables = [process.table(0, np.arange(12.0)), process.table(1, points[:, 1])]
    index = np.stack((np.arange(12), np.arange(12)), axis=1)
    assert process.moments(tables, index).mean == pytest.approx(process.moments_at(points).mean)
    kept = process.keeping({0: 4.0})
    at = np.column_stack((np.full(3, 4.0), [0.1, 0.5, 0.9]))
    assert kept.moments_at(at).mean == pytest.approx(process.moments_at(at).mean, rel=1e-9)


def test_levels_that_nobody_has_tried_are_predicted() -> None:
    errors = []
    for described in (True, False):
        given = table() if described else None
        space = read_space({"level": bktf.choices(*LEVELS, descriptors=given), "x": (0.0, 1.0)})
        rng = np.random.default_rng(seeded(2))
        # Eight of twelve levels
        X: Floats = np.stack((rng.integers(0, 8, 24).astype(float), rng.random(24)), axis=1)
        y: Floats = np.array([effect(int(row[0])) for row in X]) + X[:, 1]
        engine = Engine(
            space.modelled, Objective(direction="maximize"),
            make_settings("default", {"compress": False}), 0,
        )  # fmt: skip
        nothing = np.empty((0, 2))
        posterior = engine.learn(History(X, y, nothing, X, nothing), 30).posterior
        assert posterior is not None
        new = np.stack((np.arange(8.0, 12.0), np.full(4, 0.5)), axis=1)
        truth = np.array([effect(i) for i in range(8, 12)]) + 0.5
        errors.append(float(np.sqrt(np.mean((posterior.mean(new) - truth) ** 2))))
    assert errors[0] < 0.5 * errors[1]


def test_descriptors_work_with_conditions_failures_and_batches() -> None:
    space = [
        {"kind": bktf.choices("p", "q"), "x": (0.0, 1.0)},
        bktf.when({"kind": "p"}, {"level": bktf.choices(*LEVELS, descriptors=table())}),
    ]

    def fn(p: dict[str, Any]) -> float:
        if p["x"] > 0.9:
            return math.nan
        return float(p["x"]) + (effect(LEVELS.index(p["level"])) if "level" in p else 1.0)

    result = bktf.minimize(fn, space, n_trials=16, seed=seeded(3))
    assert all(("level" in t.params) == (t.params["kind"] == "p") for t in result.study.trials)
    assert len(result.suggest(3)) == 3


def test_every_form_of_descriptors_is_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame(NUMBERS, index=LEVELS, columns=["u", "v"])
    named = {level: {"u": row[0], "v": row[1]} for level, row in table().items()}
    one = [bktf.choices(*LEVELS, descriptors=d).descriptors for d in (table(), frame, named)]
    assert one[0] == one[1] == one[2]
    assert one[0] is not None
    assert np.ptp(np.array(one[0]), axis=0).tolist() == [1.0, 1.0]
    swapped = {**named, "l3": {"v": NUMBERS[3, 1], "u": NUMBERS[3, 0]}}
    assert bktf.choices(*LEVELS, descriptors=swapped).descriptors == one[0]
    sampler = bktf.BKTFSampler(
        search_space={"l": bktf.choices("a", "b", descriptors={"a": 1, "b": 2})}
    )
    assert repr(pickle.loads(pickle.dumps(sampler))) == repr(sampler)
    constant = {level: [1.0] for level in LEVELS}
    assert bktf.choices(*LEVELS, descriptors=constant).descriptors is None
    space = {"level": bktf.choices(*LEVELS, descriptors=table())}
    result = bktf.minimize(lambda p: effect(LEVELS.index(p["level"])), space, n_trials=9, seed=0)
    result.posterior.save(tmp_path / "fit.npz")
    points = np.arange(12.0)[:, None]
    assert bktf.load(tmp_path / "fit.npz").mean(points) == pytest.approx(
        result.posterior.mean(points)
    )


BAD: dict[str, tuple[Any, str]] = {
    "lacks": ({"l0": [1.0]}, "lack the choice 'l1'"),
    "text": ({**table(), "l3": [1.0, "x"]}, "choice 'l3', column 1: must be a finite number"),
    "lengths": ({**table(), "l3": [1.0]}, "the same numbers for every choice"),
    "nothing": (7, "must be a dictionary"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_descriptors_that_make_no_sense_are_refused(name: str) -> None:
    given, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        bktf.choices(*LEVELS, descriptors=given)
    twice = pd.DataFrame({"u": [1, 2, 3]}, index=["a", "b", "a"])
    with pytest.raises(ValueError, match="have the choice 'a' twice"):
        bktf.choices("a", "b", descriptors=twice)
    with pytest.raises(ValueError, match="without an order"):
        bktf.choices("a", "b", ordered=True, descriptors={"a": [1], "b": [2]})


LAB = """
[objective]
name = "yield"
direction = "maximize"
[parameters.ligand]
type = "category"
values = ["L1", "L2", "L3", "L4"]
descriptors = "ligands.csv"
"""


def test_the_lab_reads_descriptors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "space.toml").write_text(LAB)
    (tmp_path / "results.csv").write_text("ligand,yield\nL1,3\nL2,5\n")
    good = "ligand,size,charge\nL1,1.0,2\nL2,2.5,2\nL3,3.0,1\nL4,4.0,0\nother,1,1\n"
    files = [str(tmp_path / name) for name in ("space.toml", "results.csv")]
    for text, message in (
        (good, ""),
        (good.replace("L3,3.0,1\n", ""), "ligands.csv: descriptors lack the choice 'L3'"),
        (good.replace("3.0", "big"), "ligands.csv: row 4, column 'size': must be a number"),
        (good.replace("ligand,", "name,"), "the column 'ligand' is missing"),
        (good + "L1,3,3\n", "'L1' stands twice"),
    ):
        (tmp_path / "ligands.csv").write_text(text)
        assert main(["suggest", *files]) == (2 if message else 0)
        assert message in capsys.readouterr().err
