"""Finite rank: the paper's model, a sum of products of factors, sampled by Gibbs updates."""

from bktf.components import gibbs
from bktf.components.averaged_components import average_components
from bktf.components.chain_state import Problem, State
from bktf.components.chains import (
    ChainResult,
    KnownFactors,
    draws_on_axes,
    run_chain,
    states_between,
)
from bktf.components.component_draws import ComponentDraws, ComponentPaths
from bktf.components.noise_operations import noise_operations
from bktf.components.particle_sweeps import sweep_population
from bktf.components.population import annealed_powers, run_population, stack_states
from bktf.components.residual_draws import ResidualDraws
from bktf.components.tempered import Tempered, systematic, temper

__all__ = [
    "ChainResult",
    "ComponentDraws",
    "ComponentPaths",
    "KnownFactors",
    "Problem",
    "ResidualDraws",
    "State",
    "Tempered",
    "annealed_powers",
    "average_components",
    "draws_on_axes",
    "gibbs",
    "noise_operations",
    "run_chain",
    "run_population",
    "stack_states",
    "states_between",
    "sweep_population",
    "systematic",
    "temper",
]
