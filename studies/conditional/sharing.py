"""How well branches teach each other: predictions of random trials of the development half.

python -m studies.conditional.sharing [--tables]

For each problem and number of trials 20 data sets: the surrogate is fitted to random trials and
predicts 200 others. The lines of other ways to compare an inactive parameter with an active one
were made with the commit that they name, where the environment variable BKTF_TRIAL_SHARING chose
the way; they left the code after that.
"""

import math
import sys
import warnings
from collections.abc import Sequence
from datetime import datetime

import numpy as np
import optuna

from bktf import BKTFSampler
from bktf.optuna_sampler.trials import read_all
from studies.conditional.problems import PROBLEMS
from studies.lines import Line, RunKey, made_with
from studies.pages import ROOT
from studies.problems import DEVELOPMENT
from studies.small_study import run_small_study
from studies.table_writer import markdown

LINES = ROOT / "studies" / "results" / "sharing.jsonl"
WAY = "middle-0.95"  # of the code as it is
SIZES = (15, 30, 60)
N_SETS, N_NEW = 20, 200
FIRST_SEED = 1000  # other random trials than those of the study


def sharing_runs(way: str) -> list[RunKey]:
    """Every data set of every size and problem."""
    return [
        {
            "experiment": "sharing",
            "problem": problem.name,
            "method": way,
            "seed": seed,
            "settings": {"trials": n},
        }
        for problem in PROBLEMS.values()
        if problem.half == DEVELOPMENT
        for n in SIZES
        for seed in range(N_SETS)
    ]


def run_sharing(key: RunKey) -> Line:
    """The line of one data set."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    n, seed = key["settings"]["trials"], key["seed"]
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=FIRST_SEED + seed))
    study.optimize(PROBLEMS[key["problem"]].objective, n_trials=SIZES[-1] + N_NEW)
    sampler = BKTFSampler(seed=seed, rank=math.inf, compress=False)
    trials = read_all(study)
    space = sampler.space.of(study, trials)
    parameters = space.asked_for(space.distributions, ())
    converter = sampler._converted.of(study, parameters)
    history = converter.history(trials, -1, datetime.now())
    engine = sampler.engine(parameters, converter.objective, space.constants)
    seen = history._replace(X=history.X[:n], y=history.y[:n], tried=history.X[:n])
    posterior = engine.learn_to_show(seen, n).posterior
    assert posterior is not None
    points, truth = history.X[SIZES[-1] :], history.y[SIZES[-1] :]
    mean = posterior.mean(points)
    variance = posterior.std(points) ** 2 + float(np.mean(posterior.noise_std**2))
    error = mean - truth
    log_density = -0.5 * (error**2 / variance + np.log(2.0 * np.pi * variance))
    return {
        **key,
        "error": round(float(np.sqrt(np.mean(error**2)) / truth.std()), 4),
        "log_density": round(float(np.median(log_density)), 3),
        **made_with("optuna"),
    }


def sharing_table(lines: Sequence[Line]) -> str:
    """Errors of each way as shares of the spread of values; means over data sets."""
    ways = list(dict.fromkeys(line["method"] for line in lines))
    problems = [p.name for p in PROBLEMS.values() if p.half == DEVELOPMENT]
    rows = []
    for way in ways:
        row = [way]
        for problem in problems:
            for n in SIZES:
                errors = [
                    line["error"]
                    for line in lines
                    if (line["method"], line["problem"]) == (way, problem)
                    and line["settings"]["trials"] == n
                ]
                row.append(f"{np.mean(errors):.3f}" if errors else "")
        rows.append(row)
    header = [f"{problem}, {n}" for problem in problems for n in SIZES]
    return markdown(["way", *header], rows)


def tables(lines: Sequence[Line]) -> dict[str, str]:
    """The table by its name."""
    return {"sharing": sharing_table(lines)}


def main() -> int:
    """Make the runs that are missing and write the table."""
    return run_small_study(__doc__, LINES, sharing_runs(WAY), run_sharing, tables)


if __name__ == "__main__":
    sys.exit(main())
