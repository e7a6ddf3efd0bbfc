"""Other settings of bktf on the development half: what the choice of the default rests on (docs/model_choices.md)."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from bktf.engine.settings import Strategy
from bktf.surrogate.priors import Priors
from studies.comparison.rankings import normalised
from studies.comparison.runs import play_with, settings_of
from studies.lines import Job, Line
from studies.methods.other_packages import OptunaPlayer, Peer, Player
from studies.paper.summaries import lines_of
from studies.paper.tables import markdown
from studies.problems.comparison_problems import CONTESTS, DEVELOPMENT, Contest

N_SEEDS = 2
QUICK_CONTESTS = ("grid-branin", "levy4r")
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {  # name: what it is, settings that differ from the default
    "process": ("a process on finite spaces too", {"model": "process"}),
    "process, plain": ("never of warped values", {"model": "process", "compress": False}),
    "process, whole": (
        "no share of an axis is constant",
        {"model": "process", "priors": Priors(local_share_logit_mean=-7.9, local_share_logit_var=0.01)},
    ),
    "process, more noise": ("prior of the noise as for components", {"model": "process", "priors": Priors(local_noise_rate=0.01)}),
    "process, short": ("length-scales a priori half as long", {"model": "process", "priors": Priors(local_lengthscale_log_mean=-1.6)}),
    "components": ("three products of factors everywhere", {"model": "components"}),
    "components, adapting": ("at most six, weights shrunk", {"model": "components", "rank": 6, "adapt_rank": True}),
    "components, offsets": ("three, factors around offsets", {"model": "components", "offsets": True}),
    "components, main effects": ("two, and one for each dimension", {"model": "components", "rank": 2, "main_effects": True}),
    "both": ("two components and a process in one sampler", {"model": "both", "rank": 2, "n_sweeps": 120, "n_burn_in": 90}),
}


def strategy_of(name: str) -> Strategy:
    """The settings of a variant."""
    return Strategy(**VARIANTS[name][1])


def variant_jobs(n_seeds: int, quick: bool) -> list[Job]:
    """Every variant on the development half, seed by seed."""
    contests = [c.name for c in CONTESTS.values() if c.half == DEVELOPMENT]
    return [
        {"experiment": "choices", "problem": contest, "method": name, "seed": seed,
         "settings": settings_of("random", contest, quick) | {"strategy": asdict(strategy_of(name))}}
        for seed in range(n_seeds) for name in VARIANTS for contest in (QUICK_CONTESTS if quick else contests)
    ]  # fmt: skip


def play_variant(job: Job) -> Line:
    """One run of a variant."""
    from dataclasses import replace

    from bktf.optuna_sampler.sampler import BKTFSampler

    def make(contest: Contest, seed: int) -> Player:
        sampler = BKTFSampler(seed=seed, search_space=dict(contest.space))
        sampler._strategy = replace(strategy_of(job["method"]), allow_repeats=contest.noise_std > 0)
        return OptunaPlayer(contest, sampler)

    return play_with(Peer(job["method"], make, ("optuna",)), job)


def variants_table(lines: Sequence[Line], n_seeds: int) -> str:
    """Mean regret of each variant over the contests of each kind, with the default's on the same seeds; cost of a suggestion."""
    contests = [c for c in CONTESTS.values() if c.half == DEVELOPMENT and lines_of(lines, c.name, "process")]
    rows = []
    for name in ("bktf", *VARIANTS):
        runs = {c.name: [line for line in lines_of(lines, c.name, name) if line["seed"] < n_seeds] for c in contests}
        if not runs or not all(len(own) == n_seeds for own in runs.values()):
            continue
        regret = {c.name: np.mean([r[-1] for seed, r in normalised(lines, c, name).items() if seed < n_seeds]) for c in contests}
        means = []
        for kind in ("continuous", "grid", "mixed", "all"):
            here = [regret[c.name] for c in contests if kind in ("all", c.kind)]
            means.append(np.mean(here) if here else np.nan)
        spent = [line["cpu_seconds"]["total"] / line["settings"]["budget"] for own in runs.values() for line in own]
        title, what = ("the default", "") if name == "bktf" else (name, VARIANTS[name][0])
        rows.append([title, what, *(f"{m:.3f}" for m in means), f"{np.mean(spent):.2g}"])
    return markdown(["settings", "what they are", "continuous", "grid", "mixed", "all", "CPU s"], rows)
