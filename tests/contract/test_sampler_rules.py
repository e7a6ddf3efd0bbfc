"""Rules of the sampler, each by itself: what depends on the seed, and who gives way to whom."""

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import create_trial

import bktf
from bktf.engine import Objective
from bktf.optuna_sampler.trials import (
    TrialConverter,
    is_taken,
    pieces_of,
    read_all,
    read_published,
)
from bktf.spaces import parameters_of
from seeds import seeded

pytestmark = pytest.mark.usefixtures("quiet_optuna")

BOX: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
GRID: dict[str, BaseDistribution] = {"x": IntDistribution(0, 9), "y": IntDistribution(0, 9)}


def study_with(n: int, seed: int, space: dict[str, BaseDistribution] = BOX) -> Study:
    """A study that has n completed trials, always the same."""
    study = optuna.create_study(sampler=bktf.BKTFSampler(seed=seeded(seed), search_space=space))
    rng = np.random.default_rng(seeded(0))
    for _ in range(n):
        params = {
            name: float(rng.random()) if space is BOX else int(rng.integers(10)) for name in space
        }
        study.add_trial(
            create_trial(
                params=params,
                distributions=space,
                value=sum((v - 0.45) ** 2 for v in params.values()),
            )
        )
    return study


@pytest.mark.parametrize("n", [0, 3, 8])
def test_another_seed_suggests_another_point_from_the_same_trials(n: int) -> None:
    """At the start (D + 4 trials, at most 10) and after it."""
    asked = [tuple(study_with(n, seed).ask(BOX).params.values()) for seed in (1, 2, 3, 1)]
    assert len(set(asked)) == 3
    assert asked[0] == asked[3]


def test_parameters_drawn_independently_have_draws_of_their_own() -> None:
    study = study_with(0, 1)
    sampler, trials = study.sampler, [study.ask() for _ in range(3)]

    def draw(number: int, name: str) -> float:
        frozen = study._storage.get_trial(trials[number]._trial_id)
        return float(sampler.sample_independent(study, frozen, name, FloatDistribution(0, 1)))

    drawn = [draw(number, name) for number in range(3) for name in ("a", "b", "c")]
    assert len(set(drawn)) == 9
    assert drawn == [draw(number, name) for number in range(3) for name in ("a", "b", "c")]


def test_a_worker_that_publishes_last_gives_way() -> None:
    study = study_with(0, 1, GRID)
    converter = TrialConverter(parameters_of(GRID, ()), Objective(direction="minimize"))
    mine, known = study.ask(), read_all(study)
    other = study.ask()

    def taken(*point: float) -> bool:
        return is_taken(study, known, mine.number, converter, np.array(point))

    assert not taken(3.0, 4.0)
    for trial, x, y in ((mine, 5.0, 6.0), (other, 3.0, 4.0)):
        for key, piece in pieces_of({"internal": {"x": x, "y": y}}).items():
            study._storage.set_trial_system_attr(trial._trial_id, key, piece)
    assert taken(3.0, 4.0)
    assert not taken(5.0, 6.0)


def test_what_a_trial_will_try_is_known_before_it_asks() -> None:
    study = study_with(7, 1, GRID)
    trial = study._storage.get_trial(study.ask()._trial_id)
    assert read_published(trial.system_attrs) == {}
    values = study.sampler.sample_relative(study, trial, GRID)
    published = read_published(study._storage.get_trial(trial._trial_id).system_attrs)
    assert published["internal"] == values
    assert published["expected_improvement"] > 0
