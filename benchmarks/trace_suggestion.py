"""The Python functions of the package that one suggestion calls, on a continuous space and a grid.

Each function is printed once, when it is first called, with its depth and its module. Depth counts
the functions of bktf on the stack, from the sampler's `sample_relative` on. Functions of a chain's
thread count as called by the function that waits for it. Lambdas, comprehensions and generated
methods are not counted; compiled functions leave no Python frame. The module of the Numba options
is not counted either: Numba calls its functions to look up the types of arguments.

    python -m benchmarks.trace_suggestion
    python -m benchmarks.trace_suggestion --max-modules 14 --max-frames 11
"""

import argparse
import sys
import threading
import warnings
from collections.abc import Collection
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution

import bktf

PACKAGE = "bktf"
ENTRY = "sample_relative"  # the method of the sampler where the count starts
IGNORED = ("bktf._compiled.numba_options",)  # called by Numba, to look up types
N_TRIALS = 15
N_DIMS = 3
SPACES: dict[str, dict[str, BaseDistribution]] = {
    "continuous": {f"x{d}": FloatDistribution(0.0, 1.0) for d in range(N_DIMS)},
    "grid": {f"x{d}": FloatDistribution(0.0, 1.0, step=0.2) for d in range(N_DIMS)},
}


@dataclass(frozen=True)
class Hop:
    """A function of the package, as it was first called."""

    module: str
    function: str
    depth: int


def module_of(frame: FrameType) -> str:
    """The name of the module whose code a frame runs."""
    return str(frame.f_globals.get("__name__", ""))


@dataclass
class Trace:
    """What `sys.setprofile` reports of one suggestion."""

    ignored: Collection[str] = ()  # modules that are not counted
    caller: int = field(default_factory=threading.get_ident)  # the thread of the suggestion
    hops: dict[CodeType, Hop] = field(default_factory=dict)  # in the order of their first calls
    deepest: tuple[str, ...] = ()  # the functions of the deepest path, from the entry on

    def record(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call of a counted function below the entry."""
        if event != "call" or not self.is_counted(frame):
            return
        stack = self.counted_frames(frame)
        if threading.get_ident() != self.caller:  # the caller waits for this thread
            stack += self.counted_frames(sys._current_frames()[self.caller])
        if stack[-1].f_code.co_name != ENTRY:
            return
        if len(stack) > len(self.deepest):
            self.deepest = tuple(f.f_code.co_qualname for f in reversed(stack))
        function = frame.f_code.co_qualname.replace(".<locals>", "")
        self.hops.setdefault(frame.f_code, Hop(module_of(frame), function, len(stack)))

    def is_counted(self, frame: FrameType) -> bool:
        """Whether a frame belongs to a function or a method of the package's source."""
        module, code = module_of(frame), frame.f_code
        is_inside = module == PACKAGE or module.startswith(PACKAGE + ".")
        is_named = not code.co_name.startswith("<") and not code.co_filename.startswith("<")
        return is_inside and is_named and module not in self.ignored

    def counted_frames(self, frame: FrameType | None) -> list[FrameType]:
        """The counted frames from `frame` outwards, up to the entry if it is among them."""
        frames = []
        while frame is not None:
            if self.is_counted(frame):
                frames.append(frame)
                if frame.f_code.co_name == ENTRY:
                    break
            frame = frame.f_back
        return frames

    def n_modules(self) -> int:
        """The number of different modules that the suggestion passed through."""
        return len({hop.module for hop in self.hops.values()})


def make_study(space: dict[str, BaseDistribution]) -> optuna.Study:
    """A study with finished trials of a smooth function at random points of the space."""
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=0))
    rng = np.random.default_rng(0)
    for _ in range(N_TRIALS):
        point = rng.integers(0, 6, N_DIMS) / 5 if space is SPACES["grid"] else rng.random(N_DIMS)
        value = float(np.sin(5 * point).sum() + point[0] * point[1])
        params = dict(zip(space, point.tolist(), strict=True))
        trial = optuna.create_trial(params=params, distributions=space, value=value)
        study.add_trial(trial)
    return study


def trace_suggestion(space: dict[str, BaseDistribution], ignored: Collection[str]) -> Trace:
    """The calls of one suggestion, after another one that loads compiled code and fills caches."""
    make_study(space).ask(space)
    study, trace = make_study(space), Trace(ignored)
    threading.setprofile(trace.record)
    sys.setprofile(trace.record)
    try:
        study.ask(space)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return trace


def main() -> int:
    """Print both paths; exit code 1 where a limit is exceeded."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--max-modules", type=int, help="modules that a path may pass through")
    parser.add_argument("--max-frames", type=int, help="depth that a path may reach")
    parser.add_argument(
        "--ignore",
        metavar="MODULE",
        nargs="*",
        default=IGNORED,
        help="modules that are not counted (default: the module of the Numba options, whose "
        "frames are Numba's look-ups of types; without a name, all modules count)",
    )
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    is_fine = True
    for name, space in SPACES.items():
        trace = trace_suggestion(space, arguments.ignore)
        print(f"{name}, {N_TRIALS} finished trials")
        for hop in trace.hops.values():
            print(f"{hop.depth:4d} {'  ' * (hop.depth - 1)}{hop.function} ({hop.module})")
        figures = (
            ("modules", trace.n_modules(), arguments.max_modules),
            ("frames deep", len(trace.deepest), arguments.max_frames),
        )
        for what, figure, limit in figures:
            print(f"  {figure} {what}" + ("" if limit is None else f" (at most {limit})"))
            is_fine = is_fine and (limit is None or figure <= limit)
        print("  deepest: " + " → ".join(trace.deepest).replace(".<locals>", ""))
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
