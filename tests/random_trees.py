"""Random conditional spaces for tests."""

import math

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from bktf.spaces import Activation, Condition, Parameter


def random_tree(
    rng: np.random.Generator, *, finite: bool, max_parameters: int = 12, max_depth: int = 3
) -> tuple[Parameter, ...]:
    """A space of up to `max_parameters`, in which conditions are up to `max_depth` levels deep."""
    n = int(rng.integers(2, max_parameters + 1))
    made: list[Parameter] = []
    depth: list[int] = []
    for i in range(n):
        parents = [d for d in range(i) if depth[d] < max_depth and made[d].n_values < 10]
        activations, level = None, 0
        if parents and rng.random() < 0.7:
            d = int(rng.choice(parents))
            activations = (Activation((_condition(made[d], rng),)),)
            level = depth[d] + 1
        made.append(Parameter(f"p{i}", _distribution(rng, finite), False, activations))
        depth.append(level)
    return tuple(made)


def _distribution(
    rng: np.random.Generator, finite: bool
) -> CategoricalDistribution | IntDistribution | FloatDistribution:
    kind = rng.integers(3 if finite else 4)
    if kind == 0:
        return CategoricalDistribution(tuple("abcd"[: rng.integers(2, 5)]))
    if kind == 1:
        return CategoricalDistribution((False, True))
    if kind == 2:
        low = int(rng.integers(0, 3))
        return IntDistribution(low, low + int(rng.integers(1, 4)))
    return FloatDistribution(0.1, 10.0, log=bool(rng.integers(2)))


def _condition(parent: Parameter, rng: np.random.Generator) -> Condition:
    values = parent.ends_or_values()
    if isinstance(parent.distribution, IntDistribution) and rng.random() < 0.5:
        return Condition(parent.name, None, float(rng.choice(values)), math.inf)
    size = int(rng.integers(1, values.size + 1))
    return Condition(parent.name, frozenset(rng.choice(values, size, replace=False).tolist()))
