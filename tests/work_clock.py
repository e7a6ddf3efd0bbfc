"""A clock that counts work instead of seconds: how long work is cut into calls can be tested on any machine, however busy."""

from collections import defaultdict
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from bktf._compiled import paced_calls


class WorkClock:
    """The clock of `paced_calls` until the test ends: it stands still but for `cost` seconds per unit of work charged to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cost: float) -> None:
        self.counts: dict[str, list[int]] = defaultdict(
            list
        )  # by function, the units of every call
        self._monkeypatch, self._cost, self._now = monkeypatch, cost, 0.0
        monkeypatch.setattr(paced_calls, "time", SimpleNamespace(perf_counter=lambda: self._now))

    def charge(
        self, module: ModuleType, name: str, units: Callable[[tuple[Any, ...]], int]
    ) -> None:
        """Replace module.name by itself and a charge for the units that its arguments ask for."""
        real = getattr(module, name)

        def call(*arguments: Any) -> Any:
            count = units(arguments)
            self.counts[name].append(count)
            self._now += self._cost * count
            return real(*arguments)

        self._monkeypatch.setattr(module, name, call)
