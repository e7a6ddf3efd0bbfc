"""The command line: `bktf demo`, and `bktf suggest` for experiments run by hand."""

import argparse
import importlib.util
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from bktf._version import __version__

# Commands that have left the package, and what replaces them.
MOVED = {"reproduce": "studies.paper", "compare": "studies.comparison"}

DESCRIPTION = (
    "Find the optimum of an expensive function in few evaluations, and know how sure you are."
)
DEMO = (
    "Optimise the Hartmann function in six dimensions, whose optimum is known, and say how close "
    "it came."
)
SUGGEST = (
    "Suggest the next experiments from a space file (what can vary, what is measured) and a CSV "
    "table of results. Rows without a result are pending, rows with the result failed are avoided, "
    "and equal rows are repeated measurements. An empty table gives a start design."
)
NOTHING_TO_PLOT = "nothing to draw yet: the start design fills the space before there is a model"


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def make_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = _Parser(prog="bktf", description=DESCRIPTION, epilog="example: bktf demo")
    parser.add_argument("--version", action="version", version=f"bktf {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=_Parser
    )
    demo = commands.add_parser(
        "demo",
        help="optimise a test function and say how close it came",
        description=DEMO,
        epilog="example: bktf demo --evaluations 40 --seed 3",
    )
    demo.add_argument(
        "--evaluations",
        type=_positive,
        default=60,
        metavar="N",
        help="how many evaluations (default: 60)",
    )
    demo.add_argument(
        "--seed", type=_not_negative, default=0, help="same seed, same run (default: 0)"
    )
    suggest = commands.add_parser(
        "suggest",
        help="the next experiments for a table of results",
        description=SUGGEST,
        epilog="example: bktf suggest --init && bktf suggest space.toml results.csv -n 4 --append",
    )
    suggest.add_argument(
        "space",
        nargs="?",
        type=Path,
        default=Path("space.toml"),
        help="the space file (default: space.toml)",
    )
    suggest.add_argument(
        "results",
        nargs="?",
        type=Path,
        default=Path("results.csv"),
        help="the table (default: results.csv)",
    )
    suggest.add_argument(
        "-n",
        type=_positive,
        default=1,
        metavar="N",
        help="how many experiments to suggest together (default: 1)",
    )
    suggest.add_argument(
        "--append",
        action="store_true",
        help="append the suggestions to the table, with an empty result",
    )
    suggest.add_argument(
        "--candidates",
        type=Path,
        metavar="FILE",
        help="a CSV table of what is available, with a column for each parameter: only its rows "
        "are suggested",
    )
    suggest.add_argument("--json", action="store_true", help="print JSON, for programs")
    suggest.add_argument(
        "--explain", action="store_true", help="show what the model expects around each suggestion"
    )
    suggest.add_argument(
        "--png", type=Path, metavar="FILE", help="plot that to a PNG file (needs the extra plots)"
    )
    suggest.add_argument(
        "--init", action="store_true", help="write a commented example of both files"
    )
    suggest.add_argument(
        "--seed",
        type=_not_negative,
        default=0,
        help="same seed and files, same suggestions (default: 0)",
    )
    return parser


def _positive(text: str) -> int:
    """A whole number of at least 1."""
    return _whole_number(text, 1)


def _not_negative(text: str) -> int:
    """A whole number of at least 0."""
    return _whole_number(text, 0)


def _whole_number(text: str, low: int) -> int:
    """A whole number of at least `low`."""
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if value < low:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {low}; got {text!r}")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0 where it worked, 2 on bad input, 130 after Ctrl-C."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in MOVED:
        command = " ".join(["python -m", MOVED[given[0]], *given[1:]])
        message = f"bktf {given[0]}: the studies are run from a checkout: {command}"
        print(message, file=sys.stderr)
        return 2
    options = make_parser().parse_args(given)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal whose encoding has no ± or bars shows ? instead.
        sys.stdout.reconfigure(errors="replace")
    try:
        code = {"demo": run_demo, "suggest": run_suggest}[options.command](options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of the output has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def run_demo(options: argparse.Namespace) -> int:
    """`bktf demo`."""
    from bktf import demo  # Optuna and the compiled code are not needed for --help

    demo.run_demo(options.evaluations, options.seed)
    return 0


def run_suggest(options: argparse.Namespace) -> int:
    """`bktf suggest`; what is wrong with a file is one line and exit code 2."""
    from bktf import lab  # as above

    try:
        if options.init:
            lab.write_examples(options.space, options.results)
            files = f"{options.space} {options.results}"
            wrote = f"wrote {options.space} and {options.results}"
            print(f"{wrote}; edit the first, then: bktf suggest {files} -n 4")
            return 0
        if options.png is not None and importlib.util.find_spec("matplotlib") is None:
            raise ValueError("--png needs Matplotlib, which is not installed; install bktf[plots]")
        found = lab.answer(
            options.space, options.results, options.n, options.seed, options.candidates
        )
        lines = lab.as_lines(found)
        if options.json:
            lines = [json.dumps(lab.as_json(found), ensure_ascii=False, indent=2)]
        if options.explain and not options.json:
            lines += lab.explain(found)
        if options.png is not None and found.posterior is not None and found.experiments:
            lab.plot_answer(found, options.png)
        if options.append:  # last, so that a failure elsewhere leaves the table as it was
            lab.append_rows(found.table, lab.as_rows(found))
    except (ValueError, OSError, ArithmeticError) as error:
        print(f"bktf suggest: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    if options.json:
        return 0
    if options.append and found.experiments:
        print(f"appended to {options.results}")
    if options.png is not None:
        is_plotted = found.posterior is not None and found.experiments
        print(f"drew {options.png}" if is_plotted else NOTHING_TO_PLOT)
    return 0
