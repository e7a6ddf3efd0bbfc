"""What reports of pruned trials are good for: predictions of final values.

python -m studies.pruning.predictions [--tables]

For each problem and number of trials ten data sets: random trials under the pruner. Three
surrogates predict the final value of every configuration that was not tried: pruned trials left
out, pruned trials with an estimated value, and reports with their step as an axis where the fold
scores say so, which is what suggestions use. What is recorded is how well the order of the
predictions is that of the values, over all configurations and over the best quarter of them.
"""

import math
import sys
import warnings
from collections.abc import Sequence
from datetime import datetime

import numpy as np
import optuna

from bktf import BKTFSampler
from bktf.engine import History
from bktf.optuna_sampler.trials import read_all
from studies.lines import Line, RunKey, made_with
from studies.pages import ROOT
from studies.pruning.curves import SPACES, configurations, curves
from studies.pruning.problems import PROBLEMS
from studies.small_study import run_small_study
from studies.table_writer import markdown

LINES = ROOT / "studies" / "results" / "pruning_predictions.jsonl"
WAYS = ("left out", "estimates", "steps")
SIZES = (30, 60)
N_SETS = 10
BEST_SHARE = 0.25


def prediction_runs() -> list[RunKey]:
    """Every way on every data set."""
    return [
        {
            "experiment": "pruning-predictions",
            "problem": name,
            "method": way,
            "seed": seed,
            "settings": {"trials": n},
        }
        for name in PROBLEMS
        for n in SIZES
        for seed in range(N_SETS)
        for way in WAYS
    ]


def _seen_by(way: str, history: History) -> History:
    """What the surrogate of one way sees."""
    related = history.related
    if way == "steps" or related is None:
        return history
    if way == "estimates":
        return history._replace(related=None)
    kept = np.setdiff1d(np.arange(len(history.y)), related.estimates)
    return history._replace(X=history.X[kept], y=history.y[kept], related=None)


def run_predictions(key: RunKey) -> Line:
    """The line of one way on one data set."""
    from scipy.stats import spearmanr

    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem, seed, n = PROBLEMS[key["problem"]], key["seed"], key["settings"]["trials"]
    study = optuna.create_study(
        study_name=f"{problem.name}-{seed}",
        sampler=optuna.samplers.RandomSampler(seed=seed),
        pruner=problem.make_pruner(),
    )
    study.optimize(problem.objective, n_trials=n)
    sampler = BKTFSampler(seed=seed, rank=math.inf)
    trials = read_all(study)
    space = sampler.space.of(study, trials)
    parameters = space.asked_for(space.distributions, ())
    converter = sampler._converted.of(study, parameters)
    history = converter.history(trials, -1, datetime.now())
    engine = sampler.engine(parameters, converter.objective, space.constants)
    posterior = engine.learn(_seen_by(key["method"], history), n).posterior
    assert posterior is not None
    assert posterior.draws.process is not None
    values = SPACES[problem.table]
    index = [
        [values[p.name].index(config[p.name]) for p in parameters]
        for config in configurations(problem.table)
    ]
    final = np.array([-curve[-1] for curve in curves(problem.table).values()])
    tried = {tuple(row) for row in history.tried.tolist()}
    is_new = np.array([tuple(map(float, row)) not in tried for row in index])
    mean, truth = posterior.mean(np.array(index, dtype=float)[is_new]), final[is_new]
    is_good = truth >= np.quantile(truth, 1.0 - BEST_SHARE)
    return {
        **key,
        "order": round(float(spearmanr(mean, truth)[0]), 4),
        "order_of_best": round(float(spearmanr(mean[is_good], truth[is_good])[0]), 4),
        "uses_steps": bool(posterior.draws.process.context.size),
        **made_with("optuna"),
    }


def predictions_table(lines: Sequence[Line]) -> str:
    """Mean rank correlations, and how often reports were used with their step."""
    rows = []
    for name in PROBLEMS:
        for n in SIZES:
            row = [name, str(n)]
            for way in WAYS:
                found = [
                    line
                    for line in lines
                    if (line["problem"], line["method"]) == (name, way)
                    and line["settings"]["trials"] == n
                ]
                both = (np.mean([x[k] for x in found]) for k in ("order", "order_of_best"))
                row.append(", ".join(f"{v:.2f}" for v in both))
            row.append(f"{np.mean([x['uses_steps'] for x in found]):.0%}")
            rows.append(row)
    return markdown(["problem", "trials", *WAYS, "steps are used"], rows)


def tables(lines: Sequence[Line]) -> dict[str, str]:
    """The table by its name."""
    return {"pruning_predictions": predictions_table(lines)}


def main() -> int:
    """Make the runs that are missing and write the table."""
    return run_small_study(__doc__, LINES, prediction_runs(), run_predictions, tables)


if __name__ == "__main__":
    sys.exit(main())
