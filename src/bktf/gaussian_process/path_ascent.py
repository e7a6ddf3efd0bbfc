"""A local maximum of one path of a process along its ordered axes, inside a box.

Projected BFGS ascent, compiled: all paths of a posterior are climbed from several starts, so a call
of a general optimiser for each would cost more than the values themselves.

Notation: M moving axes, F waves, n observations; the other coordinates are fixed. `path` is a
`local_paths.LocalPath`.
"""

import math

import numpy as np

from bktf._compiled import compiled, compiled_part, write_sines
from bktf.gaussian_process.covariance import exponentiate

N_STEPS = 100  # of an ascent at most; six axes need up to 60
MAX_HALVINGS = 20  # of a step
FIRST_STEP = 0.05  # length of the first step, as a share of the axes
MAX_STEP = 0.5  # of an axis; steps of this length are not doubled
MIN_CURVATURE = 1e-12  # times the change of the gradient; less counts as none
ENOUGH_GAIN = 1e-4  # of the gain that the slope promises (Armijo)
MIN_GAIN = 1e-10  # in standard deviations of y; a step that gains less is the last one
MIN_CORRELATION = 1e-290  # smaller correlations have no slope


@compiled_part
def value_and_gradient(path, x, gradient):
    """The value at x (M,); writes the gradient (M,)."""
    n_moving, n_waves = path.frequencies.shape
    n = path.coefficients.size
    angles, buffer, waves = path.offsets.copy(), np.empty(n_waves), np.empty(n_waves)
    for d in range(n_moving):
        for f in range(n_waves):
            angles[f] += path.frequencies[d, f] * x[d]
    value = 0.0
    write_sines(angles, 0.5 * math.pi, buffer, waves)
    for f in range(n_waves):
        value += path.amplitudes[f] * waves[f]
    write_sines(angles, 0.0, buffer, waves)
    for d in range(n_moving):
        slope = 0.0
        for f in range(n_waves):
            slope -= path.amplitudes[f] * waves[f] * path.frequencies[d, f]
        gradient[d] = slope
    products, log_slopes = path.coefficients.copy(), np.empty((n_moving, n))
    decay, room = np.empty(n), np.empty(n)
    for d in range(n_moving):
        for i in range(n):
            decay[i] = -path.rates[d] * abs(x[d] - path.centres[d, i])
        exponentiate(decay, room)
        for i in range(n):
            difference = x[d] - path.centres[d, i]
            r = path.rates[d] * abs(difference)
            matern = path.weights[d, i] * decay[i]
            correlation = path.share + matern * (1.0 + r + r * r / 3.0)
            slope = -path.rates[d] * matern * (r + r * r) / 3.0
            if difference < 0.0:
                slope = -slope
            products[i] *= correlation
            log_slopes[d, i] = slope / correlation if correlation > MIN_CORRELATION else 0.0
    for i in range(n):
        value += products[i]
    for d in range(n_moving):
        slope = 0.0
        for i in range(n):
            slope += products[i] * log_slopes[d, i]
        gradient[d] += slope
    return value


@compiled
def path_values_and_gradients(path, points, gradients):
    """Values (m,) at points (m, M); writes the gradients (m, M)."""
    values = np.empty(len(points))
    for i in range(len(points)):
        values[i] = value_and_gradient(path, points[i], gradients[i])
    return values


@compiled
def climb_path(path, low, high, x):
    """Move x (M,) to a local maximum inside the box [low, high]; return its value."""
    size = x.size
    gradient, new_gradient = np.empty(size), np.empty(size)
    direction, new_x = np.empty(size), np.empty(size)
    inverse = np.eye(size)  # of the negative Hessian, approximately
    value = value_and_gradient(path, x, gradient)
    is_fresh = True  # whether `inverse` has no curvature in it yet
    is_free = np.ones(size, np.bool_)
    for _ in range(N_STEPS):
        norm = 0.0
        for d in range(size):
            outward = (x[d] <= low[d] and gradient[d] < 0.0) or (
                x[d] >= high[d] and gradient[d] > 0.0
            )
            if outward and is_free[d] and not is_fresh:
                hold(inverse, d)
            is_free[d] = not outward
            if is_free[d]:
                norm += gradient[d] * gradient[d]
        if norm == 0.0:
            break
        if is_fresh:
            scale = FIRST_STEP / math.sqrt(norm)
            for d in range(size):
                for e in range(size):
                    inverse[d, e] = scale if d == e else 0.0
        uphill = 0.0
        for d in range(size):
            direction[d] = 0.0
            if is_free[d]:
                for e in range(size):
                    if is_free[e]:
                        direction[d] += inverse[d, e] * gradient[e]
                uphill += direction[d] * gradient[d]
        if uphill <= 0.0:
            if is_fresh:
                break
            is_fresh = True
            continue
        step, new_value, gained = 1.0, value, False
        for _ in range(MAX_HALVINGS):
            promised = 0.0
            for d in range(size):
                new_x[d] = min(max(x[d] + step * direction[d], low[d]), high[d])
                promised += gradient[d] * (new_x[d] - x[d])
            new_value = value_and_gradient(path, new_x, new_gradient)
            if new_value >= value + ENOUGH_GAIN * promised and new_value > value:
                gained = True
                break
            step *= 0.5
        if not gained:
            if is_fresh:
                break
            is_fresh = True
            continue
        if not update_inverse(inverse, is_free, x, new_x, gradient, new_gradient, is_fresh):
            # The path is convex along the step, so a longer one gains more
            longest = 0.0
            for d in range(size):
                longest = max(longest, abs(direction[d]))
            if longest < MAX_STEP:
                inverse *= 2.0
        is_fresh = False
        gain = new_value - value
        for d in range(size):
            x[d] = new_x[d]
            gradient[d] = new_gradient[d]
        value = new_value
        if gain < MIN_GAIN:
            break
    return value


@compiled_part
def hold(inverse, d):
    """Overwrite the inverse with that of the Hessian of the other coordinates; d stands alone."""
    size, own = len(inverse), inverse[d, d]
    column = inverse[:, d].copy()
    for e in range(size):
        for f in range(size):
            inverse[e, f] -= column[e] * column[f] / own
    for e in range(size):
        inverse[d, e] = inverse[e, d] = own if e == d else 0.0


@compiled_part
def update_inverse(inverse, is_free, x, new_x, gradient, new_gradient, is_first):
    """The BFGS update of the inverse of the negative Hessian; whether the path is concave there."""
    size = x.size
    moved, change = np.empty(size), np.empty(size)
    curvature, square = 0.0, 0.0
    for d in range(size):
        moved[d] = new_x[d] - x[d]
        change[d] = gradient[d] - new_gradient[d] if is_free[d] else 0.0
        curvature += moved[d] * change[d]
        square += change[d] * change[d]
    if curvature <= MIN_CURVATURE * math.sqrt(square) or square == 0.0:
        return False
    if is_first:
        for d in range(size):
            for e in range(size):
                inverse[d, e] = curvature / square if d == e else 0.0
    product = np.zeros(size)
    for d in range(size):
        for e in range(size):
            product[d] += inverse[d, e] * change[e]
    total = 0.0
    for d in range(size):
        total += product[d] * change[d]
    for d in range(size):
        for e in range(size):
            inverse[d, e] += (1.0 + total / curvature) * moved[d] * moved[e] / curvature
            inverse[d, e] -= (product[d] * moved[e] + moved[d] * product[e]) / curvature
    return True
