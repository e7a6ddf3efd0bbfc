"""Optuna's own contract tests, run on BKTFSampler."""

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

import bktf
from seeds import seeded

pytestmark = pytest.mark.usefixtures("quiet_optuna")


class _Ours:
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: bktf.BKTFSampler(seed=seeded(0), n_startup_trials=0)


class TestBasic(_Ours, BasicSamplerTestCase): ...


class TestRelative(_Ours, RelativeSamplerTestCase): ...


class TestSingleOnly(_Ours, SingleOnlySamplerTestCase): ...
