"""The slow, obvious version of every kernel. Nothing here is clever.

Everything here is the definition.
"""

import itertools
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def matern(order: int, lengthscale: float, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Matérn correlation with ν = order − 1/2 between two sets of coordinates, in their precision."""
    x = np.sqrt(a.dtype.type(2 * order - 1)) * np.abs(a[:, None] - b[None, :]) / lengthscale
    polynomial = {1: np.ones_like(x), 2: 1 + x, 3: 1 + x + x * x / 3}[order]
    return np.asarray(polynomial * np.exp(-x))


def squared_exponential(lengthscale: float, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.exp(-0.5 * ((a[:, None] - b[None, :]) / lengthscale) ** 2))


def periodic(period: float, lengthscale: float, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    pi = a.dtype.type(4) * np.arctan(a.dtype.type(1))
    return np.asarray(
        np.exp(-2 * (np.sin(pi * (a[:, None] - b[None, :]) / period) / lengthscale) ** 2)
    )


def observation_matrix(directions: Floats) -> Floats:
    """H with H·(values of factor 0, values of factor 1, …) = what each pseudo-observation sees, (m·q, q·m)."""
    m, q, _ = directions.shape
    H = np.zeros((m * q, q * m))
    for j in range(m):
        for k in range(q):
            for c in range(q):
                H[j * q + k, c * m + j] = directions[j, k, c]
    return H


def cholesky_long(M: NDArray[Any]) -> NDArray[Any]:
    """Cholesky factor in the precision of M, column by column (NumPy's own knows only double)."""
    L = np.zeros_like(M)
    for j in range(len(M)):
        column = M[j:, j] - L[j:, :j] @ L[j, :j]
        L[j:, j] = column / np.sqrt(column[0])
    return L


def log_evidence(K: NDArray[Any], directions: Floats, precisions: Floats, targets: Floats) -> float:
    """Log N(targets; 0, H (I ⊗ K) Hᵀ + 1/precisions) without its constant ½ Σ log(precision / 2π).

    In 80-bit arithmetic: with precisions near 1e4 plain double precision loses more than what is
    tested here.
    """
    seen = precisions.ravel() > 0
    H = observation_matrix(directions)[seen].astype(np.longdouble)
    b, t = (
        precisions.ravel()[seen].astype(np.longdouble),
        targets.ravel()[seen].astype(np.longdouble),
    )
    m, q = len(K), directions.shape[1]
    prior = np.zeros((q * m, q * m), dtype=np.longdouble)
    for c in range(q):
        prior[c * m : (c + 1) * m, c * m : (c + 1) * m] = K
    root = np.sqrt(b)
    M = np.eye(len(b), dtype=np.longdouble) + root[:, None] * (H @ prior @ H.T) * root[None, :]
    L = cholesky_long(M)
    solved = root * t
    for i in range(len(b)):
        solved[i] = (solved[i] - L[i, :i] @ solved[:i]) / L[i, i]
    return float(-np.sum(np.log(np.diag(L))) - solved @ solved / 2)


def factor_posterior(
    K: Floats, directions: Floats, precisions: Floats, targets: Floats
) -> tuple[Floats, Floats]:
    """Mean (q·m,) and covariance of the stacked factors given the pseudo-observations."""
    seen = precisions.ravel() > 0
    H = observation_matrix(directions)[seen]
    b, t = precisions.ravel()[seen], targets.ravel()[seen]
    prior = np.kron(np.eye(directions.shape[1]), K)
    S = H @ prior @ H.T + np.diag(1 / b)
    gain = np.linalg.solve(S, H @ prior).T
    return gain @ t, np.asarray(prior - gain @ H @ prior, dtype=float)


def conditional(K: Floats, known: int, values: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance of the entries after the first `known`, given those."""
    gain = np.linalg.solve(K[:known, :known], K[:known, known:]).T
    return gain @ values, K[known:, known:] - gain @ K[:known, known:]


def matern_extended(order: int, lengthscale: float, a: float, b: float) -> Any:
    """Matérn correlation in extended precision."""
    x = (
        mpmath.sqrt(2 * order - 1)
        * abs(mpmath.mpf(float(a)) - mpmath.mpf(float(b)))
        / mpmath.mpf(lengthscale)
    )
    polynomial = {1: mpmath.mpf(1), 2: 1 + x, 3: 1 + x + x * x / 3}[order]
    return polynomial * mpmath.exp(-x)


def log_evidence_extended(
    order: int, lengthscale: float, coords: Floats, precisions: Floats, targets: Floats
) -> Any:
    """The same for one factor, in 60 digits: log N(t; 0, K + B⁻¹) + ½ Σ log(2π / b)."""
    with mpmath.workdps(60):
        m = len(coords)
        M = mpmath.matrix(m, m)
        root = [mpmath.sqrt(mpmath.mpf(float(b))) for b in precisions]
        for i, j in itertools.product(range(m), repeat=2):
            M[i, j] = root[i] * root[j] * matern_extended(
                order, lengthscale, coords[i], coords[j]
            ) + (i == j)
        L = mpmath.cholesky(M)
        scaled = mpmath.matrix(
            [r * mpmath.mpf(float(t)) for r, t in zip(root, targets, strict=True)]
        )
        solved = mpmath.lu_solve(L, scaled)
        half_log_det = sum(mpmath.log(L[i, i]) for i in range(m))
        return -half_log_det - sum(v * v for v in solved) / 2


def process_noise_extended(order: int, step: float) -> Any:
    """A(step) and Q(step) = P∞ − A P∞ Aᵀ of the scaled state, in 80 digits."""
    with mpmath.workdps(80):
        x = mpmath.mpf(step)
        if order == 1:
            F, P = mpmath.matrix([[-1]]), mpmath.matrix([[1]])
        elif order == 2:
            F, P = mpmath.matrix([[0, 1], [-1, -2]]), mpmath.eye(2)
        else:
            third = mpmath.mpf(1) / 3
            F = mpmath.matrix([[0, 1, 0], [0, 0, 1], [-1, -3, -3]])
            P = mpmath.matrix([[1, 0, -third], [0, third, 0], [-third, 0, 1]])
        N = F + mpmath.eye(order)  # nilpotent: the matrix exponential is a short sum
        power, A = mpmath.eye(order), mpmath.zeros(order)
        for k in range(order):
            A += power * x**k / mpmath.factorial(k)
            power = power * N
        A = A * mpmath.exp(-x)
        return A, P - A * P * A.T


def evidence_by_coordinate(
    cells: NDArray[Any], sensitivities: Floats, remainder: Floats, noise_precision: float, m: int
) -> tuple[Floats, Floats]:
    """information[j] = τ Σ h y and matrices[j] = τ Σ h hᵀ over the observations at coordinate j."""
    q = len(sensitivities)
    information, matrices = np.zeros((m, q)), np.zeros((m, q, q))
    for i, j in enumerate(cells):
        h = sensitivities[:, i]
        information[j] += noise_precision * h * remainder[i]
        matrices[j] += noise_precision * np.outer(h, h)
    return information, matrices


def cp_values(factors: list[Floats], weights: Floats, index: NDArray[Any]) -> Floats:
    """F at each indexed point for each draw, (K, n), by four loops."""
    n_draws, n_components = weights.shape
    out = np.zeros((n_draws, len(index)))
    for k, i, c in itertools.product(range(n_draws), range(len(index)), range(n_components)):
        term = weights[k, c]
        for d, factor in enumerate(factors):
            term *= factor[k, c, index[i, d]]
        out[k, i] += term
    return out
