"""The methods of both studies: told points and values, asked for the next point."""

from studies.methods.optuna_samplers import OnCells, OptunaMethod, bktf_method
from studies.methods.other_packages import COMPARISON_METHODS, MODULES
from studies.methods.paper_methods import (
    BETA,
    PAPER_METHODS,
    PAPER_PRIORS,
    PAPER_SETTINGS,
    BktfOnGrid,
    choose_methods,
    run_settings,
)
from studies.methods.protocol import Method, MethodEntry
from studies.methods.two_ranks import two_ranks

__all__ = [
    "BETA",
    "COMPARISON_METHODS",
    "MODULES",
    "PAPER_METHODS",
    "PAPER_PRIORS",
    "PAPER_SETTINGS",
    "BktfOnGrid",
    "Method",
    "MethodEntry",
    "OnCells",
    "OptunaMethod",
    "bktf_method",
    "choose_methods",
    "run_settings",
    "two_ranks",
]
