"""How the variance of paths is shared among parameters of which some have conditions.

Every parameter is drawn independently, as a share of its values, and has no effect where its
condition does not hold. What a path becomes then is no short sum of products, so its integrals are
means over points of scrambled Sobol' sequences, several of them so that their error is known. With
A and B independent points, and A_d the points of A with coordinate d of B (Saltelli 2002, Jansen
1999):

    Var E[f | x_d]         mean of f(B)·(f(A_d) − f(A)), and of the same with A and B exchanged
    E Var[f | all but x_d] mean of (f(A) − f(A_d))² / 2, exactly 0 where x_d has no effect
    Var E[f | x_a, x_b]    covariance of f(A_a) and f(B_b)
"""

import math

import numpy as np

from bktf._typing import Floats
from bktf.analysis.path_variances import VarianceParts
from bktf.surrogate import Posterior, SamplePaths

N_REPEATS = 4  # scrambled sequences
N_POINTS = 256  # in A, for each sequence
MAX_EVALUATIONS = 16_384  # points for each sequence; in many dimensions A has fewer
SAMPLING_STREAM = 8  # spawn key of the fit's seed


def sampled_variances(
    posterior: Posterior, paths: SamplePaths, with_pairs: bool
) -> list[list[VarianceParts]]:
    """The variance of each path and its parts, in the model's units, from each sequence."""
    stream = np.random.SeedSequence(posterior.seed, spawn_key=(SAMPLING_STREAM,))
    rng = np.random.default_rng(stream)
    return [_from_one_sequence(posterior, paths, with_pairs, rng) for _ in range(N_REPEATS)]


def _from_one_sequence(
    posterior: Posterior, paths: SamplePaths, with_pairs: bool, rng: np.random.Generator
) -> list[VarianceParts]:
    """The variance of each path and its parts from one scrambled sequence."""
    n_dims = len(posterior.grid)
    base, swapped = _unit_points(n_dims, rng)
    values = {name: _values(posterior, paths, units) for name, units in base.items()}
    own = np.stack([_values(posterior, paths, swapped["A", d]) for d in range(n_dims)])
    other = np.stack([_values(posterior, paths, swapped["B", d]) for d in range(n_dims)])
    f_a, f_b = values["A"], values["B"]  # (N, m)
    every = np.concatenate((f_a[None], f_b[None], own, other))  # all have the distribution of f
    centre, variance = every.mean(axis=(0, 2))[:, None], every.var(axis=(0, 2))
    f_a, f_b, own, other = f_a - centre, f_b - centre, own - centre, other - centre
    total = 0.25 * (np.square(f_a - own) + np.square(f_b - other)).mean(axis=2)  # (D, N)
    first = 0.5 * (f_b * (own - f_a) + f_a * (other - f_b)).mean(axis=2)
    pairs = np.zeros((n_dims, n_dims, paths.forms.n_paths))
    if with_pairs:
        level = (f_a * f_b).mean(axis=1)  # of independent points: its error is that of the others
        for a in range(n_dims):
            for b in range(a):
                both = 0.5 * (own[a] * other[b] + own[b] * other[a]).mean(axis=1) - level
                pairs[a, b] = pairs[b, a] = both - first[a] - first[b]
    return [
        VarianceParts(float(variance[p]), first[:, p], total[:, p], pairs[:, :, p])
        for p in range(paths.forms.n_paths)
    ]


def _unit_points(
    n_dims: int, rng: np.random.Generator
) -> tuple[dict[str, Floats], dict[tuple[str, int], Floats]]:
    """A and B, and each of them with one coordinate of the other, as shares (m, D) in [0, 1)."""
    from scipy.stats import qmc  # takes half a second to import, and only few spaces need it

    wanted = min(N_POINTS, MAX_EVALUATIONS // (2 * n_dims + 2))
    sequence = qmc.Sobol(2 * n_dims, scramble=True, rng=rng)
    units = sequence.random_base2(int(math.log2(wanted)))
    first, second = units[:, :n_dims], units[:, n_dims:]
    swapped = {}
    for d in range(n_dims):
        for name, kept, given in (("A", first, second), ("B", second, first)):
            points = kept.copy()
            points[:, d] = given[:, d]
            swapped[name, d] = points
    return {"A": first, "B": second}, swapped


def _values(posterior: Posterior, paths: SamplePaths, units: Floats) -> Floats:
    """All paths at shares (m, D) of the parameters' values, (N, m)."""
    point_at = posterior.meaning.point_at
    assert point_at is not None
    points = np.array([point_at(row) for row in units])
    return paths.forms.values(paths.scaled(points))
