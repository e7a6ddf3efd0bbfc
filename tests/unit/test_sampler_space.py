"""What the sampler makes of parameters that are constant, or that only some trials have."""

from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.trial import create_trial

import bktf
from bktf.engine import Objective
from bktf.engine.start_design import start_point
from bktf.spaces import parameters_of
from seeds import seeded

pytestmark = pytest.mark.usefixtures("quiet_optuna")

SPACE: dict[str, BaseDistribution] = {"x": IntDistribution(0, 9), "y": IntDistribution(0, 9)}


def test_a_constraint_sees_constant_parameters_by_name() -> None:
    asked: list[dict[str, Any]] = []

    def feasible(params: dict[str, Any]) -> bool:
        asked.append(params)
        return bool(params["x"] + params["y"] <= params["budget"])

    sampler = bktf.BKTFSampler(seed=seeded(0), feasible=feasible)
    objective = Objective(direction="minimize")
    engine = sampler.engine(parameters_of(SPACE, ()), objective, {"budget": 7})
    assert engine.feasible is not None
    assert engine.feasible(np.array([3.0, 4.0]))
    assert not engine.feasible(np.array([4.0, 4.0]))
    assert asked == [{"budget": 7, "x": 3, "y": 4}, {"budget": 7, "x": 4, "y": 4}]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_point_is_new_where_parameters_outside_the_model_may_differ(is_open: bool) -> None:
    """The next start point was tried; with other values of z it is another trial."""
    parameters = parameters_of(SPACE, ())
    sampler = bktf.BKTFSampler(seed=seeded(1), n_startup_trials=20)
    study = optuna.create_study(sampler=sampler)
    nothing = np.empty((0, 2))
    wanted = start_point(parameters, sampler.settings, 2, seeded(1), nothing, None, {}).point
    # Its range is so narrow beside its values that it cannot be modelled.
    z: dict[str, BaseDistribution] = {"z": FloatDistribution(1e9, 1e9 + 1)} if is_open else {}
    for distributions in (SPACE, {**SPACE, **z}):
        params = dict(zip("xyz", (*map(int, wanted), 1e9 + 0.5), strict=True))
        kept = {name: params[name] for name in distributions}
        study.add_trial(create_trial(params=kept, distributions=distributions, value=1.0))
    asked = study.ask(SPACE)
    assert asked.number == 2
    assert ([asked.params["x"], asked.params["y"]] == wanted.tolist()) == is_open
