"""The paper's experiments: python -m studies.paper functions --methods bktf tpe --seeds 3."""

import argparse
import sys
from collections.abc import Sequence

from studies.command_line import (
    OneLineParser,
    add_common_options,
    at_least_one,
    folder_of,
    run_command,
)

# Known without their imports.
EXPERIMENTS = ("intro", "functions", "profiles", "hyperpriors", "factors", "tuning")


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = OneLineParser(
        prog="python -m studies.paper",
        description="Make the runs of the paper's experiments that are missing, then print our "
        "tables with the paper's figures beside them and draw the figures. Every run is a line of "
        "a file in the folder, so a run that was cut off goes on where it was. Needs the extra "
        "experiments (and networks for the network tasks).",
        epilog="example: python -m studies.paper functions --methods bktf tpe --seeds 3",
    )
    add = parser.add_argument
    add("experiment", choices=(*EXPERIMENTS, "all"), help="which one")
    text = "replications, of seeds 0 to N - 1 (default: the paper's number)"
    add("--seeds", type=at_least_one, metavar="N", help=text)
    text = "methods or families, as bktf or gp-ei (default: all)"
    add("--methods", nargs="+", default=[], metavar="METHOD", help=text)
    text = "tasks of tuning, as rf-classifier (default: all)"
    add("--tasks", nargs="+", default=[], metavar="TASK", help=text)
    text = "tiny budgets, no networks, in FOLDER/quick: to see that everything works"
    add("--quick", action="store_true", help=text)
    add_common_options(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments that the options name."""
    options = make_parser().parse_args(arguments)

    def work() -> None:
        from studies.paper.experiments import PaperRequest, reproduce  # --help needs none of it

        request = PaperRequest(
            folder=folder_of(options),
            methods=options.methods,
            tasks=options.tasks,
            n_seeds=options.seeds,
            n_jobs=options.jobs,
            quick=options.quick,
            tables_only=options.tables,
        )
        reproduce(options.experiment, request)

    return run_command("studies.paper", work)


if __name__ == "__main__":
    sys.exit(main())
