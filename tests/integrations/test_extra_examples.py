"""The examples that need an extra run as their docstrings say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("sklearn_search", "nested cross-validation"),
        ("botorch_acquisition", "16 evaluations, best"),
        ("arviz_summary", "noise: 0.0"),
    ],
)
def test_the_example_runs(name: str, says: str) -> None:
    command = [sys.executable, f"examples/{name}.py"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
