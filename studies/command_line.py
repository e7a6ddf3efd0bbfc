"""What the command lines of both studies share: options, one-line errors and exit codes."""

import argparse
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

RESULTS = Path(__file__).parent / "results"


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def at_least_one(text: str) -> int:
    """A whole number of at least 1, for argparse."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {text!r}")
    return value


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """The options that mean the same in both studies."""
    parser.add_argument(
        "--jobs",
        type=at_least_one,
        default=os.cpu_count() or 1,
        metavar="N",
        help="runs at a time (default: one per processor)",
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        metavar="FOLDER",
        help="lines, tables, figures (default: studies/results)",
    )
    parser.add_argument(
        "--tables",
        action="store_true",
        help="tables and figures of the lines that are there, run nothing",
    )


def folder_of(options: argparse.Namespace) -> Path:
    """The folder of the lines; quick runs have a separate one."""
    folder: Path = options.results
    return folder / "quick" if options.quick else folder


def run_command(name: str, work: Callable[[], None]) -> int:
    """Do the work; 0 where it was done, 2 and one line on bad input, 130 after Ctrl-C."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that has no ± or − shows ? instead
    try:
        work()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError, ArithmeticError) as error:
        print(f"{name}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0
