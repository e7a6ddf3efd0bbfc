"""Five define-by-run objectives, fixed before the first line; two are tables of real losses.

optimisers    development   a learning rate of either of two optimisers, each with a parameter
of its own, and a shared weight decay
layers        development   one to four layers with a width each, and dropout that may be off
tree-digits   development   losses of an SVM, a forest and a network on handwritten digits
steps         test          four kernels and three kinds of preprocessing, each with parameters
tree-cancer   test          the tree of models on a data set of tumours
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from optuna.trial import BaseTrial

from studies.conditional.model_tree import suggest_config, tree_losses
from studies.problems import DEVELOPMENT, TEST, ComparisonProblem

N_TRIALS = 60
N_START = 10  # trials before shares of the budget are counted


@dataclass(frozen=True, eq=False, kw_only=True)
class ConditionalProblem(ComparisonProblem):
    """A define-by-run objective and its minimum."""

    objective: Callable[[BaseTrial], float]
    spread: float  # a typical distance of random trials from the minimum

    @property
    def value_range(self) -> float:
        """The unit of "within one per cent"."""
        return self.spread

    @property
    def worst(self) -> float:
        """No trial is pruned."""
        return math.inf

    def make_pruner(self) -> None:
        """None: nothing is reported."""


def _log_distance(value: float, best: float) -> float:
    """Squared distance in powers of ten."""
    return (math.log10(value) - math.log10(best)) ** 2


def optimisers(t: BaseTrial) -> float:
    """Adam with a rate of 2e-3 is best; SGD needs a larger rate, the larger its momentum less."""
    decay = t.suggest_float("decay", 1e-6, 1e-1, log=True)
    if t.suggest_categorical("optimiser", ["sgd", "adam"]) == "sgd":
        rate = t.suggest_float("rate_sgd", 1e-5, 1.0, log=True)
        momentum = t.suggest_float("momentum", 0.0, 0.99)
        loss = 0.08 + 0.1 * _log_distance(rate / (1 - momentum), 0.5)
    else:
        rate = t.suggest_float("rate_adam", 1e-5, 1.0, log=True)
        beta = t.suggest_float("beta", 0.8, 0.999)
        loss = 0.05 + 0.15 * _log_distance(rate, 2e-3) + 2.0 * (beta - 0.93) ** 2
    return loss + 0.02 * _log_distance(decay, 1e-3)


def layers(t: BaseTrial) -> float:
    """Two layers of 64 and 32, dropout of 0.2 and a rate of 3e-3 are best."""
    n = t.suggest_int("layers", 1, 4)
    loss = 0.1 + 0.06 * abs(n - 2)
    for i in range(n):
        width = t.suggest_int(f"width{i}", 4, 256, log=True)
        loss += 0.02 * (math.log2(width) - 6 + i) ** 2
    if t.suggest_categorical("dropout", [False, True]):
        loss += 0.8 * (t.suggest_float("dropout_rate", 0.0, 0.6) - 0.2) ** 2
    else:
        loss += 0.03 + 0.01 * n
    rate = t.suggest_float("rate", 1e-5, 1e-1, log=True)
    return loss + 0.08 * _log_distance(rate, 3e-3)


def steps(t: BaseTrial) -> float:
    """The rbf kernel after a reduction to 12 components is best."""
    loss, size = 0.1, 30.0
    step = t.suggest_categorical("preprocessing", ["none", "reduce", "select"])
    if step == "reduce":
        size = float(t.suggest_int("components", 2, 30))
        loss += 0.05 * math.log(size / 12) ** 2
    elif step == "select":
        size = float(t.suggest_int("features", 2, 30))
        loss += 0.03 + 0.05 * math.log(size / 18) ** 2
    else:
        loss += 0.06
    kernel = t.suggest_categorical("kernel", ["rbf", "poly", "linear", "sigmoid"])
    C = t.suggest_float("C", 1e-3, 1e3, log=True)
    if kernel in ("rbf", "sigmoid"):
        gamma = t.suggest_float("gamma", 1e-5, 10.0, log=True)
        loss += 0.04 * _log_distance(gamma * size, 0.3) + (0.1 if kernel == "sigmoid" else 0.0)
    if kernel == "poly":
        loss += 0.04 + 0.03 * (t.suggest_int("degree", 2, 6) - 3) ** 2
    best_C = {"rbf": 10.0, "poly": 1.0, "linear": 0.1, "sigmoid": 10.0}[kernel]
    return loss + 0.02 * _log_distance(C, best_C) + (0.05 if kernel == "linear" else 0.0)


def _problem(
    name: str, half: str, objective: Callable[[BaseTrial], float], minimum: float, spread: float
) -> ConditionalProblem:
    return ConditionalProblem(
        name=name,
        space={},
        function=lambda _: math.nan,
        minimum=minimum,
        budget=N_TRIALS - N_START,
        n_start=N_START,
        half=half,
        group="conditional",
        objective=objective,
        spread=spread,
    )


def _tree(name: str, half: str) -> ConditionalProblem:
    """A tree of models on a data set."""
    losses = tree_losses(name)

    def objective(t: BaseTrial) -> float:
        """The recorded loss of a configuration."""
        return losses[tuple(suggest_config(t).items())]

    found = sorted(losses.values())
    return _problem(f"tree-{name}", half, objective, found[0], found[len(found) // 2] - found[0])


PROBLEMS = {
    p.name: p
    for p in (
        _problem("optimisers", DEVELOPMENT, optimisers, 0.05, 0.3),
        _problem("layers", DEVELOPMENT, layers, 0.1, 0.3),
        _tree("digits", DEVELOPMENT),
        _problem("steps", TEST, steps, 0.1, 0.3),
        _tree("cancer", TEST),
    )
}
