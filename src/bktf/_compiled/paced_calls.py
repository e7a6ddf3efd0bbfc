"""Long compiled work in short calls, so that Ctrl-C is noticed."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

PACE = 0.05  # seconds a compiled call should take: a quarter of what Ctrl-C may wait


class Progress(NamedTuple):
    """How a long computation is told to stop, and how it says how far it is."""

    stop: threading.Event
    report: Callable[[int], None]  # counts sweeps


def paced(
    total: int, guess: int, advance: Callable[[int, int], None], stop: threading.Event
) -> None:
    """Call advance(done, count) until `total` is done, with counts that take about PACE seconds each."""
    done, count = 0, max(1, guess)
    while done < total:
        if stop.is_set():
            raise KeyboardInterrupt
        size = min(count, total - done)
        began = time.perf_counter()
        advance(done, size)
        elapsed = max(time.perf_counter() - began, 1e-6)
        done += size
        count = max(1, min(int(size * PACE / elapsed), 4 * size))
