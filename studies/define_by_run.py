"""Studies of define-by-run objectives: one line for each run of an Optuna sampler, and tables."""

import argparse
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import optuna
from optuna.trial import TrialState

from studies.comparison.rankings import SHARES, compare_pair, rankings, regrets
from studies.lines import Line, RunKey, lines_of, made_with, read_lines, rounded
from studies.pages import ROOT
from studies.problems import DEVELOPMENT, TEST, ComparisonProblem
from studies.runner import run_missing
from studies.small_study import write_tables
from studies.table_writer import markdown

REFERENCE = "bktf"
Samplers = Mapping[str, Callable[[int], Any]]  # from a seed


class DefineByRunProblem(Protocol):
    """A problem with an objective of Optuna."""

    @property
    def objective(self) -> Callable[[Any], float]:
        """The objective, given a trial."""

    @property
    def worst(self) -> float:
        """The value that a pruned trial counts as."""

    def make_pruner(self) -> Any:
        """The pruner of a study; None for Optuna's default, which does nothing here."""


@dataclass(frozen=True, eq=False)
class DefineByRunStudy:
    """Samplers on problems, over seeds."""

    name: str
    problems: Mapping[str, Any]  # each a ComparisonProblem and a DefineByRunProblem
    samplers: Samplers
    n_trials: int
    n_start: int
    n_seeds: int

    @property
    def path(self) -> Path:
        """The file of its lines."""
        return ROOT / "studies" / "results" / f"{self.name}.jsonl"

    def runs(self, halves: Sequence[str], methods: Sequence[str], n_seeds: int) -> list[RunKey]:
        """Every method on every problem, seed by seed."""
        return [
            {
                "experiment": self.name,
                "problem": problem.name,
                "method": method,
                "seed": seed,
                "settings": {"trials": self.n_trials},
            }
            for seed in range(n_seeds)
            for problem in self.problems.values()
            if problem.half in halves
            for method in methods
        ]

    def run(self, key: RunKey) -> Line:
        """The line of one run."""
        from threadpoolctl import threadpool_limits  # comes with scikit-learn

        warnings.simplefilter("ignore")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        problem = self.problems[key["problem"]]
        with threadpool_limits(1):
            study = optuna.create_study(
                study_name=f"{key['problem']}-{key['seed']}",  # Hyperband's brackets depend on it
                sampler=self.samplers[key["method"]](key["seed"]),
                pruner=problem.make_pruner(),
            )
            began = time.process_time()
            study.optimize(problem.objective, n_trials=key["settings"]["trials"])
            seconds = time.process_time() - began
        values = [_value(t, problem) for t in study.trials]
        points = [dict(t.params) for t in study.trials]
        line = {
            **key,
            "n_start": self.n_start,
            "points": points,
            "values": rounded(values),
            "n_repeats": sum(p in points[:i] for i, p in enumerate(points)),
            "cpu_seconds": {"total": round(seconds, 3)},
            **made_with("optuna"),
        }
        n_steps = sum(len(t.intermediate_values) for t in study.trials)
        if n_steps:
            line["n_steps"] = n_steps
            line["n_pruned"] = sum(t.state == TrialState.PRUNED for t in study.trials)
        return line

    def problems_of(self, half: str) -> list[ComparisonProblem]:
        """The problems of one half."""
        return [p for p in self.problems.values() if p.half == half]

    def main_table(self, lines: Sequence[Line]) -> str:
        """Mean regret of each method on each problem, and its rank by half."""
        rows = []
        for half in (DEVELOPMENT, TEST):
            problems = self.problems_of(half)
            known = [m for m in self.samplers if all(lines_of(lines, p.name, m) for p in problems)]
            ranks = rankings(lines, problems, known) if "random" in known else {}
            for method, ranking in sorted(ranks.items(), key=lambda item: item[1].rank):
                cells = [
                    np.mean([regrets(x, p)[-1] for x in lines_of(lines, p.name, method)])
                    for p in problems
                ]
                shown = ", ".join(
                    f"{p.name} {cell:.2g}" for p, cell in zip(problems, cells, strict=True)
                )
                repeats = f"{100 * ranking.repeats:.1f} %"
                cost = f"{ranking.cpu_seconds:.2g}"
                seeds = str(ranking.n_seeds)
                rows.append([half, method, f"{ranking.rank:.2f}", shown, repeats, cost, seeds])
        header = ["half", "method", "mean rank", f"mean regret after {self.n_trials} trials"]
        return markdown([*header, "repeats", "CPU s", "seeds"], rows)

    def paired_table(self, lines: Sequence[Line], reference: str = REFERENCE) -> str:
        """Differences of a method from every other one, in units of random search's regret."""
        rows = []
        for half in (DEVELOPMENT, TEST):
            for method in self.samplers:
                pair = None
                if method != reference:
                    pair = compare_pair(lines, self.problems_of(half), reference, method)
                if pair is not None:
                    seeds = " to ".join(map(str, sorted(set(pair.n_seeds))))
                    rows.append([half, f"{reference} − {method}", *pair.cells, seeds])
        return markdown(["half", "difference", *(f"{s:.0%}" for s in SHARES), "seeds"], rows)

    def tables(self, lines: Sequence[Line]) -> dict[str, str]:
        """The tables by name."""
        return {self.name: self.main_table(lines), f"{self.name}_paired": self.paired_table(lines)}

    def main(self, description: str) -> int:
        """Make the runs that are missing and write the tables."""
        parser = argparse.ArgumentParser(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        both, names = [DEVELOPMENT, TEST], list(self.samplers)
        parser.add_argument("--half", nargs="+", choices=both, default=both)
        parser.add_argument("--methods", nargs="+", choices=names, default=names)
        parser.add_argument("--seeds", type=int, default=self.n_seeds)
        parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
        parser.add_argument("--tables", action="store_true", help="only tables of what is there")
        asked = parser.parse_args()
        if not asked.tables:
            runs = self.runs(asked.half, asked.methods, asked.seeds)
            run_missing(self.path, runs, self.run, asked.jobs)
        return write_tables(self.tables(read_lines(self.path)))


def _value(trial: optuna.trial.FrozenTrial, problem: DefineByRunProblem) -> float:
    """What a trial counts as: its value, or where it was pruned the worst one."""
    return (
        problem.worst
        if trial.value is None or trial.state != TrialState.COMPLETE
        else (float(trial.value))
    )
