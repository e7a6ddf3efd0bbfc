"""The paper's machine-learning tasks: digits and Boston housing, a forest and a two-layer network.

Scores are deterministic (fixed random states). Each configuration is computed once and kept in a
file that all replications and methods share. Data, ranges and objectives follow the public
tutorial that the paper's tasks match.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from optuna.distributions import IntDistribution

from studies.lines import append_line, made_with, read_lines, rounded
from studies.problems import networks
from studies.problems.grid import Grid, GridProblem
from studies.problems.problem import Floats, Params

BUDGET = 50
FOREST_SEED = 0  # of every forest: over seeds one configuration varies as much as methods differ
FOREST = ("n_estimators", "max_depth", "max_features", "min_samples_split")
NETWORK = ("neurons", "batch", "epochs")


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """Whole-number hyperparameters to tune; a loss to minimise."""

    name: str
    title: str
    parameters: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...]  # of the parameters, both ends included
    data: str  # "digits" or "boston"
    network: networks.NetworkTask | None = None  # a random forest where None
    leaky: bool = False

    @property
    def packages(self) -> tuple[str, ...]:
        """Whose versions fix the losses."""
        data = ("mlxtend",) if self.data == "boston" else ()
        return (*data, "scikit-learn", *(("keras", "jax") if self.network else ()))

    @property
    def is_classifier(self) -> bool:
        """Whether the loss is 1 − accuracy; otherwise it is the mean squared error."""
        return self.data == "digits"


@dataclass(frozen=True, eq=False, kw_only=True)
class TuningProblem(GridProblem):
    """A task as a problem; its losses come from a shared table of scores."""

    def start_points(self, seed: int) -> list[Params]:
        """Random configurations."""
        rng = np.random.default_rng([seed, *self.grid.sizes])
        rows = self.grid.points_at(rng.choice(self.grid.n_cells, self.n_start, replace=False))
        return [self.nearest(self.to_params(row)) for row in rows]


def tuning_problem(task: Task, scores: Path) -> TuningProblem:
    """The problem of a task; `scores` is the folder of the score tables."""
    table = ScoreTable(scores / f"{task.name}.jsonl", task)
    space = {
        name: IntDistribution(low, high)
        for name, (low, high) in zip(task.parameters, task.ranges, strict=True)
    }
    return TuningProblem(
        name=task.name,
        title=task.title,
        space=space,
        function=lambda params: table.loss(tuple(int(params[name]) for name in space)),
        minimum=float("nan"),
        n_start=len(space),
        budget=BUDGET,
        grid=Grid(
            low=tuple(float(low) for low, _ in task.ranges),
            high=tuple(float(high) for _, high in task.ranges),
            sizes=tuple(high - low + 1 for low, high in task.ranges),
        ),
    )


def _forest(name: str, title: str, max_features: int, data: str) -> Task:
    """A random forest on data with `max_features` features."""
    ranges = ((10, 100), (5, 50), (1, max_features), (2, 11))
    return Task(name=name, title=title, parameters=FOREST, ranges=ranges, data=data)


def _network(title: str, data: str, network: networks.NetworkTask, leaky: bool) -> Task:
    """A network, scored without a leak or as the tutorial does."""
    return Task(
        name=f"{network.name}{'-leaky' if leaky else ''}",
        title=f"{title}, {'as the tutorial (leaky)' if leaky else 'clean'}",
        parameters=NETWORK,
        ranges=((10, 100), (16, 64), (20, 50)),
        data=data,
        network=network,
        leaky=leaky,
    )


TASKS = {
    task.name: task
    for task in (
        _forest("rf-classifier", "RF classifier, digits", 64, "digits"),
        _forest("rf-regressor", "RF regressor, Boston", 13, "boston"),
        _network("NN classifier, digits", "digits", networks.CLASSIFIER, leaky=False),
        _network("NN regressor, Boston", "boston", networks.REGRESSOR, leaky=False),
        _network("NN classifier, digits", "digits", networks.CLASSIFIER, leaky=True),
        _network("NN regressor, Boston", "boston", networks.REGRESSOR, leaky=True),
    )
}


def load_data(name: str) -> tuple[Floats, Floats]:
    """Inputs and targets, unscaled as in the tutorial."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
    else:
        try:
            from mlxtend.data import boston_housing_data
        except ImportError:
            raise ValueError(
                "the Boston tasks need the data file that comes with mlxtend; "
                "install bktf[experiments]"
            ) from None
        X, y = boston_housing_data()
    return np.asarray(X, dtype=float), np.asarray(y, dtype=float)


def compute_loss(task: Task, configuration: Sequence[int]) -> float:
    """1 − accuracy or mean squared error of three-fold cross-validation without shuffling."""
    X, y = load_data(task.data)
    if task.network is not None:
        neurons, batch, epochs = configuration
        found = networks.score(task.network, X, y, neurons, batch, epochs, task.leaky)
        return 1.0 - found if task.is_classifier else found
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.model_selection import cross_val_score

    settings = dict(zip(task.parameters, configuration, strict=True))
    if task.is_classifier:
        classifier = RandomForestClassifier(**settings, random_state=FOREST_SEED)
        return 1.0 - float(cross_val_score(classifier, X, y.astype(int), cv=3).mean())
    forest = RandomForestRegressor(**settings, random_state=FOREST_SEED)
    return -float(cross_val_score(forest, X, y, cv=3, scoring="neg_mean_squared_error").mean())


class ScoreTable:
    """Losses of configurations in a file of lines that several processes read and append to."""

    def __init__(self, path: Path, task: Task) -> None:
        self.path, self.task = path, task
        self._size_read = -1
        self._known: dict[tuple[int, ...], float] = {}

    def loss(self, configuration: tuple[int, ...]) -> float:
        """From the file where it is there, otherwise computed and appended."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != self._size_read:
            lines = read_lines(self.path)
            self._known = {tuple(line["configuration"]): line["loss"] for line in lines}
            self._size_read = size
        if configuration not in self._known:
            loss = float(rounded(compute_loss(self.task, configuration)))
            if not np.isfinite(loss):
                named = dict(zip(self.task.parameters, configuration, strict=True))
                raise ArithmeticError(f"{self.task.name} has no finite loss at {json.dumps(named)}")
            line = {"configuration": list(configuration), "loss": loss}
            append_line(self.path, line | made_with(*self.task.packages))
            self._known[configuration] = loss
        return self._known[configuration]
