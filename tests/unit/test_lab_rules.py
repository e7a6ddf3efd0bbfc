"""What the lab loop does with the space file, and the words that it gives to suggestions."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bktf.engine import Suggestion
from bktf.lab import suggest
from bktf.lab.lab_space import LabSpace
from bktf.lab.space_file import read_lab_space

Floats = NDArray[np.float64]

OBJECTIVE = '[objective]\nname = "yield"\ndirection = "maximize"\n'
TWO = """
[parameters.a]
type = "float"
low = 0
high = 10
[parameters.b]
type = "float"
low = 0
high = 10
"""


def space_of(folder: Path, text: str) -> LabSpace:
    """The space that a file with this text describes."""
    (folder / "space.toml").write_text(text, encoding="utf-8")
    return read_lab_space(folder / "space.toml")


def test_values_are_rounded_except_where_that_breaks_a_constraint(tmp_path: Path) -> None:
    """The limit lies between a sum and the sum of what is rounded."""
    constraint = "[[constraints]]\nfactors = { a = 1, b = 1 }\nat_most = 7.99999\n"
    space = space_of(tmp_path, OBJECTIVE + TWO + constraint)
    inside, on_the_edge = {"a": 2.12345678, "b": 3.0}, {"a": 4.99998, "b": 3.0}
    assert suggest._rounded(space, inside) == {"a": 2.1235, "b": 3.0}
    assert space.holds(on_the_edge)
    assert suggest._rounded(space, on_the_edge) == on_the_edge


@pytest.mark.parametrize("noise", [None, 0.25])
@pytest.mark.parametrize("repeats", [False, True])
def test_the_engine_knows_what_the_file_says_of_noise_and_repeats(
    tmp_path: Path,
    noise: float | None,
    repeats: bool,
) -> None:
    said = f"repeats = {str(repeats).lower()}\n" + ("" if noise is None else f"noise = {noise}\n")
    settings = suggest.make_engine(space_of(tmp_path, OBJECTIVE + said + TWO), 0).settings
    assert settings.process.noise_std == settings.components.noise_std == noise
    assert settings.allow_repeats == repeats


def test_constraints_over_coordinates_count_what_constant_parameters_add(tmp_path: Path) -> None:
    """2·a + 3·c between 1 and 20 with c = 4 leaves 2·a between −11 and 8."""
    constant = '[parameters.c]\ntype = "float"\nlow = 4\nhigh = 4\n'
    constraint = "[[constraints]]\nfactors = { a = 2, c = 3 }\nat_least = 1\nat_most = 20\n"
    space = space_of(tmp_path, OBJECTIVE + TWO + constant + constraint)
    (linear,) = suggest.linear_constraints(space)
    assert (linear.factors, linear.low, linear.high) == ({0: 2.0}, -11.0, 8.0)
    upper = constraint.replace("at_least = 1\n", "")
    (linear,) = suggest.linear_constraints(space_of(tmp_path, OBJECTIVE + TWO + constant + upper))
    assert (linear.low, linear.high) == (-math.inf, 8.0)


@dataclass(frozen=True, eq=False)
class Expecting:
    """A posterior that expects a + b, of results from 0 to 8."""

    y: Floats

    def mean(self, points: Floats) -> Floats:
        """The expected value."""
        return np.asarray(points.sum(axis=1))

    def std(self, points: Floats) -> Floats:
        """Nothing is certain."""
        return np.ones(len(points))

    def expected_improvement(self, points: Floats, *_: Any) -> Floats:
        """Not asked for here."""
        return np.zeros(len(points))


def test_a_suggestion_exploits_where_the_expected_value_is_near_the_best(tmp_path: Path) -> None:
    """Within a quarter of the way from the best result, 8, to the median, 4: from 7 on."""
    space = space_of(tmp_path, OBJECTIVE + TWO)
    engine = suggest.make_engine(space, 0)
    points = [np.array([a, 1.0]) for a in (1.0, 5.9, 6.1, 8.0)]
    chosen = [Suggestion(point, None, False) for point in points]
    posterior: Any = Expecting(np.arange(9.0))
    settings = suggest._settings(space, engine, None, chosen)
    found = suggest._described(engine, space, posterior, settings, np.empty((0, 2)))
    explores, exploits = suggest.EXPLORES, suggest.EXPLOITS
    assert [experiment.reason for experiment in found] == [explores, explores, exploits, exploits]
    assert [experiment.predicted for experiment in found] == [2.0, 6.9, 7.1, 9.0]
