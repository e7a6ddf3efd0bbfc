"""Conditional spaces: makes the runs that are missing, then the tables.

python -m studies.conditional [--half development test] [--methods bktf tpe] [--seeds 10] [--tables]
"""

import sys

import optuna

from bktf import BKTFSampler
from studies.conditional.problems import N_START, N_TRIALS, PROBLEMS
from studies.define_by_run import DefineByRunStudy

STUDY = DefineByRunStudy(
    name="conditional",
    problems=PROBLEMS,
    samplers={
        "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
        "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
        "tpe-group": lambda seed: optuna.samplers.TPESampler(
            seed=seed, multivariate=True, group=True
        ),
        "gp": lambda seed: optuna.samplers.GPSampler(seed=seed),
        "bktf": lambda seed: BKTFSampler(seed=seed, warn_independent_sampling=False),
    },
    n_trials=N_TRIALS,
    n_start=N_START,
    n_seeds=10,
)

if __name__ == "__main__":
    sys.exit(STUDY.main(__doc__))
