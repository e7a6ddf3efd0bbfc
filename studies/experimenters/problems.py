"""The problems of each part, fixed before the first line.

earlier       four targets with a campaign of 40 random results each: two functions whose optimum
              is moved by a tenth of each range, scale and level changed (bowl4, ripples3), and two
              families of real losses on other data (SVMs; pipelines of a scaler, a reduction and
              a classifier, some of whose choices differ). The second family stood here as linear
              models by stochastic descent, whose grids turned out to differ; no line was made
              Method "unrelated": the campaign's results are shuffled among its points. 20
              evaluations, 20 seeds
beliefs       six problems of the development half of the comparison. "right": centre at the
              optimum, a tenth of the range wide, weight 3 for the best choice; "wrong": centre at
              the end that is farther from the optimum, weight 3 for another choice. 10 seeds
descriptors   two generated tables: 20 levels with four numbers each, two of which matter, and a
              continuous parameter. "shuffled": the numbers belong to other levels. 30 evaluations,
              20 seeds
mixtures      ten components in steps of 1 %, at most four of them not zero; three functions. The
              peer tries random blends and, half of the time, neighbours of the best one. 40
              evaluations, 10 seeds
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

import bktf
from studies.problems import COMPARISON_PROBLEMS, DEVELOPMENT, ComparisonProblem, Floats
from studies.problems.loss_tables import TABLES, load_table
from studies.problems.problem import sample

Params = dict[str, Any]
N_EARLIER = 40  # results of a campaign
N_COMPONENTS = 10
COMPONENTS = [f"c{i}" for i in range(N_COMPONENTS)]


@dataclass(frozen=True, eq=False, kw_only=True)
class ExperimenterProblem(ComparisonProblem):
    """A function, and what an experimenter knows of it."""

    part: str
    methods: tuple[str, ...]
    n_seeds: int
    spread: float
    fn: Callable[[Params], float]
    user_space: Any  # what `minimize` takes
    given: Callable[[str, int], Mapping[str, Any]] = field(default=lambda *_: {})  # method, seed

    @property
    def value_range(self) -> float:
        """The unit of "within one per cent"."""
        return self.spread


def _problem(
    name: str,
    part: str,
    fn: Callable[[Params], float],
    space: dict[str, BaseDistribution],
    minimum: float,
    **more: Any,
) -> ExperimenterProblem:
    rng = np.random.default_rng(0)
    median = float(np.median([fn(sample(space, rng)) for _ in range(300)])) if space else 1.0
    given = {"user_space": space, "spread": median - minimum, "half": DEVELOPMENT, **more}
    return ExperimenterProblem(
        name=name, part=part, space=space, function=fn, fn=fn, minimum=minimum, n_start=1,
        group=part, **given,
    )  # fmt: skip


# --- earlier campaigns -----------------------------------------------------------------------

METHODS_EARLIER = ("random", "fresh", "earlier", "unrelated")


def _vector(p: Params) -> Floats:
    return np.array([p[name] for name in sorted(p)], dtype=float)


def _bowl(x: Floats, best: Floats) -> float:
    turned = np.array([[1.0, 0.6, 0, 0], [0, 1.2, -0.5, 0], [0, 0, 0.8, 0.7], [0.4, 0, 0, 1.0]])
    z = turned @ (x - best)
    return float(z @ z)


def _ripples(x: Floats, best: Floats) -> float:
    z = x - best
    return float(z @ z + 0.15 * np.sum(1 - np.cos(9 * z)))


SHIFTED: dict[str, tuple[Callable[[Floats, Floats], float], Floats, Floats]] = {
    "bowl4": (_bowl, np.array([0.3, 0.6, 0.45, 0.7]), np.array([0.1, -0.1, 0.1, 0.1])),
    "ripples3": (_ripples, np.array([0.62, 0.35, 0.5]), np.array([-0.1, 0.1, 0.1])),
}
FAMILIES = {
    "svm": ("svm-breast-cancer", "svm-digits"),
    "pipeline": ("pipeline-breast-cancer", "pipeline-digits"),
}


def _earlier_rows(
    fn: Callable[[Params], float], space: dict[str, BaseDistribution], seed: int, shuffled: bool
) -> list[Params]:
    rng = np.random.default_rng([seed, 11])
    points = [sample(space, rng) for _ in range(N_EARLIER)]
    losses = [fn(point) for point in points]
    order = rng.permutation(N_EARLIER) if shuffled else range(N_EARLIER)
    return [{**point, "loss": losses[i]} for point, i in zip(points, order, strict=True)]


def _giving_earlier(
    fn: Callable[[Params], float], space: dict[str, BaseDistribution]
) -> Callable[[str, int], Mapping[str, Any]]:
    def given(method: str, seed: int) -> Mapping[str, Any]:
        if method in ("random", "fresh"):
            return {}
        rows = _earlier_rows(fn, space, seed, method == "unrelated")
        return {"earlier": [bktf.earlier(rows, "loss")]}

    return given


def _shifted(name: str) -> ExperimenterProblem:
    function, best, shift = SHIFTED[name]
    space: dict[str, BaseDistribution] = {
        f"x{d}": FloatDistribution(0.0, 1.0) for d in range(best.size)
    }

    def before(p: Params) -> float:
        return function(_vector(p), best)

    def target(p: Params) -> float:
        return 30.0 + 7.0 * function(_vector(p), best + shift)

    return _problem(
        name, "earlier", target, space, 30.0, budget=19, n_seeds=20, methods=METHODS_EARLIER,
        given=_giving_earlier(before, space),
    )  # fmt: skip


def table_space(name: str) -> dict[str, BaseDistribution]:
    """The grid of a table: a number is its index, a category its name."""
    return {
        key: CategoricalDistribution(list(values))
        if isinstance(values[0], str)
        else IntDistribution(0, len(values) - 1)
        for key, values in TABLES[name].grid.items()
    }


def table_loss(name: str) -> Callable[[Params], float]:
    """The recorded loss of a configuration."""
    grid = TABLES[name].grid

    def fn(p: Params) -> float:
        index = [
            grid[key].index(value) if isinstance(value, str) else int(value)
            for key, value in ((key, p[key]) for key in grid)
        ]
        return float(load_table(name)[tuple(index)])

    return fn


def _family(name: str) -> ExperimenterProblem:
    before, target = FAMILIES[name]
    space = table_space(target)
    return _problem(
        name, "earlier", table_loss(target), space, float(np.nanmin(load_table(target))),
        budget=19, n_seeds=20, methods=METHODS_EARLIER,
        given=_giving_earlier(table_loss(before), table_space(before)),
    )  # fmt: skip


# --- beliefs ---------------------------------------------------------------------------------

BELIEF_PROBLEMS = (
    "piston", "levy4r", "rosenbrock4r", "styblinski6", "table-boosting-diabetes",
    "table-forest-wine",
)  # fmt: skip
WIDTH = 0.1  # of the range


@cache
def optimum_of(name: str) -> Params:
    """The place of the optimum: of a table its best cell, otherwise the best of many searches."""
    from scipy.optimize import minimize

    problem = COMPARISON_PROBLEMS[name]
    rng = np.random.default_rng(0)
    points = [sample(problem.space, rng) for _ in range(20_000 if _is_box(problem) else 6_000)]
    best_first = [points[i] for i in np.argsort(problem.values(points))[:20]]
    if not _is_box(problem):
        return dict(best_first[0])
    names = list(problem.space)
    bounds = [(d.low, d.high) for d in problem.space.values()]  # type: ignore[attr-defined]

    def value(x: Floats) -> float:
        return float(problem.values([dict(zip(names, x.tolist(), strict=True))])[0])

    found = [
        minimize(value, [p[n] for n in names], method="L-BFGS-B", bounds=bounds) for p in best_first
    ]
    best = min(found, key=lambda result: result.fun)
    return dict(zip(names, best.x.tolist(), strict=True))


def _is_box(problem: ComparisonProblem) -> bool:
    return all(isinstance(d, FloatDistribution) for d in problem.space.values())


def _belief(d: BaseDistribution, best: Any, is_right: bool) -> Any:
    """A belief about one parameter."""
    if isinstance(d, CategoricalDistribution):
        wrong = [c for c in d.choices if c != best]
        favoured = best if is_right or not wrong else wrong[0]
        return {c: 3.0 if c == favoured else 1.0 for c in d.choices}
    assert isinstance(d, FloatDistribution | IntDistribution)
    far = d.high if best - d.low < d.high - best else d.low
    centre = float(best if is_right else far)
    return (centre, WIDTH * (d.high - d.low))


def _believed(name: str) -> ExperimenterProblem:
    problem = COMPARISON_PROBLEMS[name]
    space = dict(problem.space)

    def given(method: str, _: int) -> Mapping[str, Any]:
        if method in ("random", "plain"):
            return {}
        best = optimum_of(name)
        beliefs = {key: _belief(d, best[key], method == "right") for key, d in space.items()}
        return {"expected_optimum": beliefs}

    def fn(p: Params) -> float:
        return float(problem.values([p])[0])

    return _problem(
        f"believed-{name}", "beliefs", fn, space, problem.minimum, budget=39, n_seeds=10,
        methods=("random", "plain", "right", "wrong"), given=given,
    )  # fmt: skip


# --- descriptors -----------------------------------------------------------------------------

N_LEVELS, N_DESCRIPTORS = 20, 4
LEVELS = [f"level{i}" for i in range(N_LEVELS)]


def _described(name: str, seed: int) -> ExperimenterProblem:
    rng = np.random.default_rng(seed)
    numbers = rng.random((N_LEVELS, N_DESCRIPTORS))
    centre, weights = rng.random(2), rng.uniform(1.0, 3.0, 2)
    best_x = rng.uniform(0.3, 0.7)

    def effect(level: int) -> float:
        u = numbers[level, :2] - centre
        return float(weights @ u**2 + 0.8 * np.sin(4 * numbers[level, 0]) * numbers[level, 1])

    def fn(p: Params) -> float:
        level = LEVELS.index(p["level"])
        return effect(level) + 2.0 * float(p["x"] - best_x - 0.2 * numbers[level, 0]) ** 2

    space: dict[str, BaseDistribution] = {
        "level": CategoricalDistribution(LEVELS),
        "x": FloatDistribution(0.0, 1.0),
    }

    def given(method: str, seed: int) -> Mapping[str, Any]:
        if method in ("random", "plain"):
            return {}
        order = np.random.default_rng([seed, 13]).permutation(N_LEVELS)
        used = numbers if method == "descriptors" else numbers[order]
        described = dict(zip(LEVELS, used.tolist(), strict=True))
        choices = bktf.choices(*LEVELS, descriptors=described)
        return {"space": {"level": choices, "x": (0.0, 1.0)}}

    minimum = min(effect(i) for i in range(N_LEVELS))
    return _problem(
        name, "descriptors", fn, space, minimum, budget=29, n_seeds=20,
        methods=("random", "plain", "descriptors", "shuffled"), given=given,
    )  # fmt: skip


# --- mixtures --------------------------------------------------------------------------------


def _sparse_bowl(c: Floats) -> float:
    best = np.array([0.45, 0, 0.25, 0, 0, 0.2, 0, 0, 0.1, 0])
    return float(((c - best) ** 2).sum())


def _synergy(c: Floats) -> float:
    linear = np.array([0.3, 0.5, 0.1, 0.4, 0.6, 0.2, 0.5, 0.3, 0.7, 0.4]) @ c
    pairs = 2.0 * c[2] * c[5] + 1.5 * c[0] * c[7] - 1.0 * c[1] * c[3]
    return float(linear - pairs)


def _saturating(c: Floats) -> float:
    strength = np.array([1.0, 2.0, 0.5, 3.0, 1.5, 0.8, 2.5, 1.2, 0.3, 1.8])
    cost = np.array([0.2, 0.5, 0.1, 0.9, 0.3, 0.15, 0.8, 0.3, 0.05, 0.4])
    return float(-np.sum(strength * c / (c + 0.2)) + 2.5 * cost @ c + 0.5 * np.sum(c[:3]) ** 2)


BLENDS = {"sparse-bowl": _sparse_bowl, "synergy": _synergy, "saturating": _saturating}


def amounts_of(p: Params) -> Floats:
    """The amounts of a blend in the order of the components."""
    return np.array([p[name] for name in COMPONENTS])


def _blend(name: str) -> ExperimenterProblem:
    function = BLENDS[name]

    def fn(p: Params) -> float:
        return function(amounts_of(p))

    mixed = bktf.mixture(*COMPONENTS, step=0.01, max_nonzero=4)
    return _problem(
        name, "mixtures", fn, {}, _best_blend(name), budget=39, n_seeds=10,
        methods=("random", "local", "bktf"), user_space=[mixed], spread=1.0,
    )  # fmt: skip


@cache
def _best_blend(name: str) -> float:
    """The best value of long local searches from many blends."""
    from bktf.spaces.mixtures import Blends

    function = BLENDS[name]
    blends = Blends(
        bktf.mixture(*COMPONENTS, step=0.01, max_nonzero=4), np.full(N_COMPONENTS, math.nan)
    )
    rng, best = np.random.default_rng(0), math.inf
    for _ in range(30):
        at = blends.random(rng)
        assert at is not None
        value = function(at)
        for distance in (0.2, 0.05, 0.02):
            for _ in range(300):
                near = blends.moved(at, distance, rng)
                if function(near) < value:
                    at, value = near, function(near)
        best = min(best, value)
    return best


PROBLEMS: dict[str, ExperimenterProblem] = {
    p.name: p
    for p in (
        *(_shifted(name) for name in SHIFTED),
        *(_family(name) for name in FAMILIES),
        *(_believed(name) for name in BELIEF_PROBLEMS),
        _described("described-1", 101),
        _described("described-2", 202),
        *(_blend(name) for name in BLENDS),
    )
}
