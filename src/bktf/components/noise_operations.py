"""Which compiled updates of noise and weights a problem has; see `residual_process`."""

from typing import Any, NamedTuple

from bktf.components import noise_and_weight_updates


class NoiseOperations(NamedTuple):
    """Updates that the Gibbs sampler calls for noise and weights, as pointers of one signature."""

    update: Any  # noise, weights and, if there is one, the residual process
    draw_process_prior: Any  # its parameters and values from the prior


def noise_operations(has_residual_process: bool) -> NoiseOperations:
    """The operations with or without a residual process."""
    if has_residual_process:
        return NoiseOperations(
            noise_and_weight_updates.process_step(), noise_and_weight_updates.process_prior()
        )
    return NoiseOperations(
        noise_and_weight_updates.conjugate_step(), noise_and_weight_updates.no_process_prior()
    )
