"""The paper's baselines: a Gaussian process, and EI or UCB in the box or on the grid.

The kernel is scikit-learn's Matérn 3/2 with one length-scale per dimension.

Inputs are scaled to [0, 1] and values z-scored; larger is better in this file.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Score = Callable[[Floats, Floats], Floats]  # of means and standard deviations

SETTINGS = {  # recorded with every run
    "restarts": 1,  # random starts of the marginal likelihood besides the fixed one
    "lengthscales": [1e-2, 1e1],  # where the marginal likelihood is searched
    "amplitudes": [1e-2, 1e3],
    "noises": [1e-8, 1e0],  # variances, of z-scored values
}
LOCAL_STEPS = 200  # of Nelder–Mead, per dimension


@dataclass(frozen=True, eq=False)
class FittedGP:
    """What a fitted process needs to predict: scikit-learn's factor, weights and parameters."""

    X: Floats  # (n, D) in [0, 1]
    cholesky: Floats  # (n, n) of the covariance of the observations
    alpha: Floats  # (n,) K⁻¹ y
    lengthscales: Floats  # (D,)
    amplitude: float
    noise: float  # variance

    def moments(self, squares: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of f from scaled squares (b, n); overwrites them."""
        from scipy.linalg.blas import dtrsm

        distance = np.sqrt(squares, out=squares)
        distance *= math.sqrt(3.0)
        k = np.exp(-distance)
        distance += 1.0
        k *= distance
        k *= self.amplitude
        mean = k @ self.alpha
        whitened = dtrsm(1.0, self.cholesky, k.T, lower=1, overwrite_b=1)  # L⁻¹ k
        variance = self.amplitude - np.einsum("ib,ib->b", whitened, whitened)
        return mean, np.sqrt(np.maximum(variance, 1e-18))

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of f at points (b, D) in [0, 1]."""
        scaled, seen = points / self.lengthscales, self.X / self.lengthscales
        return self.moments(((scaled[:, None, :] - seen[None, :, :]) ** 2).sum(axis=2))

    def on_grid(self, axes: tuple[Floats, ...]) -> Iterator[tuple[Floats, Floats]]:
        """Moments of all cells in the order of the grid.

        One block per combination of the first half of the axes.
        """
        by_axis = [
            ((axis[:, None] - self.X[:, d]) / self.lengthscales[d]) ** 2
            for d, axis in enumerate(axes)
        ]
        half = len(axes) // 2
        first, second = _outer_sums(by_axis[:half]), _outer_sums(by_axis[half:])
        for row in first:
            yield self.moments(second + row)


def _outer_sums(tables: list[Floats]) -> Floats:
    """Sums (Π m, n) of tables (m, n) over all combinations, the last one running fastest.

    One row of zeros where there are no tables.
    """
    total = np.zeros((1, tables[0].shape[1])) if tables else np.zeros((1, 1))
    for table in tables:
        total = (total[:, None, :] + table[None, :, :]).reshape(-1, table.shape[1])
    return total


def fit_gp(X: Floats, y: Floats, seed: int, settings: Mapping[str, Any] = SETTINGS) -> FittedGP:
    """Fit by marginal likelihood, with scikit-learn."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    amplitudes, lengthscales, noises = (
        tuple(settings[name]) for name in ("amplitudes", "lengthscales", "noises")
    )
    kernel = ConstantKernel(1.0, amplitudes) * Matern(
        np.full(X.shape[1], 0.5), lengthscales, nu=1.5
    ) + WhiteKernel(1e-4, noises)
    scale = float(y.std()) or 1.0
    model = GaussianProcessRegressor(
        kernel, alpha=1e-10, n_restarts_optimizer=settings["restarts"], random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # a parameter at its bound: expected with a handful of points
        model.fit(X, (y - y.mean()) / scale)
    product, white = model.kernel_.k1, model.kernel_.k2
    return FittedGP(
        X=X,
        cholesky=np.asfortranarray(model.L_),
        alpha=model.alpha_,
        lengthscales=np.broadcast_to(product.k2.length_scale, (X.shape[1],)).astype(float),
        amplitude=float(product.k1.constant_value),
        noise=float(white.noise_level),
    )


def expected_improvement(best: float) -> Score:
    """σφ(z) + ΔΦ(z) with Δ = mean − best. Paper: section 2. Differs: D11."""
    from scipy.special import ndtr

    def score(mean: Floats, std: Floats) -> Floats:
        gain = mean - best
        z = gain / std
        return np.asarray(std * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) + gain * ndtr(z))

    return score


def upper_bound(beta: float) -> Score:
    """Mean + β·std."""
    return lambda mean, std: mean + beta * std


def make_score(acquisition: str, y: Floats, beta: float) -> Score:
    """The acquisition on the scale of the z-scored values y."""
    scale = float(y.std()) or 1.0
    return (
        expected_improvement((float(y.max()) - float(y.mean())) / scale)
        if acquisition == "ei"
        else upper_bound(beta)
    )


def best_cell(
    gp: FittedGP, axes: tuple[Floats, ...], score: Score, excluded: NDArray[np.int64]
) -> int:
    """The flat index of the best cell that is not excluded, by enumeration in blocks."""
    found, found_score, start = -1, -np.inf, 0
    excluded = np.sort(excluded)
    for mean, std in gp.on_grid(axes):
        values = score(mean, std)
        inside = excluded[
            np.searchsorted(excluded, start) : np.searchsorted(excluded, start + values.size)
        ]
        values[inside - start] = -np.inf
        i = int(values.argmax())
        if values[i] > found_score:
            found, found_score = start + i, float(values[i])
        start += values.size
    return found


def best_in_box(gp: FittedGP, score: Score) -> Floats:
    """The best point of [0, 1]^D by DIRECT, then by Nelder–Mead from where it ended.

    DIRECT is SciPy's default, its locally biased form.
    """
    from scipy.optimize import Bounds, direct, minimize

    n_dims = gp.X.shape[1]

    def loss(point: Floats) -> float:
        return -float(score(*gp.predict(np.atleast_2d(point)))[0])

    box = Bounds(np.zeros(n_dims), np.ones(n_dims))
    coarse = direct(loss, box)
    options = {"maxiter": LOCAL_STEPS * n_dims, "xatol": 1e-6, "fatol": 1e-12}
    fine = minimize(loss, coarse.x, method="Nelder-Mead", bounds=box, options=options)
    return np.asarray(fine.x if fine.fun < coarse.fun else coarse.x)
