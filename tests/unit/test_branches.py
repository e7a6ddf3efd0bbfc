"""Branches of a conditional space: which parameters are active where, and that nothing is missed."""

import itertools
import math

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from bktf.spaces import (
    INACTIVE,
    Activation,
    Condition,
    Parameter,
    branch_of,
    branches,
    deactivate,
    division_ends,
    find_branches,
    n_points,
    parents_first,
    point_at,
    points_in,
    values_at,
    values_in,
)
from random_trees import random_tree
from seeds import seeded

KIND = Parameter("kind", CategoricalDistribution(("svm", "net", "tree")))
C = Parameter(
    "C",
    FloatDistribution(0.1, 10.0, log=True),
    False,
    (Activation((Condition("kind", frozenset({0.0})),)),),
)
LAYERS = Parameter(
    "layers",
    IntDistribution(1, 3),
    False,
    (Activation((Condition("kind", frozenset({1.0})),)),),
)
WIDTH = Parameter(
    "width",
    IntDistribution(4, 8),
    False,
    (Activation((Condition("layers", None, 2, math.inf),)),),
)
TREE = (KIND, C, LAYERS, WIDTH)


def test_every_branch_of_a_tree_is_listed_once() -> None:
    found = find_branches(TREE)
    assert found is not None
    patterns = sorted(tuple(b.active.tolist()) for b in found)
    assert patterns == [
        (True, False, False, False),
        (True, False, True, False),
        (True, False, True, True),
        (True, True, False, False),
    ]
    deep = next(b for b in found if b.active[3])
    assert deep.within[0].tolist() == [1.0]
    assert deep.within[2].tolist() == [2.0, 3.0]
    assert n_points(TREE) == math.inf
    assert points_in(TREE, deep) == 10


def test_inactive_parameters_have_no_value() -> None:
    point = deactivate(TREE, np.array([1.0, 1.0, 1.0, 5.0]))
    assert point.tolist() == [1.0, INACTIVE, 1.0, INACTIVE]
    assert values_at(TREE, point) == {"kind": "net", "layers": 1}
    branch = branch_of(TREE, point)
    assert branch.active.tolist() == [True, False, True, False]
    assert branch.within[2].tolist() == [1.0]


def test_a_cycle_of_conditions_is_refused() -> None:
    def needs(name: str, parent: str) -> Parameter:
        condition = Condition(parent, frozenset({1.0}))
        return Parameter(name, IntDistribution(0, 3), False, (Activation((condition,)),))

    with pytest.raises(ValueError, match="must not form a cycle; each of 'a', 'b'"):
        parents_first([needs("a", "b"), needs("b", "a"), KIND])


def test_a_continuous_parent_is_divided_at_the_ends_of_its_conditions() -> None:
    x = Parameter("x", FloatDistribution(0.0, 1.0))
    middle = Activation((Condition("x", None, 0.25, 0.5),))
    y = Parameter("y", IntDistribution(0, 1), False, (middle,))
    found = find_branches((x, y))
    assert found is not None
    assert [b.active.tolist() for b in found] == [[True, False], [True, True], [True, False]]
    assert found[1].within[0].tolist() == [0.25, 0.5]
    assert found[0].within[0][1] == math.nextafter(0.25, 0)
    assert found[2].within[0].tolist() == [math.nextafter(0.5, 1), 1.0]
    assert {0.25, 0.5} <= set(division_ends((x, y), 0).tolist())
    assert division_ends((x, y), 1).size == 0


def test_the_range_of_an_activation_limits_what_is_drawn() -> None:
    low = Activation((Condition("kind", frozenset({0.0})),), 1.0, 2.0)
    high = Activation((Condition("kind", frozenset({1.0})),), 5.0, 9.0)
    n = Parameter("n", IntDistribution(1, 9), False, (low, high))
    space = (KIND, n)
    assert n_points(space) == 2 + 5 + 1
    rng = np.random.default_rng(seeded(0))
    for _ in range(50):
        kind, value = point_at(space, rng.random(2), {})
        allowed = {0.0: (1, 2), 1.0: (5, 6, 7, 8, 9), 2.0: (INACTIVE,)}
        assert value in allowed[kind]


def test_a_parameter_that_was_given_up_is_never_active() -> None:
    gone = Parameter("gone", FloatDistribution(0.0, 1.0), False, ())
    found = find_branches((KIND, gone))
    assert found is not None
    assert not any(b.active[1] for b in found)
    assert n_points((KIND, gone)) == 3


@pytest.mark.parametrize("seed", range(40))
def test_branches_divide_the_points_of_a_random_tree(seed: int) -> None:
    """Every point of the product belongs, after deactivation, to exactly one branch."""
    tree = random_tree(np.random.default_rng(seeded(seed)), finite=True, max_parameters=6)
    found = find_branches(tree)
    assert found is not None
    axes = [p.ends_or_values() for p in tree]
    everything = {
        tuple(deactivate(tree, np.array(point)).tolist()) for point in itertools.product(*axes)
    }
    listed = [
        point
        for branch in found
        for point in itertools.product(*(v.tolist() for v in values_in(tree, branch, {})))
    ]
    assert len(listed) == len(set(listed)) == n_points(tree)
    assert set(listed) == everything
    rng = np.random.default_rng(seeded(seed))
    for _ in range(20):
        assert point_at(tree, rng.random(len(tree)), {}) in everything


def test_too_many_branches_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    switches = [Parameter(f"s{i}", CategoricalDistribution((False, True))) for i in range(4)]
    children = [
        Parameter(
            f"c{i}",
            IntDistribution(1, 2),
            False,
            (Activation((Condition(f"s{i}", frozenset({1.0})),)),),
        )
        for i in range(4)
    ]
    space = (*switches, *children)
    assert n_points(space) == 3**4
    monkeypatch.setattr(branches, "MAX_BRANCHES", 10)
    branches._find_branches.cache_clear()
    assert find_branches(space) is None
    assert n_points(space) == 4**4  # an upper bound
    branches._find_branches.cache_clear()
