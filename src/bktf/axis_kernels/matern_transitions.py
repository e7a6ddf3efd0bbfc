"""Transitions of a Matérn process between axis points, in factored form; see `state_space`."""

import math

from bktf._compiled import compiled, compiled_part

STATIONARY_STEP = 1e3  # as good as infinite: exp(−1000) is 0 in double precision
SERIES_TERMS = 24  # enough for double precision below SERIES_BELOW
SERIES_BELOW = 2.0


@compiled_part
def matern_rate(order, lengthscale):
    """√(2ν)/l, the inverse correlation length of a Matérn process of this order."""
    return math.sqrt(2.0 * order - 1.0) / lengthscale


@compiled_part
def poisson_tail(first, x):
    """P(N ≥ first) for N ~ Poisson(x), to full relative precision: 1 − e⁻ˣ Σ_{k<first} xᵏ/k!."""
    if x < SERIES_BELOW:
        term = math.exp(-x)
        for k in range(1, first + 1):
            term *= x / k
        total = term
        for k in range(first + 1, first + SERIES_TERMS):
            term *= x / k
            total += term
        return total
    term = math.exp(-x)
    total = term
    for k in range(1, first):
        term *= x / k
        total += term
    return 1.0 - total


@compiled
def transition(order, step, A, L, D):
    """Write A(step) and the factors L, D of Q(step) for one Matérn factor.

    Q = c ∫₀^step e⁻²ˢ p(s) p(s)ᵀ ds, where p is the last column of eˢA(s). Every entry combines the
    Poisson tail P(N ≥ 2p−1) and Poisson probabilities e_k at x = 2·step. No term cancels where the
    step is small.
    """
    x = 2.0 * step
    decay = math.exp(-step)
    if order == 1:
        A[0, 0] = decay
        L[0, 0] = 1.0
        D[0] = poisson_tail(1, x)
        return
    if order == 2:
        A[0, 0] = decay * (1.0 + step)
        A[0, 1] = decay * step
        A[1, 0] = -decay * step
        A[1, 1] = decay * (1.0 - step)
        e1 = x * decay * decay
        tail = poisson_tail(3, x)
        q01 = 0.5 * x * e1
        L[0, 0] = 1.0
        L[0, 1] = 0.0
        L[1, 0] = q01 / tail
        L[1, 1] = 1.0
        D[0] = tail
        D[1] = tail + 2.0 * e1 - L[1, 0] * q01
        return
    half = 0.5 * step * step
    A[0, 0] = decay * (1.0 + step + half)
    A[0, 1] = decay * (step + 2.0 * half)
    A[0, 2] = decay * half
    A[1, 0] = -decay * half
    A[1, 1] = decay * (1.0 + step - 2.0 * half)
    A[1, 2] = decay * (step - half)
    A[2, 0] = decay * (half - step)
    A[2, 1] = decay * (2.0 * half - 3.0 * step)
    A[2, 2] = decay * (1.0 - 2.0 * step + half)
    e1 = x * decay * decay
    e2 = e1 * x / 2.0
    e3 = e2 * x / 3.0
    e4 = e3 * x / 4.0
    tail = poisson_tail(5, x)
    q02 = (2.0 * e3 - 4.0 * e4 - tail) / 3.0
    q11 = (4.0 * e3 - 2.0 * e4 + tail) / 3.0
    q12 = 4.0 * e2 / 3.0 - 2.0 * e3 + e4
    q22 = 8.0 * (e1 - e2) / 3.0 + 4.0 * e3 + tail
    for i in range(3):
        for j in range(3):
            L[i, j] = 1.0 if i == j else 0.0
    D[0] = tail
    L[1, 0] = e4 / tail
    L[2, 0] = q02 / tail
    D[1] = q11 - L[1, 0] * e4
    L[2, 1] = (q12 - L[2, 0] * e4) / D[1]
    D[2] = q22 - L[2, 0] * q02 - L[2, 1] * L[2, 1] * D[1]


@compiled_part
def orthogonalise(rows, weights, n_rows, n_columns, L, D):
    """Write L, D with rows·diag(weights)·rowsᵀ = L·diag(D)·Lᵀ, by modified Gram–Schmidt.

    rows is overwritten.
    """
    for i in range(n_rows):
        for j in range(i):
            overlap = 0.0
            for k in range(n_columns):
                overlap += weights[k] * rows[i, k] * rows[j, k]
            coefficient = overlap / D[j] if D[j] > 0.0 else 0.0
            for k in range(n_columns):
                rows[i, k] -= coefficient * rows[j, k]
            L[i, j] = coefficient
        variance = 0.0
        for k in range(n_columns):
            variance += weights[k] * rows[i, k] * rows[i, k]
        L[i, i] = 1.0
        for j in range(i + 1, n_rows):
            L[i, j] = 0.0
        D[i] = variance


@compiled_part
def stack_transition(order, q, A, L_Q, D_Q, L, D, rows, weights):
    """Write the next state as rows [A·L, L_Q] of independent variables with variances (D, D_Q)."""
    size = q * order
    for c in range(q):
        for a in range(order):
            i = c * order + a
            for k in range(size):
                value = 0.0
                for b in range(order):
                    value += A[a, b] * L[c * order + b, k]
                rows[i, k] = value
                rows[i, size + k] = 0.0
            for b in range(order):
                rows[i, size + c * order + b] = L_Q[a, b]
            weights[i] = D[i]
            weights[size + i] = D_Q[a]


@compiled_part
def predict_mean(order, q, A, mean, predicted):
    """Write A·mean, factor by factor, into predicted."""
    for c in range(q):
        for a in range(order):
            value = 0.0
            for b in range(order):
                value += A[a, b] * mean[c * order + b]
            predicted[c * order + a] = value
