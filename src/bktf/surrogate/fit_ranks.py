"""`fit(rank="auto")`: finite ranks and the infinite one, weighed by their evidence.

All ranks are compared under one prior of the noise and one of the size of f: weights have the
variance σ²/R, and σ² has the prior of the process's variance. A constant stands beside finitely
many components, because the mean of y is subtracted. What still differs: Matérn 3/2 and a
length-scale for each component at finite rank, Matérn 5/2, one length-scale for each axis and a
learned constant share at infinite rank, and the priors of the length-scales.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bktf._compiled import Progress, announce_compilation
from bktf._typing import Floats, Ints
from bktf.components import (
    ChainResult,
    ComponentDraws,
    draws_on_axes,
    stack_states,
    sweep_population,
    systematic,
    temper,
)
from bktf.gaussian_process import Evidence, ProcessDraws
from bktf.surrogate.fit_components import (
    ComponentProblem,
    join_chains,
    make_component_problem,
    state_from_prior,
)
from bktf.surrogate.fit_process import evidence_of_process, fit_process
from bktf.surrogate.model_spec import AUTO_RANK, FLAGS, ChainLengths, ModelSpec
from bktf.surrogate.observed_values import Data
from bktf.surrogate.rank_draws import RankDraws, log_mean_evidence, mix_ranks
from bktf.surrogate.run_chains import ChainCall, RunOptions, run_chains

FINITE_RANKS = (1, 2, 3, 4)
RANKS = (*FINITE_RANKS, math.inf)
N_GROUPS = 4  # independent populations of a rank: their evidences tell the error
N_PARTICLES = 64  # of a population
# Between two steps of the power, by rank: fewer components move less in a sweep, which is cheaper
SWEEPS_PER_STEP = {1: 8, 2: 4, 3: 4, 4: 4}
N_STEPS = 60  # of the power, roughly; for the progress bar
PROCESS_LENGTHS = ChainLengths(64, 24, 4)
EVIDENCE_STREAM = 5  # spawn key of the fit's seed


class Group(NamedTuple):
    """What one population found."""

    chains: ChainResult
    log_evidence: float


def check_auto(spec: ModelSpec) -> None:
    """Refuse options that only a single rank has."""
    given = [name for name in FLAGS if getattr(spec, name)]
    given += [
        name
        for name in ("active", "n_sweeps", "n_burn_in", "n_chains")
        if getattr(spec, name) is not None
    ]
    if given:
        raise ValueError(
            f'rank="auto" compares ranks under priors and lengths of its own, without {given[0]}. '
            "Leave it out, or give one rank"
        )


def check_rank_prior(given: object) -> dict[float, float]:
    """Prior probabilities of all ranks: equal, or as given, divided by their sum."""
    if given is None:
        return {rank: 1.0 / len(RANKS) for rank in RANKS}
    wanted = "rank_prior must map ranks among 1, 2, 3, 4 and math.inf to probabilities"
    if not isinstance(given, Mapping) or not set(given) <= set(RANKS):
        raise ValueError(f"{wanted}; got {given!r}")
    values = {rank: given.get(rank, 0.0) for rank in RANKS}
    is_number = all(
        isinstance(v, int | float | np.number) and not isinstance(v, bool) and 0 <= v < math.inf
        for v in values.values()
    )
    if not is_number or sum(values.values()) <= 0:
        raise ValueError(f"{wanted} of at least 0, one of them positive; got {given!r}")
    total = float(sum(values.values()))
    return {rank: float(value) / total for rank, value in values.items()}


def spec_of_rank(spec: ModelSpec, rank: float) -> ModelSpec:
    """The model of one rank under the priors of the comparison."""
    if rank == math.inf:
        priors = replace(spec.priors, process_noise_rate=spec.priors.noise_rate)
        sweeps, burn_in, chains = PROCESS_LENGTHS
        is_finite = False
    else:
        # The draws are particles, not sweeps of chains: all are kept.
        priors, is_finite = spec.priors, True
        sweeps, burn_in, chains = N_GROUPS * N_PARTICLES, 0, 1
    return replace(
        spec, rank=rank, priors=priors, comparable=is_finite, n_sweeps=sweeps, n_burn_in=burn_in,
        n_chains=chains,
    )  # fmt: skip


def fit_ranks(
    spec: ModelSpec,
    finite: Data,
    infinite: Data,
    prior: Mapping[float, float],
    entropy: int,
    options: RunOptions,
) -> RankDraws:
    """Draws of all ranks that the prior allows; the data on the axes of each kind of rank."""
    assert spec.rank == AUTO_RANK
    ranks: list[float] = [rank for rank in FINITE_RANKS if prior[rank] > 0]
    draws: list[ComponentDraws | ProcessDraws] = []
    evidences: list[Evidence] = []
    for rank, (found, evidence) in zip(
        ranks, _fit_finite(spec, finite, ranks, entropy, options), strict=True
    ):
        assert found.rank == rank
        draws.append(found)
        evidences.append(evidence)
    if prior[math.inf] > 0:
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(EVIDENCE_STREAM,)))
        process = spec_of_rank(spec, math.inf)
        draws.append(fit_process(process, infinite, entropy, None, options))
        evidences.append(evidence_of_process(process, infinite, rng))
        ranks.append(math.inf)
    return mix_ranks(draws, evidences, [prior[rank] for rank in ranks], N_GROUPS * N_PARTICLES)


def _fit_finite(
    spec: ModelSpec, data: Data, ranks: list[float], entropy: int, options: RunOptions
) -> list[tuple[ComponentDraws, Evidence]]:
    """Draws and evidence of each finite rank, several populations of each in threads."""
    if not ranks:
        return []
    specs = [spec_of_rank(spec, rank) for rank in ranks]
    made = [make_component_problem(one, data) for one in specs]
    announce_compilation(sweep_population)

    def group(call: ChainCall) -> Group:
        """One population of one rank."""
        return _temper_group(made[call.number // N_GROUPS], data, call)

    n_calls = N_GROUPS * len(ranks)
    n_reports = N_GROUPS * N_PARTICLES * N_STEPS * sum(SWEEPS_PER_STEP[int(r)] for r in ranks)
    groups = run_chains(group, n_calls, n_reports, entropy, options)
    results = []
    for i, one in enumerate(specs):
        own = groups[i * N_GROUPS : (i + 1) * N_GROUPS]
        logs = np.array([g.log_evidence for g in own])
        joined = join_chains(one, data, made[i], [g.chains for g in own], entropy)
        kept = _in_proportion(logs, np.random.default_rng([entropy % 2**63, i]))
        results.append((joined.taking(kept), log_mean_evidence(logs)))
    return results


def _temper_group(made: ComponentProblem, data: Data, call: ChainCall) -> Group:
    """Move a population from the prior to the posterior; its draws on all axis points."""
    problem = made.problem
    population = stack_states(
        [state_from_prior(problem, data, call.start_rng) for _ in range(N_PARTICLES)]
    )
    progress = Progress(call.stop, call.report)
    sweeps_per_step = SWEEPS_PER_STEP[problem.n_sized]
    found = temper(problem, population, sweeps_per_step, call.chain_rng, progress)
    chains = draws_on_axes(problem, data.grid, made.observed, found.draws, call.stop, call.fill_rng)
    return Group(chains, found.log_evidence)


def _in_proportion(logs: Floats, rng: np.random.Generator) -> Ints:
    """Indices of the particles of all groups, in proportion to the evidences of their groups."""
    weights = np.repeat(np.exp(logs - logs.max()), N_PARTICLES)
    return systematic(weights / weights.sum(), rng)
