"""All parameters of a known space suggested for a trial, those that are active."""

from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial

from bktf.spaces import INACTIVE, Space, activation_at


def suggest_all(trial: Trial, space: Space) -> dict[str, Any]:
    """The values of all active parameters, in the order of the space."""
    known: dict[str, float] = {}
    values: dict[str, Any] = {}
    for p in space.parents_first():
        activation = activation_at(p, known)
        if activation is not None:
            inside = p.limited(activation.low, activation.high)
            values[p.name] = suggest(trial, p.name, inside.distribution)
            coordinate = p.coordinate(values[p.name])
            known[p.name] = INACTIVE if coordinate is None else coordinate
    return {name: values[name] for name in space.distributions if name in values}


def suggest(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """The value of one parameter, whatever its distribution."""
    if isinstance(distribution, FloatDistribution):
        low, high, step, log = (getattr(distribution, a) for a in ("low", "high", "step", "log"))
        return trial.suggest_float(name, low, high, step=step, log=log)
    if isinstance(distribution, IntDistribution):
        low, high, step, log = (getattr(distribution, a) for a in ("low", "high", "step", "log"))
        return trial.suggest_int(name, low, high, step=step, log=log)
    assert isinstance(distribution, CategoricalDistribution)
    return trial.suggest_categorical(name, distribution.choices)
