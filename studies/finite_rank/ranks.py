"""Whether `fit(rank="auto")` finds the rank of data that were drawn from the model.

"condition": every component has at least a tenth of the components' variance over the grid, and the
noise is 5 % of the spread. "gamma process": the same data sets, at most six components whose
weights a multiplicative gamma process shrinks; the estimate is the most frequent number of
components with at least 1 % of the variance. "prior": everything is drawn from the prior of the
comparison, the rank with equal probabilities, and the stated probabilities are compared with how
often they were right.
Dimensions, sizes and seeds were fixed before the first line.
"""

import itertools
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import bktf
from bktf.surrogate import fit_ranks
from studies.lines import Line, RunKey, key_of, made_with, rounded
from studies.problems import Floats
from studies.table_writer import markdown

N_POINTS = 80
NOISE_SHARE = 0.05
MIN_SHARE = 0.1  # of the variance, of a component
AXIS_POINTS = {2: 20, 3: 12, 4: 9}  # by dimension
TRUE_RANKS = (1, 2, 3)
N_SETS = 20  # for each true rank
N_PRIOR_SETS = 80
PRIOR_RANKS = (1, 2, 3, 4)
MAX_TRIES = 10_000
SHRUNK = {"rank": 6, "n_sweeps": 400, "n_burn_in": 200, "n_chains": 64}  # of the gamma process
BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 1.0)  # of stated probabilities


def rank_runs() -> list[RunKey]:
    """Data sets with the condition, by true rank, and data sets from the prior."""
    with_condition = [
        _key("condition", rank, seed) for seed in range(N_SETS) for rank in TRUE_RANKS
    ]
    shrunk = [
        _key("gamma process", rank, seed) | {"settings": _of_data(seed) | SHRUNK}
        for seed in range(N_SETS)
        for rank in TRUE_RANKS
    ]
    return with_condition + shrunk + [_key("prior", None, seed) for seed in range(N_PRIOR_SETS)]


def _of_data(seed: int) -> dict[str, Any]:
    """What a data set depends on, beside the rank and the seed."""
    return {"n": N_POINTS, "n_dims": 2 + seed % 3}


def _key(method: str, rank: int | None, seed: int) -> dict[str, Any]:
    return {
        "experiment": "rank",
        "problem": "any rank" if rank is None else f"rank {rank}",
        "method": method,
        "seed": seed,
        "settings": _of_data(seed)
        | {
            "particles": [fit_ranks.N_GROUPS, fit_ranks.N_PARTICLES],
            "sweeps": list(fit_ranks.SWEEPS_PER_STEP.values()),
        },
    }


def run_rank(key: RunKey) -> Line:
    """Draw a data set, fit all ranks, record their probabilities."""
    n_dims, is_prior = key["settings"]["n_dims"], key["method"] == "prior"
    number = 0 if is_prior else int(key["problem"].split()[1])
    rng = np.random.default_rng([key["seed"], number, n_dims, 20])
    rank = int(rng.choice(PRIOR_RANKS)) if is_prior else number
    axes = [np.linspace(0, 1, AXIS_POINTS[n_dims])] * n_dims
    X, y = _draw_data(axes, rank, rng, is_prior)
    if key["method"] == "gamma process":
        return dict(key) | {"true_rank": rank} | _run_shrunk(axes, X, y, key) | made_with()
    equal = {float(r): 1.0 for r in PRIOR_RANKS}
    prior = equal if is_prior else None
    began = time.process_time()
    posterior = bktf.fit(axes, X, y, rank="auto", rank_prior=prior, seed=key["seed"], n_threads=1)
    assert isinstance(posterior, bktf.RankPosterior)
    result = {
        "true_rank": rank,
        "probabilities": rounded(list(posterior.rank_probabilities.values())),
        "log_evidences": rounded(list(posterior.log_evidences.values())),
        "errors": rounded(list(posterior.log_evidence_errors.values())),
        "seconds": rounded(time.process_time() - began),
    }
    return dict(key) | result | made_with()


def _run_shrunk(axes: Sequence[Floats], X: Floats, y: Floats, key: RunKey) -> Line:
    """Fit components with shrunk weights; how often each number of them occurs in the draws."""
    settings = {name: key["settings"][name] for name in SHRUNK}
    began = time.process_time()
    posterior = bktf.fit(axes, X, y, adapt_rank=True, seed=key["seed"], n_threads=1, **settings)
    counts = np.bincount(posterior.ranks, minlength=settings["rank"] + 1)
    return {
        "probabilities": rounded((counts[1:] / counts.sum()).tolist()),
        "seconds": rounded(time.process_time() - began),
    }


def _draw_data(
    axes: Sequence[Floats], rank: int, rng: np.random.Generator, is_prior: bool
) -> tuple[Floats, Floats]:
    """Points (n, D) and values (n,) from the model of this rank."""
    priors = bktf.Priors()
    for _ in range(MAX_TRIES):
        components = _components(axes, rank, rng, priors)
        variances = components.reshape(rank, -1).var(axis=1)
        if is_prior or variances.min() >= MIN_SHARE * variances.sum():
            break
    f = components.sum(axis=0)
    cells = rng.choice(f.size, N_POINTS, replace=False)
    index = np.stack(np.unravel_index(cells, f.shape), axis=1)
    X = np.stack([axis[index[:, d]] for d, axis in enumerate(axes)], axis=1)
    noise = NOISE_SHARE * f.std()
    if is_prior:
        f = f + math.sqrt(priors.weight_var) * rng.standard_normal()  # the constant
        noise = (rng.standard_gamma(priors.noise_shape) / priors.noise_rate) ** -0.5
    return X, f.ravel()[cells] + noise * rng.standard_normal(N_POINTS)


def _components(
    axes: Sequence[Floats], rank: int, rng: np.random.Generator, priors: bktf.Priors
) -> Floats:
    """Weighted products of factors over the whole grid, (R, m_1, …, m_D)."""
    log_size = priors.process_size_log_mean
    log_size += math.sqrt(priors.process_size_log_var) * rng.standard_normal()
    products = []
    for _ in range(rank):
        product: Floats = math.sqrt(math.exp(log_size) / rank) * rng.standard_normal(())
        for axis in axes:
            spread = math.sqrt(priors.lengthscale_log_var) * rng.standard_normal()
            r = (
                math.sqrt(3)
                * np.abs(axis[:, None] - axis)
                / math.exp(priors.lengthscale_log_mean + spread)
            )
            root = np.linalg.cholesky((1 + r) * np.exp(-r) + 1e-10 * np.eye(axis.size))
            product = np.multiply.outer(product, root @ rng.standard_normal(axis.size))
        products.append(product)
    return np.stack(products)


def _todays(lines: Sequence[Line], method: str) -> list[Line]:
    """The lines of a method with the particles and sweeps of today."""
    wanted = {key_of(key) for key in rank_runs() if key["method"] == method}
    return [line for line in lines if key_of(line) in wanted]


def recovery_table(lines: Sequence[Line]) -> str:
    """How often the true rank is the most probable, and within one of it."""
    rows = []
    for method in ("condition", "gamma process"):
        found = _todays(lines, method)
        for name in [*(f"rank {r}" for r in TRUE_RANKS), "all"]:
            own = [line for line in found if name in ("all", line["problem"])]
            if not own:
                continue
            by = "evidence" if method == "condition" else method
            ranks = np.array([1, 2, 3, 4, math.inf] if by == "evidence" else range(1, 7))
            likely = np.array([ranks[np.argmax(line["probabilities"])] for line in own])
            truth = np.array([line["true_rank"] for line in own])
            exact, near = np.mean(likely == truth), np.mean(np.abs(likely - truth) <= 1)
            errors = [x["errors"][np.argmax(x["probabilities"])] for x in own if "errors" in x]
            error = f"{np.median(errors):.2f}" if errors else ""
            seconds = np.median([line["seconds"] for line in own])
            rows.append(
                [by, name, str(len(own)), f"{100 * exact:.0f} %", f"{100 * near:.0f} %", error,
                 f"{seconds:.1f}"]
            )  # fmt: skip
    header = ["by", "data", "sets", "most probable is the true one", "within one"]
    return markdown([*header, "error of its evidence, nats", "CPU s"], rows)


def calibration_table(lines: Sequence[Line]) -> str:
    """Stated probabilities of ranks against how often they were the true ones."""
    found = _todays(lines, "prior")
    stated = np.concatenate([line["probabilities"] for line in found]) if found else np.empty(0)
    truth = np.concatenate(
        [np.array(PRIOR_RANKS) == line["true_rank"] for line in found] or [np.empty(0)]
    )
    rows = []
    for low, high in itertools.pairwise(BINS):
        inside = (stated >= low) & ((stated < high) | (high == 1.0))
        if inside.any():
            p = stated[inside]
            error = math.sqrt(float((p * (1 - p)).sum())) / p.size
            rows.append(
                [f"{100 * low:.0f} to {100 * high:.0f} %", str(p.size), f"{100 * p.mean():.1f} %",
                 f"{100 * truth[inside].mean():.1f} %", f"{100 * error:.1f}"]
            )  # fmt: skip
    return markdown(["stated", "cases", "mean stated", "true", "standard error"], rows)
