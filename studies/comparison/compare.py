"""`bktf compare`: bktf against the real packages of others, on problems of many kinds; runs that have a line are not made again."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.comparison import goals, variants
from studies.comparison.calibration import LEVELS, MODELS, calibration_jobs, run_calibration
from studies.comparison.goals import goal_jobs, goals_table, run_goal
from studies.comparison.rankings import SHARES, duel, incumbents, normalised, shared_seeds, standings, unit
from studies.comparison.runs import contest_jobs, play
from studies.comparison.variants import play_variant, variant_jobs, variants_table
from studies.lines import Job, Line, run_missing
from studies.methods.other_packages import PEERS
from studies.paper.runs import NAMES
from studies.paper.summaries import lines_of
from studies.paper.tables import markdown
from studies.problems.comparison_problems import CONTESTS, DEVELOPMENT, TEST, Contest

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
            title = f"The {half} half: regrets on the seeds that both methods have, and their difference with its 95 % interval"
            _show(request, f"differences_{half}", title, differences_table(lines, here, methods))
            title = f"The {half} half, problem by problem: mean regret at the full budget, and differences on shared seeds"
            _show(request, f"problems_{half}", title, problem_table(lines, here, methods))
            if any(line["problem"] in {c.name for c in here} for line in calibrated):
                _show(request, f"calibration_{half}", f"Calibration on the {half} half", calibration_table(calibrated, here, models))
            print(f"drew {draw(lines, here, methods, half, request.shown / 'figures')}")


def show_goals(request: Comparison) -> None:
    """The paper's grids and boxes with the default sampler: runs that are missing, and the table."""
    lines = _lines(request, "goals", goal_jobs(request.n_seeds or (1 if request.quick else goals.N_SEEDS), request.quick), run_goal)
    _show(request, "goals", "The paper's grids within the paper's budget, and boxes", goals_table(lines))


def show_variants(request: Comparison) -> None:
    """Other settings of bktf on the development half: runs that are missing, and the table beside the default's own lines."""
    n_seeds = request.n_seeds or (1 if request.quick else variants.N_SEEDS)
    lines = _lines(request, "bktf_variants", variant_jobs(n_seeds, request.quick), play_variant)
    own = contest_jobs(["bktf", "random"], [c.name for c in CONTESTS.values() if c.half == DEVELOPMENT], None, request.quick)
    known = run_missing(request.folder / "compare.jsonl", own, NAMES, play, request.n_jobs, "compare", only_read=True)
    _show(request, "bktf_variants", "Other settings, on the development half", variants_table([*known, *lines], n_seeds))


def _lines(request: Comparison, name: str, jobs: Sequence[Job], work: Callable[[Job], Line]) -> list[Line]:
    path = request.folder / f"{name}.jsonl"
    return run_missing(path, jobs, NAMES, work, request.n_jobs, name, only_read=request.tables_only)


def _reference(methods: Sequence[str]) -> str:
    """The method that all others are compared with."""
    return "bktf" if "bktf" in methods else "random"


def _complete(lines: Sequence[Line], contests: Sequence[Contest], methods: Sequence[str], kind: str) -> tuple[list[str], list[str]]:
    """The methods that have lines of every contest, and words about those that do not."""
    counts = {m: sum(bool(lines_of(lines, c.name, m)) for c in contests) for m in methods}
    missing = [f"{PEERS[m].title} ({kind}: {counts[m]} of {len(contests)})" for m in methods if counts[m] < len(contests)]
    return [m for m in methods if counts[m] == len(contests)], missing


def _range(counts: Sequence[int]) -> str:
    return " to ".join(map(str, sorted({min(counts), max(counts)})))


def _signed(value: float | np.floating[Any]) -> str:
    """A difference with three decimals and its sign, zero without one."""
    text = f"{value:+.3f}"
    return text if float(text) else "0.000"


def _note(missing: Sequence[str]) -> str:
    return f"\n\nRuns of some problems are still missing: {', '.join(missing)}." if missing else ""


def standings_table(lines: Sequence[Line], contests: Sequence[Contest], methods: Sequence[str]) -> str:
    """One row per kind of problem and method: rank, problems won against it, cost; who lacks runs of a kind is named below."""
    reference, rows, missing = _reference(methods), [], []
    for kind in (*KINDS, "all"):
        here = [c for c in contests if kind in ("all", c.kind)]
        complete, lacking = _complete(lines, here, methods, kind)
        missing += lacking
        found = standings(lines, here, complete)
        for method in sorted(found, key=lambda m: found[m].rank):
            standing = found[method]
            against = duel(lines, here, reference, method) if method != reference and reference in found else None
            row = [f"{kind} ({standing.n_contests})", PEERS[method].title, f"{standing.rank:.2f}"]
            if against is None:
                row += [""] * 3
            else:
                judged = against.wins + against.ties + against.losses
                row.append(f"{against.wins} / {against.ties} / {against.losses}" if judged else "–")
                row += [f"{x.share:.0%} in {x.evaluations:.0f}" if x.share else "0%" for x in reversed(against.close)]
            rows.append([*row, f"{standing.repeats:.1%}", f"{standing.cpu_seconds:.2g}", str(standing.n_seeds)])
    title = PEERS[reference].title
    head = [
        "problems",
        "method",
        "mean rank",
        f"{title} wins / ties / losses",
        "it within 1 %",
        f"{title} there",
        "repeats",
        "CPU s",
        "seeds",
    ]
    return markdown(head, rows) + _note(missing)


def differences_table(lines: Sequence[Line], contests: Sequence[Contest], methods: Sequence[str]) -> str:
    """One row per kind of problem and peer: regrets of both on the seeds that both have, and their difference, at shares of the budget."""
    reference, rows, missing = _reference(methods), [], []
    for kind in (*KINDS, "all"):
        here = [c for c in contests if kind in ("all", c.kind)]
        complete, lacking = _complete(lines, here, methods, kind)
        missing += lacking
        found = {m: duel(lines, here, reference, m) for m in complete if m != reference and reference in complete}
        duels = {m: against for m, against in found.items() if against is not None}
        for method in sorted(duels, key=lambda m: -duels[m].difference[-1]):
            against = duels[method]
            row = [f"{kind} ({len(here)})", PEERS[method].title, _range(against.n_seeds)]
            for i, word in enumerate(against.verdicts):
                row.append(f"{against.second[i]:.2f} / {against.first[i]:.2f}")
                row.append(f"{against.difference[i]:+.3f} [{against.low[i]:+.3f}, {against.high[i]:+.3f}] {word}")
            rows.append(row)
    title = PEERS[reference].title
    shares = [text for share in SHARES for text in (f"{share:.0%}: it / {title}", f"{title} − it at {share:.0%}")]
    return markdown(["problems", "method", "shared seeds", *shares], rows) + _note(missing)


def problem_table(lines: Sequence[Line], contests: Sequence[Contest], methods: Sequence[str]) -> str:
    """Mean regret of the reference, and its mean difference to each other method on the seeds that both have, above zero in bold."""
    reference = _reference(methods)
    others = [m for m in methods if m != reference]
    rows = []
    for contest in contests:
        if not all(lines_of(lines, contest.name, m) for m in ("random", reference)):
            continue
        own = normalised(lines, contest, reference)
        row = [contest.name, contest.kind, str(contest.n_dims), f"{np.mean([r[-1] for r in own.values()]):.3f}"]
        for method in others:
            other = normalised(lines, contest, method)
            differences = [own[s][-1] - other[s][-1] for s in sorted(own.keys() & other.keys())]
            shown = _signed(np.mean(differences)) if differences else "–"
            row.append(f"**{shown}**" if differences and float(shown) > 0 else shown)
        rows.append(row)
    return markdown(["problem", "kind", "D", PEERS[reference].title, *(f"− {PEERS[m].title}" for m in others)], rows)


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


SHARES_SHOWN = np.linspace(0.0, 1.0, 41)  # of the budget, in the figures
MIN_SHOWN = 1e-4  # what logarithmic axes show for a smaller regret
COLOURS: Mapping[str, str] = {
    "bktf": "#08519c", "bktf-first": "#9ecae1", "random": "#777777", "tpe": "#b8860b", "gp": "#d7301f", "cmaes": "#7a0177",
    "botorch": "#fc8d59", "skopt": "#00a087", "smac": "#66a61e",
}  # fmt: skip


def draw(lines: Sequence[Line], contests: Sequence[Contest], methods: Sequence[str], half: str, folder: Path) -> Path:
    """Mean normalised regret against the share of the budget: a row per kind of problem, a panel per method beside the reference.

    Both curves of a panel are of the seeds that both methods have, so they start at the same height.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    reference = _reference(methods)
    others = [m for m in methods if m != reference]
    kinds = [kind for kind in KINDS if any(c.kind == kind for c in contests)]
    size = (1.9 * max(len(others), 2) + 0.6, 2.3 * len(kinds) + 0.9)
    figure, panels = plt.subplots(len(kinds), len(others), figsize=size, sharex=True, sharey="row", squeeze=False)
    for row, kind in zip(panels, kinds, strict=True):
        here = [c for c in contests if c.kind == kind]
        for panel, method in zip(row, others, strict=True):
            pairs = [pair for c in here if (pair := _mean_curves(lines, c, reference, method)) is not None]
            if len(pairs) == len(here):  # a mean over fewer problems could not be compared with the other panels
                for name, curve, width in zip((method, reference), np.mean(pairs, axis=0)[::-1], (1.6, 2.2), strict=True):
                    panel.plot(SHARES_SHOWN, curve, color=COLOURS[name], lw=width)
            panel.set_yscale("log")
            panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            panel.yaxis.set_major_formatter("{x:g}")
            panel.yaxis.set_minor_formatter("")
            panel.tick_params(labelsize=8)
            panel.grid(alpha=0.25)
        row[0].set_ylabel(f"{kind}, {len(here)} problems\nmean regret")
    for panel, method in zip(panels[0], others, strict=True):
        counts = [len(shared_seeds(lines, c, reference, method)) for c in contests]
        panel.set_title(f"{PEERS[method].title}\n(shared seeds: {_range(counts)})", fontsize=9, color=COLOURS[method])
    for panel in panels[-1]:
        panel.set_xlabel("share of the budget")
    title = f"{half} half: {PEERS[reference].title} (blue) beside one other method per column; random search at the end = 1"
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"comparison_{half}.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return path


def _mean_curves(lines: Sequence[Line], contest: Contest, first: str, second: str) -> Floats | None:
    """Mean normalised regrets of two methods over the seeds that both have, at shares of the budget, (2, shares)."""
    seeds = shared_seeds(lines, contest, first, second)
    if not seeds:
        return None
    curves = []
    for method in (first, second):
        own = [line for line in lines_of(lines, contest.name, method) if line["seed"] in seeds]
        regret = np.mean([incumbents(line)[line["n_start"] - 1 :] - contest.minimum for line in own], axis=0) / unit(lines, contest)
        curves.append(np.interp(SHARES_SHOWN, np.linspace(0, 1, regret.size), np.maximum(regret, MIN_SHOWN)))
    return np.array(curves)


def _show(request: Comparison, name: str, title: str, table: str) -> None:
    """Print a table and write it to its file."""
    path = request.shown / "tables" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table + "\n", encoding="utf-8")
    print(f"\n{title}\n\n{table}\n")
