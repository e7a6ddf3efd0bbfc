"""The comparison: bktf against the real packages of others, on problems of many kinds.

Runs that have a line are not made again.
"""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from studies.comparison import goals, tables, variants
from studies.comparison.calibration import MODELS, calibration_runs, run_calibration
from studies.comparison.figures import regret_curves
from studies.comparison.own_table import OwnTable, own_runs, own_table, run_own
from studies.comparison.runs import SEPARATE, comparison_runs, run_comparison
from studies.lines import Line
from studies.methods import COMPARISON_METHODS, MODULES
from studies.problems import COMPARISON_PROBLEMS, DEVELOPMENT, TEST, ComparisonProblem
from studies.request import Request, say_drawn
from studies.runner import run_missing

QUICK_METHODS = ("bktf", "random", "tpe")
QUICK_PROBLEMS = (
    "grid-branin",
    "levy4r",
    "tilted-branin",
    "ackley3r-noisy",
    "grid-schaffer",
    "circuit",
    "table-forest-diabetes",
)
N_CALIBRATION_SEEDS = 10


@dataclass(frozen=True, kw_only=True)
class ComparisonRequest(Request):
    """What to compare."""

    problems: Sequence[str] = ()  # empty: all of the half
    half: str | None = None  # "development", "test", or None for both
    goals: bool = False  # only the paper's grids and boxes with the default sampler
    variants: bool = False  # only other settings of bktf on the development half
    table: OwnTable | None = None  # only a table of the user's

    @property
    def is_partial(self) -> bool:
        """Whether some methods, seeds, problems or one half were asked for."""
        return super().is_partial or bool(self.problems) or self.half is not None

    @property
    def wanted_methods(self) -> list[str]:
        """By name, in the usual order; random search always, because it is the unit."""
        chosen = self.methods or (QUICK_METHODS if self.quick else tuple(COMPARISON_METHODS))
        return [m for m in COMPARISON_METHODS if m == "random" or m in chosen]

    @property
    def run_methods(self) -> list[str]:
        """Those of which missing runs are made."""
        return [m for m in self.wanted_methods if m not in SEPARATE or m in self.methods]

    @property
    def wanted_problems(self) -> list[ComparisonProblem]:
        """In the usual order."""
        chosen = self.problems or (QUICK_PROBLEMS if self.quick else tuple(COMPARISON_PROBLEMS))
        wanted = [p for p in COMPARISON_PROBLEMS.values() if p.name in chosen]
        return [p for p in wanted if self.half in (None, p.half)]

    def n_seeds_or(self, usual: int) -> int:
        """The seeds asked for, otherwise the usual number, or one where it is quick."""
        return self.n_seeds or (1 if self.quick else usual)


def check(request: ComparisonRequest) -> None:
    """One clear error for what does not exist or cannot be run, before anything is run."""
    if request.table is not None:
        request.table.problem(request.quick)
    for given, known, what in (
        (request.methods, list(COMPARISON_METHODS), "method"),
        (request.problems, list(COMPARISON_PROBLEMS), "problem"),
    ):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ValueError(f"a {what} must be one of {', '.join(known)}; got {unknown[0]!r}")
    if not (_is_installed("joblib") and _is_installed("matplotlib")):
        raise ValueError("the comparison needs joblib and Matplotlib; install bktf[experiments]")
    if not request.wanted_problems:
        asked = ", ".join(request.problems)
        raise ValueError(f"no problem of the {request.half} half was asked for; got {asked}")
    needed = {m: MODULES[m] for m in request.run_methods if m in MODULES}
    absent = [m for m, module in needed.items() if not _is_installed(module)]
    if absent and not request.tables_only:
        raise ValueError(
            f"{absent[0]} needs {needed[absent[0]]}, which is not installed; "
            "install bktf[peers], or name other --methods"
        )


def _is_installed(module: str) -> bool:
    """Whether a module could be imported."""
    return importlib.util.find_spec(module) is not None


def compare(request: ComparisonRequest) -> None:
    """Make the runs that are missing, then print tables and draw figures."""
    check(request)
    if request.goals:
        show_goals(request)
        return
    if request.variants:
        show_variants(request)
        return
    if request.table is not None:
        show_own_table(request, request.table)
        return
    methods, problems = request.wanted_methods, request.wanted_problems
    names = [p.name for p in problems]
    runs = comparison_runs(request.run_methods, names, request.n_seeds, request.quick)
    lines = request.lines("compare", runs, run_comparison)
    if not lines:
        return
    separate = [m for m in methods if m not in request.run_methods]
    recorded = comparison_runs(separate, names, request.n_seeds, request.quick)
    path = request.path("compare")
    lines += run_missing(path, recorded, run_comparison, request.n_jobs, only_read=True)
    models = [m for m in MODELS if m in methods]
    n_seeds = request.n_seeds_or(N_CALIBRATION_SEEDS)
    fits = calibration_runs(names, models, n_seeds, request.quick)
    calibrated = request.lines("calibration", fits, run_calibration) if fits else []
    for half in (DEVELOPMENT, TEST):
        if any(p.half == half for p in problems):
            show_half(request, half, lines, calibrated)


def show_half(
    request: ComparisonRequest, half: str, lines: Sequence[Line], calibrated: Sequence[Line]
) -> None:
    """The tables and the figure of one half."""
    methods = request.wanted_methods
    problems = [p for p in request.wanted_problems if p.half == half]
    names = {p.name for p in problems}
    title = f"The {half} half"
    request.show(f"rankings_{half}", title, tables.rankings_table(lines, problems, methods))
    title = (
        f"The {half} half: regrets on the seeds that both methods have, and their difference with "
        "its 95 % interval"
    )
    request.show(f"differences_{half}", title, tables.differences_table(lines, problems, methods))
    title = (
        f"The {half} half, problem by problem: mean regret at the full budget, and differences on "
        "shared seeds"
    )
    request.show(f"problems_{half}", title, tables.problem_table(lines, problems, methods))
    if any(line["problem"] in names for line in calibrated):
        models = [m for m in MODELS if m in methods]
        table = tables.calibration_table(calibrated, problems, models)
        request.show(f"calibration_{half}", f"Calibration on the {half} half", table)
    say_drawn(regret_curves(lines, problems, methods, half, request.figures))


def show_own_table(request: ComparisonRequest, table: OwnTable) -> None:
    """The methods on a table of the user's; its lines have a file of their own."""
    problem = table.problem(request.quick)
    methods = request.run_methods
    runs = own_runs(problem, methods, request.n_seeds, request.quick)
    lines = request.lines("own_tables", runs, partial(run_own, problem))
    title = f"{problem.title}: mean best value, and paired differences of regret"
    shown = own_table(lines, problem, methods, table.is_maximized)
    request.show(f"own_{table.path.stem}", title, shown)


def show_goals(request: ComparisonRequest) -> None:
    """The paper's grids and boxes with the default sampler."""
    runs = goals.goal_runs(request.n_seeds_or(goals.N_SEEDS), request.quick)
    lines = request.lines("goals", runs, goals.run_goal)
    title = "The paper's grids within the paper's budget, and boxes"
    request.show("goals", title, goals.goals_table(lines))


def show_variants(request: ComparisonRequest) -> None:
    """Other settings of bktf on the development half, beside the recorded runs of the default."""
    n_seeds = request.n_seeds_or(variants.N_SEEDS)
    runs = variants.variant_runs(n_seeds, request.quick)
    lines = request.lines("bktf_variants", runs, variants.run_variant)
    beside = variants.default_runs(request.quick)
    path = request.path("compare")
    default = run_missing(path, beside, run_comparison, request.n_jobs, only_read=True)
    title = "Other settings, on the development half"
    table = variants.variants_table([*default, *lines], n_seeds)
    request.show("bktf_variants", title, table)
