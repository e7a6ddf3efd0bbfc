"""Real hyperparameter tables: cross-validated losses of scikit-learn models on its bundled data.

`python -m studies.problems.loss_tables` computes what is missing (some minutes) and writes one file
per table to `studies/data`; nothing else ever computes them.
"""

import gzip
import itertools
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.problems.pipeline_tables import PIPELINES, make_pipeline_of

Floats = NDArray[np.float64]
SEED = 0
MAX_LOSS = 1e6  # a larger one, or none, is a model that failed


@dataclass(frozen=True, eq=False)
class TableTask:
    """A model, its data, and the grid of hyperparameters; loss is what is minimised."""

    data: str
    model: str
    grid: Mapping[str, tuple[Any, ...]]  # numbers are ordered values, strings are categories


def _powers(base: float, low: float, high: float, n: int) -> tuple[float, ...]:
    """Powers of a base with exponents evenly spaced, four significant digits."""
    return tuple(float(f"{v:.4g}") for v in base ** np.linspace(low, high, n))


_SVM_GRID = {"C": _powers(10, -2, 4, 25), "gamma": _powers(10, -5, 1, 25)}
TABLES: dict[str, TableTask] = {
    "svm-breast-cancer": TableTask("breast_cancer", "svm", _SVM_GRID),
    "svm-digits": TableTask("digits", "svm", _SVM_GRID),
    "boosting-diabetes": TableTask(
        "diabetes",
        "boosting",
        {
            "learning_rate": _powers(10, -2.5, 0, 8),
            "n_estimators": (10, 20, 40, 60, 100, 150, 200),
            "max_depth": (1, 2, 3, 4, 5, 6),
            "subsample": (0.5, 0.75, 1.0),
        },
    ),
    "forest-diabetes": TableTask(
        "diabetes",
        "forest",
        {
            "max_depth": (1, 2, 3, 4, 5, 6, 8, 10, 15),
            "max_features": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
            "min_samples_leaf": (1, 2, 4, 8, 12, 16, 24, 32),
            "criterion": ("squared_error", "absolute_error"),
        },
    ),
    "forest-wine": TableTask(
        "wine",
        "forest_classifier",
        {
            "max_depth": (1, 2, 3, 4, 5, 6, 8),
            "max_features": (1, 2, 3, 4, 5, 6, 8, 10, 13),
            "min_samples_leaf": (1, 2, 3, 5, 8, 12, 18, 25),
            "criterion": ("gini", "entropy"),
        },
    ),
    "mlp-digits": TableTask(
        "digits",
        "mlp",
        {
            "learning_rate": _powers(10, -4, -1, 10),
            "alpha": _powers(10, -6, 0, 7),
            "hidden": (4, 8, 16, 32, 64),
            "activation": ("relu", "tanh", "logistic"),
        },
    ),
    **{name: TableTask(data, "pipeline", grid) for name, (data, grid) in PIPELINES.items()},
}


def folder() -> Path:
    """Where the tables are kept."""
    return Path(__file__).parents[1] / "data"


@cache
def load_table(name: str) -> Floats:
    """The losses, one axis per hyperparameter in the order of the grid."""
    path = folder() / f"{name}.json.gz"
    if not path.exists():
        raise ValueError(
            f"there is no table {name}; python -m studies.problems.loss_tables computes it"
        )
    with gzip.open(path, "rt", encoding="utf-8") as file:
        losses = json.load(file)["losses"]
    return np.array(losses, dtype=float).reshape([len(v) for v in TABLES[name].grid.values()])


def loss(task: TableTask, settings: Mapping[str, Any]) -> float:
    """The cross-validated loss, the same every time it is computed.

    The mean squared error of regressions; of classifiers the error rate (SVM), 1 minus the area
    under the ROC curve (pipelines) or the log loss (others). NaN where a model cannot be fitted.
    """
    import warnings

    from sklearn import datasets
    from sklearn.ensemble import (
        GradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    X, y = getattr(datasets, f"load_{task.data}")(return_X_y=True)
    if task.data == "digits":
        X, y = X[:600], y[:600]
        y = y >= 5 if task.model == "pipeline" else y  # two classes
    makers: dict[str, Callable[..., Any]] = {
        "svm": lambda **s: make_pipeline(StandardScaler(), SVC(**s, random_state=SEED)),
        "boosting": lambda **s: GradientBoostingRegressor(**s, random_state=SEED),
        "forest": lambda **s: RandomForestRegressor(40, **s, random_state=SEED),
        "forest_classifier": lambda **s: RandomForestClassifier(40, **s, random_state=SEED),
        "mlp": lambda **s: make_pipeline(
            StandardScaler(),
            MLPClassifier(
                (s["hidden"],),
                activation=s["activation"],
                alpha=s["alpha"],
                learning_rate_init=s["learning_rate"],
                max_iter=40,
                random_state=SEED,
            ),
        ),
        "pipeline": lambda **s: make_pipeline_of(s),
    }
    model = makers[task.model](**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that diverges is a bad setting, not a defect
        if task.data == "diabetes":
            return -float(
                cross_val_score(
                    model,
                    X,
                    y,
                    cv=KFold(4, shuffle=True, random_state=SEED),
                    scoring="neg_mean_squared_error",
                ).mean()
            )
        folds = StratifiedKFold(4, shuffle=True, random_state=SEED)
        if task.model == "pipeline":
            return 1.0 - float(cross_val_score(model, X, y, cv=folds, scoring="roc_auc").mean())
        if task.model == "svm":
            return 1.0 - float(cross_val_score(model, X, y, cv=folds, scoring="accuracy").mean())
        return -float(cross_val_score(model, X, y, cv=folds, scoring="neg_log_loss").mean())


def compute(name: str, n_jobs: int) -> None:
    """Compute one table and write it."""
    from joblib import Parallel, delayed

    task = TABLES[name]
    settings = [
        dict(zip(task.grid, values, strict=True))
        for values in itertools.product(*task.grid.values())
    ]
    found = Parallel(n_jobs=n_jobs, batch_size=8)(delayed(loss)(task, s) for s in settings)
    losses = np.nan_to_num(np.minimum(found, MAX_LOSS), nan=MAX_LOSS)
    losses[losses == MAX_LOSS] = losses[losses < MAX_LOSS].max()
    folder().mkdir(exist_ok=True)
    record = {
        "grid": {k: list(v) for k, v in task.grid.items()},
        "losses": [float(f"{v:.6g}") for v in losses],
    }
    with gzip.GzipFile(folder() / f"{name}.json.gz", "wb", mtime=0) as file:
        file.write(json.dumps(record).encode())


def main() -> int:
    """Compute the tables that are missing."""
    for name in TABLES:
        if not (folder() / f"{name}.json.gz").exists():
            compute(name, int(sys.argv[1]) if len(sys.argv) > 1 else 2)
            print(
                name,
                load_table(name).size,
                load_table(name).min(),
                np.median(load_table(name)),
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
