"""What `rank` means to `BKTFSampler` and `minimize`, and what was called `model` before."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution

import bktf
from bktf.engine import EngineSettings
from bktf.optuna_sampler.former_spellings import FORMER_MODELS
from seeds import seeded

pytestmark = pytest.mark.usefixtures("quiet_optuna")

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
GRID = {"x": (0, 8), "y": (0, 8)}
SHORT: dict[str, Any] = {"n_sweeps": 10, "n_burn_in": 4, "n_chains": 3}
INFINITE = (math.inf, np.inf, np.float64(np.inf))


def bowl(params: dict[str, Any]) -> float:
    return float((params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2)


def optimized(space: dict[str, Any], n_trials: int = 8, **settings: Any) -> bktf.Result:
    return bktf.minimize(bowl, space, n_trials=n_trials, seed=seeded(0), **settings)


def tried(result: bktf.Result) -> list[dict[str, Any]]:
    return [trial.params for trial in result.study.trials]


def rank_used(result: bktf.Result) -> float:
    assert result._model.posterior is not None
    return result._model.posterior.rank


# --- a rank --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"rank": "auto"},
        *[{"rank": rank} for rank in INFINITE],
        {"rank": None},
        {"rank": 4, "preset": "paper"},
        {"rank": "auto", "preset": "paper"},
        {"rank": math.inf, "preset": "paper", "acquisition": "ei"},
        {"rank": 3, "acquisition": "max"},
        {"rank": 3, "acquisition": "thompson"},
        {"rank": 3, "residual_process": True},
    ],
)
def test_a_rank_that_means_what_it_did_gives_no_warning(settings: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampler = bktf.BKTFSampler(**settings)
    expected = settings["rank"]
    assert sampler.settings.rank == ("auto" if expected is None else expected)


@pytest.mark.parametrize("rank", [1, 3, np.int64(3)])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"acquisition": "ei"},
        {"acquisition": "ucb"},
        {"adapt_rank": True},
        {"residual_process": False},
    ],
)
def test_a_rank_alone_says_that_it_now_means_components_everywhere(
    rank: int, more: dict[str, Any]
) -> None:
    with pytest.warns(
        FutureWarning,
        match=r"now means that many components on every space; .* rank=\"auto\" does that",
    ) as seen:
        sampler = bktf.BKTFSampler(rank=rank, **more)
    assert [w.filename for w in seen] == [__file__]
    assert (sampler.settings.rank, sampler.settings.components.rank) == (rank, rank)


def test_a_rank_alone_is_components_on_every_space() -> None:
    for space in (BOX, GRID):
        with pytest.warns(FutureWarning, match="that many components on every space"):
            result = optimized(space, rank=2, **SHORT)
        assert rank_used(result) == 2
        assert result.posterior.rank == 2
        assert result.posterior.n_draws == 18


def test_infinite_rank_is_a_process_on_every_space_and_auto_is_the_default() -> None:
    for space in (BOX, GRID):
        assert rank_used(optimized(space, rank=math.inf)) == math.inf
        assert tried(optimized(space, 10, rank="auto")) == tried(optimized(space, 10))
    on_grid = optimized(GRID, 9)  # an odd number of points: components take their turn
    assert (rank_used(on_grid), on_grid.posterior.rank) == (3, math.inf)


def test_sweeps_burn_in_and_chains_reach_the_process_at_infinite_rank() -> None:
    result = optimized(BOX, rank=math.inf, **SHORT)
    posterior = result._model.posterior
    assert posterior is not None
    assert tuple(posterior.spec.lengths) == (10, 4, 3)
    assert posterior.n_draws == 18
    sampler = bktf.BKTFSampler(rank=math.inf, n_sweeps=100)
    assert tuple(sampler.settings.process.lengths) == (100, 85, 2)


def test_a_result_of_long_chains_at_infinite_rank_can_be_shown() -> None:
    result = optimized(BOX, rank=math.inf, n_sweeps=100)
    assert tuple(result.posterior.spec.lengths) == (125, 85, 4)
    assert str(result).startswith("smallest value")


def test_sweeps_are_of_components_where_the_rank_is_not_infinite() -> None:
    settings = bktf.BKTFSampler(rank="auto", **SHORT).settings
    assert tuple(settings.components.lengths) == (10, 4, 3)
    assert tuple(settings.process.lengths) == (40, 24, 2)


def test_priors_and_known_noise_reach_the_model_of_every_rank() -> None:
    priors = bktf.Priors(noise_shape=2.0)
    settings = bktf.BKTFSampler(priors=priors, noise_std=0.5).settings
    for spec in (settings.components, settings.process):
        assert (spec.priors, spec.noise_std) == (priors, 0.5)


# --- what is refused -----------------------------------------------------------------------------

BAD_RANKS = [
    0,
    -1,
    2.5,
    3.0,
    True,
    np.True_,
    "3",
    "infinite",
    "inf",
    "",
    math.nan,
    -math.inf,
    [3],
    np.array([2, 3]),
    1j,
]


def make_sampler(**settings: Any) -> None:
    bktf.BKTFSampler(**settings)


def run_minimize(**settings: Any) -> None:
    bktf.minimize(bowl, BOX, n_trials=1, **settings)


def run_fit(**settings: Any) -> None:
    bktf.fit([np.linspace(0, 1, 3)], [[0.0]], [1.0], **settings)


@pytest.mark.parametrize("front_door", [make_sampler, run_minimize, run_fit])
@pytest.mark.parametrize("rank", BAD_RANKS, ids=repr)
def test_what_is_no_rank_gets_one_clear_error(
    rank: object, front_door: Callable[..., None]
) -> None:
    with pytest.raises(
        ValueError,
        match=r"^rank must be a whole number of at least 1, \"auto\", or math\.inf for a Gaussian process; got ",
    ):
        front_door(rank=rank)


def test_a_rank_beyond_all_measure_is_refused() -> None:
    with pytest.raises(ValueError, match="rank must be a whole number of at most 10000; got 10001"):
        bktf.BKTFSampler(rank=10_001)


@pytest.mark.parametrize("front_door", [make_sampler, run_minimize])
@pytest.mark.parametrize("name", ["adapt_rank", "offsets", "main_effects", "residual_process"])
def test_settings_of_components_are_refused_at_infinite_rank(
    name: str, front_door: Callable[..., None]
) -> None:
    with pytest.raises(
        ValueError,
        match=rf"^{name} is about components, and rank=math\.inf has none\. Leave it out$",
    ):
        front_door(rank=math.inf, **{name: True})
    make_sampler(rank=math.inf, **{name: False})


@pytest.mark.parametrize("acquisition", ["max", "thompson"])
@pytest.mark.parametrize(
    "settings", [{"rank": math.inf}, {"rank": 2, "residual_process": True}, {"rank": "auto"}, {}]
)
def test_acquisitions_of_whole_functions_suggest_at_every_rank(
    acquisition: str, settings: dict[str, Any]
) -> None:
    space = {"x": (0.0, 1.0), "n": (1, 4), "c": bktf.choices("a", "b")}
    tried = []

    def loss(p: dict[str, Any]) -> float:
        tried.append(tuple(p.values()))
        return float((p["x"] - 0.3) ** 2 + 0.1 * abs(p["n"] - 2) + (p["c"] == "b"))

    chains: dict[str, Any] = {"n_sweeps": 30, "n_burn_in": 20, "n_chains": 1}
    bktf.minimize(
        loss, space, n_trials=9, seed=seeded(0), n_startup_trials=5, acquisition=acquisition,
        **chains, **settings,
    )  # fmt: skip
    assert len(set(tried)) == 9
    assert all(0 <= x <= 1 and n in (1, 2, 3, 4) and c in "ab" for x, n, c in tried)


def test_the_acquisition_of_the_paper_may_be_used_at_infinite_rank() -> None:
    sampler = bktf.BKTFSampler(preset="paper", rank=math.inf)
    assert sampler.settings.acquisition == "max"


# --- the former spelling -------------------------------------------------------------------------

FORMER: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"model": "auto"}, {"rank": "auto"}, r'model=\'auto\' is now written rank="auto"$'),
    ({"model": "process"}, {"rank": math.inf}, r"model='process' is now written rank=math\.inf$"),
    ({"model": "components"}, {"rank": 3}, r"model='components' is now written rank=3$"),
    ({"model": "components", "rank": 5}, {"rank": 5}, r"model='components' is now written rank=5$"),
    (
        {"model": "both"},
        {"rank": 3, "residual_process": True},
        r"model='both' is now written rank=3, residual_process=True$",
    ),
    (
        {"model": "both", "rank": 2, "n_sweeps": 50},
        {"rank": 2, "residual_process": True, "n_sweeps": 50},
        r"model='both' is now written rank=2, residual_process=True$",
    ),
    (
        {"model": "auto", "rank": 5},
        {"rank": "auto"},
        r'model=\'auto\' is now written rank="auto"; rank=5 is not used: finite rank is 3 then$',
    ),
    (
        {"model": "components", "preset": "paper"},
        {"rank": 2, "preset": "paper"},
        r"model='components' is now written rank=2$",
    ),
    # The version before read these and used them for components alone.
    (
        {
            "model": "process",
            "rank": 4,
            "n_sweeps": 50,
            "n_burn_in": 9,
            "n_chains": 1,
            "main_effects": True,
        },
        {"rank": math.inf},
        r"model='process' is now written rank=math\.inf; leave out .*, which had no effect$",
    ),
    (
        {"model": "process", "offsets": True, "adapt_rank": True, "noise_std": 0.1},
        {"rank": math.inf, "noise_std": 0.1},
        r"model='process' is now written rank=math\.inf; leave out .*, which had no effect$",
    ),
]


@pytest.mark.parametrize(("former", "new", "message"), FORMER)
def test_the_former_keyword_gives_the_same_settings_and_names_the_new_spelling(
    former: dict[str, Any], new: dict[str, Any], message: str
) -> None:
    with pytest.warns(FutureWarning, match=message) as seen:
        before = bktf.BKTFSampler(seed=seeded(0), **former)
    assert [w.filename for w in seen] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        after = bktf.BKTFSampler(seed=seeded(0), **new)
    assert repr(before) == repr(after)


def test_every_former_model_has_a_new_spelling() -> None:
    assert {former["model"] for former, _, _ in FORMER} == set(FORMER_MODELS)


@pytest.mark.parametrize(
    ("former", "new"),
    [
        ({"model": "process"}, {"rank": math.inf}),
        ({"model": "both", "rank": 2, **SHORT}, {"rank": 2, "residual_process": True, **SHORT}),
        ({"model": "auto"}, {}),
    ],
)
def test_minimize_with_the_former_keyword_tries_the_same_points(
    former: dict[str, Any], new: dict[str, Any]
) -> None:
    with pytest.warns(FutureWarning, match=f"model='{former['model']}' is now written"):
        before = optimized(GRID, 9, **former)
    assert tried(before) == tried(optimized(GRID, 9, **new))


def test_a_study_with_the_former_keyword_tries_the_same_points() -> None:
    def objective(trial: optuna.Trial) -> float:
        return bowl({"x": trial.suggest_float("x", 0, 1), "y": trial.suggest_int("y", 0, 5)})

    space = {"x": FloatDistribution(0, 1), "y": IntDistribution(0, 5)}
    studies = []
    for settings in ({"model": "components"}, {"rank": 3}):
        with pytest.warns(FutureWarning, match="rank=3"):
            sampler = bktf.BKTFSampler(seed=seeded(0), search_space=space, **SHORT, **settings)
        studies.append(optuna.create_study(sampler=sampler))
        studies[-1].optimize(objective, n_trials=9)
    assert [t.params for t in studies[0].trials] == [t.params for t in studies[1].trials]


@pytest.mark.parametrize("model", ["gp", "", 3, True, ["process"]])
def test_an_unknown_former_model_is_refused(model: Any) -> None:
    with pytest.raises(
        ValueError, match="model must be one of 'auto', 'process', 'components', 'both'; got "
    ):
        bktf.BKTFSampler(model=model)


def test_a_bad_rank_or_preset_beside_the_former_keyword_is_refused_without_a_warning() -> None:
    with pytest.raises(ValueError, match="rank must be a whole number of at least 1"):
        bktf.BKTFSampler(model="components", rank=0)
    with pytest.raises(ValueError, match="preset must be one of 'default', 'paper'; got 'fast'"):
        bktf.BKTFSampler(model="components", preset="fast")


def test_a_warning_through_minimize_points_at_the_call() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        bktf.minimize(bowl, GRID, n_trials=2, seed=seeded(0), rank=2)
    assert [w.filename for w in seen if w.category is FutureWarning] == [__file__]


def test_a_residual_process_needs_a_finite_rank() -> None:
    for rank in (None, "auto"):
        with pytest.raises(ValueError, match="residual_process is an option of finite rank"):
            bktf.BKTFSampler(residual_process=True, rank=rank)


def test_settings_have_one_rank() -> None:
    with pytest.raises(ValueError, match=r"components.rank must be the rank, 7; got 3"):
        EngineSettings(rank=7)
    with pytest.raises(ValueError, match="rank must be a whole number of at least 1"):
        EngineSettings(rank=0)


def test_former_models_with_components_refuse_infinite_rank() -> None:
    for model in ("components", "both"):
        with pytest.raises(ValueError, match=r"has components, and rank=math\.inf has none"):
            bktf.BKTFSampler(model=model, rank=math.inf)


def test_a_former_process_says_what_had_no_effect() -> None:
    with pytest.warns(FutureWarning, match="leave out rank, n_sweeps, which had no effect"):
        bktf.BKTFSampler(model="process", rank=4, n_sweeps=100)


def test_one_prior_under_both_of_its_names_is_refused() -> None:
    with pytest.raises(TypeError, match="local_noise_rate and process_noise_rate, which are one"):
        bktf.Priors(local_noise_rate=2.0, process_noise_rate=3.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="local_foo"):
        bktf.Priors(local_foo=1.0)  # type: ignore[call-arg]
