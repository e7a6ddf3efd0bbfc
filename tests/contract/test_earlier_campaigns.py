"""Earlier campaigns: related results speed up the search, and what cannot be used is refused."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

import bktf
from bktf.cli import main
from bktf.engine import History, Objective, make_campaign, with_campaigns
from bktf.spaces import read_space
from seeds import seeded

optuna.logging.set_verbosity(optuna.logging.ERROR)
SPACE = {"a": (0.0, 1.0), "b": (0.0, 1.0), "kind": bktf.choices("x", "y")}


def earlier_value(p: dict[str, Any]) -> float:
    return float((p["a"] - 0.3) ** 2 + (p["b"] - 0.7) ** 2 + 0.3 * (p["kind"] == "y"))


def value(p: dict[str, Any]) -> float:
    """The same with the optimum moved, on another scale."""
    return float(50 + 8 * earlier_value({**p, "a": p["a"] - 0.1, "b": p["b"] + 0.05}))


def table(n: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seeded(seed))
    rows: list[dict[str, Any]] = [
        {"a": float(a), "b": float(b), "kind": str(k)}
        for a, b, k in zip(rng.random(n), rng.random(n), rng.choice(["x", "y"], n), strict=True)
    ]
    return [{**row, "loss": earlier_value(row)} for row in rows]


def best_after(n: int, seed: int, **given: Any) -> float:
    return bktf.minimize(value, SPACE, n_trials=n, seed=seeded(seed), **given).fun


def test_related_results_find_a_better_point_in_few_evaluations() -> None:
    # Were both alike, all four of four pairs would agree with probability 0.06.
    pairs = [
        (best_after(7, s, earlier=[bktf.earlier(table(40), "loss")]), best_after(7, s))
        for s in range(4)
    ]
    assert sum(with_earlier < fresh for with_earlier, fresh in pairs) >= 3


def test_the_best_earlier_point_is_tried_first_and_the_rest_is_learned() -> None:
    rows = table(30)
    best = min(rows, key=lambda row: row["loss"])
    given = [bktf.earlier(pd.DataFrame(rows), target="loss")]
    result = bktf.minimize(value, SPACE, n_trials=8, seed=seeded(1), earlier=given)
    first = result.study.trials[0].params
    assert first == {name: best[name] for name in SPACE}
    assert len({tuple(t.params.items()) for t in result.study.trials}) == 8
    assert len(result.suggest(2)) == 2
    assert result.posterior.X.shape[1] == 3


def test_earlier_values_are_moved_to_the_scale_of_the_target() -> None:
    rows = table(30)
    space = read_space(SPACE)
    values = np.array([row["loss"] for row in rows])
    objective = Objective(direction="minimize")
    campaign = make_campaign("before", rows, values, space.distributions, objective)
    points = [[row["a"], row["b"], float(row["kind"] == "y")] for row in table(8, 4)]
    X = np.array(points)
    y = -np.array([50 + 8 * row["loss"] for row in table(8, 4)])  # the same function, oriented
    nothing = np.empty((0, 3))
    history = with_campaigns(History(X, y, nothing, X, nothing), space.modelled, [campaign])
    related = history.related
    assert related is not None
    assert related.is_trusted
    wanted = -(50 + 8 * np.array([earlier_value(_row(x)) for x in related.X]))
    assert np.abs(related.y - wanted).mean() < 0.3 * wanted.std()
    assert len(history.first) == 1


def _row(x: Any) -> dict[str, Any]:
    return {"a": float(x[0]), "b": float(x[1]), "kind": "y" if x[2] else "x"}


def test_a_study_serves_as_it_is_and_the_sampler_pickles() -> None:
    old = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(2)))
    old.optimize(
        lambda t: earlier_value(
            {
                "a": t.suggest_float("a", 0, 1),
                "b": t.suggest_float("b", 0, 1),
                "kind": t.suggest_categorical("kind", ["x", "y"]),
            }
        ),
        n_trials=15,
    )
    sampler = pickle.loads(pickle.dumps(bktf.BKTFSampler(seed=1, earlier=[old])))
    study = optuna.create_study(sampler=sampler)

    def objective(t: optuna.Trial) -> float:
        return value(
            {
                "a": t.suggest_float("a", 0, 1),
                "b": t.suggest_float("b", 0, 1),
                "kind": t.suggest_categorical("kind", ["x", "y"]),
            }
        )

    study.optimize(objective, n_trials=8)
    assert len(study.trials) == 8
    wrong = optuna.create_study(direction="maximize", sampler=bktf.BKTFSampler(earlier=[old]))
    wrong.add_trial(study.trials[0])
    with pytest.raises(ValueError, match="is there to minimize, this one to maximize"):
        wrong.optimize(objective, n_trials=1)


def test_missing_and_further_parameters_are_inactive() -> None:
    rows = [
        {"a": row["a"], "pressure": i % 5, "loss": row["loss"]} for i, row in enumerate(table(25))
    ]
    more = [{**row, "grade": "AB"[i % 2]} for i, row in enumerate(table(20, 3))]
    given = [bktf.earlier(rows, "loss"), bktf.earlier(more, "loss")]
    result = bktf.minimize(value, SPACE, n_trials=9, seed=seeded(3), earlier=given)
    assert all(t.params.keys() == SPACE.keys() for t in result.study.trials)
    assert np.isfinite(result.posterior.mean(result.posterior.X)).all()


def test_a_point_that_earlier_results_say_in_part_is_tried_once() -> None:
    rows = [{"a": row["a"], "loss": row["loss"]} for row in table(20)]
    best = min(rows, key=lambda row: row["loss"])["a"]
    given = [bktf.earlier(rows, "loss")]
    result = bktf.minimize(value, SPACE, n_trials=5, seed=seeded(8), earlier=given)
    assert [t.params["a"] == best for t in result.study.trials] == [True] + [False] * 4
    blends = [{"a": r["a"], "loss": r["loss"]} for r in rows]
    mixed = bktf.minimize(
        lambda p: p["a"], [bktf.mixture("a", "b", "c")], n_trials=3, seed=seeded(9),
        earlier=[bktf.earlier(blends, "loss")],
    )  # fmt: skip
    assert mixed.study.trials[0].params["a"] == pytest.approx(best)
    assert all(sum(t.params.values()) == pytest.approx(1.0) for t in mixed.study.trials)


def test_a_posterior_that_knows_campaigns_is_saved_and_read(tmp_path: Path) -> None:
    given = [bktf.earlier(table(20), "loss")]
    result = bktf.minimize(value, SPACE, n_trials=6, seed=seeded(4), earlier=given)
    posterior = result.posterior
    posterior.save(tmp_path / "fit.npz")
    again = bktf.load(tmp_path / "fit.npz")
    points = np.array([[0.2, 0.3, 0.0], [0.9, 0.1, 1.0]])
    assert again.mean(points) == pytest.approx(posterior.mean(points))
    assert again.std(points) == pytest.approx(posterior.std(points))
    left, left_again = bktf.leave_one_out(posterior), bktf.leave_one_out(again)
    assert left_again.mean == pytest.approx(left.mean)
    assert left.mean.shape == (6,)
    assert not left.was_refitted.any()
    with pytest.raises(ValueError, match="also knows earlier campaigns"):
        bktf.leave_one_out(posterior, refit=True)


def test_candidates_mixtures_and_reports_go_with_earlier_results() -> None:
    rows = table(20)
    listed = bktf.minimize(
        value, candidates=[{k: row[k] for k in SPACE} for row in table(25, 5)],
        earlier=[bktf.earlier(rows, "loss")], n_trials=8, seed=seeded(5),
    )  # fmt: skip
    assert len(listed.study.trials) == 8
    blends = [{"a": r["a"], "b": 1 - r["a"], "loss": r["loss"]} for r in rows]
    mixed = bktf.minimize(
        lambda p: p["a"] ** 2, [bktf.mixture("a", "b")], n_trials=7, seed=seeded(6),
        earlier=[bktf.earlier(blends, "loss")],
    )  # fmt: skip
    assert all(sum(t.params.values()) == pytest.approx(1.0) for t in mixed.study.trials)
    study = optuna.create_study(
        sampler=bktf.BKTFSampler(seed=seeded(7), earlier=[bktf.earlier(rows, "loss")]),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=3),
    )

    def objective(t: optuna.Trial) -> float:
        p = {"a": t.suggest_float("a", 0, 1), "b": t.suggest_float("b", 0, 1), "kind": "x"}
        for step in range(1, 5):
            t.report(value(p) + 10 / step, step)
            if t.should_prune():
                raise optuna.TrialPruned
        return value(p)

    study.optimize(objective, n_trials=16)
    assert len(study.trials) == 16


def test_conditions_of_the_target_hold_for_earlier_rows() -> None:
    space = [
        {"k": bktf.choices("a", "b")},
        bktf.when({"k": "a"}, x=(0.0, 1.0)),
        bktf.when({"k": "b"}, y=(0.0, 1.0)),
    ]
    rows = [{"k": "ab"[i % 2], "x": i / 10, "y": 0.3, "loss": i / 10} for i in range(8)]
    result = bktf.minimize(
        lambda p: p.get("x", 0.5), space, n_trials=8, seed=0, earlier=[bktf.earlier(rows, "loss")]
    )
    assert all(("x" in t.params) == (t.params["k"] == "a") for t in result.study.trials)


def test_values_between_steps_count_as_the_nearest(caplog: pytest.LogCaptureFixture) -> None:
    step = optuna.distributions.FloatDistribution(0, 1, step=0.1)
    rows = [{"x": v, "loss": (v - 0.46) ** 2} for v in (0, 0.1, 0.9, 0.45, 0.46, 0.44, 7.0)]
    result = bktf.minimize(
        lambda p: p["x"], {"x": step}, n_trials=2, seed=0, earlier=[bktf.earlier(rows, "loss")]
    )
    assert result.study.trials[0].params["x"] == pytest.approx(0.5)
    assert "1 of 7 rows of the earlier table lie outside the space" in caplog.text


BAD: dict[str, tuple[Any, str]] = {
    "other names": ([{"z": 1.0, "loss": 1.0}] * 3, "no parameter in common"),
    "other units": ([{"a": 300.0 + i, "loss": 1.0} for i in range(4)], "are the units the same"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_campaigns_that_say_nothing_are_refused(name: str) -> None:
    rows, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        bktf.minimize(value, SPACE, n_trials=2, earlier=[bktf.earlier(rows, "loss")])


def test_what_is_no_campaign_is_refused() -> None:
    with pytest.raises(ValueError, match="no column 'loss'"):
        bktf.earlier([{"a": 1}], "loss")
    with pytest.raises(ValueError, match="row 1, column 'loss': must be a finite number"):
        bktf.earlier([{"a": 1, "loss": 1}, {"a": 2, "loss": "bad"}], "loss")
    with pytest.raises(ValueError, match="earlier must be a list"):
        bktf.BKTFSampler(earlier=[5])
    with pytest.raises(ValueError, match="must have rows"):
        bktf.earlier({"loss": [1.0]}, "loss")


LAB = """
[objective]
name = "yield"
direction = "maximize"
[earlier]
files = ["last.csv"]
[parameters.temperature]
type = "float"
low = 20
high = 120
[parameters.solvent]
type = "category"
values = ["water", "DMF"]
"""


def test_the_lab_reads_earlier_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "space.toml").write_text(LAB)
    (tmp_path / "results.csv").write_text("")
    rows = [
        f"{t},{s},{10 - abs(t - 80) / 10 + (s == 'DMF')},3"
        for t in range(20, 120, 10)
        for s in ("water", "DMF")
    ]
    (tmp_path / "last.csv").write_text("temperature,solvent,yield,pressure\n" + "\n".join(rows))
    files = [str(tmp_path / name) for name in ("space.toml", "results.csv")]
    assert main(["suggest", *files]) == 0
    assert "80" in capsys.readouterr().out  # the best earlier point
    (tmp_path / "last.csv").write_text("temperature,solvent\n30,DMF\n")
    assert main(["suggest", *files]) == 2
    assert "last.csv: row 1: the column 'yield' is missing" in capsys.readouterr().err
    (tmp_path / "last.csv").unlink()
    assert main(["suggest", *files]) == 2
    assert "last.csv: no such file" in capsys.readouterr().err
    (tmp_path / "last.csv").write_text("temperature,yield\n40x,3\n")
    assert main(["suggest", *files]) == 2
    assert "last.csv: row 2, column 'temperature': must be a number" in capsys.readouterr().err
