"""A pytest plugin: run given tests in a given order, and write what each cost and how it ended.

It is told by environment variables, because it runs in another process than its caller:
    MUTATIONS_TESTS    a JSON list of node ids to run, in this order; all that are collected without it
    MUTATIONS_REPORT   a file for one JSON line per test: node id, CPU seconds, "passed" or "failed"
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def _cpu_seconds() -> float:
    """Of this process and of those it has waited for."""
    return sum(os.times()[:4])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the wanted tests, in their order."""
    wanted = os.environ.get("MUTATIONS_TESTS")
    if wanted is None:
        return
    order = {node: i for i, node in enumerate(json.loads(Path(wanted).read_text(encoding="utf-8")))}
    dropped = [item for item in items if item.nodeid not in order]
    items[:] = sorted(
        (item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid]
    )
    config.hook.pytest_deselected(items=dropped)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure a test with its setup."""
    before, failed = _cpu_seconds(), item.session.testsfailed
    result = yield
    outcome = "failed" if item.session.testsfailed > failed else "passed"
    line = {"test": item.nodeid, "cpu": round(_cpu_seconds() - before, 3), "outcome": outcome}
    with Path(os.environ["MUTATIONS_REPORT"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return result
