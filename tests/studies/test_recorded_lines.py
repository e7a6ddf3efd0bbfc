"""What is committed: every table and figure follows from the recorded lines and is shown."""

import json
import re
import shutil
from pathlib import Path

import pytest

from benchmarks.any_size.tables import LINES as ANY_SIZE_LINES
from benchmarks.any_size.tables import tables as any_size_tables
from benchmarks.hard_use.__main__ import LINES as HARD_USE_LINES
from benchmarks.hard_use.__main__ import tables as hard_use_tables
from benchmarks.path_features import tables as path_features_tables
from benchmarks.peers import LINES as PEERS_LINES
from benchmarks.peers import peers_table
from benchmarks.prior_mean import tables as prior_mean_tables
from benchmarks.tree_cost import LINES as TREE_COST_LINES
from benchmarks.tree_cost import tree_cost_table
from benchmarks.twenty_dims import tables as twenty_dims_tables
from conftest import ROOT
from studies.analysis import importance_coverage, stopping
from studies.comparison import __main__ as comparison
from studies.conditional import __main__ as conditional
from studies.conditional import sharing
from studies.experimenters import __main__ as experimenters
from studies.finite_rank import __main__ as finite_rank
from studies.lines import Line, append_line, key_of, read_lines
from studies.migration import RENAMED_EXPERIMENTS, RENAMED_FILES, main, take_over
from studies.pages import MARKER
from studies.paper import __main__ as paper
from studies.pruning import __main__ as pruning
from studies.pruning import predictions

RESULTS = ROOT / "studies" / "results"
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
FILES = sorted(path.stem for path in RESULTS.glob("*.jsonl"))


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all tables, drawn anew from the committed lines."""
    folder = tmp_path_factory.mktemp("results")
    for path in RESULTS.glob("*.jsonl"):
        (folder / path.name).symlink_to(path)
    assert paper.main(["all", "--tables", "--results", str(folder)]) == 0
    for part in ([], ["--goals"], ["--variants"]):
        assert comparison.main([*part, "--tables", "--results", str(folder)]) == 0
    for name, table in hard_use_tables(read_lines(HARD_USE_LINES)).items():
        path = folder / "tables" / f"hard_use_{name}.md"
        path.write_text(table + "\n", encoding="utf-8")
    for name, table in any_size_tables(read_lines(ANY_SIZE_LINES)).items():
        path = folder / "tables" / f"any_size_{name}.md"
        path.write_text(table + "\n", encoding="utf-8")
    for name, table in (prior_mean_tables() | twenty_dims_tables()).items():
        (folder / "tables" / f"{name}.md").write_text(table + "\n", encoding="utf-8")
    for name, table in finite_rank.tables(read_lines(finite_rank.LINES)).items():
        (folder / "tables" / f"{name}.md").write_text(table + "\n", encoding="utf-8")
    by_run = conditional.STUDY.tables(read_lines(conditional.STUDY.path))
    by_run |= pruning.STUDY.tables(read_lines(pruning.STUDY.path))
    by_run |= predictions.tables(read_lines(predictions.LINES))
    by_run |= {"tree_cost": tree_cost_table(read_lines(TREE_COST_LINES))}
    by_run |= experimenters.tables(read_lines(experimenters.LINES))
    by_run |= sharing.tables(read_lines(sharing.LINES))
    by_run |= importance_coverage.tables(read_lines(importance_coverage.LINES))
    by_run |= stopping.tables(read_lines(stopping.LINES)) | path_features_tables()
    for name, table in by_run.items():
        (folder / "tables" / f"{name}.md").write_text(table + "\n", encoding="utf-8")
    costs = folder / "tables" / "peers.md"
    costs.write_text(peers_table(read_lines(PEERS_LINES)) + "\n", encoding="utf-8")
    return folder


def test_every_committed_table_is_that_of_the_lines(redrawn: Path) -> None:
    committed = {path.name: path.read_text("utf-8") for path in (RESULTS / "tables").iterdir()}
    assert {p.name: p.read_text("utf-8") for p in (redrawn / "tables").iterdir()} == committed


def test_every_table_in_the_docs_is_the_committed_one() -> None:
    shown = set()
    for page in PAGES:
        for _, name, table, _ in MARKER.findall(page.read_text(encoding="utf-8")):
            committed = (RESULTS / "tables" / f"{name}.md").read_text(encoding="utf-8")
            assert table == committed, f"{name} is stale; run python -m studies.pages"
            shown.add(name)
    not_shown = {path.stem for path in (RESULTS / "tables").iterdir()} - shown
    assert not_shown == {"hard_use_pruned_trials"}  # a detail of hard_use_pruned


def test_a_document_shows_every_committed_figure() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = {Path(path).name for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)}
    for folder in (RESULTS / "figures", ROOT / "docs" / "figures"):
        assert {path.name for path in folder.glob("*.png")} <= shown


def test_the_figures_drawn_are_those_committed(redrawn: Path) -> None:
    drawn = {path.name for path in (redrawn / "figures").iterdir()}
    assert drawn == {path.name for path in (RESULTS / "figures").iterdir()}


@pytest.mark.parametrize(
    "name", ["compare", "calibration", "goals", "bktf_variants", "finite_rank"]
)
def test_every_line_of_the_comparison_has_its_commit(name: str) -> None:
    for line in read_lines(RESULTS / f"{name}.jsonl"):
        assert line["commit"], key_of(line)
        assert not line["commit"].endswith("+")


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_under_todays_names(name: str) -> None:
    assert name not in RENAMED_FILES
    experiments = {line["experiment"] for line in read_lines(RESULTS / f"{name}.jsonl")}
    assert not experiments & set(RENAMED_EXPERIMENTS)


def _as_before(folder: Path) -> Path:
    """The committed lines under the names that they had before."""
    former_files = {new: old for old, new in RENAMED_FILES.items()}
    former = {new: old for old, new in RENAMED_EXPERIMENTS.items()}
    for path in RESULTS.glob("*.jsonl"):
        lines = [
            line | {"experiment": former.get(line["experiment"], line["experiment"])}
            for line in read_lines(path)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        target = folder / f"{former_files.get(path.stem, path.stem)}.jsonl"
        target.write_text(text, encoding="utf-8")
    shutil.copytree(RESULTS / "scores", folder / "scores")
    return folder


def test_lines_under_earlier_names_are_taken_over_once(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    old, new = _as_before(tmp_path / "old"), tmp_path / "new"
    assert {"variants.jsonl", "choices.jsonl"} <= {path.name for path in old.iterdir()}
    take_over(old, new)
    for path in (*RESULTS.glob("*.jsonl"), *RESULTS.glob("scores/*.jsonl")):
        assert read_lines(new / path.relative_to(RESULTS)) == _different(read_lines(path))
    assert set(take_over(old, new).values()) == {0}


def _different(lines: list[Line]) -> list[Line]:
    """Each line once."""
    return list({json.dumps(line, sort_keys=True): line for line in lines}.values())


def test_a_line_made_later_under_an_earlier_name_is_appended(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    first: Line = {"experiment": "variants", "problem": "branin", "seed": 0, "variant": "rank 1"}
    append_line(old / "variants.jsonl", first)
    append_line(old / "scores" / "rf-regressor.jsonl", {"configuration": [1, 2], "loss": 3.0})
    assert main([str(old), str(new)]) == 0
    append_line(old / "variants.jsonl", first | {"seed": 1})
    assert main([str(old), str(new)]) == 0
    taken = read_lines(new / "open_settings.jsonl")
    assert [(line["experiment"], line["seed"]) for line in taken] == [
        ("open-settings", 0),
        ("open-settings", 1),
    ]
    assert len(read_lines(new / "scores" / "rf-regressor.jsonl")) == 1
