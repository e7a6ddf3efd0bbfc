"""The engine behind Optuna's sampler contract."""

from bktf.optuna_sampler.sampler import BKTFSampler

__all__ = ["BKTFSampler"]
