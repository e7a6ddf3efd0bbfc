"""Search spaces: what users write, and coordinates there and back."""

import math

import numpy as np
import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

import bktf
from bktf.spaces import Parameter, can_be_modelled, read_space
from bktf.surrogate import ModelSpec, make_axes

EVERY_KIND = [
    FloatDistribution(-1.0, 3.0),
    FloatDistribution(1e-7, 10.0, log=True),
    FloatDistribution(-10.2, 10.2, step=0.1),
    FloatDistribution(0.0, 1.0, step=1e-6),
    IntDistribution(-3, 9),
    IntDistribution(1, 100, log=True),
    IntDistribution(1, 10**6, log=True),
    IntDistribution(0, 10**9, step=5),
    CategoricalDistribution(["a", None, 3, True]),
]


@pytest.mark.parametrize("distribution", EVERY_KIND, ids=str)
def test_values_come_back_from_their_coordinates_as_python_scalars(
    distribution: BaseDistribution,
) -> None:
    parameter = Parameter("p", distribution)
    for u in [0.0, 0.3, 0.5, 0.77, 1 - 2**-53]:
        coordinate = parameter.from_unit(u)
        value = parameter.value(coordinate)
        assert distribution._contains(distribution.to_internal_repr(value))
        assert not isinstance(value, np.generic)
        assert parameter.coordinate(value) == pytest.approx(coordinate, rel=1e-12)


@pytest.mark.parametrize("distribution", EVERY_KIND, ids=str)
def test_every_axis_point_is_a_value_of_the_parameter(distribution: BaseDistribution) -> None:
    parameter = Parameter("p", distribution)
    tried = np.array([parameter.from_unit(u) for u in (0.1, 0.4, 0.9)])
    axis = parameter.axis(tried, tried[:2])
    assert np.all(np.diff(axis.points) > 0)
    assert len(axis.points) == parameter.n_values or len(axis.points) <= 512
    for point in axis.points:
        coordinate = parameter.coordinate(parameter.value(point))
        assert coordinate == pytest.approx(point, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(axis.observed, tried, rtol=1e-6)


def test_start_coordinates_are_even_over_choices_and_whole_numbers() -> None:
    u = (np.arange(600) + 0.5) / 600
    for distribution in (
        CategoricalDistribution(list("abcdef")),
        IntDistribution(1, 6),
        FloatDistribution(0.0, 2.5, step=0.5),
    ):
        _, counts = np.unique(
            [Parameter("p", distribution).from_unit(x) for x in u], return_counts=True
        )
        assert counts.tolist() == [100] * 6


def test_ordered_numbers_keep_their_distances_on_the_scale_where_they_are_even() -> None:
    linear = Parameter("p", CategoricalDistribution([10, 20, 40]), ordinal=True)
    geometric = Parameter("p", CategoricalDistribution([1e-4, 1e-3, 1e-2]), ordinal=True)
    words = Parameter("p", CategoricalDistribution(["low", "mid", "high"]), ordinal=True)
    assert (linear.choice_coordinates.tolist(), linear.log) == ([10, 20, 40], True)  # type: ignore[union-attr]
    assert (geometric.choice_coordinates.tolist(), geometric.log) == ([1e-4, 1e-3, 1e-2], True)  # type: ignore[union-attr]
    assert (words.choice_coordinates.tolist(), words.log) == ([0, 1, 2], False)  # type: ignore[union-attr]
    assert not Parameter("p", CategoricalDistribution([10, 20, 30]), ordinal=True).log
    unsorted = Parameter("p", CategoricalDistribution([30, 10, 20]), ordinal=True)
    assert unsorted.axis(np.zeros(0), np.zeros(0)).points.tolist() == [10, 20, 30]
    assert [unsorted.value(x) for x in (10.0, 20.0, 30.0)] == [10, 20, 30]


@pytest.mark.parametrize("categorical", ["equal", "wishart"])
@pytest.mark.parametrize(("rank", "expected"), [(2, "matern32"), (math.inf, "matern52")])
def test_ordered_words_have_the_kernel_of_an_ordered_axis_at_every_rank(
    rank: float, expected: str, categorical: str
) -> None:
    words = Parameter("p", CategoricalDistribution(["low", "mid", "high"]), ordinal=True)
    assert words.kernel(categorical) is None
    points = words.axis(np.zeros(0), np.zeros(0)).points
    (used,) = make_axes(ModelSpec(rank=rank, kernel=[words.kernel(categorical)]), [points])
    (named,) = make_axes(ModelSpec(rank=rank, kernel=[expected]), [points])
    assert used.kernel.kind == named.kernel.kind
    assert not used.kernel.on_levels


def test_many_levels_keep_equal_correlation() -> None:
    few, many = CategoricalDistribution(range(20)), CategoricalDistribution(range(21))
    assert [Parameter("p", d).kernel("wishart") for d in (few, many)] == ["wishart", "categorical"]


def test_what_users_write_becomes_distributions() -> None:
    space = read_space(
        {
            "whole": (1, 10), "any": (1.0, 10), "some": range(0, 20, 5), "down": range(10, 0, -2), "listed": [1, 2.5, 7],
            "array": np.array([0.1, 0.2]), "category": bktf.choices("a", None), "grade": bktf.choices("low", "high", ordered=True),
            "theirs": FloatDistribution(1e-3, 1.0, log=True), "one": range(4, 5),
        }
    )  # fmt: skip
    assert space.distributions == {
        "whole": IntDistribution(1, 10), "any": FloatDistribution(1.0, 10.0), "some": IntDistribution(0, 15, step=5),
        "down": IntDistribution(2, 10, step=2), "listed": CategoricalDistribution([1, 2.5, 7]),
        "array": CategoricalDistribution([0.1, 0.2]),
        "category": CategoricalDistribution(["a", None]), "grade": CategoricalDistribution(["low", "high"]),
        "theirs": FloatDistribution(1e-3, 1.0, log=True), "one": IntDistribution(4, 4),
    }  # fmt: skip
    assert space.ordinal == {"listed", "array", "grade"}
    assert not any(isinstance(v, np.generic) for v in space.distributions["array"].choices)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ((3, 1), "low ≤ high"),
        ((1, 2, 3), r"must be \(low, high\)"),
        ((0.0, math.inf), "finite"),
        (("a", "b"), r"write bktf.choices\(…\)"),
        (["a", "b"], r"write bktf.choices\(…\)"),
        ([1, 3, 2], "must increase"),
        ([], "must hold finite numbers"),
        (range(0), "must hold a value"),
        ("abc", "Optuna distribution; got 'abc'"),
        (5, "got 5"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(entry: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_space({"x": entry})


def test_a_space_and_choices_that_make_no_sense_are_refused() -> None:
    for space in ({}, [("x", (0, 1))], {3: (0, 1)}):
        with pytest.raises(ValueError, match=r"space must be a dictionary|names in a space"):
            read_space(space)  # type: ignore[arg-type]
    for values in ((), (["a", "b"],), ("a", "a"), ((1, 2), 3)):
        with pytest.raises(ValueError, match="choices"):
            bktf.choices(*values)


def test_a_range_beyond_double_precision_is_not_modelled() -> None:
    assert not can_be_modelled(FloatDistribution(-1.5e308, 1.5e308))
    assert not can_be_modelled(IntDistribution(3, 3))
    assert can_be_modelled(optuna.distributions.FloatDistribution(-1.0, 1.0))
