"""The table of what a suggestion costs, from its lines."""

from typing import Any

from benchmarks.suggestion_cost import LINES, N_TRIALS, cost_table
from conftest import ROOT
from studies.lines import read_lines


def line(method: str, n_trials: int, seed: int, cpu_seconds: float) -> dict[str, Any]:
    return {"method": method, "n_trials": n_trials, "seed": seed, "cpu_seconds": cpu_seconds}


def test_the_table_shows_the_latest_line_of_each_seed() -> None:
    lines = [line("bktf", N_TRIALS[0], seed, 9.0) for seed in range(3)]
    lines += [line("bktf", N_TRIALS[0], seed, cpu) for seed, cpu in enumerate((0.1, 0.2, 0.6))]
    shown = cost_table(lines)
    assert "| bktf | 0.20 (0.10 to 0.60) |" + " – |" * (len(N_TRIALS) - 1) in shown
    assert "Optuna GP" not in shown


def test_the_table_of_the_docs_is_that_of_the_recorded_lines() -> None:
    table = cost_table(read_lines(LINES)) + "\n"
    assert table == (ROOT / "studies" / "results" / "tables" / "suggestion_cost.md").read_text(
        encoding="utf-8"
    )
    assert table in (ROOT / "docs" / "performance.md").read_text(encoding="utf-8"), (
        "run python -m studies.pages"
    )
