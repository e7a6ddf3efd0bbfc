"""`bktf reproduce`: make the runs that are missing, then draw tables and figures from the lines.

Everything is in one folder: `NAME.jsonl` (the runs), `scores/` (losses of tuned configurations), `tables/` and `figures/`.
"""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from studies.lines import Job, Line, run_missing
from studies.methods.paper_methods import METHODS, choose_methods
from studies.paper import figures, tables
from studies.paper.details import detail_jobs, run_detail
from studies.paper.runs import NAMES, functions_jobs, hyperprior_jobs, intro_jobs, variant_jobs
from studies.paper.summaries import methods_in
from studies.problems.tuning import TASKS, run_tuning, tuning_jobs
from studies.runner import run_job

NEEDED = {"joblib": "joblib", "sklearn": "scikit-learn", "matplotlib": "Matplotlib", "mlxtend": "mlxtend"}  # module: what a reader calls it
PAPERS = (
    "gp-ei",
    "gp-ucb",
    "gpgrid-ei",
    "gpgrid-ucb",
    "bktf-max",
)  # the methods of the paper's profiles, whose ratios are to the best of them


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to reproduce."""

    folder: Path
    methods: Sequence[str]  # empty: all
    n_seeds: int | None = None  # None: the paper's number
    n_jobs: int = 2
    quick: bool = False
    tables_only: bool = False  # draw from what is there, run nothing
    tasks: Sequence[str] = ()  # of the tuning experiment; empty: all, without networks where it is quick

    @property
    def wanted(self) -> list[str]:
        """The methods by name."""
        return choose_methods(self.methods)

    @property
    def shown(self) -> Path:
        """Where tables and figures go: those of some methods, seeds or tasks do not replace those of all."""
        return self.folder / "partial" if self.methods or self.tasks or self.n_seeds is not None else self.folder

    def lines(self, name: str, jobs: Sequence[Job], work: Callable[[Job], Line]) -> list[Line]:
        """The lines of the jobs, what is missing made first unless only tables are wanted."""
        path = self.folder / f"{name}.jsonl"
        found = run_missing(path, jobs, NAMES, work, self.n_jobs, name, only_read=self.tables_only)
        if not jobs:
            print(f"{name}: the methods asked for have no part in it")
        elif not found:
            print(f"{name}: {path} has no lines of these runs; without --tables they are made")
        return found


def reproduce(name: str, request: Request) -> None:
    """Reproduce one experiment, or all of them; prints the tables and says what was drawn."""
    missing = [title for module, title in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise ValueError(f"the experiments need {', '.join(missing)}, which is not installed; install bktf[experiments]")
    unknown = [task for task in request.tasks if task not in TASKS]
    if unknown:
        raise ValueError(f"a task must be one of {', '.join(TASKS)}; got {unknown[0]!r}")
    if request.tasks and name not in ("tuning", "all"):
        raise ValueError(f"--tasks belongs to tuning; {name} has none")
    choose_methods(request.methods)
    tasks_of(request)
    for experiment in EXPERIMENTS if name == "all" else [name]:
        EXPERIMENTS[experiment](request)


def tasks_of(request: Request) -> list[str]:
    """The tuning tasks: as asked for; otherwise all, without networks where it is quick or they cannot be run."""
    absent = [module for module in ("keras", "jax") if importlib.util.find_spec(module) is None]
    if request.tasks:
        if absent and not request.tables_only and any(TASKS[task].network for task in request.tasks):
            raise ValueError(f"the network tasks need {' and '.join(absent)}, which is not installed; install bktf[networks]")
        return list(request.tasks)
    without = request.quick or (absent and not request.tables_only)
    return [name for name, task in TASKS.items() if task.network is None or not without]


def intro(request: Request) -> None:
    """The introductory function: curves, surfaces of one run, posterior of its model."""
    lines = request.lines("intro", intro_jobs(request.wanted, request.n_seeds, request.quick), run_job)
    jobs = [job for job in detail_jobs("intro", request.quick) if job["method"] in request.wanted]
    details = request.lines("details", jobs, run_detail)
    if lines:
        _show(request, "intro", "The introductory function: best cell minus best value found (mean ± std)", tables.intro(lines))
        _drawn(figures.intro_curves(lines, request.shown / "figures"))
    if details:
        _drawn(figures.intro_surfaces(_in_order(details), request.shown / "figures"))
    for line in details:
        if METHODS[line["method"]].is_bktf:
            _drawn(figures.intro_posterior(line, request.shown / "figures"))


def functions(request: Request) -> None:
    """The six functions and their shifted controls."""
    lines = request.lines("functions", functions_jobs(request.wanted, request.n_seeds, request.quick), run_job)
    _drawn(figures.surfaces(request.shown / "figures"))
    if not lines:
        return
    _show(
        request, "functions_grid", "Best value found − best cell (mean ± std; below 0: better than every cell)", tables.errors(lines, True)
    )
    _show(request, "functions_true", "Best value found − true minimum (mean ± std)", tables.errors(lines, False))
    _show(request, "functions_hits", "Runs that hit the best cell exactly, in how many queries (median)", tables.evaluations(lines))
    _show(request, "functions_cpu", "CPU seconds per suggestion", tables.cpu(lines))
    _drawn(figures.function_curves(lines, request.shown / "figures"))


def profiles(request: Request) -> None:
    """Performance profiles of the runs on the functions; what is missing of them is made first."""
    lines = request.lines("functions", functions_jobs(request.wanted, request.n_seeds, request.quick), run_job)
    if not lines:
        return
    methods = methods_in(lines, METHODS)
    if set(PAPERS) <= set(methods):
        title = "Area under the performance profile among the paper's five methods, by exact hits of the best cell, by its rule and by ours"
        _show(request, "profiles_paper", title, tables.areas(lines, True, PAPERS, True))
    _show(request, "profiles_exact", "The same among all methods", tables.areas(lines, True, methods, False))
    title = "Among all methods, within 1 % of the range of the best cell (a hit by our definition)"
    _show(request, "profiles_tolerance", title, tables.areas(lines, False, methods, False))
    _drawn(figures.profile_curves(lines, request.shown / "figures"))


def hyperpriors(request: Request) -> None:
    """Branin with other priors, and what else the paper leaves open on a few functions."""
    methods = [m for m in request.wanted if m in ("bktf-max", "bktf-ei")]
    lines = request.lines("hyperpriors", hyperprior_jobs(methods, request.n_seeds, request.quick), run_job)
    details = request.lines("details", detail_jobs("hyperpriors", request.quick) if methods else [], run_detail)
    if lines:
        _show(
            request,
            "hyperpriors",
            "Branin with other priors: runs that hit the best cell, in how many queries (median); mean distance to its value at the end",
            tables.hyperpriors(lines),
        )
    if lines and details:
        _drawn(figures.hyperprior_curves(lines, details[-1], request.shown / "figures"))
    varied = request.lines("open_settings", variant_jobs(methods, request.n_seeds, request.quick), run_job)
    if varied:
        title = "Other settings, max over draws: runs that hit the best cell, in how many queries (median)"
        _show(request, "open_settings", title, tables.variants(varied))


def factors(request: Request) -> None:
    """Latent factors of runs on Griewank-3."""
    jobs = [job for job in detail_jobs("factors", request.quick) if job["method"] in request.wanted]
    details = request.lines("details", jobs, run_detail)
    if details:
        _drawn(figures.factors(_in_order(details), request.shown / "figures"))


def tuning(request: Request) -> None:
    """The machine-learning tasks."""
    tasks = tasks_of(request)
    if not request.quick and not request.tasks and len(tasks) < len(TASKS):
        print("tuning: Keras or JAX is not installed (extra networks), so no network runs are made; those that are recorded are shown")
    work = partial(run_tuning, scores=request.folder / "scores")
    request.lines("tuning", tuning_jobs(tasks, request.wanted, request.n_seeds, request.quick), work)
    everything = tuning_jobs(list(request.tasks or TASKS), request.wanted, request.n_seeds, request.quick)
    lines = replace(request, tables_only=True).lines("tuning", everything, work)
    if lines:
        _show(request, "tuning", "Final accuracy in % (digits) and mean squared error (Boston), mean ± std", tables.tuning(lines))
        _drawn(figures.tuning(lines, request.shown / "figures"))


EXPERIMENTS: dict[str, Callable[[Request], None]] = {
    "intro": intro, "functions": functions, "profiles": profiles, "hyperpriors": hyperpriors, "factors": factors, "tuning": tuning,
}  # fmt: skip


def _in_order(lines: Sequence[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (list(METHODS).index(line["method"]), line["seed"]))


def _show(request: Request, name: str, title: str, table: str) -> None:
    """Print a table and write it to its file."""
    path = request.shown / "tables" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table + "\n", encoding="utf-8")
    print(f"\n{title}\n\n{table}\n")


def _drawn(path: Path) -> None:
    print(f"drew {path}", flush=True)
