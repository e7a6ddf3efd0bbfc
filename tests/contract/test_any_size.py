"""Any size: histories from none to thousands of trials, from one to a hundred parameters, extreme values."""

import math
from typing import Any

import numpy as np
import optuna
import pytest
from numpy.typing import NDArray
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

import bktf
from bktf.acquisition import choose
from bktf.engine import (
    EngineSettings,
    Objective,
    Observations,
    fit_surrogate,
    model_choice,
)
from bktf.optuna_sampler import trials as trials_module
from seeds import seeded

pytestmark = pytest.mark.usefixtures("quiet_optuna")

Floats = NDArray[np.float64]
Space = dict[str, BaseDistribution]
BOX: Space = {f"x{d}": FloatDistribution(0.0, 1.0) for d in range(3)}


def random_value(distribution: BaseDistribution, rng: np.random.Generator) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(rng.integers(len(distribution.choices)))]
    low, high = distribution.low, distribution.high  # type: ignore[attr-defined]
    if isinstance(distribution, IntDistribution):
        return int(rng.integers(low, high + 1))
    if distribution.log:  # type: ignore[attr-defined]
        return float(np.exp(rng.uniform(math.log(low), math.log(high))))
    return float(rng.uniform(low, high))


def study_with(
    space: Space, values: list[float], points: list[dict[str, Any]] | None = None
) -> optuna.Study:
    """A study with these values at random points, or at those given."""
    rng = np.random.default_rng(seeded(0))
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(1), search_space=space))
    for i, value in enumerate(values):
        params = points[i] if points else {k: random_value(d, rng) for k, d in space.items()}
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=value))
    return study


def check_suggestions(study: optuna.Study, space: Space, n: int = 2) -> None:
    """Suggestions are finite and inside the space."""
    for _ in range(n):
        trial = study.ask(space)
        for name, distribution in space.items():
            value = trial.params[name]
            assert distribution._contains(distribution.to_internal_repr(value)), (name, value)
            if not isinstance(distribution, CategoricalDistribution):
                assert math.isfinite(value)
        study.tell(
            trial, float(np.mean([t.value for t in study.trials if t.value is not None] or [0.0]))
        )


def waves(n: int) -> list[float]:
    return [math.sin(0.7 * i) for i in range(n)]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 66, 230, 520])
def test_any_number_of_trials_gives_suggestions_inside(n: int) -> None:
    check_suggestions(study_with(BOX, waves(n)), BOX)


@pytest.mark.parametrize("n", [12, 80])
@pytest.mark.parametrize(
    "values",
    [
        lambda n: [1.0] * n,
        lambda n: [0.0] * (n // 2) + [1.0] * (n - n // 2),
        lambda n: [1e-300 * (1 + i) for i in range(n)],
        lambda n: [1e300 * math.sin(i) for i in range(n)],
        lambda n: [10.0 ** (i % 40 - 20) for i in range(n)],
    ],
    ids=["all equal", "two values", "1e-300", "1e300", "40 decades"],
)
def test_extreme_values_give_suggestions_inside(values: Any, n: int) -> None:
    check_suggestions(study_with(BOX, values(n)), BOX)


def test_duplicates_with_different_values_and_a_point_repeated_200_times() -> None:
    rng = np.random.default_rng(seeded(2))
    some = [{k: float(rng.random()) for k in BOX} for _ in range(40)]
    check_suggestions(study_with(BOX, waves(120), some * 3), BOX)
    check_suggestions(study_with(BOX, waves(210), [some[0]] * 200 + some[:10]), BOX)


@pytest.mark.parametrize("n", [15, 90])
@pytest.mark.parametrize(
    "space",
    [
        {"c": CategoricalDistribution(list(range(1000))), "x": FloatDistribution(0, 1)},
        {"i": IntDistribution(0, 10**9), "j": IntDistribution(1, 10**9, log=True)},
        {"l": FloatDistribution(1e-10, 1e10, log=True), "x": FloatDistribution(-1, 1)},
        {"c": CategoricalDistribution(["a", "b"]), "d": CategoricalDistribution(list("abcdefg"))},
    ],
    ids=["1000 categories", "1e9 whole numbers", "20 decades", "categories alone"],
)
def test_wide_ranges_give_suggestions_inside(space: Space, n: int) -> None:
    check_suggestions(study_with(space, waves(n)), space)


def test_a_hundred_parameters_have_a_model_from_the_eleventh_trial_on() -> None:
    space: Space = {f"x{d}": FloatDistribution(0.0, 1.0) for d in range(100)}
    study = study_with(space, waves(11))
    trial = study.ask(space)
    record = trials_module.read_published(study.trials[trial.number].system_attrs)
    assert "expected_improvement" in record  # the start design expects nothing


def test_thousands_of_trials_are_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_with(BOX, waves(2000))
    converted: list[int] = []
    convert = trials_module.TrialConverter._convert

    def counted(self: Any, trial: Any) -> Any:
        converted.append(trial.number)
        return convert(self, trial)

    monkeypatch.setattr(trials_module.TrialConverter, "_convert", counted)
    for _ in range(3):
        trial = study.ask(BOX)
        study.tell(trial, 0.5)
    finished = [number for number in converted if number < 2000]
    assert sorted(finished) == list(range(2000))
    # Beyond those, each new trial: while it runs, and once when it has ended.
    assert len(converted) - 2000 <= 3 * 6


def rough(X: Floats) -> Floats:
    """A function with a curved valley and small waves; larger is better."""
    bowl = ((X - 0.4) ** 2).sum(axis=1) + 4 * (X[:, 1] - X[:, 0] ** 2) ** 2
    return np.asarray(-bowl + 0.05 * np.cos(12 * X).sum(axis=1))


def history(seed: int, n: int) -> tuple[Floats, Floats]:
    """Random points, and a third of them near the best of those, as a search leaves them."""
    rng = np.random.default_rng([seeded(9), seed])
    X = rng.random((n, 4))
    best = X[rough(X).argmax()]
    near = rng.random(n) < 1 / 3
    X[near] = np.clip(best + 0.08 * rng.standard_normal((int(near.sum()), 4)), 0, 1)
    return X, rough(X)


def surrogate(X: Floats, y: Floats, exact: bool, monkeypatch: pytest.MonkeyPatch) -> bktf.Posterior:
    """The process of a suggestion; exact: parameters from all observations, many draws."""
    axes = [np.array([0.0, 1.0])] * X.shape[1]
    log = [False] * X.shape[1]
    data = Observations(
        axes, X, y, Objective(direction="maximize"), seeded(1), [None] * X.shape[1], log
    )
    limit = len(y) if exact else 200
    monkeypatch.setattr(model_choice, "MAX_PARAMETER_POINTS", limit)
    return fit_surrogate(math.inf, EngineSettings(compress=False), data)


def test_what_400_observations_say_is_kept_where_parameters_come_from_fewer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the 100 points of highest exact EI: means, deviations, and the EI of the chosen point.

    Limits: 90 % of the points with means within 0.3 standard deviations and deviations within 25 %,
    and 0.8 of the largest EI in the median. Measured on 20 histories: all points within 0.2 and 10 %,
    the median of the EI 0.99999, the smallest 0.9998.
    """
    ratios, shares = [], []
    for seed in range(5):
        X, y = history(seed, 400)
        exact = surrogate(X, y, True, monkeypatch)
        few = surrogate(X, y, False, monkeypatch)
        assert len(few.y) == len(exact.y) == 400
        rng = np.random.default_rng([seeded(10), seed])
        best = X[y.argmax()]
        anywhere = rng.random((1500, 4))
        near = np.clip(best + 0.1 * rng.standard_normal((1500, 4)), 0, 1)
        points = np.concatenate((anywhere, near))
        improvement = exact.expected_improvement(points)
        top = points[np.argsort(-improvement)[:100]]
        deviation = exact.std(top)
        is_near = np.abs(few.mean(top) - exact.mean(top)) < 0.3 * deviation
        ratio = few.std(top) / deviation
        shares.append(np.mean(is_near & (ratio > 0.8) & (ratio < 1.25)))
        free = tuple(range(4))
        chosen = choose(few, exclude=X, free=free, seed=seeded(seed)).point
        largest = choose(exact, exclude=X, free=free, seed=seeded(seed)).point
        assert chosen is not None
        assert largest is not None
        found = exact.expected_improvement(np.stack([chosen, largest]))
        ratios.append(found[0] / max(found.max(), improvement.max()))
    assert np.mean(shares) >= 0.9, shares
    assert np.median(ratios) >= 0.8, ratios
