"""One path of a process as a function of some ordered axes, the other coordinates fixed."""

from typing import NamedTuple

import numpy as np

from bktf._compiled import record
from bktf._typing import Floats
from bktf.gaussian_process.covariance import FROM_FAR, MIDDLE_WEIGHT, SQRT5
from bktf.gaussian_process.sample_paths import ProcessPaths


@record
class LocalPath(NamedTuple):
    """One path as a function of its moving axes."""

    frequencies: Floats  # (M, F)
    offsets: Floats  # (F,) fixed coordinates included
    amplitudes: Floats  # (F,)
    centres: Floats  # (M, n) of the covariances: an inactive observation is at the middle
    weights: Floats  # (M, n) of the Matérn part
    rates: Floats  # (M,) √5 / length-scale
    share: float  # ρ
    coefficients: Floats  # (n,) fixed coordinates included


def local_path(paths: ProcessPaths, path: int, point: Floats, moving: list[int]) -> LocalPath:
    """One path along some ordered axes, at a scaled point (D,) that gives the other coordinates."""
    own = paths.select([path])
    terms, process = own.terms(0), paths.process
    draw = int(paths.draws[path])
    offsets, coefficients = own.offsets[0].copy(), terms.real_weights
    for d in range(paths.n_dims):
        if d not in moving:
            at = point[d : d + 1]
            offsets += np.angle(terms.waves(d, at)[:, 0])
            coefficients = coefficients * terms.reals(d, at)[:, 0]
    observed = process.observed[:, moving].T
    is_inactive = observed > FROM_FAR
    share = float(process.shares[draw])
    return LocalPath(
        frequencies=np.ascontiguousarray(own.frequencies[0][:, moving].T),
        offsets=offsets,
        amplitudes=np.ascontiguousarray(own.amplitudes[0]),
        centres=np.ascontiguousarray(np.where(is_inactive, 0.5, observed)),
        weights=(1.0 - share) * np.where(is_inactive, MIDDLE_WEIGHT, 1.0),
        rates=SQRT5 * np.exp(-process.logs[draw, moving]),
        share=share,
        coefficients=np.ascontiguousarray(coefficients),
    )
