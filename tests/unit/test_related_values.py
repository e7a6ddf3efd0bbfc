"""Values related to the objective are used where they predict it better, and only there."""

import math
from dataclasses import replace

import numpy as np
import pytest
from optuna.distributions import FloatDistribution

from bktf._typing import Floats
from bktf.engine import (
    ContextAxis,
    Engine,
    History,
    Objective,
    RelatedValues,
    make_settings,
)
from bktf.engine.observations import Observations, fit_oriented
from bktf.engine.related_values import (
    fit_with_related,
    of_kept_rows,
    score_gain,
    wide_observations,
)
from bktf.spaces import parameters_of
from bktf.surrogate import ModelSpec, Posterior
from seeds import seeded

BOX = parameters_of({"a": FloatDistribution(0, 1), "b": FloatDistribution(0, 1)}, ())
LARGER = Objective(direction="maximize")


def truth(X: Floats) -> Floats:
    return np.asarray(np.sin(6 * X[:, 0]) + 2 * X[:, 1])


def history(reports: str, seed: int, n: int = 10, m: int = 40) -> History:
    """A few values, and many reports: of the same function, or noise that has nothing to do with it."""
    rng = np.random.default_rng(seeded(seed))
    X, others = rng.random((n, 2)), rng.random((m, 2))
    said = truth(others) - 0.5 if reports == "same" else rng.standard_normal(m)
    own = truth(X) - 0.5 if reports == "same" else rng.standard_normal(n)
    related = RelatedValues(
        X=np.concatenate((others, X)),
        context=np.full((m + n, 1), 1.0),
        y=np.concatenate((said, own)),
        rows=np.concatenate((np.full(m, -1), np.arange(n))),
        estimates=np.empty(0, dtype=np.int64),
        axes=(ContextAxis(np.array([1.0, 2.0]), 2.0),),
    )
    nothing = np.empty((0, 2))
    tried = np.concatenate((X, others))
    return History(X, truth(X), nothing, tried, nothing, related)


def engine(seed: int) -> Engine:
    return Engine(BOX, LARGER, make_settings("default", {"compress": False}), seeded(seed))


def uses_reports(posterior: object) -> bool:
    return bool(posterior.draws.process.context.size)  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(3))
def test_reports_of_the_same_function_sharpen_predictions(seed: int) -> None:
    known = history("same", seed)
    with_reports = engine(seed).learn(known, 50).posterior
    without = engine(seed).learn(known._replace(related=None), 50).posterior
    assert with_reports is not None
    assert without is not None
    assert uses_reports(with_reports)
    assert not uses_reports(without)
    new = np.random.default_rng(seeded(seed + 10)).random((200, 2))
    errors = [np.sqrt(np.mean((p.mean(new) - truth(new)) ** 2)) for p in (with_reports, without)]
    assert errors[0] < 0.7 * errors[1]


def test_reports_that_say_nothing_are_mostly_left_out() -> None:
    # Eight data sets: were it a coin's toss, at most two would use them with probability 0.14.
    used = [uses_reports(engine(s).learn(history("noise", s), 50).posterior) for s in range(8)]
    assert sum(used) <= 2


def test_a_report_does_not_count_for_the_trial_that_made_it() -> None:
    """Values are noise, and every trial has reported its own: nothing is learned of other trials.

    With its own report a value would be known, which gains more than a nat for each of 20 values.
    """
    rng = np.random.default_rng(seeded(0))
    X, y, nothing = rng.random((20, 2)), rng.standard_normal(20), np.empty((0, 2))
    related = RelatedValues(
        X=X,
        context=np.full((20, 1), 1.0),
        y=y,
        rows=np.arange(20),
        estimates=np.empty(0, dtype=np.int64),
        axes=(ContextAxis(np.array([1.0, 2.0]), 2.0),),
    )
    narrow = engine(0).learn(History(X, y, nothing, X, nothing), 50).posterior
    assert narrow is not None
    axes = [np.linspace(0, 1, 5)] * 2
    data = Observations(axes, X, y, LARGER, 0, [None, None], [False, False], related=related)
    spec = ModelSpec(rank=math.inf)

    def fit(wide: Observations) -> Posterior:
        return fit_oriented(wide, replace(spec, kernel=wide.kernels, log=wide.log))

    wide = fit_with_related(data, related, fit)
    assert score_gain(wide, narrow, related, 0) < 10.0


def test_the_best_value_is_one_of_the_objective() -> None:
    known = history("same", 0)
    assert known.related is not None
    high = known._replace(related=known.related._replace(y=known.related.y + 100.0))
    model = engine(0).learn(high, 50)
    assert model.posterior is not None
    assert model.posterior.y.max() == known.y.max()
    nothing = np.empty((0, 2))
    point = engine(0).choose(model, 50, nothing, nothing).point
    assert point.shape == (2,)
    assert np.all((point >= 0) & (point <= 1))


def test_estimates_give_way_to_the_values_that_they_stand_for() -> None:
    known = history("same", 0)
    assert known.related is not None
    related = known.related._replace(estimates=np.array([2, 5]))
    axes = [np.linspace(0, 1, 5)] * 2
    data = Observations(axes, known.X, known.y, LARGER, 0, [None, None], [False, False])
    wide, kept = wide_observations(data, related)
    assert kept.tolist() == [0, 1, 3, 4, 6, 7, 8, 9]
    assert wide.X.shape == (8 + 50, 3)
    assert (wide.X[:8, 2] == 2.0).all()
    assert wide.y[:8].tolist() == known.y[kept].tolist()


def test_rows_follow_the_observations_that_are_kept() -> None:
    known = history("same", 0, n=4, m=2)
    assert known.related is not None
    related = known.related._replace(estimates=np.array([0, 3]))
    found = of_kept_rows(related, np.array([1, 3]), 4)
    assert found is not None
    assert found.rows.tolist() == [-1, -1, -1, 0, -1, 1]
    assert found.estimates.tolist() == [1]
    assert of_kept_rows(None, np.array([1]), 4) is None


def test_a_study_with_reports_has_infinite_rank() -> None:
    from optuna.distributions import IntDistribution

    from bktf.engine import model_choice

    grid = parameters_of({"a": IntDistribution(0, 5), "b": IntDistribution(0, 5)}, ())
    settings = make_settings("default", {})
    ranks = {n: model_choice.surrogate_rank(settings, grid, n) for n in range(10, 20)}
    assert set(ranks.values()) == {3, math.inf}
    for n in ranks:
        assert model_choice.surrogate_rank(settings, grid, n, has_related=True) == math.inf
