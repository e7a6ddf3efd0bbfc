"""Optuna's own contract tests, run on BKTFSampler."""

from collections.abc import Callable, Iterator

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

import bktf


class _Ours:
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: bktf.BKTFSampler(seed=0, n_startup_trials=0)

    @pytest.fixture(autouse=True)
    def quiet(self) -> Iterator[None]:
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        yield
        optuna.logging.set_verbosity(level)


class TestBasic(_Ours, BasicSamplerTestCase): ...


class TestRelative(_Ours, RelativeSamplerTestCase): ...


class TestSingleOnly(_Ours, SingleOnlySamplerTestCase): ...
