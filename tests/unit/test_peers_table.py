"""The table of what a suggestion costs, from its lines."""

from typing import Any

from benchmarks.peers import peers_table


def line(method: str, n_trials: int, *cpu_seconds: float) -> dict[str, Any]:
    cell = {"space": "box", "n_dims": 6, "n_trials": n_trials}
    return {"method": method, **cell, "cpu_seconds": list(cpu_seconds)}


def test_a_cell_shows_the_median_of_its_latest_line_and_the_ratio() -> None:
    lines = [line("bktf", 50, 9.0, 9.0, 9.0), line("bktf", 50, 0.1, 0.2, 0.6)]
    lines += [line("Optuna GP", 50, 0.4, 0.4, 0.5), line("TPE", 50, 0.004, 0.001, 0.004)]
    assert "| box | 6 | 50 | 0.200 | 0.400 | 0.004 | 0.50 |" in peers_table(lines)


def test_a_cell_without_the_peer_has_no_ratio_and_one_without_bktf_no_row() -> None:
    shown = peers_table([line("bktf", 100, 0.25), line("TPE", 200, 0.1)])
    assert "| box | 6 | 100 | 0.250 | – | – | – |" in shown
    assert "| 200 |" not in shown
