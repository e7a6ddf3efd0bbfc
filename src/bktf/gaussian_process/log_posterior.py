"""The log posterior density of the parameters of a process, its gradient, mode and curvature.

The values of the process are integrated out. A point x (p,) holds the D + 2 parameters of
`covariance` and, where the noise is learned, its log precision, each in standard deviations from
its prior mean. So the prior of x is near a standard normal distribution.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bktf._compiled import LOG_LENGTHSCALE_HIGH, LOG_LENGTHSCALE_LOW
from bktf._typing import Floats
from bktf.gaussian_process.compiled_process import write_covariance
from bktf.gaussian_process.covariance import LOG_ODDS_HIGH
from bktf.gaussian_process.evidence_gradient import pair_weights, slopes_along
from bktf.gaussian_process.parameter_updates import LOG_SIZE_HIGH, LOG_SIZE_LOW, NOISE_DEVIATION
from bktf.gaussian_process.process_problem import ProcessProblem

MAX_MODE_STEPS = 40  # of L-BFGS
MODE_TOLERANCE = 0.1  # nats; a step that gains less is the last one
HESSIAN_STEP = 1e-3  # of x, for differences of the gradient
SINGULAR = 1e10  # stands for a density of 0 in the search for a mode
# Of the noise: between what counts as small and as large, and where a search for either starts
MODERATE_PRECISION, SMALL_NOISE_PRECISION, LARGE_NOISE_PRECISION = 300.0, 1e5, 3.0
MIN_CURVATURE = 0.3  # of the negative log density; that of the prior is 1


class Laplace(NamedTuple):
    """A normal approximation of the posterior of x around one of its modes."""

    mode: Floats  # (p,)
    spread: Floats  # (p, p): mode + spread·z with standard normal z
    log_mass: float  # of the posterior around the mode, up to a constant


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """The log density of x up to an additive constant; its buffers are not for several threads."""

    problem: ProcessProblem
    log_noise_precision: float  # where the noise is known; otherwise the centre of x's last entry
    along: Floats  # (D, P) buffer: correlations along the axes
    product: Floats  # (P,) buffer: Π_d κ_d
    covariance: Floats  # (n, n) buffer

    @classmethod
    def of(cls, problem: ProcessProblem, noise_precision: float) -> "LogPosterior":
        """The density for a problem; noise_precision is the known one, or a typical one."""
        n, separations = problem.values.size, problem.model.separations
        buffers = np.empty(separations.shape), np.empty(separations.shape[1]), np.empty((n, n))
        return cls(problem, math.log(noise_precision), *buffers)

    @property
    def n_logs(self) -> int:
        """D + 2."""
        return int(self.problem.model.log_means.size)

    @property
    def scales(self) -> tuple[Floats, Floats]:
        """The centre and the unit of each entry of x."""
        model = self.problem.model
        centre, unit = model.log_means, np.sqrt(model.log_vars)
        if self.problem.noise_known:
            return centre, unit
        return np.append(centre, self.log_noise_precision), np.append(unit, NOISE_DEVIATION)

    @property
    def bounds(self) -> Floats:
        """Lower and upper bounds of x, (p, 2)."""
        n_dims = self.n_logs - 2
        lengths, sizes = (LOG_LENGTHSCALE_LOW, LOG_LENGTHSCALE_HIGH), (LOG_SIZE_LOW, LOG_SIZE_HIGH)
        limits = [*[lengths] * n_dims, sizes, (-LOG_ODDS_HIGH, LOG_ODDS_HIGH)]
        if not self.problem.noise_known:
            limits.append(sizes)
        centre, unit = self.scales
        return np.asarray((np.array(limits) - centre[:, None]) / unit[:, None])

    def parameters(self, x: Floats) -> tuple[Floats, float]:
        """The parameters (D + 2,) and the log precision of the noise at x."""
        centre, unit = self.scales
        values = centre + unit * x
        if self.problem.noise_known:
            return values, self.log_noise_precision
        return np.ascontiguousarray(values[:-1]), float(values[-1])

    def point(self, logs: Floats, noise_precision: float) -> Floats:
        """The x of these parameters, moved into its bounds."""
        centre, unit = self.scales
        known = self.problem.noise_known
        values = logs if known else np.append(logs, math.log(noise_precision))
        low, high = self.bounds.T
        return np.asarray(np.clip((values - centre) / unit, low, high))

    def value(self, x: Floats) -> float:
        """The log density at x; −∞ outside its bounds or where C is singular."""
        low, high = self.bounds.T
        if not np.all((x >= low) & (x <= high)):
            return -math.inf
        found = self._factor(x)
        return -math.inf if found is None else found[1] + self.log_prior(x)

    def value_and_gradient(self, x: Floats) -> tuple[float, Floats]:
        """The log density and its gradient (p,) at an x inside its bounds."""
        from scipy.linalg.lapack import dpotri  # heavy: `import bktf` must not pay for it

        found = self._factor(x)
        if found is None:
            return -math.inf, np.zeros_like(x)
        root, evidence, alpha = found
        inverse, _ = dpotri(root, lower=1, overwrite_c=1)
        logs, log_precision = self.parameters(x)
        model, n_dims = self.problem.model, self.n_logs - 2
        weights, slopes = np.empty((2, self.product.size))
        share_slopes, gradient = np.zeros(self.product.size), np.empty(x.size)
        pair_weights(inverse.T, alpha, math.exp(logs[n_dims]), self.product, weights)
        for d in range(n_dims):
            slopes_along(
                model.separations[d], model.on_levels[d], logs[d], logs[n_dims + 1],
                self.along[d], slopes, share_slopes,
            )  # fmt: skip
            gradient[d] = weights @ slopes
        gradient[n_dims] = weights.sum()
        gradient[n_dims + 1] = weights @ share_slopes
        unit = self.scales[1]
        from_prior = -x[: self.n_logs] / unit[: self.n_logs]
        gradient[: self.n_logs] += from_prior
        if not self.problem.noise_known:
            trace = float(alpha @ alpha - np.trace(inverse))
            precision = math.exp(log_precision)
            from_noise = self.problem.noise_shape - self.problem.noise_rate * precision
            gradient[-1] = from_noise - 0.5 * trace / precision
        return evidence + self.log_prior(x), gradient * unit

    def _factor(self, x: Floats) -> tuple[Any, float, Floats] | None:
        """The Cholesky factor of C, the log evidence and α; None where C is singular."""
        from scipy.linalg.lapack import dpotrf, dpotrs

        logs, log_precision = self.parameters(x)
        model, values = self.problem.model, self.problem.values
        write_covariance(
            model.separations, model.on_levels, logs, math.exp(log_precision),
            self.along, self.product, self.covariance,
        )  # fmt: skip
        # The transpose is in Fortran's order and overwritten in place.
        root, info = dpotrf(self.covariance.T, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            return None
        alpha, _ = dpotrs(root, values, lower=1)
        log_det = 2.0 * float(np.log(np.diagonal(root)).sum())
        return root, -0.5 * (log_det + float(values @ alpha)), alpha

    def log_prior(self, x: Floats) -> float:
        """The log prior density of x, up to a constant."""
        normal = -0.5 * float(x[: self.n_logs] @ x[: self.n_logs])
        if self.problem.noise_known:
            return normal
        log_precision = self.parameters(x)[1]
        problem = self.problem
        return (
            normal
            + problem.noise_shape * log_precision
            - problem.noise_rate * math.exp(log_precision)
        )

    def find_mode(self, start: Floats) -> Floats:
        """The local maximum of the density that L-BFGS finds from a point inside the bounds."""
        from scipy.optimize import minimize  # heavy, and only needed here

        def negative(x: Floats) -> tuple[float, Floats]:
            value, gradient = self.value_and_gradient(x)
            return (-value, -gradient) if math.isfinite(value) else (SINGULAR, gradient)

        tolerance = MODE_TOLERANCE / self.problem.values.size
        options = {"maxiter": MAX_MODE_STEPS, "ftol": tolerance}
        result = minimize(
            negative, start, jac=True, method="L-BFGS-B", bounds=self.bounds, options=options
        )
        return np.asarray(result.x)

    def other_start(self, mode: Floats) -> Floats:
        """Where to look for the other explanation of the data: small noise, or large noise.

        Few data do not tell noise from a rough function; then the density has a mode for each.
        """
        start = np.zeros_like(mode)
        unit = self.scales[1][-1]
        has_noise = self.parameters(mode)[1] < math.log(MODERATE_PRECISION)
        precision = SMALL_NOISE_PRECISION if has_noise else LARGE_NOISE_PRECISION
        start[-1] = (math.log(precision) - self.log_noise_precision) / unit
        return np.asarray(np.clip(start, *self.bounds.T))

    def laplace(self, mode: Floats) -> Laplace:
        """The normal approximation at a mode, from differences of the gradient."""
        high = self.bounds[:, 1]
        value, gradient = self.value_and_gradient(mode)
        hessian = np.empty((mode.size, mode.size))
        for i in range(mode.size):
            step = HESSIAN_STEP if mode[i] + HESSIAN_STEP <= high[i] else -HESSIAN_STEP
            moved = mode.copy()
            moved[i] += step
            hessian[i] = (gradient - self.value_and_gradient(moved)[1]) / step
        sizes, directions = np.linalg.eigh(0.5 * (hessian + hessian.T))
        sizes = np.maximum(sizes, MIN_CURVATURE)
        log_mass = value - 0.5 * float(np.log(sizes).sum())
        return Laplace(mode, directions / np.sqrt(sizes), log_mass)
