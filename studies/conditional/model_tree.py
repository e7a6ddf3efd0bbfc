"""Losses of an SVM, a forest and a network in one tree of parameters, computed once.

python -m studies.conditional.model_tree     computes the tables that are missing
"""

import gzip
import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from optuna.trial import BaseTrial

FOLDER = Path(__file__).parents[1] / "data"
SEED = 0
N_DIGITS = 500  # handwritten digits that are used
DATA = {"digits": "digits", "cancer": "breast_cancer"}
Config = dict[str, Any]

SVM = {"C": (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0), "gamma": (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0)}
FOREST = {
    "trees": (5, 10, 20, 40, 80),
    "depth": (2, 4, 8, 16),
    "features": (0.05, 0.1, 0.2, 0.5, 1.0),
}
NETWORK = {"rate": (1e-4, 1e-3, 1e-2, 0.1), "alpha": (1e-5, 1e-3, 0.1, 10.0)}
WIDTHS = (4, 8, 16, 32, 64)


def configurations() -> Iterator[Config]:
    """All configurations of the tree."""
    for values in itertools.product(*SVM.values()):
        yield {"model": "svm", **dict(zip(SVM, values, strict=True))}
    for values in itertools.product(*FOREST.values()):
        yield {"model": "forest", **dict(zip(FOREST, values, strict=True))}
    for values in itertools.product(*NETWORK.values()):
        shared = dict(zip(NETWORK, values, strict=True))
        for first in WIDTHS:
            yield {"model": "network", "layers": 1, "width0": first, **shared}
            for second in WIDTHS:
                widths = {"width0": first, "width1": second}
                yield {"model": "network", "layers": 2, **widths, **shared}


def suggest_config(t: BaseTrial) -> Config:
    """A configuration, as users of Optuna write it; a number is suggested as its index."""

    def one_of(name: str, values: tuple[Any, ...]) -> Any:
        return values[t.suggest_int(name, 0, len(values) - 1)]

    model = t.suggest_categorical("model", ["svm", "forest", "network"])
    config: Config = {"model": model}
    if model == "svm":
        return config | {name: one_of(name, values) for name, values in SVM.items()}
    if model == "forest":
        return config | {name: one_of(name, values) for name, values in FOREST.items()}
    config["layers"] = t.suggest_int("layers", 1, 2)
    for i in range(config["layers"]):
        config[f"width{i}"] = one_of(f"width{i}", WIDTHS)
    return config | {name: one_of(name, values) for name, values in NETWORK.items()}


def loss(data: str, config: Config) -> float:
    """The balanced error rate of a configuration over three folds."""
    from sklearn import datasets
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    X, y = getattr(datasets, f"load_{DATA[data]}")(return_X_y=True)
    X, y = X[:N_DIGITS], y[:N_DIGITS]
    if config["model"] == "svm":
        model = SVC(C=config["C"], gamma=config["gamma"], random_state=SEED)
    elif config["model"] == "forest":
        model = RandomForestClassifier(
            config["trees"],
            max_depth=config["depth"],
            max_features=config["features"],
            random_state=SEED,
        )
    else:
        widths = tuple(config[f"width{i}"] for i in range(config["layers"]))
        model = MLPClassifier(
            widths,
            alpha=config["alpha"],
            learning_rate_init=config["rate"],
            max_iter=60,
            random_state=SEED,
        )
    folds = StratifiedKFold(3, shuffle=True, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that diverges is a bad setting, not a defect
        scaled = make_pipeline(StandardScaler(), model)
        score = cross_val_score(scaled, X, y, cv=folds, scoring="balanced_accuracy").mean()
    return float(1.0 - score)


@cache
def tree_losses(data: str) -> dict[tuple[tuple[str, Any], ...], float]:
    """The loss of every configuration, by its items in the order of `configurations`."""
    with gzip.open(FOLDER / f"tree-{data}.json.gz", "rt", encoding="utf-8") as file:
        losses = json.load(file)
    pairs = zip(configurations(), losses, strict=True)
    return {tuple(config.items()): value for config, value in pairs}


def main() -> int:
    """Compute the tables that are missing."""
    from joblib import Parallel, delayed

    for data in DATA:
        path = FOLDER / f"tree-{data}.json.gz"
        if path.exists():
            continue
        everything = list(configurations())
        losses = Parallel(n_jobs=2, batch_size=8)(delayed(loss)(data, c) for c in everything)
        with gzip.GzipFile(path, "wb", mtime=0) as file:
            file.write(json.dumps([float(f"{v:.6g}") for v in losses]).encode())
        print(data, len(losses), min(losses), sorted(losses)[len(losses) // 2], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
