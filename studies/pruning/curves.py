"""Learning curves of networks and of boosted trees, computed once.

python -m studies.pruning.curves     computes the tables that are missing
"""

import gzip
import itertools
import json
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from optuna.trial import BaseTrial

FOLDER = Path(__file__).parents[1] / "data"
SEED = 0
N_DIGITS = 500  # handwritten digits that are used
Config = dict[str, Any]

# The values of each parameter; a number is suggested as its index.
SPACES: dict[str, dict[str, tuple[Any, ...]]] = {
    "network": {
        "rate": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
        "alpha": (1e-5, 1e-3, 0.1, 10.0),
        "width": (4, 8, 16, 32, 64),
        "batch": (8, 16, 32, 64),
    },
    "boosting": {
        "rate": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
        "depth": (1, 2, 3, 5),
        "subsample": (0.2, 0.4, 0.7, 1.0),
        "leaf": (1, 4, 16, 48),
    },
}
N_STEPS = {"network": 27, "boosting": 81}


def configurations(name: str) -> list[Config]:
    """All configurations of a table."""
    space = SPACES[name]
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]


def suggest_config(t: BaseTrial, name: str) -> Config:
    """A configuration, as users of Optuna write it."""
    return {
        key: values[t.suggest_int(key, 0, len(values) - 1)] for key, values in SPACES[name].items()
    }


def network_curve(config: Config) -> list[float]:
    """The balanced error rate on held-out digits after each epoch, mean of two folds."""
    from sklearn.datasets import load_digits
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import StratifiedKFold
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    X, y = load_digits(return_X_y=True)
    X, y = X[:N_DIGITS], y[:N_DIGITS]
    total = [0.0] * N_STEPS["network"]
    folds = list(StratifiedKFold(2, shuffle=True, random_state=SEED).split(X, y))
    for train, test in folds:
        scaler = StandardScaler().fit(X[train])
        model = MLPClassifier(
            (config["width"],),
            alpha=config["alpha"],
            batch_size=config["batch"],
            learning_rate_init=config["rate"],
            random_state=SEED,
        )
        for step in range(N_STEPS["network"]):
            model.partial_fit(scaler.transform(X[train]), y[train], classes=range(10))
            found = model.predict(scaler.transform(X[test]))
            total[step] += (1.0 - balanced_accuracy_score(y[test], found)) / len(folds)
    return total


def boosting_curve(config: Config) -> list[float]:
    """The squared error on held-out patients after each tree, mean of three folds."""
    import numpy as np
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.model_selection import KFold

    X, y = load_diabetes(return_X_y=True)
    total = np.zeros(N_STEPS["boosting"])
    folds = list(KFold(3, shuffle=True, random_state=SEED).split(X))
    for train, test in folds:
        model = GradientBoostingRegressor(
            n_estimators=N_STEPS["boosting"],
            learning_rate=config["rate"],
            max_depth=config["depth"],
            subsample=config["subsample"],
            min_samples_leaf=config["leaf"],
            random_state=SEED,
        ).fit(X[train], y[train])
        errors = [np.mean((y[test] - p) ** 2) for p in model.staged_predict(X[test])]
        total += np.array(errors) / np.var(y) / len(folds)
    return [float(v) for v in total]


CURVES = {"network": network_curve, "boosting": boosting_curve}


def curve_of(name: str, config: Config) -> list[float]:
    """The learning curve of a configuration."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that diverges is a bad setting, not a defect
        return CURVES[name](config)


@cache
def curves(name: str) -> dict[tuple[tuple[str, Any], ...], list[float]]:
    """The learning curve of every configuration, by its items."""
    with gzip.open(FOLDER / f"curves-{name}.json.gz", "rt", encoding="utf-8") as file:
        found = json.load(file)
    pairs = zip(configurations(name), found, strict=True)
    return {tuple(config.items()): curve for config, curve in pairs}


def main() -> int:
    """Compute the tables that are missing."""
    from joblib import Parallel, delayed

    for name in SPACES:
        path = FOLDER / f"curves-{name}.json.gz"
        if path.exists():
            continue
        everything = configurations(name)
        found = Parallel(n_jobs=2, batch_size=8)(delayed(curve_of)(name, c) for c in everything)
        rounded = [[float(f"{v:.5g}") for v in curve] for curve in found]
        with gzip.GzipFile(path, "wb", mtime=0) as file:
            file.write(json.dumps(rounded).encode())
        final = sorted(curve[-1] for curve in rounded)
        print(name, len(final), final[0], final[len(final) // 2], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
