"""Two tables of real learning curves, fixed before the first line.

network    development   error of a network on handwritten digits after each of 27 epochs; 480
                         configurations of rate, penalty, width and batch size
boosting   test          error of boosted trees on the diabetes data after each of 81 trees; 384
                         configurations of rate, depth, share of the rows and size of the leaves

A trial reports its error after every step and returns the last one. 60 trials, ten seeds. The
pruners are Optuna's `MedianPruner` at its defaults, and `HyperbandPruner` from 1 step to all of
them with a reduction factor of 3. Regret is that of the best completed trial.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import optuna

from studies.problems import DEVELOPMENT, TEST, ComparisonProblem
from studies.pruning.curves import N_STEPS, curves, suggest_config

N_TRIALS = 60
N_START = 10  # trials before shares of the budget are counted
PRUNERS: dict[str, Callable[[int], Any]] = {
    "median": lambda _: optuna.pruners.MedianPruner(),
    "hyperband": lambda n_steps: optuna.pruners.HyperbandPruner(
        min_resource=1, max_resource=n_steps, reduction_factor=3
    ),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveProblem(ComparisonProblem):
    """A table of learning curves under a pruner."""

    table: str
    pruner: str
    spread: float  # a typical distance of random trials from the minimum
    worst: float

    @property
    def value_range(self) -> float:
        """The unit of "within one per cent"."""
        return self.spread

    def objective(self, t: optuna.Trial) -> float:
        """The recorded curve of a configuration, step by step."""
        curve = curves(self.table)[tuple(suggest_config(t, self.table).items())]
        for step, error in enumerate(curve, start=1):
            t.report(error, step)
            if step < len(curve) and t.should_prune():
                raise optuna.TrialPruned
        return curve[-1]

    def make_pruner(self) -> Any:
        """The pruner of a study."""
        return PRUNERS[self.pruner](N_STEPS[self.table])


def _problem(table: str, pruner: str, half: str) -> CurveProblem:
    final = sorted(curve[-1] for curve in curves(table).values())
    return CurveProblem(
        name=f"{table}-{pruner}",
        space={},
        function=lambda _: math.nan,
        minimum=final[0],
        budget=N_TRIALS - N_START,
        n_start=N_START,
        half=half,
        group="pruning",
        table=table,
        pruner=pruner,
        spread=final[len(final) // 2] - final[0],
        worst=final[-1],
    )


PROBLEMS = {
    p.name: p
    for p in (
        _problem("network", "median", DEVELOPMENT),
        _problem("network", "hyperband", DEVELOPMENT),
        _problem("boosting", "median", TEST),
        _problem("boosting", "hyperband", TEST),
    )
}
