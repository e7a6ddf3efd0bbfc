"""Updates of noise and weights, with or without a Gaussian process h for the residual.

Both are typed pointers of one signature. Without h the updates are conjugate. With h its values are
integrated out first, and then h is drawn at the observations. Code of the process is compiled only
where there is one. Paper: section 6 proposes such a part.
"""

import math

import numpy as np

from bktf._compiled import (
    FLOAT,
    INT,
    INTS,
    MATRIX,
    RNG,
    VECTOR,
    VOID,
    add_multiple,
    compiled,
    compiled_part,
    copy_into,
    draw_normal,
    fill,
    inner,
    operation,
    solve_transposed,
)
from bktf.components.conjugate_updates import update_noise, update_weights
from bktf.gaussian_process import parameter_updates

_MODEL = (MATRIX, INTS, VECTOR, VECTOR)  # the fields of `gaussian_process.ProcessModel`
_STEP = (
    *_MODEL, FLOAT, FLOAT, INT,  # noise_shape, noise_rate, noise_known
    VECTOR, VECTOR, MATRIX, VECTOR,  # weight_vars, values, products, weights
    VECTOR, VECTOR, VECTOR, VECTOR,  # process_logs, noise_precision, process_values, residual
    RNG,
)  # fmt: skip


@compiled_part
def update_weights_beside_process(noise_root, weight_vars, values, products, weights, rng):
    """Draw the weights with h integrated out; noise_root is U with C = Uᵀ·U."""
    n_components = len(products)
    precision = np.zeros((n_components, n_components))
    mean = np.zeros(n_components)
    solved = products.copy()
    target = values.copy()
    solve_transposed(noise_root, target, 0)
    for c in range(n_components):
        solve_transposed(noise_root, solved[c], 0)
        for h in range(c + 1):
            precision[c, h] = inner(solved[c], solved[h])
        precision[c, c] += 1.0 / weight_vars[c]
        mean[c] = inner(solved[c], target)
    draw_normal(precision, n_components, mean, rng)
    for c in range(n_components):
        weights[c] = mean[c]


@compiled
def update_with_process(
    separations, on_levels, log_means, log_vars, noise_shape, noise_rate, noise_known, weight_vars,
    values, products, weights, process_logs, noise_precision, process_values, residual, rng,
):  # fmt: skip
    """Draw weights, parameters and noise precision with h integrated out, then h itself.

    Writes weights, process_logs, noise_precision, process_values and residual.
    """
    n_components, n = products.shape
    C = np.empty((n, n))
    along, product = np.empty(separations.shape), np.empty(separations.shape[1])
    log_det = parameter_updates.factor_at(
        separations, on_levels, process_logs, noise_precision[0], along, product, C
    )
    if math.isfinite(log_det):
        update_weights_beside_process(C, weight_vars, values, products, weights, rng)
    copy_into(values, residual)
    for c in range(n_components):
        add_multiple(residual, -weights[c], products[c])
    parameter_updates.update_parameters(
        separations,
        on_levels,
        log_means,
        log_vars,
        noise_shape,
        noise_rate,
        noise_known,
        residual,
        process_logs,
        noise_precision,
        rng,
    )
    fill(0.0, process_values)
    parameter_updates.draw_values(
        separations, on_levels, process_logs, noise_precision[0], residual, process_values, rng
    )
    add_multiple(residual, -1.0, process_values)


@operation(VOID, *_STEP)
def conjugate_step(
    separations, on_levels, log_means, log_vars, noise_shape, noise_rate, noise_known, weight_vars,
    values, products, weights, process_logs, noise_precision, process_values, residual, rng,
):  # fmt: skip
    update_noise(noise_shape, noise_rate, noise_known, residual, noise_precision, rng)
    update_weights(weight_vars, values, products, weights, noise_precision, residual, rng)


@operation(VOID, *_STEP)
def process_step(
    separations, on_levels, log_means, log_vars, noise_shape, noise_rate, noise_known, weight_vars,
    values, products, weights, process_logs, noise_precision, process_values, residual, rng,
):  # fmt: skip
    update_with_process(
        separations, on_levels, log_means, log_vars, noise_shape, noise_rate, noise_known,
        weight_vars, values, products, weights, process_logs, noise_precision, process_values,
        residual, rng,
    )  # fmt: skip


@operation(VOID, *_MODEL, VECTOR, VECTOR, RNG)
def no_process_prior(
    separations, on_levels, log_means, log_vars, process_logs, process_values, rng
):
    pass


@operation(VOID, *_MODEL, VECTOR, VECTOR, RNG)
def process_prior(separations, on_levels, log_means, log_vars, process_logs, process_values, rng):
    parameter_updates.draw_prior(
        separations, on_levels, log_means, log_vars, process_logs, process_values, rng
    )
