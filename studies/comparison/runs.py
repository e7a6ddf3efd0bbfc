"""One run of one method on one contest, as a line."""

import time
from dataclasses import asdict
from typing import Any

import numpy as np

from bktf.engine.settings import Strategy
from studies.lines import Job, Line, made_with, rounded
from studies.methods.other_packages import PEERS, Peer
from studies.problems.comparison_problems import CONTESTS, N_START, start_points

SEEDS = {"bktf-first": 4, "botorch": 4, "skopt": 4, "smac": 2}  # of what is recorded only and of dear peers; all others have N_SEEDS
RECORDED = ("bktf-first",)  # no more runs of these can be made
N_SEEDS = 10
QUICK_BUDGET = 2


def settings_of(method: str, contest: str, quick: bool) -> dict[str, Any]:
    """What a run depends on: the budget and, for bktf, the whole of its default strategy, so that another default is another run."""
    own: dict[str, Any] = {"budget": QUICK_BUDGET if quick else CONTESTS[contest].budget, "n_start": N_START}
    return own | ({"strategy": asdict(Strategy())} if method == "bktf" else {})


def contest_jobs(methods: list[str], contests: list[str], n_seeds: int | None, quick: bool) -> list[Job]:
    """All runs, seed by seed, so that a study that was cut off has whole replications."""
    jobs: list[Job] = []
    methods = [m for m in methods if not (quick and m in RECORDED)]
    for seed in range(n_seeds or (1 if quick else N_SEEDS)):
        for contest in contests:
            for method in methods:
                if seed < SEEDS.get(method, N_SEEDS) or (n_seeds is not None and method not in RECORDED):
                    settings = settings_of(method, contest, quick)
                    jobs.append({"experiment": "compare", "problem": contest, "method": method, "seed": seed, "settings": settings})
    return jobs


def play(job: Job) -> Line:
    """Make one run of a peer."""
    return play_with(PEERS[job["method"]], job)


def play_with(peer: Peer, job: Job) -> Line:
    """Make one run: the start points, then question and answer; values are without noise, `observed` is what the method was told."""
    from threadpoolctl import threadpool_limits

    contest = CONTESTS[job["problem"]]
    rng = np.random.default_rng([job["seed"], 3])  # of the noise, the same for every method
    values: list[float] = []
    observed: list[float] = []
    points: list[list[Any]] = []
    n_repeats, spent = 0, []
    with threadpool_limits(1):
        player = peer.make(contest, job["seed"])
        start = start_points(contest, job["seed"])

        def point_of(params: dict[str, Any]) -> list[Any]:
            return [params[name] for name in contest.space]

        for i in range(len(start) + job["settings"]["budget"]):
            if i < len(start):
                params = start[i]
            else:
                began = time.process_time()
                params = player.ask()
                spent.append(time.process_time() - began)
                n_repeats += point_of(params) in points
            points.append(point_of(params))
            values.append(contest.function(params))
            observed.append(values[-1] + contest.noise_std * float(rng.standard_normal()))
            player.tell(params, observed[-1])
    cpu = {"total": round(sum(spent), 3), "median": round(float(np.median(spent)), 4)}
    line = dict(job) | {"values": rounded(values), "n_start": len(start), "n_repeats": n_repeats, "cpu_seconds": cpu, "points": points}
    return line | ({"observed": rounded(observed)} if contest.noise_std else {}) | made_with(*peer.packages)
