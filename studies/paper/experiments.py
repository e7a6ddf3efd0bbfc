"""The paper's experiments: make the runs that are missing, then tables and figures from the lines.

Everything is in one folder: `NAME.jsonl` (the runs), `scores/` (losses of tuned configurations),
`tables/` and `figures/`.
"""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from studies.lines import Line
from studies.methods import PAPER_METHODS, choose_methods
from studies.paper import detail_figures, figures, tables
from studies.paper.details import detail_runs, run_detail
from studies.paper.runs import (
    functions_runs,
    hyperprior_runs,
    intro_runs,
    open_settings_runs,
    run_on_function,
    run_on_task,
    tuning_runs,
)
from studies.paper.summaries import methods_in
from studies.problems import TASKS
from studies.request import Request, say_drawn

NEEDED = {  # module: what a reader calls it
    "joblib": "joblib",
    "sklearn": "scikit-learn",
    "matplotlib": "Matplotlib",
    "mlxtend": "mlxtend",
}
PROFILED = ("gp-ei", "gp-ucb", "gpgrid-ei", "gpgrid-ucb", "bktf-max")  # in the paper's profiles


@dataclass(frozen=True, kw_only=True)
class PaperRequest(Request):
    """What to reproduce."""

    tasks: Sequence[str] = ()  # of tuning; empty: all, without networks where it is quick

    @property
    def is_partial(self) -> bool:
        """Whether some methods, seeds or tasks were asked for."""
        return super().is_partial or bool(self.tasks)

    @property
    def wanted(self) -> list[str]:
        """The methods by name."""
        return choose_methods(self.methods)


def reproduce(name: str, request: PaperRequest) -> None:
    """Reproduce one experiment, or all of them; prints the tables and says what was drawn."""
    missing = [title for module, title in NEEDED.items() if not _is_installed(module)]
    if missing:
        raise ValueError(
            f"the experiments need {', '.join(missing)}, which is not installed; "
            "install bktf[experiments]"
        )
    unknown = [task for task in request.tasks if task not in TASKS]
    if unknown:
        raise ValueError(f"a task must be one of {', '.join(TASKS)}; got {unknown[0]!r}")
    if request.tasks and name not in ("tuning", "all"):
        raise ValueError(f"--tasks belongs to tuning; {name} has none")
    choose_methods(request.methods)
    tasks_of(request)
    for experiment in EXPERIMENTS if name == "all" else [name]:
        EXPERIMENTS[experiment](request)


def _is_installed(module: str) -> bool:
    """Whether a module could be imported."""
    return importlib.util.find_spec(module) is not None


def tasks_of(request: PaperRequest) -> list[str]:
    """The tuning tasks: as asked for; otherwise all that can be run.

    A quick run has no networks.
    """
    absent = [module for module in ("keras", "jax") if not _is_installed(module)]
    if request.tasks:
        with_networks = any(TASKS[task].network for task in request.tasks)
        if absent and not request.tables_only and with_networks:
            raise ValueError(
                f"the network tasks need {' and '.join(absent)}, which is not installed; "
                "install bktf[networks]"
            )
        return list(request.tasks)
    without = request.quick or (absent and not request.tables_only)
    return [name for name, task in TASKS.items() if task.network is None or not without]


def intro(request: PaperRequest) -> None:
    """The introductory function: curves, surfaces of one run, posterior of its model."""
    runs = intro_runs(request.wanted, request.n_seeds, request.quick)
    lines = request.lines("intro", runs, run_on_function)
    keys = [key for key in detail_runs("intro", request.quick) if key["method"] in request.wanted]
    details = request.lines("details", keys, run_detail)
    if lines:
        title = "The introductory function: best cell minus best value found (mean ± std)"
        request.show("intro", title, tables.intro(lines))
        say_drawn(figures.intro_curves(lines, request.figures))
    if details:
        say_drawn(detail_figures.intro_surfaces(_in_order(details), request.figures))
    for line in details:
        if PAPER_METHODS[line["method"]].is_bktf:
            say_drawn(detail_figures.intro_posterior(line, request.figures))


def _function_lines(request: PaperRequest) -> list[Line]:
    """The runs on the functions."""
    runs = functions_runs(request.wanted, request.n_seeds, request.quick)
    return request.lines("functions", runs, run_on_function)


def functions(request: PaperRequest) -> None:
    """The six functions and their shifted controls."""
    lines = _function_lines(request)
    say_drawn(figures.surfaces(request.figures))
    if not lines:
        return
    title = "Best value found − best cell (mean ± std; below 0: better than every cell)"
    request.show("functions_grid", title, tables.errors(lines, True))
    title = "Best value found − true minimum (mean ± std)"
    request.show("functions_true", title, tables.errors(lines, False))
    title = "Runs that hit the best cell exactly, in how many queries (median)"
    request.show("functions_hits", title, tables.evaluations(lines))
    request.show("functions_cpu", "CPU seconds per suggestion", tables.cpu(lines))
    say_drawn(figures.function_curves(lines, request.figures))


def profiles(request: PaperRequest) -> None:
    """Performance profiles of the runs on the functions; what is missing of them is made first."""
    lines = _function_lines(request)
    if not lines:
        return
    methods = methods_in(lines, PAPER_METHODS)
    if set(PROFILED) <= set(methods):
        title = (
            "Area under the performance profile among the paper's five methods, by exact hits of "
            "the best cell, by its rule and by ours"
        )
        request.show("profiles_paper", title, tables.areas(lines, True, PROFILED, True))
    title = "The same among all methods"
    request.show("profiles_exact", title, tables.areas(lines, True, methods, False))
    title = "Among all methods, within 1 % of the range of the best cell (a hit by our definition)"
    request.show("profiles_tolerance", title, tables.areas(lines, False, methods, False))
    say_drawn(figures.profile_curves(lines, request.figures))


def hyperpriors(request: PaperRequest) -> None:
    """Branin with other priors, and what else the paper leaves open on a few functions."""
    methods = [m for m in request.wanted if m in ("bktf-max", "bktf-ei")]
    runs = hyperprior_runs(methods, request.n_seeds, request.quick)
    lines = request.lines("hyperpriors", runs, run_on_function)
    keys = detail_runs("hyperpriors", request.quick) if methods else []
    details = request.lines("details", keys, run_detail)
    if lines:
        title = (
            "Branin with other priors: runs that hit the best cell, in how many queries (median); "
            "mean distance to its value at the end"
        )
        request.show("hyperpriors", title, tables.hyperpriors(lines))
    if lines and details:
        say_drawn(detail_figures.hyperprior_curves(lines, details[-1], request.figures))
    open_runs = open_settings_runs(methods, request.n_seeds, request.quick)
    open_lines = request.lines("open_settings", open_runs, run_on_function)
    if open_lines:
        title = (
            "Other settings, max over draws: runs that hit the best cell, "
            "in how many queries (median)"
        )
        request.show("open_settings", title, tables.open_settings(open_lines))


def factors(request: PaperRequest) -> None:
    """Latent factors of runs on Griewank-3."""
    keys = [key for key in detail_runs("factors", request.quick) if key["method"] in request.wanted]
    details = request.lines("details", keys, run_detail)
    if details:
        say_drawn(detail_figures.factors(_in_order(details), request.figures))


def tuning(request: PaperRequest) -> None:
    """The machine-learning tasks."""
    tasks = tasks_of(request)
    if not request.quick and not request.tasks and len(tasks) < len(TASKS):
        print(
            "tuning: Keras or JAX is not installed (extra networks), so no network runs are made; "
            "those that are recorded are shown"
        )
    work = partial(run_on_task, scores=request.folder / "scores")
    runs = partial(
        tuning_runs, methods=request.wanted, n_seeds=request.n_seeds, quick=request.quick
    )
    request.lines("tuning", runs(tasks), work)
    recorded = replace(request, tables_only=True)
    lines = recorded.lines("tuning", runs(list(request.tasks or TASKS)), work)
    if lines:
        title = "Final accuracy in % (digits) and mean squared error (Boston), mean ± std"
        request.show("tuning", title, tables.tuning(lines))
        say_drawn(figures.tuning(lines, request.figures))


EXPERIMENTS: dict[str, Callable[[PaperRequest], None]] = {
    "intro": intro,
    "functions": functions,
    "profiles": profiles,
    "hyperpriors": hyperpriors,
    "factors": factors,
    "tuning": tuning,
}


def _in_order(lines: Sequence[Line]) -> list[Line]:
    """By method, then by seed."""
    order = list(PAPER_METHODS)
    return sorted(lines, key=lambda line: (order.index(line["method"]), line["seed"]))
