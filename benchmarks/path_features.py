"""How many random waves a sample path needs: the distribution of its maximum against the exact one.

Mean and covariance over paths are exact for every number of waves. The maximum of a path depends on
more than these. Here it is taken over about a thousand points, without and with observations, and
compared with that of joint normal draws at the same points. Runs that are recorded are not made
again.

    python -m benchmarks.path_features                       make what is missing, then the table
    python -m benchmarks.path_features --features 256 --jobs 1
    python -m benchmarks.path_features --tables              the table of what is recorded
"""

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.recorded_study import RecordedStudy
from bktf._typing import Floats
from bktf.gaussian_process import ConditionalProcess, condition_process, draw_process_paths
from studies.lines import Line, RunKey, made_with, read_lines, rounded
from studies.table_writer import markdown

LINES = Path(__file__).parents[1] / "studies" / "results" / "path_features.jsonl"
FEATURES = (32, 64, 128, 256, 512, 1024, 2048)
N_POINTS, N_PATHS, N_EXACT = 1000, 4000, 60_000
BATCH = 200  # paths in memory together
NOISE_PRECISION = 100.0  # noise of a tenth of the prior standard deviation
QUANTILE = 0.95
JITTER = 1e-10  # of the prior variance
KINDS = ("prior", "posterior")


class Case(NamedTuple):
    """A process: its parameters, and the number of its observations."""

    n_dims: int
    length: float
    share: float  # ρ
    n: int


# The longer lengths and larger shares are what fits in more dimensions find
CASES = {
    "1 dimension, length 0.1": Case(1, 0.1, 0.1, 6),
    "2 dimensions, length 0.2": Case(2, 0.2, 0.3, 12),
    "6 dimensions, length 0.5, share 0.3": Case(6, 0.5, 0.3, 40),
    "6 dimensions, length 0.5, share 0.8": Case(6, 0.5, 0.8, 40),
}


class Exact(NamedTuple):
    """A process, points, and maxima of joint normal draws at them."""

    process: ConditionalProcess
    points: Floats  # (m, D)
    maxima: dict[str, Floats]  # by kind, (N_EXACT,)


@functools.cache
def exact(name: str, seed: int) -> Exact:
    """The exact maxima of a case."""
    case = CASES[name]
    rng = np.random.default_rng([seed, list(CASES).index(name)])
    observed = rng.random((case.n, case.n_dims))
    logs = np.full((1, case.n_dims + 2), math.log(case.length))
    logs[0, -2:] = 0.0, math.log(case.share / (1.0 - case.share))
    levels, precision = np.zeros(case.n_dims, dtype=bool), np.array([NOISE_PRECISION])
    empty = condition_process(observed, levels, logs, precision, np.zeros((1, case.n)))
    total = empty.covariances(observed, observed)[0] + np.eye(case.n) / NOISE_PRECISION
    values = np.linalg.cholesky(total) @ rng.standard_normal(case.n)
    process = condition_process(observed, levels, logs, precision, values[None])
    points = rng.random((N_POINTS, case.n_dims))
    if case.n_dims == 1:
        points = np.linspace(0, 1, N_POINTS)[:, None]
    covariances = {
        "prior": process.covariances(points, points)[0],
        "posterior": process.covariances_at(points)[0],
    }
    means = {"prior": np.zeros(N_POINTS), "posterior": process.moments_at(points).mean[0]}
    maxima = {}
    for kind, covariance in covariances.items():
        root = np.linalg.cholesky(covariance + JITTER * np.eye(N_POINTS))
        blocks = []
        for _ in range(0, N_EXACT, N_POINTS):
            errors = root @ rng.standard_normal((N_POINTS, N_POINTS))
            blocks.append((means[kind][:, None] + errors).max(axis=0))
        maxima[kind] = np.concatenate(blocks)
    return Exact(process, points, maxima)


def path_maxima(known: Exact, n_features: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Maxima of paths at the points, by kind, (N_PATHS,)."""
    n_levels = [0] * known.points.shape[1]
    covariance = known.process.covariances_with_observed(known.points)[0]
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(0, N_PATHS, BATCH):
        paths = draw_process_paths(known.process, n_levels, BATCH, n_features, rng)
        for p in range(BATCH):
            prior = paths.prior_values(p, known.points)
            found["prior"].append(float(prior.max()))
            found["posterior"].append(float((prior + covariance @ paths.coefficients[p]).max()))
    return {kind: np.array(values) for kind, values in found.items()}


def compare(drawn: Floats, reference: Floats) -> dict[str, float]:
    """Two samples of maxima: their Kolmogorov-Smirnov distance, and differences of statistics.

    Differences are in standard deviations of the maximum.
    """
    together = np.concatenate((drawn, reference))
    steps = [
        np.searchsorted(np.sort(x), together, side="right") / x.size for x in (drawn, reference)
    ]
    spread = float(reference.std())
    mean_error = math.sqrt(1.0 / drawn.size + 1.0 / reference.size)
    quantiles = [float(np.quantile(x, QUANTILE)) for x in (drawn, reference)]
    return {
        "ks": float(np.abs(steps[0] - steps[1]).max()),
        "mean": float(drawn.mean() - reference.mean()) / spread,
        "mean_error": mean_error,
        "quantile": (quantiles[0] - quantiles[1]) / spread,
        "quantile_error": math.hypot(*map(_quantile_error, (drawn, reference))) / spread,
        "std_ratio": float(drawn.std()) / spread,
    }


def _quantile_error(sample: Floats) -> float:
    """The standard error of the quantile of a sample, from the order statistics around it."""
    width = math.sqrt(QUANTILE * (1.0 - QUANTILE) / sample.size)
    low, high = np.quantile(sample, [QUANTILE - width, QUANTILE + width])
    return float(high - low) / 2.0


def all_runs(features: Sequence[str], n_seeds: int) -> list[RunKey]:
    """Every number of waves in every case."""
    settings = {"n_points": N_POINTS, "n_paths": N_PATHS, "n_exact": N_EXACT}
    return [
        {
            "experiment": "path-features",
            "problem": name,
            "method": f"{count} waves",
            "seed": seed,
            "settings": settings | CASES[name]._asdict(),
        }
        for seed in range(n_seeds)
        for name in CASES
        for count in features
    ]


def run_one(key: RunKey) -> Line:
    """The line of one run."""
    known, n_features = exact(key["problem"], key["seed"]), int(key["method"].split()[0])
    maxima = path_maxima(known, n_features, np.random.default_rng([key["seed"], n_features]))
    results = {kind: compare(maxima[kind], known.maxima[kind]) for kind in KINDS}
    found = {k: {name: rounded(x) for name, x in row.items()} for k, row in results.items()}
    return {**key, **found, **made_with()}


def table(lines: Sequence[Line]) -> str:
    """Distances for each case and number of waves, and the difference of the 95 % quantiles."""
    rows = []
    for name in CASES:
        for kind in KINDS:
            cells = []
            for count in FEATURES:
                mine = [
                    x for x in lines if x["problem"] == name and x["method"] == f"{count} waves"
                ]
                cells.append(_cell([line[kind] for line in mine]))
            rows.append([f"{name}, {kind}", *cells])
    return markdown(["process", *(f"{count} waves" for count in FEATURES)], rows)


def _cell(found: Sequence[dict[str, float]]) -> str:
    """The mean distance and the mean difference with its standard error."""
    if not found:
        return ""
    ks, difference = (float(np.mean([x[name] for x in found])) for name in ("ks", "quantile"))
    error = math.sqrt(sum(x["quantile_error"] ** 2 for x in found)) / len(found)
    return f"{ks:.3f}; {difference:+.2f} ± {error:.2f}"


def tables() -> dict[str, str]:
    """The table of what is recorded, by name."""
    return {"path_features": table(read_lines(LINES))}


STUDY = RecordedStudy(
    __doc__ or "", "--features", list(map(str, FEATURES)), 1, LINES, all_runs, run_one, tables
)

if __name__ == "__main__":
    from benchmarks import path_features  # so that processes can find its functions

    path_features.STUDY.main()
