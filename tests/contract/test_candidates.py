"""Candidate lists: what is suggested is a row of the table, the best one, and never twice."""

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

import bktf
from bktf.acquisition import choose
from bktf.cli import main
from bktf.spaces import CandidateList, parameters_of
from seeds import seeded

optuna.logging.set_verbosity(optuna.logging.ERROR)


def pool(n: int = 60, seed: int = 0) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seeded(seed))
    return {
        "mass": (10 ** rng.uniform(0, 2, n)).tolist(),
        "charge": [i % 3 for i in range(n)],
        "solvent": [str(s) for s in rng.choice(["water", "DMF", "toluene"], n)],
    }


def value(row: dict[str, Any]) -> float:
    extra = {"water": 0.0, "DMF": 0.4, "toluene": 1.0}[row["solvent"]]
    return float((math.log10(row["mass"]) - 1.2) ** 2 + 0.1 * row["charge"] + extra)


def rows(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]


def tried(table: dict[str, list[Any]], numbers: list[int]) -> list[dict[str, Any]]:
    listed = rows(table)
    return [{**listed[i], "cost": value(listed[i])} for i in numbers]


@pytest.mark.parametrize("kind", ["columns", "rows", "frame"])
def test_rows_are_suggested_by_their_labels_in_every_form_of_a_table(kind: str) -> None:
    table, done = pool(), tried(pool(), list(range(0, 30, 2)))
    given: Any = {"columns": table, "rows": rows(table), "frame": pd.DataFrame(table)}[kind]
    results: Any = pd.DataFrame(done) if kind == "frame" else done
    if kind == "frame":
        given.index = [f"row{i}" for i in range(60)]
    found = bktf.suggest_from(given, results, target="cost", n=4, seed=1)
    numbers = [int(label[3:]) if kind == "frame" else label for label in found]
    assert len(set(numbers)) == 4
    assert not set(numbers) & set(range(0, 30, 2))
    assert all(0 <= i < 60 for i in numbers)
    same = bktf.suggest_from(table, done, target="cost", n=4, seed=1)
    assert numbers == same


def test_good_rows_are_found_in_few_results() -> None:
    table = pool(200, 3)
    costs = np.array([value(row) for row in rows(table)])
    known = list(range(8))
    for _ in range(20):
        known += bktf.suggest_from(table, tried(table, known), target="cost", seed=2)
    assert len(set(known)) == 28
    # Of 28 random rows the best is among the best three with probability 0.37 at most.
    assert costs[known].min() <= np.sort(costs)[2]


def test_all_rows_are_suggested_once_and_then_none() -> None:
    table = pool(12)
    first = bktf.suggest_from(table, [], target="cost", n=30)
    assert sorted(first) == list(range(12))
    assert bktf.suggest_from(table, tried(table, list(range(12))), target="cost", n=3) == []


def test_rows_without_a_result_are_pending_and_not_suggested_again() -> None:
    table, done = pool(), tried(pool(), list(range(20)))
    alone = bktf.suggest_from(table, done, target="cost", seed=3)
    waiting = [{**rows(table)[alone[0]], "cost": None}]
    assert bktf.suggest_from(table, done + waiting, target="cost", seed=3) != alone


def test_a_study_tries_rows_only_whatever_its_ranges_and_stops_when_all_are_tried() -> None:
    table = pool(25)
    listed = {tuple(row.values()) for row in rows(table)}

    def objective(trial: optuna.Trial) -> float:
        row = {
            "solvent": trial.suggest_categorical("solvent", ["toluene", "DMF", "water"]),
            "mass": trial.suggest_float("mass", 0.5, 500.0, log=True),
            "charge": trial.suggest_int("charge", 0, 5),
        }
        assert (row["mass"], row["charge"], row["solvent"]) in listed
        return value(row)

    sampler = bktf.BKTFSampler(seed=seeded(0), candidates=table)
    study = optuna.create_study(sampler=pickle.loads(pickle.dumps(sampler)))
    study.optimize(objective, n_trials=40)
    assert len(study.trials) == 25
    assert len({tuple(t.params.items()) for t in study.trials}) == 25


def test_minimize_takes_candidates_with_and_without_a_space() -> None:
    table = pool(50)
    result = bktf.minimize(value, candidates=pd.DataFrame(table), n_trials=20, seed=seeded(1))
    assert result.x in rows(table)
    again = result.suggest(2)
    assert all(row in rows(table) for row in again)
    seen = {tuple(t.params.items()) for t in result.study.trials}
    assert not any(tuple(row.items()) in seen for row in again)
    described = {"mass": optuna.distributions.FloatDistribution(0.5, 200, log=True)}
    part = bktf.minimize(
        lambda p: p["mass"], described, candidates={"mass": table["mass"]}, n_trials=12
    )
    assert part.x.keys() == {"mass"}


def test_feasible_failures_batches_and_fixed_values_work_with_candidates() -> None:
    table = pool(40)
    sampler = bktf.BKTFSampler(
        seed=seeded(2), candidates=table, feasible=lambda p: p["solvent"] != "water"
    )
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        row = {
            "mass": trial.suggest_float("mass", 0.5, 500.0),
            "charge": trial.suggest_int("charge", 0, 5),
            "solvent": trial.suggest_categorical("solvent", ["water", "DMF", "toluene"]),
        }
        return math.nan if row["charge"] == 2 else value(row)

    study.enqueue_trial({"solvent": "toluene"})
    study.optimize(objective, n_trials=15)
    assert study.trials[0].params["solvent"] == "toluene"
    assert all(t.params["solvent"] != "water" for t in study.trials)
    listed = {tuple(row.values()) for row in rows(table)}
    for t in study.trials:
        assert (t.params["mass"], t.params["charge"], t.params["solvent"]) in listed
    waiting = [study.ask() for _ in range(3)]
    chosen = [objective(t) for t in waiting]
    assert len({tuple(t.params.items()) for t in waiting}) == 3
    assert len(chosen) == 3


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of a rank that meant something else once
@pytest.mark.parametrize(
    ("rank", "acquisition"), [(2, "ei"), (2, "ucb"), (2, "max"), (math.inf, "ucb")]
)
def test_every_acquisition_compares_the_rows(rank: float, acquisition: str) -> None:
    table = pool(30)
    sampler = bktf.BKTFSampler(
        seed=seeded(3), candidates=table, rank=rank, acquisition=acquisition, n_startup_trials=6,
        n_sweeps=40, n_burn_in=20, n_chains=1,
    )  # fmt: skip
    study = optuna.create_study(sampler=sampler)
    names = {"mass": (0.5, 500.0)}
    for _ in range(9):
        trial = study.ask()
        row = {
            "mass": trial.suggest_float("mass", *names["mass"]),
            "charge": trial.suggest_int("charge", 0, 5),
            "solvent": trial.suggest_categorical("solvent", ["water", "DMF", "toluene"]),
        }
        study.tell(trial, value(row))
        assert row in rows(table)
    assert len({tuple(t.params.items()) for t in study.trials}) == 9


def test_the_choice_is_the_row_with_the_largest_expected_improvement() -> None:
    rng = np.random.default_rng(seeded(4))
    X = rng.random((15, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1]
    posterior = bktf.fit([[0.0, 1.0]] * 2, X, y, rank=math.inf, seed=seeded(5))
    listed = rng.random((300, 2))
    space = parameters_of(
        {f"x{d}": optuna.distributions.FloatDistribution(0, 1) for d in (0, 1)}, ()
    )
    candidates = CandidateList(space, listed, tuple(range(300)))
    for pending in (None, listed[:3]):
        found = choose(posterior, feasible=candidates, pending=pending, seed=0)
        left = listed if pending is None else listed[3:]
        gains = posterior.expected_improvement(left, None, pending)
        assert found.point is not None
        rank = int((gains > gains[np.all(left == found.point, axis=1)][0]).sum())
        # Pending points are sampled, so the order of the best few may differ.
        assert rank <= (0 if pending is None else 5)
        assert found.method == "comparison"


BAD: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "empty": ([], [], {}, "candidates has no rows"),
    "missing cell": ([{"a": 1}, {"a": None}], [], {}, r"candidates, row 1, column 'a': is empty"),
    "duplicates": ([{"a": 1, "b": "x"}] * 2 + [{"a": 2, "b": "x"}], [], {}, "rows 0 and 1 are equal"),
    "outside": ([{"a": 1}, {"a": 9}], [], {"space": {"a": (0, 5)}}, "row 1, column 'a': 9 is outside"),
    "no column": ([{"a": 1}, {"a": 2}], [], {"space": {"b": (0, 5)}}, "candidates has no column 'b'"),
    "no target": ([{"a": 1}, {"a": 2}], [{"a": 1}], {}, "results has no column 't'"),
    "text": ([{"a": 1}, {"a": 2}], [{"a": 1, "t": "n/a"}], {}, "row 0, column 't': must be a finite"),
    "lacks": ([{"a": 1, "b": 1}, {"a": 2, "b": 2}], [{"a": 1, "t": 1.0}], {}, "results has no column 'b'"),
    "nothing": ([{"a": 1}], [], {}, "there is nothing to choose"),
    "no table": (5, [], {}, "candidates must be a pandas data frame"),
    "direction": ([{"a": 1}, {"a": 2}], [], {"direction": "up"}, "direction must be"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BAD))
def test_bad_tables_get_one_error_that_names_the_place(name: str) -> None:
    candidates, results, more, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        bktf.suggest_from(candidates, results, target="t", **more)


def test_a_parameter_that_is_no_column_or_has_another_range_is_refused() -> None:
    study = optuna.create_study(sampler=bktf.BKTFSampler(candidates={"a": [1.0, 2.0, 9.0]}))
    with pytest.raises(ValueError, match="'b' is suggested, but candidates have only"):
        study.ask().suggest_float("b", 0, 1)
    with pytest.raises(ValueError, match="which the objective does not suggest"):
        study.ask().suggest_float("a", 20, 30)
    with pytest.raises(ValueError, match="give a space"):
        bktf.minimize(value)


def test_rows_with_conditional_columns_are_suggested() -> None:
    listed = [{"k": "a", "x": 1.0}, {"k": "b"}, {"k": "a", "x": 2.0}, {"k": "a", "x": 2.5}]
    space = [{"k": bktf.choices("a", "b")}, bktf.when({"k": "a"}, x=(0.0, 3.0))]
    result = bktf.minimize(lambda p: p.get("x", 0.5), space, candidates=listed, n_trials=9, seed=0)
    assert sorted(str(t.params) for t in result.study.trials) == sorted(map(str, listed))
    for wrong, message in (({"k": "b", "x": 2.0}, "must be empty"), ({"k": "a"}, "is empty")):
        with pytest.raises(ValueError, match=f"row 4, column 'x': {message}, by its conditions"):
            bktf.suggest_from([*listed, wrong], [], target="t", space=space)


def test_values_that_no_row_has_cannot_be_enqueued() -> None:
    listed = [{"x": i / 10, "n": (i * 7) % 11} for i in range(11)]
    for values in ({"x": 0.123456}, {"n": 15}):
        study = optuna.create_study(sampler=bktf.BKTFSampler(seed=0, candidates=listed))
        study.enqueue_trial(values)
        with pytest.raises(ValueError, match="which no row of the candidates has"):
            study.optimize(
                lambda t: t.suggest_float("x", 0, 1) + t.suggest_int("n", 0, 20), n_trials=1
            )


def test_results_are_recognised_whatever_their_labels_and_precision() -> None:
    frame = pd.DataFrame({"x": [0.1, 0.2, 0.3, 0.4, 0.7]})
    done = pd.DataFrame({"x": [0.1, 0.2], "t": [1.0, 2.0]}, index=[0, 0])
    for given in (frame, frame.astype("float32"), frame.assign(t=0.0)):
        assert sorted(bktf.suggest_from(given, done, target="t", n=9)) == [2, 3, 4]
    with pytest.raises(ValueError, match="results, row 0, column 'x': must be a number"):
        bktf.suggest_from(frame, [{"x": "0,1", "t": 1.0}], target="t")


def test_settings_of_the_sampler_serve_suggest_from_and_others_are_named() -> None:
    table = pool(30)
    found = bktf.suggest_from(
        table, [], target="t", n=3, feasible=lambda p: p["mass"] < 20,
        expected_optimum={"mass": (10.0, 5.0)},
    )  # fmt: skip
    assert all(table["mass"][i] < 20 for i in found)
    with pytest.raises(TypeError, match="did you mean 'acquisition'"):
        bktf.suggest_from(table, [], target="t", aquisition="ei")
    rows_of = [{"a": 0.5, "b": 0.5}, {"a": 0.4, "b": 0.4}]
    with pytest.raises(ValueError, match="row 1: a, b must sum to 1"):
        bktf.suggest_from(rows_of, [], target="t", space=[bktf.mixture("a", "b")])
    with pytest.raises(ValueError, match="the column 'x' must be a list"):
        bktf.suggest_from({"x": 3}, [], target="t")


SPACE = """
other_columns = ["shelf"]
[objective]
name = "yield"
direction = "maximize"
[parameters.mass]
type = "float"
low = 0
high = 200
[parameters.solvent]
type = "category"
values = ["water", "DMF", "toluene"]
"""


def test_the_lab_suggests_rows_of_a_pool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "space.toml").write_text(SPACE)
    table = pool(30)
    lines = [
        f"{m:.4f},{s},shelf {i}"
        for i, (m, s) in enumerate(zip(table["mass"], table["solvent"], strict=True))
    ]
    (tmp_path / "pool.csv").write_text("mass,solvent,shelf\n" + "\n".join(lines) + "\n")
    results = [f"{line.rsplit(',', 1)[0]},{i}" for i, line in enumerate(lines[:9])]
    (tmp_path / "results.csv").write_text(
        "mass,solvent,yield,shelf\n" + ",\n".join(results) + ",\n"
    )
    files = [str(tmp_path / name) for name in ("space.toml", "results.csv")]
    pooled = ["--candidates", str(tmp_path / "pool.csv")]
    assert main(["suggest", *files, *pooled, "-n", "3", "--append"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[1].startswith("row")
    appended = (tmp_path / "results.csv").read_text().splitlines()[10:]
    assert len(appended) == 3
    for line in appended:
        mass, solvent, _, shelf = line.split(",")[:4]
        number = int(shelf.removeprefix("shelf "))
        assert number >= 9
        assert float(mass) == float(lines[number].split(",")[0])
        assert solvent == lines[number].split(",")[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mass,solvent\n", "pool.csv: has no candidates"),
        ("mass\n3\n", "pool.csv: row 1: the column 'solvent' is missing"),
        ("mass,solvent\n300,DMF\n", "pool.csv: row 2, column 'mass': must lie in"),
        ("mass,solvent\n3,\n", "pool.csv: row 2, column 'solvent': is empty"),
        (
            "mass,solvent\n3,DMF\n4,DMF\n3,DMF\n",
            "pool.csv: row 4: has the same parameters as row 2",
        ),
    ],
)
def test_a_bad_pool_is_one_line(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "results.csv").write_text("mass,solvent,yield,shelf\n")
    (tmp_path / "pool.csv").write_text(text)
    files = [str(tmp_path / name) for name in ("space.toml", "results.csv")]
    assert main(["suggest", *files, "--candidates", str(tmp_path / "pool.csv")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
