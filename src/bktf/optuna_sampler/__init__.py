"""The engine behind Optuna's sampler contract."""

from bktf.optuna_sampler.argument_checks import check_seed, parameter_names
from bktf.optuna_sampler.earlier_results import EarlierTable, earlier
from bktf.optuna_sampler.messages import POOR_SEARCH
from bktf.optuna_sampler.sampler import BKTFSampler
from bktf.optuna_sampler.stored_settings import stored_settings
from bktf.optuna_sampler.suggesting import suggest_all
from bktf.optuna_sampler.trials import (
    INTERRUPTED,
    TrialConverter,
    objective_of,
    read_all,
    read_published,
    whole_study,
)

__all__ = [
    "INTERRUPTED",
    "POOR_SEARCH",
    "BKTFSampler",
    "EarlierTable",
    "TrialConverter",
    "check_seed",
    "earlier",
    "objective_of",
    "parameter_names",
    "read_all",
    "read_published",
    "stored_settings",
    "suggest_all",
    "whole_study",
]
