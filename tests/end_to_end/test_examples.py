"""Every example runs as its docstring says, and so does the demo."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seeds import seeded

ROOT = Path(__file__).resolve().parents[2]

SAYS = {
    "optuna_quickstart": "error 0.",
    "minimize_quickstart": "try next, two at a time:",
    "candidates": "best of all 300 candidates: 89.9",
    "conditional": "learned: 0.0",
    "earlier_campaign": "with last year's results: 9",
    "importance": "largest interactions:",
    "stop_when_done": "of 100 evaluations; converged: the best of",
    "mixture": "sum of every blend that was tried: {100.0}",
    "mixed_space": "every one respected layers × thickness ≤ 90",
    "parallel_workers": "40 trials by 4 processes",
}


def run(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", list(SAYS))
def test_the_example_runs(name: str) -> None:
    assert SAYS[name] in run(f"examples/{name}.py")


def test_the_demo_finds_a_good_point_and_says_how_good() -> None:
    """Found -3.23 ± 0.06, random search -1.62 ± 0.06 (seven seeds)."""
    text = run(
        "-c",
        f"from bktf.cli import main; main(['demo', '--evaluations', '40', '--seed', '{seeded(0)}'])",
    )
    found = float(text.split("\nfound")[1].split()[0])
    random = float(text.split("random search")[1].split()[0])
    assert found < random
    assert "improvement expected of one more evaluation" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["demo", "--seed", "-1"],
            "bktf demo: argument --seed: must be a whole number of at least 0; got '-1'",
        ),
        (["demo", "--evaluations", "few"], "must be a whole number of at least 1; got 'few'"),
        (["dream"], "invalid choice: 'dream'"),
        ([], "the following arguments are required: COMMAND"),
        (
            ["reproduce", "all", "--quick"],
            "the studies are run from a checkout: python -m studies.paper all --quick",
        ),
        (["compare"], "the studies are run from a checkout: python -m studies.comparison"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    command = [
        sys.executable,
        "-c",
        f"import sys; from bktf.cli import main; sys.exit(main({arguments!r}))",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
