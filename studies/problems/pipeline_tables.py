"""Tables with many categories: pipelines of scikit-learn whose steps are chosen by name.

Which step is best depends on the others, and a name says nothing about its neighbours. So most of
what a table holds is in interactions of unordered categories. Classifiers tell two classes apart,
and their loss is 1 minus the area under the ROC curve: an error rate would have many ties.
"""

from collections.abc import Callable, Mapping
from typing import Any

SEED = 0
N_COMPONENTS = {"pca-2": 2, "pca-5": 5, "pca-8": 8, "best-3": 3, "best-6": 6, "best-9": 9}
_SCALERS = ("none", "standard", "min-max", "robust", "quantile", "power")
_CLASSIFIERS = (
    "logistic",
    "discriminant",
    "quadratic",
    "bayes",
    "neighbours-3",
    "neighbours-15",
    "svm",
    "svm-linear",
    "tree",
    "forest",
)
_REGRESSORS = (
    "ridge",
    "lasso",
    "huber",
    "neighbours-5",
    "neighbours-25",
    "svm",
    "kernel-laplacian",
    "tree",
    "forest",
    "boosting",
)

_DESCENT = {
    "loss": ("hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"),
    "penalty": ("l2", "l1", "elasticnet"),
    "schedule": ("constant", "optimal", "invscaling", "adaptive"),
}

# By name of the table: data, and the grid of the steps. Numbers are ordered, strings categories.
PIPELINES: dict[str, tuple[str, Mapping[str, tuple[Any, ...]]]] = {
    "pipeline-digits": (
        "digits",
        {
            "scaler": _SCALERS,
            "reducer": ("none", "pca-5", "pca-8", "best-6", "best-9"),
            "classifier": _CLASSIFIERS,
        },
    ),
    "descent-breast-cancer": (
        "breast_cancer",
        {
            **_DESCENT,
            "scaler": ("none", "robust", "quantile"),
            "alpha": (1e-4, 1e-3, 1e-2, 1e-1),
        },
    ),
    "kernel-diabetes": (
        "diabetes",
        {
            "kernel": ("linear", "rbf", "laplacian", "polynomial", "sigmoid", "cosine"),
            "scaler": _SCALERS,
            "target": ("plain", "log", "quantile"),
            "alpha": (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0),
        },
    ),
    "pipeline-breast-cancer": (
        "breast_cancer",
        {
            "scaler": _SCALERS,
            "reducer": ("none", "pca-2", "pca-8", "best-3", "best-9"),
            "classifier": _CLASSIFIERS,
        },
    ),
    "descent-digits": (
        "digits",
        {
            **_DESCENT,
            "scaler": ("none", "standard", "min-max"),
            "alpha": (1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
        },
    ),
    "pipeline-diabetes": (
        "diabetes",
        {
            "scaler": _SCALERS,
            "reducer": ("none", "pca-5", "best-3", "best-6"),
            "regressor": _REGRESSORS,
            "target": ("plain", "log", "quantile"),
        },
    ),
}


def make_pipeline_of(settings: Mapping[str, Any]) -> Any:
    """The model that these steps name."""
    from sklearn.pipeline import make_pipeline

    steps = [_scaler(settings["scaler"]), _reducer(settings.get("reducer", "none"))]
    if "classifier" in settings:
        last = _classifiers()[settings["classifier"]]()
    elif "loss" in settings:
        last = _descent(settings)
    else:
        last = _with_target(_regressor(settings), settings["target"])
    return make_pipeline(*[step for step in steps if step is not None], last)


def _scaler(name: str) -> Any:
    from sklearn import preprocessing

    makers: dict[str, Callable[[], Any]] = {
        "none": lambda: None,
        "standard": preprocessing.StandardScaler,
        "min-max": preprocessing.MinMaxScaler,
        "robust": preprocessing.RobustScaler,
        "quantile": lambda: preprocessing.QuantileTransformer(
            n_quantiles=50, output_distribution="normal", random_state=SEED
        ),
        "power": preprocessing.PowerTransformer,
    }
    return makers[name]()


def _reducer(name: str) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import SelectKBest

    if name == "none":
        return None
    if name.startswith("pca"):
        return PCA(N_COMPONENTS[name], random_state=SEED)
    return SelectKBest(k=N_COMPONENTS[name])


def _classifiers() -> dict[str, Callable[[], Any]]:
    from sklearn.discriminant_analysis import (
        LinearDiscriminantAnalysis,
        QuadraticDiscriminantAnalysis,
    )
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "logistic": LogisticRegression,
        "discriminant": LinearDiscriminantAnalysis,
        "quadratic": lambda: QuadraticDiscriminantAnalysis(reg_param=0.1),
        "bayes": GaussianNB,
        "neighbours-3": lambda: KNeighborsClassifier(3),
        "neighbours-15": lambda: KNeighborsClassifier(15),
        "svm": lambda: SVC(random_state=SEED),
        "svm-linear": lambda: SVC(kernel="linear", max_iter=20_000, random_state=SEED),
        "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=SEED),
        "forest": lambda: RandomForestClassifier(40, random_state=SEED),
    }


def _descent(settings: Mapping[str, Any]) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(
        loss=settings["loss"],
        penalty=settings["penalty"],
        learning_rate=settings["schedule"],
        alpha=settings["alpha"],
        eta0=0.01,
        max_iter=100,
        random_state=SEED,
    )


def _regressor(settings: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import HuberRegressor, Lasso, Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.svm import SVR
    from sklearn.tree import DecisionTreeRegressor

    if "kernel" in settings:
        return KernelRidge(kernel=settings["kernel"], alpha=settings["alpha"])
    makers: dict[str, Callable[[], Any]] = {
        "ridge": Ridge,
        "lasso": lambda: Lasso(random_state=SEED),
        "huber": lambda: HuberRegressor(max_iter=1_000),
        "neighbours-5": lambda: KNeighborsRegressor(5),
        "neighbours-25": lambda: KNeighborsRegressor(25),
        "svm": SVR,
        "kernel-laplacian": lambda: KernelRidge(kernel="laplacian"),
        "tree": lambda: DecisionTreeRegressor(max_depth=3, random_state=SEED),
        "forest": lambda: RandomForestRegressor(40, min_samples_leaf=5, random_state=SEED),
        "boosting": lambda: GradientBoostingRegressor(n_estimators=60, random_state=SEED),
    }
    return makers[settings["regressor"]]()


def _with_target(regressor: Any, target: str) -> Any:
    import numpy as np
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import QuantileTransformer

    if target == "plain":
        return regressor
    if target == "log":
        return TransformedTargetRegressor(regressor, func=np.log, inverse_func=np.exp)
    quantiles = QuantileTransformer(n_quantiles=50, output_distribution="normal", random_state=SEED)
    return TransformedTargetRegressor(regressor, transformer=quantiles)
