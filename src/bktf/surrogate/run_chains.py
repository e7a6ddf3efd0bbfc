"""Several chains in threads, with a progress bar; an interrupt or an error stops all of them."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import numpy as np

from bktf._checks import MAX_CHAINS, whole_number

T = TypeVar("T")

CHAIN_STREAM = 0  # spawn key of the fit's seed


class ChainCall(NamedTuple):
    """What one chain is given: its number, its random numbers, and how to stop and report."""

    number: int
    start_rng: np.random.Generator
    chain_rng: np.random.Generator
    fill_rng: np.random.Generator
    stop: threading.Event
    report: Callable[[int], None]  # counts sweeps


class RunOptions(NamedTuple):
    """How chains are run. It does not change what they draw."""

    n_threads: int | None = None
    show_progress_bar: bool = False


def run_chains(
    chain: Callable[[ChainCall], T],
    n_chains: int,
    n_reports: int,
    entropy: int,
    options: RunOptions,
) -> list[T]:
    """The results of `chain` for each chain, in order, whatever the number of threads.

    n_reports: the sweeps that all chains together report.

    The error that is raised is the first one, not the interrupts that stopping causes in others.
    """
    n_threads = min(n_chains, os.cpu_count() or 1)
    if options.n_threads is not None:
        n_threads = min(n_chains, whole_number("n_threads", options.n_threads, 1, MAX_CHAINS))
    stop = threading.Event()
    with _progress(n_reports, options.show_progress_bar) as report:
        calls = [_chain_call(number, entropy, stop, report) for number in range(n_chains)]
        if n_threads <= 1:
            return [chain(call) for call in calls]
        with ThreadPoolExecutor(n_threads, thread_name_prefix="bktf") as pool:
            futures = [pool.submit(chain, call) for call in calls]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            except BaseException:
                stop.set()
                raise
            for future in futures:
                error = future.exception() if future.done() else None
                if error is not None:
                    stop.set()
                    raise error
            return [future.result() for future in futures]


def _chain_call(
    number: int, entropy: int, stop: threading.Event, report: Callable[[int], None]
) -> ChainCall:
    """What chain `number` is given; its random numbers depend on the fit's seed and this number."""
    stream = np.random.SeedSequence(entropy, spawn_key=(CHAIN_STREAM, number))
    start_rng, chain_rng, fill_rng = (np.random.default_rng(s) for s in stream.spawn(3))
    return ChainCall(number, start_rng, chain_rng, fill_rng, stop, report)


@contextmanager
def _progress(total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """A function that counts sweeps, on a progress bar if shown."""
    if not shown:
        yield lambda _: None
        return
    from tqdm.auto import tqdm  # comes with Optuna; not needed otherwise

    lock = threading.Lock()
    with tqdm(total=total, unit="sweep") as bar:

        def report(count: int) -> None:
            with lock:
                bar.update(count)

        yield report
