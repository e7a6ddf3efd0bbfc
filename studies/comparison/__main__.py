"""Compares bktf with other packages: python -m studies.comparison --half test --seeds 3."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from studies.command_line import (
    OneLineParser,
    add_common_options,
    at_least_one,
    folder_of,
    run_command,
)


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    example = "python -m studies.comparison --methods bktf tpe random --half development --seeds 3"
    parser = OneLineParser(
        prog="python -m studies.comparison",
        description="Run bktf and other packages at their own defaults on problems of many kinds, "
        "from the same start points, and print rankings. Every run is a line of "
        "FOLDER/compare.jsonl; those that are there are not made again. Needs the extra "
        "experiments, and peers for all methods.",
        epilog=f"example: {example}",
    )
    add = parser.add_argument
    text = "as bktf or tpe (default: all); random always"
    add("--methods", nargs="+", default=[], metavar="METHOD", help=text)
    add("--problems", nargs="+", default=[], metavar="PROBLEM", help="as levy4r (default: all)")
    add("--half", choices=("development", "test"), help="only the problems of one half")
    text = "runs of each (default: 10, fewer for slow methods)"
    add("--seeds", type=at_least_one, metavar="N", help=text)
    text = "a few problems, tiny budgets, three methods, in FOLDER/quick"
    add("--quick", action="store_true", help=text)
    text = "only other settings of bktf, on the development half"
    add("--variants", action="store_true", help=text)
    text = "only the paper's grids within the paper's budget, 20 seeds, with bktf"
    add("--goals", action="store_true", help=text)
    text = "only a table of your own: a CSV file with one row for each combination of values"
    add("--table", type=Path, metavar="FILE", help=text)
    add("--target", metavar="COLUMN", help="of that table, the column to optimise (default: last)")
    add("--maximize", action="store_true", help="larger targets of that table are better")
    add_common_options(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the part of the comparison that the options name."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.table is None and (options.target is not None or options.maximize):
        parser.error("--target and --maximize are of a table of your own: give --table FILE too")
    others = options.goals or options.variants or options.half or options.problems
    if options.table is not None and others:
        parser.error("--table is compared alone: leave out --goals, --variants, --half, --problems")

    def work() -> None:
        # --help needs none of it
        from studies.comparison.own_table import OwnTable
        from studies.comparison.study import ComparisonRequest, compare

        table = OwnTable(options.table, options.target, options.maximize)
        request = ComparisonRequest(
            folder=folder_of(options),
            methods=options.methods,
            problems=options.problems,
            half=options.half,
            n_seeds=options.seeds,
            n_jobs=options.jobs,
            quick=options.quick,
            tables_only=options.tables,
            goals=options.goals,
            variants=options.variants,
            table=table if options.table is not None else None,
        )
        compare(request)

    return run_command("studies.comparison", work)


if __name__ == "__main__":
    sys.exit(main())
