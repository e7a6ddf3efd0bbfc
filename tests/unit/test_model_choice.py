"""Which rank a suggestion uses; leaving out observations; the warp and its inverse."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from scipy import stats

from bktf.acquisition.choice import Choice, choose
from bktf.engine import (
    Engine,
    EngineSettings,
    History,
    Objective,
    Observations,
    fit_surrogate,
    fold_scores,
    make_settings,
    model_choice,
    observations,
    settings_to_show,
    suggestion,
)
from bktf.gaussian_process import condition_process
from bktf.spaces import Parameter, parameters_of
from bktf.surrogate.observed_values import Warp
from bktf.surrogate.posterior import Posterior
from seeds import seeded

Floats = NDArray[np.float64]
LARGER, SMALLER = Objective(direction="maximize"), Objective(direction="minimize")
PLAIN = EngineSettings(compress=False)
SHORT = {"n_sweeps": 6, "n_burn_in": 3}  # of components; a process is quick enough as it is
KINDS: dict[str, dict[str, Any]] = {
    "process": {"rank": math.inf},
    "components": {"rank": 2, **SHORT},
    "both": {"rank": 2, "residual_process": True, **SHORT},
}


def settings_of(kind: str, **more: Any) -> EngineSettings:
    """Settings of infinite rank, of two components, or of two components and a process."""
    return make_settings("default", KINDS[kind] | more)


def observed(X: Floats, y: Floats, seed: int = 0, objective: Objective = LARGER) -> Observations:
    """Oriented values y at points X of the unit cube."""
    n_dims = X.shape[1]
    axes, kernels, log = [np.linspace(0, 1, 9)] * n_dims, [None] * n_dims, [False] * n_dims
    return Observations(axes, X, y, objective, seeded(seed), kernels, log)


def points(n: int, seed: int = 5) -> Floats:
    return np.random.default_rng(seeded(seed)).random((n, 2))


def wave(X: Floats) -> Floats:
    return np.sin(5 * (X[:, 0] + X[:, 1]))


BOX = parameters_of(
    {
        "x": FloatDistribution(0, 1),
        "c": CategoricalDistribution(list("ab")),
        "n": IntDistribution(0, 9),
    },
    (),
)
GRID = parameters_of(
    {
        "x": IntDistribution(0, 99),
        "y": IntDistribution(0, 99),
        "c": CategoricalDistribution(list("ab")),
    },
    (),
)
LARGE_GRID = parameters_of({f"x{d}": IntDistribution(0, 24) for d in range(5)}, ())
LEVELS = {
    "a": CategoricalDistribution(list("abcd")),
    "b": CategoricalDistribution(list("abc")),
    "n": IntDistribution(0, 9),
}
SCREEN, ORDERED_SCREEN = parameters_of(LEVELS, ()), parameters_of(LEVELS, ("b",))


@pytest.mark.parametrize(
    ("given", "space", "n_started", "rank"),
    [
        ("auto", BOX, 20, math.inf), ("auto", BOX, 701, math.inf), ("auto", GRID, 18, math.inf),
        ("auto", GRID, 19, 3), ("auto", GRID, 22, 3), ("auto", GRID, 24, math.inf),
        ("auto", GRID, 302, 3), ("auto", LARGE_GRID, 98, 3), ("auto", LARGE_GRID, 100, math.inf),
        ("auto", LARGE_GRID, 101, math.inf), ("auto", LARGE_GRID, 104, math.inf),
        ("auto", SCREEN, 19, math.inf), ("auto", SCREEN, 28, math.inf),
        ("auto", ORDERED_SCREEN, 19, 3), (math.inf, GRID, 701, math.inf), (math.inf, GRID, 19, math.inf),
        (1, BOX, 20, 1), (5, SCREEN, 19, 5), (5, LARGE_GRID, 701, 5), (5, GRID, 20, 5),
    ],
)  # fmt: skip
@pytest.mark.parametrize("residual_process", [False, True])
def test_the_rank_of_the_surrogate_follows_the_rules(
    given: float | str,
    space: tuple[Parameter, ...],
    n_started: int,
    rank: float,
    residual_process: bool,
) -> None:
    residual_process &= given not in ("auto", math.inf)  # an option of a finite rank that is given
    settings = make_settings("default", {"rank": given, "residual_process": residual_process})
    assert model_choice.surrogate_rank(settings, space, n_started) == rank


@pytest.mark.parametrize("acquisition", ["max", "thompson"])
def test_the_rank_does_not_depend_on_the_acquisition(acquisition: str) -> None:
    for given, rank in (("auto", math.inf), (2, 2)):
        settings = make_settings("default", {"acquisition": acquisition, "rank": given})
        assert model_choice.surrogate_rank(settings, BOX, 20) == rank


@pytest.mark.parametrize("kind", ["process", "both"])
def test_a_process_of_many_observations_sees_the_best_of_them(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_choice, "MAX_PROCESS_POINTS", 15)
    monkeypatch.setattr(model_choice, "MAX_PARAMETER_POINTS", 15)
    X = points(40)
    for objective in (SMALLER, LARGER):
        data = observed(X, wave(X), objective=objective)
        posterior = fit_surrogate(KINDS[kind]["rank"], settings_of(kind), data)
        assert posterior.draws.process is not None
        assert len(posterior.y) == 15
        best = X[wave(X).argmax()]
        assert np.abs(posterior.X - best).max(axis=1).min() < 1e-9
    assert len(fit_surrogate(2, settings_of("components"), observed(X, wave(X))).y) == 40


@pytest.mark.parametrize("objective", [SMALLER, LARGER])
@pytest.mark.parametrize("settings", [PLAIN, EngineSettings()])
def test_draws_given_a_subset_are_moved_to_the_mode_given_all_that_is_seen(
    objective: Objective, settings: EngineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = points(40)
    data = observed(X, np.exp(3 * wave(X)), objective=objective)
    monkeypatch.setattr(model_choice, "MAX_PARAMETER_POINTS", 20)
    monkeypatch.setattr(model_choice, "MAX_PROCESS_POINTS", 30)
    moved = fit_surrogate(math.inf, settings, data)
    seen = model_choice._subset(data, 30)
    warp = Warp.of(data.y) if settings.compress else None
    spec = model_choice.model_at(math.inf, settings, data)
    few, chosen = model_choice._fit_process(model_choice._subset(seen, 20), warp, spec)
    values = seen.y if chosen is None else chosen.forward(seen.y)
    mode = observations.mode_of(
        replace(seen, y=values, start=model_choice.start_at(few)), spec
    ).draws.process
    assert (len(few.y), len(moved.y)) == (20, 30)
    np.testing.assert_allclose(moved.y, values, rtol=1e-12)
    draws, drawn = few.draws.process, moved.draws.process
    assert draws is not None
    assert drawn is not None
    assert mode is not None
    shrink = math.sqrt(20 / 30)
    expected = mode.logs + shrink * (draws.logs - draws.logs.mean(axis=0))
    np.testing.assert_allclose(drawn.logs, expected, rtol=1e-9)
    logs = np.log(draws.noise_precision)
    noise = np.log(mode.noise_precision) + shrink * (logs - logs.mean())
    np.testing.assert_allclose(np.log(drawn.noise_precision), noise, rtol=1e-9)
    units = moved.standardisation
    np.testing.assert_allclose(drawn.residuals, np.tile(units.to_model(moved.y), (len(logs), 1)))
    assert np.mean(units.to_model(moved.y)) == pytest.approx(0.0, abs=1e-9)
    assert np.corrcoef(moved.mean(moved.X), moved.y)[0, 1] > 0.9


def test_moved_draws_see_warped_values_where_the_subset_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The warp is taken for better whatever the data, then never."""
    X = points(40)
    data = observed(X, wave(X))
    monkeypatch.setattr(model_choice, "MAX_PARAMETER_POINTS", 20)
    monkeypatch.setattr(model_choice, "MAX_PROCESS_POINTS", 30)
    seen = model_choice._subset(data, 30)
    for gain, expected in ((1.0, Warp.of(data.y).forward(seen.y)), (-1.0, seen.y)):
        monkeypatch.setattr(model_choice, "warped_score_gain", lambda *_, g=gain: g)
        moved = fit_surrogate(math.inf, EngineSettings(), data)
        np.testing.assert_allclose(moved.y, expected, rtol=1e-12)


def test_chain_lengths_that_were_given_hold_in_long_studies() -> None:
    X = points(90)
    given = make_settings(
        "default",
        {"rank": math.inf, "n_sweeps": 9, "n_burn_in": 4, "n_chains": 3, "compress": False},
    )
    assert fit_surrogate(math.inf, given, observed(X, wave(X))).n_draws == 15
    assert fit_surrogate(math.inf, PLAIN, observed(X, wave(X))).n_draws == 16


def test_ranks_that_alternate_are_no_process_alone() -> None:
    settings = EngineSettings()
    small = parameters_of({"a": IntDistribution(0, 9), "b": IntDistribution(0, 9)}, ())
    for n in range(8):
        assert model_choice.is_process_alone(settings, BOX, n)
        assert not model_choice.is_process_alone(settings, small, n)
        assert not model_choice.is_process_alone(make_settings("default", {"rank": 2}), BOX, n)
    assert model_choice.is_process_alone(settings, LARGE_GRID, 100)
    assert not model_choice.is_process_alone(settings, LARGE_GRID, 90)


@pytest.mark.parametrize("kind", ["process", "components", "both"])
@pytest.mark.parametrize("compress", [False, True])
def test_the_fit_sees_the_users_values_and_the_answer_is_oriented(
    kind: str, compress: bool
) -> None:
    """A minimised objective with values −y is the mirror image of a maximised one with values y."""
    X = points(13)
    settings, rank = settings_of(kind, compress=compress), KINDS[kind]["rank"]
    plain = fit_surrogate(rank, settings, observed(X, wave(X)))
    mirrored = fit_surrogate(rank, settings, observed(X, wave(X), objective=SMALLER))
    user = mirrored.negated()
    np.testing.assert_array_equal(mirrored.y, plain.y)
    np.testing.assert_array_equal(SMALLER.orient_posterior(user).mean(X), mirrored.mean(X))
    np.testing.assert_array_equal(-user.y, mirrored.y)
    assert np.corrcoef(mirrored.mean(X), wave(X))[0, 1] > 0


def test_what_is_shown_has_one_rank_and_plain_values() -> None:
    shown = settings_to_show(EngineSettings())
    assert (shown.rank, shown.compress) == (math.inf, False)
    assert settings_to_show(make_settings("default", {"rank": 2})).rank == 2
    assert settings_to_show(make_settings("default", {"rank": math.inf})).rank == math.inf


@pytest.mark.parametrize(
    ("given", "lengths"),
    [
        ({}, (64, 24, 4)),
        ({"n_sweeps": 100}, (125, 85, 4)),
        ({"n_sweeps": 400, "n_burn_in": 100, "n_chains": 6}, (400, 100, 6)),
        ({"n_burn_in": 0, "n_chains": 1}, (40, 0, 4)),
    ],
)
def test_a_process_that_is_shown_has_the_burn_in_that_was_set_and_more_draws(
    given: dict[str, int], lengths: tuple[int, ...]
) -> None:
    shown = settings_to_show(make_settings("default", {"rank": math.inf, **given}))
    assert tuple(shown.process.lengths) == lengths


@pytest.mark.parametrize("kind", ["auto", "process", "components", "both"])
def test_every_kind_is_fitted(kind: str) -> None:
    X = points(13)
    if kind == "auto":
        settings = make_settings("default", {"main_effects": True, **SHORT})
    else:
        settings = settings_of(kind, main_effects=kind != "process")
    rank = model_choice.surrogate_rank(settings, GRID, 13)
    posterior = fit_surrogate(rank, settings, observed(X, wave(X)))
    assert posterior.rank == {"auto": 5, "process": math.inf}.get(kind, 4)
    assert (posterior.draws.process is not None) == (kind in ("process", "both"))


def test_a_fold_is_left_out_as_if_it_had_never_been_seen() -> None:
    X = points(12)
    process = fit_surrogate(math.inf, PLAIN, observed(X, wave(X))).draws.process
    assert process is not None
    left_out = np.array([1, 5, 6])
    seen = np.setdiff1d(np.arange(12), left_out)
    without = condition_process(
        process.observed[seen],
        process.on_levels,
        process.logs,
        process.noise_precision,
        process.residuals[:, seen],
    )
    expected = without.moments_at(process.observed[left_out])
    mean, variance = fold_scores.leave_out(process, left_out)
    np.testing.assert_allclose(mean, expected.mean, atol=1e-6)
    np.testing.assert_allclose(
        variance, expected.variance + 1 / process.noise_precision[:, None], rtol=1e-5, atol=1e-8
    )


def test_a_process_sees_warped_values_where_that_predicts_better() -> None:
    as_expected = []
    for k in range(7):
        X = points(40, k)
        for y, is_warped in ((wave(X), False), (-np.exp(4 * wave(X)), True)):
            warp = Warp.of(y)
            data = observed(X, y, k, SMALLER)
            posterior = fit_surrogate(math.inf, EngineSettings(), data)
            assert np.array_equal(posterior.y, y) or np.array_equal(posterior.y, warp.forward(y))
            as_expected.append(np.array_equal(posterior.y, warp.forward(y)) == is_warped)
    assert (
        sum(as_expected) > 7
        # All 28 choices measured were; were it 29 in 30, seven of 14 would fail with a chance of 1e-7
    )


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_warp_keeps_order_slope_and_improvements_and_can_be_undone(sign: float) -> None:
    y = sign * np.random.default_rng(seeded(0)).standard_cauchy(50)
    warp = Warp.of(y)
    wide = np.linspace(y.min() - 5, y.max() + 5, 301)
    warped = warp.forward(wide)
    assert np.all(np.diff(warped) > 0)
    np.testing.assert_allclose(warp.inverse(warped), wide, rtol=1e-9, atol=1e-9)
    better = wide > warp.best
    np.testing.assert_array_equal(warped[better], wide[better])
    slope = (warp.forward(wide + 1e-6) - warp.forward(wide - 1e-6)) / 2e-6
    np.testing.assert_allclose(np.exp(warp.log_slope(wide)), slope, rtol=1e-4)


def test_the_same_values_have_no_warp() -> None:
    warp = Warp.of(np.full(4, 2.5))
    y = np.array([1.0, 2.5, 3.0])
    np.testing.assert_array_equal(warp.forward(y), y)
    np.testing.assert_array_equal(warp.inverse(y), y)
    np.testing.assert_array_equal(warp.log_slope(y), np.zeros(3))


@pytest.mark.parametrize(
    "rank", ["gp", "inf", 0, -1, 2.5, 2.0, True, math.nan, -math.inf, [2], 10**29]
)
def test_an_unknown_rank_is_refused(rank: object) -> None:
    with pytest.raises(
        ValueError,
        match=r"^rank must be a whole number of at (least 1, \"auto\", or math\.inf|most 10000; )",
    ):
        make_settings("default", {"rank": rank})


def test_surrogates_alternate_in_a_batch_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three at a time: with one kind for all, the process would choose every point or none."""
    parameters = parameters_of({"x": IntDistribution(0, 8), "y": IntDistribution(0, 8)}, ())
    X = np.array([[i, (3 * i) % 9] for i in range(9)], dtype=float)
    history = History(X, wave(X / 8), np.empty((0, 2)), X, np.empty((0, 2)))
    settings = make_settings("default", {"n_sweeps": 20, "n_burn_in": 10})
    engine = Engine(parameters, SMALLER, settings, 0)
    model = engine.learn(history, 0)
    used: list[Posterior] = []

    def ask(posterior: Posterior, *arguments: Any, **further: Any) -> Choice:
        used.append(posterior)
        return choose(posterior, *arguments, **further)

    monkeypatch.setattr(suggestion, "choose", ask)
    assert len(engine.choose_batch(model, 0, 6)) == 6
    assert [posterior.rank for posterior in used] == [3, math.inf] * 3
    assert used[0] is used[2] is model.posterior
    assert used[1] is used[3]  # fitted once


def test_sweeps_without_a_burn_in_keep_its_share() -> None:
    assert make_settings("default", {"n_sweeps": 200}).components.n_burn_in == 170
    assert make_settings("default", {"n_sweeps": 1}).components.n_burn_in == 0
    assert make_settings("paper", {"n_sweeps": 300}).components.n_burn_in == 200
    assert make_settings("default", {"n_sweeps": 200, "rank": math.inf}).process.n_burn_in == 170


@pytest.mark.parametrize("kind", ["process", "components", "both"])
def test_known_noise_reaches_every_kind(kind: str) -> None:
    X = points(13)
    settings = settings_of(kind, noise_std=0.3, compress=False)
    posterior = fit_surrogate(KINDS[kind]["rank"], settings, observed(X, wave(X)))
    np.testing.assert_allclose(posterior.noise_std, 0.3)


def test_the_predictive_score_is_that_of_a_normal_with_the_spread_of_draws_and_within_them() -> (
    None
):
    X = points(14)
    process = fit_surrogate(math.inf, PLAIN, observed(X, 5 * wave(X)))
    assert process.draws.process is not None
    left_out = np.array([0, 3, 9])
    mean, variance = fold_scores.leave_out(process.draws.process, left_out)
    scale, shift = process.standardisation.scale, process.standardisation.mean
    centre = shift + scale * mean.mean(axis=0)
    spread = scale * np.sqrt(mean.var(axis=0) + variance.mean(axis=0))
    assert mean.var(axis=0).max() > 0
    expected = stats.norm.logpdf(process.y[left_out], centre, spread).sum()
    assert fold_scores.predictive_score(process, left_out) == pytest.approx(expected, rel=1e-9)


def test_noise_as_large_as_the_signal_is_seen_as_noise() -> None:
    """Short chains must find it.

    Seen for 19 of 40 data sets (for none where chains start with small noise).

    With a chance of 0.45 for each, fewer than 2 of 24 have a chance of 1.2e-5.
    """
    found = 0
    for number in range(24):
        rng = np.random.default_rng(seeded(number))
        X = rng.random((40, 4))
        signal = ((X - 0.45) ** 2).sum(axis=1)
        y = (signal - signal.mean()) / signal.std() + rng.standard_normal(40)
        posterior = fit_surrogate(math.inf, PLAIN, observed(X, y, number))
        found += bool(np.median(posterior.noise_std) > 0.1)
    assert found >= 2
