"""The command line: `bktf demo` and, for experiments run by hand, `bktf suggest`."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from bktf.version import __version__


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def make_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = _Parser(
        prog="bktf",
        description="Find the optimum of an expensive function in few evaluations, and know how sure you are.",
        epilog="example: bktf demo",
    )
    parser.add_argument("--version", action="version", version=f"bktf {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    demo = commands.add_parser(
        "demo", help="optimise a test function and say how close it came", description="Optimise the Hartmann function in six dimensions, "
        "whose optimum is known, and say how close it came.", epilog="example: bktf demo --evaluations 40 --seed 3",
    )  # fmt: skip
    demo.add_argument("--evaluations", type=_at_least_one, default=60, metavar="N", help="how many evaluations (default: 60)")
    demo.add_argument("--seed", type=_not_negative, default=0, help="same seed, same run (default: 0)")
    return parser


def _at_least_one(text: str) -> int:
    return _whole(text, 1)


def _not_negative(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}; got {text!r}")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0 where it worked, 2 on bad input, 130 after Ctrl-C."""
    options = make_parser().parse_args(arguments)
    try:
        from bktf.demo import run_demo  # Optuna and the compiled code are not needed for --help

        run_demo(options.evaluations, options.seed)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0
