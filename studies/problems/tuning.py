"""The paper's machine-learning tasks: digits and Boston housing, a random forest and a two-layer network.

Scores are deterministic (fixed random states), so each configuration is computed once and kept in a file that all replications and methods
share. Data, ranges and objectives follow the public tutorial that the paper's tasks match.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from studies.lines import Job, Line, append_line, made_with, read_lines, rounded
from studies.methods.paper_methods import METHODS, PAPER_SETTINGS, run_settings
from studies.paper.runs import QUICK
from studies.problems import networks
from studies.problems.grid_problems import Grid
from studies.runner import as_line, chooser_for, optimise

Floats = NDArray[np.float64]

BUDGET, N_SEEDS = 50, 10
FOREST_SEED = 0  # of every forest: over seeds one configuration varies as much as the methods differ
FOREST = ("n_estimators", "max_depth", "max_features", "min_samples_split")
NETWORK = ("neurons", "batch", "epochs")


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(Grid):
    """Whole-number hyperparameters to tune; a loss to minimise."""

    parameters: tuple[str, ...]
    data: str  # "digits" or "boston"
    network: networks.NetworkTask | None = None  # a random forest where None
    leaky: bool = False

    @property
    def packages(self) -> tuple[str, ...]:
        """Whose versions fix the losses."""
        return (*(("mlxtend",) if self.data == "boston" else ()), "scikit-learn", *(("keras", "jax") if self.network else ()))

    @property
    def is_classifier(self) -> bool:
        """Whether the loss is 1 − accuracy; otherwise it is the mean squared error."""
        return self.data == "digits"


def _task(name: str, title: str, parameters: tuple[str, ...], ranges: Sequence[tuple[int, int]], data: str,
          network: networks.NetworkTask | None = None, leaky: bool = False) -> Task:  # fmt: skip
    return Task(
        name=name, title=title, parameters=parameters, data=data, network=network, leaky=leaky, low=tuple(float(a) for a, _ in ranges),
        high=tuple(float(b) for _, b in ranges), sizes=tuple(b - a + 1 for a, b in ranges),
    )  # fmt: skip


_TREES, _NETS = [(10, 100), (5, 50)], [(10, 100), (16, 64), (20, 50)]
TASKS = {
    task.name: task
    for task in (
        _task("rf-classifier", "RF classifier, digits", FOREST, [*_TREES, (1, 64), (2, 11)], "digits"),
        _task("rf-regressor", "RF regressor, Boston", FOREST, [*_TREES, (1, 13), (2, 11)], "boston"),
        _task("nn-classifier", "NN classifier, digits, clean", NETWORK, _NETS, "digits", networks.CLASSIFIER),
        _task("nn-regressor", "NN regressor, Boston, clean", NETWORK, _NETS, "boston", networks.REGRESSOR),
        _task("nn-classifier-leaky", "NN classifier, digits, as the tutorial (leaky)", NETWORK, _NETS, "digits", networks.CLASSIFIER, True),
        _task("nn-regressor-leaky", "NN regressor, Boston, as the tutorial (leaky)", NETWORK, _NETS, "boston", networks.REGRESSOR, True),
    )
}
TUNED_BY = tuple(name for name in METHODS if not name.startswith("gpgrid"))  # the grid is too large to enumerate with a GP


def load_data(name: str) -> tuple[Floats, Floats]:
    """Inputs and targets, unscaled as in the tutorial."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
    else:
        try:
            from mlxtend.data import boston_housing_data
        except ImportError:
            raise ValueError("the Boston tasks need the data file that comes with mlxtend; install bktf[experiments]") from None
        X, y = boston_housing_data()
    return np.asarray(X, dtype=float), np.asarray(y, dtype=float)


def compute_loss(task: Task, configuration: tuple[int, ...]) -> float:
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
        return 1.0 - float(cross_val_score(RandomForestClassifier(**settings, random_state=FOREST_SEED), X, y.astype(int), cv=3).mean())
    forest = RandomForestRegressor(**settings, random_state=FOREST_SEED)
    return -float(cross_val_score(forest, X, y, cv=3, scoring="neg_mean_squared_error").mean())


class ScoreTable:
    """Losses of configurations in a file of lines that several processes read and append to."""

    def __init__(self, path: Path, task: Task) -> None:
        self.path, self.task = path, task
        self._read_to = -1
        self._known: dict[tuple[int, ...], float] = {}

    def loss(self, configuration: tuple[int, ...]) -> float:
        """From the file where it is there, otherwise computed and appended."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != self._read_to:
            self._known = {tuple(line["configuration"]): line["loss"] for line in read_lines(self.path)}
            self._read_to = size
        if configuration not in self._known:
            loss = float(rounded(compute_loss(self.task, configuration)))
            if not np.isfinite(loss):
                raise ArithmeticError(
                    f"{self.task.name} has no finite loss at {json.dumps(dict(zip(self.task.parameters, configuration, strict=True)))}"
                )
            append_line(self.path, {"configuration": list(configuration), "loss": loss} | made_with(*self.task.packages))
            self._known[configuration] = loss
        return self._known[configuration]


def tuning_jobs(tasks: Sequence[str], methods: Sequence[str], n_seeds: int | None, quick: bool) -> list[Job]:
    """All runs, replication by replication, so that a cut-off study has whole ones."""
    seeds = range(n_seeds or (1 if quick else N_SEEDS))
    jobs: list[Job] = []
    for seed in seeds:
        for task in tasks:
            for method in methods:
                if method in TUNED_BY:
                    settings = run_settings(method, 1 if quick else BUDGET, PAPER_SETTINGS | (QUICK if quick else {}))
                    jobs.append({"experiment": "tuning", "problem": task, "method": method, "seed": seed, "settings": settings})
    return jobs


def run_tuning(job: Job, scores: Path) -> Line:
    """The line of one replication; scores is the folder of the score tables."""
    task = TASKS[job["problem"]]
    table = ScoreTable(scores / f"{task.name}.jsonl", task)

    def evaluate(point: Floats) -> tuple[Floats, float]:
        configuration = tuple(int(v) for v in np.rint(point))
        return np.array(configuration, dtype=float), table.loss(configuration)

    rng = np.random.default_rng([job["seed"], *task.sizes])
    start = task.points_at(rng.choice(task.n_cells, task.n_dims, replace=False))
    y = np.array([evaluate(point)[1] for point in start])
    run = optimise(evaluate, chooser_for(job, task), start, y, job["settings"]["budget"])
    return as_line(job, task.n_dims, run, task.packages)
