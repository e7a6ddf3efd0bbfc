"""`bktf compare`: bktf against the real packages of others, on problems of many kinds; runs that have a line are not made again."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bktf.experiments import goals, variants
from bktf.experiments.arena import CONTESTS, DEVELOPMENT, TEST, Contest
from bktf.experiments.calibration import LEVELS, MODELS, calibration_jobs, run_calibration
from bktf.experiments.contests import contest_jobs, play
from bktf.experiments.goals import goal_jobs, goals_table, run_goal
from bktf.experiments.lines import Job, Line, run_missing
from bktf.experiments.peers import PEERS
from bktf.experiments.standings import SHARES, duel, incumbents, normalised, standings, unit
from bktf.experiments.studies import NAMES
from bktf.experiments.summaries import lines_of
from bktf.experiments.tables import markdown
from bktf.experiments.variants import play_variant, variant_jobs, variants_table

Floats = NDArray[np.float64]
KINDS = ("continuous", "grid", "mixed")
QUICK_METHODS = ("bktf", "random", "tpe")
QUICK_CONTESTS = ("grid-branin", "levy4r", "tilted-branin", "ackley3r-noisy", "grid-schaffer", "circuit", "table-forest-diabetes")
MODULES = {"gp": "torch", "cmaes": "cmaes", "botorch": "botorch", "skopt": "skopt", "smac": "smac"}  # what a method needs besides Optuna
N_CALIBRATION_SEEDS = 3


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What to compare."""

    folder: Path
    methods: Sequence[str] = ()  # empty: all
    problems: Sequence[str] = ()  # empty: all of the half
    half: str | None = None  # "development", "test", or None for both
    n_seeds: int | None = None
    n_jobs: int = 2
    quick: bool = False
    tables_only: bool = False
    goals: bool = False  # only the paper's grids and boxes with the default sampler
    variants: bool = False  # only other settings of bktf on the development half

    @property
    def wanted_methods(self) -> list[str]:
        """By name, in the usual order; random search always, because it is the unit."""
        return [m for m in PEERS if m == "random" or m in (self.methods or (QUICK_METHODS if self.quick else PEERS))]

    @property
    def wanted_contests(self) -> list[Contest]:
        """In the order of the arena."""
        chosen = self.problems or (QUICK_CONTESTS if self.quick else tuple(CONTESTS))
        return [c for c in CONTESTS.values() if c.name in chosen and self.half in (None, c.half)]

    @property
    def shown(self) -> Path:
        """Where tables and figures go: those of a part do not replace those of the whole."""
        part = self.methods or self.problems or self.half is not None or self.n_seeds is not None
        return self.folder / "partial" if part else self.folder


def check(request: Comparison) -> None:
    """One clear error for what does not exist or cannot be run, before anything is run."""
    for given, known, what in ((request.methods, PEERS, "method"), (request.problems, CONTESTS, "problem")):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ValueError(f"a {what} must be one of {', '.join(known)}; got {unknown[0]!r}")
    if importlib.util.find_spec("joblib") is None or importlib.util.find_spec("matplotlib") is None:
        raise ValueError("the comparison needs joblib and Matplotlib; install bktf[experiments]")
    if not request.wanted_contests:
        raise ValueError(f"no problem of the {request.half} half was asked for; got {', '.join(request.problems)}")
    absent = [m for m in request.wanted_methods if m in MODULES and importlib.util.find_spec(MODULES[m]) is None]
    if absent and not request.tables_only:
        raise ValueError(f"{absent[0]} needs {MODULES[absent[0]]}, which is not installed; install bktf[peers], or name other --methods")


def compare(request: Comparison) -> None:
    """Make the runs that are missing, then print tables and draw figures."""
    check(request)
    if request.goals:
        show_goals(request)
        return
    if request.variants:
        show_variants(request)
        return
    methods, contests = request.wanted_methods, request.wanted_contests
    names = [c.name for c in contests]
    jobs = contest_jobs(methods, names, request.n_seeds, request.quick)
    lines = _lines(request, "compare", jobs, play)
    if not lines:
        print(f"{request.folder / 'compare.jsonl'} has no lines of these runs; without --tables they are made")
        return
    models = [m for m in MODELS if m in methods]
    calibrated = _lines(
        request,
        "calibration",
        calibration_jobs(names, models, request.n_seeds or (1 if request.quick else N_CALIBRATION_SEEDS), request.quick),
        run_calibration,
    )
    for half in (DEVELOPMENT, TEST):
        here = [c for c in contests if c.half == half]
        if here:
            _show(request, f"standings_{half}", f"The {half} half", standings_table(lines, here, methods))
            _show(
                request,
                f"problems_{half}",
                f"The {half} half, problem by problem: normalised regret at the full budget",
                problem_table(lines, here, methods),
            )
            if any(line["problem"] in {c.name for c in here} for line in calibrated):
                _show(request, f"calibration_{half}", f"Calibration on the {half} half", calibration_table(calibrated, here, models))
    print(f"drew {draw(lines, contests, methods, request.shown / 'figures')}")


def show_goals(request: Comparison) -> None:
    """The paper's grids and boxes with the default sampler: runs that are missing, and the table."""
    lines = _lines(request, "goals", goal_jobs(request.n_seeds or (1 if request.quick else goals.N_SEEDS), request.quick), run_goal)
    _show(request, "goals", "The paper's grids within the paper's budget, and boxes", goals_table(lines))


def show_variants(request: Comparison) -> None:
    """Other settings of bktf on the development half: runs that are missing, and the table beside the default's own lines."""
    n_seeds = request.n_seeds or (1 if request.quick else variants.N_SEEDS)
    lines = _lines(request, "choices", variant_jobs(n_seeds, request.quick), play_variant)
    own = contest_jobs(["bktf", "random"], [c.name for c in CONTESTS.values() if c.half == DEVELOPMENT], None, request.quick)
    known = run_missing(request.folder / "compare.jsonl", own, NAMES, play, request.n_jobs, "compare", only_read=True)
    _show(request, "choices", "Other settings, on the development half", variants_table([*known, *lines], n_seeds))


def _lines(request: Comparison, name: str, jobs: Sequence[Job], work: Callable[[Job], Line]) -> list[Line]:
    path = request.folder / f"{name}.jsonl"
    return run_missing(path, jobs, NAMES, work, request.n_jobs, name, only_read=request.tables_only)


def standings_table(lines: Sequence[Line], contests: Sequence[Contest], methods: Sequence[str]) -> str:
    """One row per kind of problem and method: rank, regrets, bktf against it, cost; who lacks runs of a kind is named below."""
    rows, missing = [], []
    for kind in (*KINDS, "all"):
        here = [c for c in contests if kind in ("all", c.kind)]
        counts = {m: sum(bool(lines_of(lines, c.name, m)) for c in here) for m in methods}
        found = standings(lines, here, [m for m in methods if counts[m] == len(here)])
        missing += [f"{PEERS[m].title} ({kind}: {counts[m]} of {len(here)})" for m in methods if counts[m] < len(here)]
        for method in sorted(found, key=lambda m: found[m].rank):
            standing = found[method]
            against = duel(lines, here, "bktf", method) if method != "bktf" and "bktf" in found else None
            row = [f"{kind} ({standing.n_contests})", PEERS[method].title, f"{standing.rank:.2f}", *(f"{r:.3f}" for r in standing.regret)]
            row.append(f"{standing.close:.0%} in {standing.evaluations:.0f}" if standing.close else "0%")
            if against is None:
                row += ["", ""]
            else:
                judged = against.wins + against.ties + against.losses
                row += [
                    f"{against.wins} / {against.ties} / {against.losses}" if judged else "–",
                    f"{against.difference:+.3f} [{against.low:+.3f}, {against.high:+.3f}]",
                ]
            rows.append([*row, f"{standing.repeats:.1%}", f"{standing.cpu_seconds:.2g}", str(standing.n_seeds)])
    shares = [f"regret at {share:.0%}" for share in SHARES]
    head = ["problems", "method", "mean rank", *shares, "within 1 %", "bktf wins / ties / losses", "bktf − it", "repeats", "CPU s", "seeds"]
    note = f"\n\nRuns of some problems are still missing: {', '.join(missing)}." if missing else ""
    return markdown(head, rows) + note


def problem_table(lines: Sequence[Line], contests: Sequence[Contest], methods: Sequence[str]) -> str:
    """Median over seeds, the best method of each problem in bold."""
    rows = []
    for contest in contests:
        if not lines_of(lines, contest.name, "random"):
            continue
        medians = {m: np.median([r[-1] for r in found.values()]) for m in methods if (found := normalised(lines, contest, m))}
        best = min(medians.values(), default=np.nan)
        shown = [
            f"**{medians[m]:.3f}**" if m in medians and medians[m] == best else f"{medians[m]:.3f}" if m in medians else "–"
            for m in methods
        ]
        rows.append([contest.name, contest.kind, str(contest.n_dims), *shown])
    return markdown(["problem", "kind", "D", *(PEERS[m].title for m in methods)], rows)


def calibration_table(lines: Sequence[Line], contests: Sequence[Contest], models: Sequence[str]) -> str:
    """Coverage of central intervals and CRPS, mean over seeds."""
    rows = []
    for contest in contests:
        found = {m: lines_of(lines, contest.name, m) for m in models}
        if not any(found.values()):
            continue
        row = [contest.name]
        for model in models:
            own = found[model]
            row += [f"{np.mean([x['coverage'][i] for x in own]):.2f}" if own else "–" for i in range(len(LEVELS))]
            row.append(f"{np.mean([x['crps'] for x in own]):.3f}" if own else "–")
        rows.append(row)
    head = [f"{PEERS[m].title}: {what}" for m in models for what in (*(f"{p:.0%}" for p in LEVELS), "CRPS")]
    return markdown(["problem", *head], rows)


COLOURS: Mapping[str, str] = {
    "bktf": "#08519c", "bktf-first": "#9ecae1", "random": "#777777", "tpe": "#b8860b", "gp": "#d7301f", "cmaes": "#7a0177",
    "botorch": "#fc8d59", "skopt": "#00a087", "smac": "#66a61e",
}  # fmt: skip


def draw(lines: Sequence[Line], contests: Sequence[Contest], methods: Sequence[str], folder: Path) -> Path:
    """Mean normalised regret against the share of the budget, for each half and kind of problem."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, len(KINDS), figsize=(5 * len(KINDS), 9), squeeze=False)
    for row, half in zip(panels, (DEVELOPMENT, TEST), strict=True):
        for panel, kind in zip(row, KINDS, strict=True):
            here = [c for c in contests if c.half == half and c.kind == kind and lines_of(lines, c.name, "random")]
            for method in methods:
                curves = [curve for c in here if (curve := _mean_curve(lines, c, method)) is not None]
                if len(curves) == len(here) > 0:  # a mean over other problems could not be compared
                    panel.plot(np.linspace(0, 1, 41), np.mean(curves, axis=0), color=COLOURS[method], label=PEERS[method].title)
            panel.set_title(f"{half} half, {kind}, {len(here)} problems", fontsize=10)
            panel.set_yscale("log")
            panel.grid(alpha=0.25)
            panel.set_xlabel("share of the budget")
    for row in panels:
        row[0].set_ylabel("mean regret, random search at the end = 1")
    handles = {label: handle for panel in panels.ravel() for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=8, frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "comparison.png", dpi=110, metadata={"Software": None})
    plt.close(figure)
    return folder / "comparison.png"


def _mean_curve(lines: Sequence[Line], contest: Contest, method: str) -> Floats | None:
    """Mean over seeds of the normalised regret at 41 shares of the budget."""
    own = lines_of(lines, contest.name, method)
    if not own:
        return None
    after = np.mean([incumbents(line)[line["n_start"] - 1 :] - contest.minimum for line in own], axis=0) / unit(lines, contest)
    return np.asarray(np.interp(np.linspace(0, 1, 41), np.linspace(0, 1, after.size), np.maximum(after, 1e-4)))


def _show(request: Comparison, name: str, title: str, table: str) -> None:
    """Print a table and write it to its file."""
    path = request.shown / "tables" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table + "\n", encoding="utf-8")
    print(f"\n{title}\n\n{table}\n")
