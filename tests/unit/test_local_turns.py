"""Local turns: which suggestions stay near the best point, and how near."""

import math
from typing import Any

import numpy as np
import optuna
import pytest
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution

import bktf
from bktf.acquisition import Choice, choose
from bktf.acquisition.choose_arguments import Question, make_domain
from bktf.acquisition.posterior_view import PosteriorView
from bktf.engine import (
    Engine,
    EngineSettings,
    History,
    Objective,
    local_turns,
    suggestion,
)
from bktf.engine.local_turns import HALF_WIDTHS, LOCAL_POINTS, local_region
from bktf.spaces import parameters_of
from seeds import seeded

Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def posterior() -> bktf.Posterior:
    """A process on a log axis, one that matters little, levels and whole numbers."""
    rng = np.random.default_rng(seeded(0))
    axes = [np.geomspace(1e-3, 10.0, 9), np.linspace(-5, 5, 9), np.arange(3.0), np.arange(40.0)]
    X = np.stack([rng.choice(axis, LOCAL_POINTS + 6) for axis in axes], axis=1)
    y = -((np.log10(X[:, 0]) + 1.2) ** 2) - 0.01 * X[:, 1] - 0.002 * (X[:, 3] - 25) ** 2
    return bktf.fit(
        axes, X, y, rank=math.inf, kernel=[None, None, "categorical", None],
        log=[True, False, False, False], seed=seeded(1), n_sweeps=12, n_burn_in=4,
    )  # fmt: skip


def test_every_second_suggestion_of_a_long_study_is_local(posterior: bktf.Posterior) -> None:
    is_local = [local_region(posterior, number) is not None for number in range(6)]
    assert is_local == [False, True] * 3


def test_a_region_holds_the_best_point_and_follows_the_length_scales(
    posterior: bktf.Posterior,
) -> None:
    regions = [local_region(posterior, 1 + 2 * turn) for turn in range(len(HALF_WIDTHS))]
    lengths = np.exp(np.log(posterior.lengthscales).mean(axis=0))
    assert lengths[1] > lengths[0]
    widths = []
    for region in regions:
        assert region is not None
        best = posterior.X[np.argsort(-posterior.y)[: local_turns.N_COMPARED]]
        centre = best[posterior.mean(best).argmax()]
        assert np.all(region[0] <= centre)
        assert np.all(centre <= region[1])
        for d, axis in enumerate(posterior.grid):
            assert axis.points[0] <= region[0, d] <= region[1, d] <= axis.points[-1]
        widths.append(np.ptp(np.log(region[:, 0])) / math.log(1e4))
    process = posterior.draws.process
    assert process is not None
    ordered = [0, 1, 3]
    log_lengths = process.logs[:, :4].mean(axis=0)
    relative = np.exp(log_lengths - log_lengths[ordered].mean())
    axis = posterior.grid[3]
    for size, region in zip(HALF_WIDTHS, regions, strict=True):
        assert region is not None
        best = posterior.X[np.argsort(-posterior.y)[: local_turns.N_COMPARED]]
        centre = best[posterior.mean(best).argmax()][3]
        half = np.clip(size * relative[3], local_turns.MIN_HALF_WIDTH, local_turns.MAX_HALF_WIDTH)
        expected = np.clip(axis.scale(np.array([centre])) + half * np.array([-1, 1]), 0, 1)
        np.testing.assert_allclose(axis.scale(region[:, 3]), expected, atol=1e-9)
    # Where the range is not cut at the ends, a turn with half the size has half the width.
    assert widths[0] > widths[1]


def test_few_observations_components_and_levels_alone_have_no_local_turns() -> None:
    rng = np.random.default_rng(seeded(2))
    axes = [np.arange(4.0)] * 4
    X = rng.integers(0, 4, (LOCAL_POINTS + 4, 4)).astype(float)
    y = X.sum(axis=1)
    few = bktf.fit(axes, X[:30], y[:30], rank=math.inf, seed=0, n_sweeps=4, n_burn_in=2)
    components = bktf.fit(axes, X, y, rank=1, seed=0, n_sweeps=4, n_burn_in=2)
    levels = bktf.fit(
        axes, X, y, rank=math.inf, kernel="categorical", seed=0, n_sweeps=4, n_burn_in=2
    )
    for fit in (few, components, levels):
        assert all(local_region(fit, number) is None for number in range(4))


def test_the_choice_stays_inside_a_region(posterior: bktf.Posterior) -> None:
    region = local_region(posterior, 1)
    assert region is not None
    for seed in range(5):
        choice = choose(
            posterior, exclude=posterior.X, free=(0, 1), region=region, seed=seeded(seed)
        )
        assert choice.point is not None
        for d in (0, 1):
            assert region[0, d] <= choice.point[d] <= region[1, d]
        assert choice.point[2] in (0.0, 1.0, 2.0)
        assert choice.point[3] in np.arange(40.0)
        near = max(region[1, 3] - region[0, 3], 2.0)
        assert abs(choice.point[3] - region[:, 3].mean()) <= near


def test_a_finite_axis_keeps_three_values_in_a_narrow_region_and_all_inside_a_wide_one(
    posterior: bktf.Posterior,
) -> None:
    view = PosteriorView(posterior)
    for low, high, expected in ((20.0, 20.1, [19, 20, 21]), (10.0, 16.0, list(range(10, 17)))):
        region = np.array([[1e-3, -5.0, 0.0, low], [10.0, 5.0, 2.0, high]])
        asked = Question("ei", 2.0, False, None, None, {}, {}, None, frozenset({0, 1}), 0, region)
        axis = make_domain(view, asked, posterior.X).box().axes[3]
        assert (axis * 39).round().astype(int).tolist() == expected


def test_what_is_no_region_is_refused(posterior: bktf.Posterior) -> None:
    region = local_region(posterior, 1)
    assert region is not None
    unknown = region.copy()
    unknown[0, 1] = math.nan
    for wrong, message in (
        (region[::-1], r"region must be the lower ends, then the upper ends, .*; on axis 0"),
        (unknown, "on axis 1 they are nan"),
        (region[0], r"of shape \(2, 4\); got shape \(4,\)"),
        (region[:, :2], r"got shape \(2, 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            choose(posterior, free=(0, 1), region=wrong)


def test_where_a_region_has_nothing_left_the_whole_space_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All cells around the best point are tried, and the local turn is asked for."""
    rng = np.random.default_rng(seeded(5))
    space: dict[str, BaseDistribution] = {
        f"x{d}": optuna.distributions.IntDistribution(0, 30) for d in range(4)
    }
    X = rng.integers(0, 31, (LOCAL_POINTS + 20, 4)).astype(float)
    y = -((X - 15.0) ** 2).sum(axis=1)
    engine = Engine(
        parameters_of(space, ()), Objective(direction="maximize"), EngineSettings(), seeded(6)
    )
    model = engine.learn(History(X, y, X[:0], X, X[:0]), 1)
    asked: list[bool] = []

    def ask(*arguments: Any, **settings: Any) -> Choice:
        asked.append(settings.get("region") is not None)
        if asked[-1]:
            return Choice(None, -math.inf, "nothing allowed", False, 0.0)
        return choose(*arguments, **settings)

    monkeypatch.setattr(suggestion, "choose", ask)
    chosen = engine.choose(model, 1, X[:0], X[:0])
    assert asked == [True, False]
    assert not chosen.is_repeat


@pytest.mark.usefixtures("quiet_optuna")
def test_suggestions_of_a_long_study_stay_in_their_region_by_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space: dict[str, BaseDistribution] = {
        f"x{d}": optuna.distributions.FloatDistribution(0.0, 1.0) for d in range(3)
    }
    rng = np.random.default_rng(seeded(3))
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(4)))
    for x in rng.random((LOCAL_POINTS + 10, 3)):
        value = float(np.cos(9 * x).sum() + x.sum())
        params = dict(zip(space, x.tolist(), strict=True))
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=value))
    regions: list[Floats | None] = []

    def recorded(posterior: bktf.Posterior, number: int) -> Floats | None:
        regions.append(local_region(posterior, number))
        return regions[-1]

    monkeypatch.setattr(suggestion, "local_region", recorded)
    for turn in range(4):
        trial = study.ask(space)
        x = np.array([trial.params[name] for name in space])
        region = regions[-1]
        assert len(regions) == turn + 1
        assert (region is not None) == bool(trial.number % local_turns.LOCAL_PERIOD)
        if region is not None:
            assert np.all((region[0] - 1e-9 <= x) & (x <= region[1] + 1e-9))
            assert np.any(region[1] - region[0] < 0.5)
        study.tell(trial, float(np.cos(9 * x).sum() + x.sum()))
