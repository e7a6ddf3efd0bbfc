"""Which compiled updates of noise and weights a problem has; see `residual_process`."""

from typing import Any, NamedTuple

from bktf.components import residual_process


class NoiseOperations(NamedTuple):
    """Updates that the Gibbs sampler calls for noise and weights, as pointers of one signature."""

    update: Any  # noise, weights and, if there is one, the residual process
    draw_process_prior: Any  # its parameters and values from the prior


def noise_operations(has_residual_process: bool) -> NoiseOperations:
    """The operations with or without a residual process."""
    if has_residual_process:
        return NoiseOperations(residual_process.process_step(), residual_process.process_prior())
    return NoiseOperations(residual_process.conjugate_step(), residual_process.no_process_prior())
