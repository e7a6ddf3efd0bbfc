"""Leave-one-out checks by refitting: how well the model predicts what it has not seen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bktf._typing import Floats, Ints
from bktf.surrogate import Posterior, RankPosterior, fit_model


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Predictions of each observation (noise included) from all the others, in the units of y.

    Print it for a summary.
    """

    index: Ints  # (n,) which observations were left out
    y: Floats  # (n,) what was observed there
    mean: Floats  # (n,) predictive mean
    std: Floats  # (n,) predictive standard deviation
    log_density: Floats  # (n,) log predictive density of y
    pit: Floats  # (n,) predictive distribution function at y; uniform where the model is calibrated
    spread: float  # standard deviation of all observations, to compare errors with

    def coverage(self, level: float) -> float:
        """Share of observations inside their central predictive interval of this level."""
        if not 0 <= level <= 1:
            raise ValueError(f"level must lie in [0, 1]; got {level!r}")
        return float(np.mean(np.abs(self.pit - 0.5) <= level / 2))

    def __str__(self) -> str:
        """Error, score and coverage in three lines."""
        errors = self.y - self.mean
        largest = float(np.abs(errors).max()) or 1.0
        error = largest * math.sqrt(float(np.mean((errors / largest) ** 2)))
        errors_line = f"root mean square error {error:.4g} (spread of y {self.spread:.4g})"
        half, most = f"{self.coverage(0.5):.0%}", f"{self.coverage(0.9):.0%}"
        return (
            f"leave-one-out over {len(self.y)} observations: {errors_line}\n"
            f"mean log predictive density {self.log_density.mean():.4g}\n"
            f"coverage of the 50 % interval {half}, of the 90 % interval {most}"
        )


def leave_one_out(posterior: Posterior, *, index: Sequence[int] | None = None) -> LeaveOneOut:
    """Refit without each observation in turn, with the settings of the fit, and predict it.

    Importance weights would be cheaper but wrong: without a point, a chain may be in another mode.
    `index` restricts the check to some observations.
    """
    if not isinstance(posterior, Posterior):
        raise ValueError(f"leave_one_out takes a bktf.Posterior; got {type(posterior).__name__}")
    if isinstance(posterior, RankPosterior):
        raise ValueError(
            'leave_one_out refits one rank; the posterior is of rank="auto". Fit the rank that you '
            "want to check, as in bktf.fit(…, rank=2)"
        )
    process = posterior.draws.process
    if process is not None and (process.context.size or process.descriptors):
        raise ValueError(
            "leave_one_out refits the observations that a posterior shows; this one also knows "
            "earlier campaigns or descriptors of categories. Fit without them to check the rest"
        )
    n = len(posterior.y)
    if n < 2:
        raise ValueError(f"leave_one_out needs at least 2 observations; the posterior has {n}")
    left_out = np.arange(n) if index is None else np.asarray(index)
    is_list = np.issubdtype(left_out.dtype, np.integer) and left_out.ndim == 1 and left_out.size
    if not is_list or left_out.min() < 0 or left_out.max() >= n:
        raise ValueError(f"index must list observations among 0 … {n - 1}; got {index!r}")
    rows = np.array([_predict_left_out(posterior, int(i)) for i in left_out])
    mean, std, log_density, pit = rows.T
    return LeaveOneOut(
        index=left_out.astype(np.int64),
        y=posterior.y[left_out],
        mean=mean,
        std=std,
        log_density=log_density,
        pit=pit,
        spread=posterior.standardisation.scale,
    )


def _predict_left_out(posterior: Posterior, i: int) -> tuple[float, float, float, float]:
    """Mean, standard deviation, log density and distribution function of y_i.

    The predictive distribution is a normal mixture over draws.
    """
    from scipy.special import logsumexp, ndtr  # heavy, and only needed here

    X, y = np.delete(posterior.X, i, axis=0), np.delete(posterior.y, i)
    refit = fit_model(posterior.spec, posterior.axes, X, y, posterior.seed)
    point = posterior.X[i : i + 1]
    unit = refit.standardisation.scale  # squares in the units of y may overflow
    f = refit.mean_by_draw(point)[:, 0]
    std = refit.std_by_draw(point)[:, 0]
    deviation = unit * np.hypot(std / unit, refit.noise_std / unit)  # of y_i within each draw
    z = (posterior.y[i] - f) / deviation
    log_densities = -0.5 * z**2 - np.log(deviation) - 0.5 * math.log(2 * math.pi)
    log_density = logsumexp(log_densities) - math.log(len(f))
    total = unit * math.sqrt(float((f / unit).var() + np.mean((deviation / unit) ** 2)))
    return float(f.mean()), total, float(log_density), float(np.mean(ndtr(z)))
