"""Long compiled work in short calls, so that Ctrl-C takes effect between them."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

PACE = 0.05  # seconds per compiled call, a quarter of the allowed delay of Ctrl-C


class Progress(NamedTuple):
    """How a long computation is stopped, and how it reports its progress."""

    stop: threading.Event
    report: Callable[[int], None]  # called with the number of sweeps since the last report


def run_in_short_calls(
    total: int, first_count: int, advance: Callable[[int, int], None], stop: threading.Event
) -> None:
    """Call advance(done, count) until `total` is done; calls should take about PACE seconds."""
    done, count = 0, max(1, first_count)
    while done < total:
        if stop.is_set():
            raise KeyboardInterrupt
        size = min(count, total - done)
        began = time.perf_counter()
        advance(done, size)
        elapsed = max(time.perf_counter() - began, 1e-6)
        done += size
        count = max(1, min(int(size * PACE / elapsed), 4 * size))
