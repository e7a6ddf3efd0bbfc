"""Studies with pruning: makes the runs that are missing, then the tables.

python -m studies.pruning [--half development test] [--methods bktf tpe] [--seeds 10] [--tables]
"""

import sys
from typing import Any

import optuna

from bktf import BKTFSampler
from bktf.engine import Engine, History, Model
from studies.define_by_run import DefineByRunStudy
from studies.pruning.problems import N_START, N_TRIALS, PROBLEMS


class _EngineWithoutReports(Engine):
    """The engine of a suggestion that gives pruned trials an estimated value and nothing else."""

    def learn(self, history: History, *arguments: Any, **options: Any) -> Model:
        """The model without the reports."""
        return super().learn(history._replace(related=None), *arguments, **options)


class EstimatesSampler(BKTFSampler):
    """The sampler before steps were an axis: a line from reports to returned values."""

    def engine(self, *arguments: Any) -> Engine:
        """An engine that does not see reports."""
        e = super().engine(*arguments)
        return _EngineWithoutReports(e.parameters, e.objective, e.settings, e.seed, e.feasible)


STUDY = DefineByRunStudy(
    name="pruning",
    problems=PROBLEMS,
    samplers={
        "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
        "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
        "bktf": lambda seed: BKTFSampler(seed=seed),
        "bktf-estimates": lambda seed: EstimatesSampler(seed=seed),
    },
    n_trials=N_TRIALS,
    n_start=N_START,
    n_seeds=10,
)

if __name__ == "__main__":
    sys.exit(STUDY.main(__doc__))
