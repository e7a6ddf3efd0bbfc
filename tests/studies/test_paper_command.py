"""`python -m studies.paper`: every experiment in small, bad input, and the committed lines."""

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from studies.lines import append_line, processor, read_lines
from studies.paper import __main__ as paper
from studies.paper.experiments import EXPERIMENTS, PaperRequest, reproduce, tasks_of
from studies.paper.runs import run_on_function, tuning_runs
from studies.problems import TASKS, Task, tuning

FIGURES = {
    "intro_curves",
    "intro_surfaces",
    "intro_posterior",
    "functions_surfaces",
    "functions_curves",
    "profiles",
    "hyperpriors",
    "factors",
    "tuning",
}
TABLES = {
    "intro",
    "functions_grid",
    "functions_true",
    "functions_hits",
    "functions_cpu",
    "profiles_paper",
    "profiles_exact",
    "profiles_tolerance",
    "hyperpriors",
    "open_settings",
    "tuning",
}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one whole quick run."""
    folder = tmp_path_factory.mktemp("results")
    assert paper.main(["all", "--quick", "--jobs", "1", "--results", str(folder)]) == 0
    return folder / "quick"


def test_quick_makes_every_table_and_figure(quick: Path) -> None:
    assert {p.stem for p in (quick / "figures").iterdir()} == FIGURES
    assert {p.stem for p in (quick / "tables").iterdir()} == TABLES
    assert all(p.stat().st_size > 10_000 for p in (quick / "figures").iterdir())
    methods = {line["method"] for line in read_lines(quick / "functions.jsonl")}
    assert len(methods) == 9
    assert {line["problem"] for line in read_lines(quick / "tuning.jsonl")} == {
        "rf-classifier",
        "rf-regressor",
    }


def test_lines_say_all_that_a_replay_needs(quick: Path) -> None:
    for name in ("functions", "intro", "hyperpriors", "tuning", "details"):
        for line in read_lines(quick / f"{name}.jsonl"):
            assert line["settings"]["budget"] == (1 if name == "tuning" else 2)
            assert line["seed"] == 0
            assert {"bktf", "numpy", "python"} <= line["versions"].keys()
            assert line["commit"]
            assert line["processor"] == processor()
            assert len(line["points"]) == len(line["values"])
            assert all(len(point) == len(line["points"][0]) for point in line["points"])
    for line in read_lines(quick / "scores" / "rf-classifier.jsonl"):
        assert line["commit"]
        assert line["processor"] == processor()


def test_a_second_time_nothing_is_run_and_the_tables_are_the_same(
    quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {p: p.read_bytes() for p in quick.rglob("*") if p.suffix in (".md", ".jsonl")}
    assert paper.main(["functions", "--quick", "--results", str(quick.parent)]) == 0
    assert paper.main(["all", "--quick", "--tables", "--results", str(quick.parent)]) == 0
    assert {p: p.read_bytes() for p in before} == before
    assert "drew" in capsys.readouterr().out


def test_a_replication_is_reproducible_from_its_line(quick: Path) -> None:
    recorded = read_lines(quick / "functions.jsonl")
    for line in (
        next(x for x in recorded if x["method"] == m and x["problem"] == "schaffer-shifted")
        for m in ("bktf-ei", "gpgrid-ucb", "tpe")
    ):
        assert (
            run_on_function(
                {
                    name: line[name]
                    for name in ("experiment", "problem", "method", "seed", "settings")
                }
            )["values"]
            == line["values"]
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["functions", "--methods", "gpp"], "a method must be one of"),
        (["all", "--tasks", "svm", "--quick"], "a task must be one of"),
        (["functions", "--tasks", "rf-regressor"], "--tasks belongs to tuning"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert paper.main([*arguments, "--results", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_some_methods_do_not_replace_the_tables_of_all(
    quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {
        p: p.read_bytes()
        for p in quick.rglob("*")
        if p.suffix in (".md", ".png", ".jsonl") and "partial" not in p.parts
    }
    assert (
        paper.main(
            [
                "all",
                "--quick",
                "--methods",
                "bktf-ei",
                "tpe",
                "--jobs",
                "2",
                "--results",
                str(quick.parent),
            ]
        )
        == 0
    )
    assert {p: p.read_bytes() for p in before} == before
    assert "TPE" in (quick / "partial" / "tables" / "functions_hits.md").read_text()
    assert "GP" not in (quick / "partial" / "tables" / "functions_hits.md").read_text()
    assert (
        paper.main(["hyperpriors", "--quick", "--methods", "tpe", "--results", str(quick.parent)])
        == 0
    )
    assert "have no part in it" in capsys.readouterr().out


def test_tables_of_an_empty_folder_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert paper.main(["profiles", "--tables", "--results", str(tmp_path)]) == 0
    assert "has no lines of these runs" in capsys.readouterr().out


def test_networks_that_cannot_be_run_are_said_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name in ("keras", "jax") else object()
    )
    with pytest.raises(
        ValueError, match=r"need keras and jax, which is not installed; install bktf\[networks\]"
    ):
        reproduce(
            "all", PaperRequest(folder=tmp_path, methods=[], tasks=["rf-regressor", "nn-regressor"])
        )
    assert tasks_of(PaperRequest(folder=tmp_path, methods=[])) == ["rf-classifier", "rf-regressor"]
    assert len(tasks_of(PaperRequest(folder=tmp_path, methods=[], tables_only=True))) == 6


def test_recorded_network_runs_are_shown_where_networks_cannot_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for key in tuning_runs(list(TASKS), ["tpe"], None, False):
        append_line(tmp_path / "tuning.jsonl", {**key, "n_start": 3, "values": [0.5] * 53})
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name in ("keras", "jax") else object()
    )
    monkeypatch.setattr("studies.paper.experiments.choose_methods", lambda _: ["tpe"])
    reproduce("tuning", PaperRequest(folder=tmp_path, methods=[]))
    assert "NN regressor" in (tmp_path / "tables" / "tuning.md").read_text()
    assert "those that are recorded are shown" in capsys.readouterr().out


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "joblib" else object()
    )
    with pytest.raises(
        ValueError, match=r"need joblib, which is not installed; install bktf\[experiments\]"
    ):
        reproduce("intro", PaperRequest(folder=tmp_path, methods=[]))


@pytest.mark.parametrize("study", ["paper", "comparison"])
def test_help_does_not_import_what_the_studies_need(study: str) -> None:
    heavy = ["joblib", "sklearn", "matplotlib", "optuna"]
    code = (
        f"import sys; from studies.{study} import __main__ as study; study.make_parser(); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"


def test_the_experiments_known_to_the_command_line_are_those_there_are() -> None:
    assert tuple(EXPERIMENTS) == paper.EXPERIMENTS


def test_scores_are_shared_through_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, path, computed = TASKS["rf-regressor"], tmp_path / "scores.jsonl", []

    def fake(_: Task, configuration: tuple[int, ...]) -> float:
        computed.append(configuration)
        return float(sum(configuration))

    monkeypatch.setattr(tuning, "compute_loss", fake)
    one, two = tuning.ScoreTable(path, task), tuning.ScoreTable(path, task)
    assert one.loss((10, 5, 1, 2)) == two.loss((10, 5, 1, 2)) == 18
    append_line(path, {"configuration": [11, 5, 1, 2], "loss": 3.5})
    assert one.loss((11, 5, 1, 2)) == 3.5
    assert computed == [(10, 5, 1, 2)]
    monkeypatch.setattr(tuning, "compute_loss", lambda *_: float("nan"))
    with pytest.raises(ArithmeticError, match="n_estimators"):
        one.loss((12, 5, 1, 2))


def test_forest_losses_are_those_of_cross_validation() -> None:
    import numpy as np
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.model_selection import KFold

    X, y = tuning.load_data("boston")
    assert X.shape == (506, 13)
    each = []
    for train, held in KFold(3).split(X):
        forest = RandomForestRegressor(
            n_estimators=12, max_depth=6, max_features=4, min_samples_split=3, random_state=0
        ).fit(X[train], y[train])
        each.append(((forest.predict(X[held]) - y[held]) ** 2).mean())
    assert tuning.compute_loss(TASKS["rf-regressor"], (12, 6, 4, 3)) == pytest.approx(np.mean(each))
    assert tuning.load_data("digits")[0].shape == (1797, 64)
