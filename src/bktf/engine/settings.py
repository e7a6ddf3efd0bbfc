"""What users ask for: the objective, the settings of the engine, and their presets.

Larger is better inside. An `Objective` knows the user's direction. Values are oriented where a
history is read, and turned back where an answer is shown. The settings are those of `BKTFSampler`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from bktf._checks import MAX_TRIALS, whole_number
from bktf._typing import Floats
from bktf.acquisition import check_acquisition, check_beta
from bktf.spaces import CATEGORICAL
from bktf.surrogate import ModelSpec, Posterior, check_rank

Direction = Literal["minimize", "maximize"]

AUTO = "auto"
AUTO_RANK = 3  # components where rank "auto" uses finite rank
BURN_IN = 85  # per cent of the sweeps, where only those are given

# What a suggestion needs; `fit` by itself has the paper's lengths at finite rank.
COMPONENTS = ModelSpec(rank=AUTO_RANK, n_sweeps=400, n_burn_in=340, n_chains=4, inference="gibbs")
PROCESS = ModelSpec(rank=math.inf)


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What is optimised, as users speak of it."""

    direction: Direction
    name: str = "value"
    unit: str = ""

    @property
    def is_maximized(self) -> bool:
        """Whether larger values are better for the user."""
        return self.direction == "maximize"

    def orient(self, values: Floats) -> Floats:
        """The user's values with the sign for which larger is better."""
        return values if self.is_maximized else -values

    def to_user(self, values: Floats) -> Floats:
        """Oriented values in the user's direction."""
        return self.orient(values)  # a change of sign is its own inverse

    def orient_posterior(self, posterior: Posterior) -> Posterior:
        """The oriented posterior of one in the user's direction, and the other way round."""
        return posterior if self.is_maximized else posterior.negated()


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """How to choose. The fields are settings of `bktf.BKTFSampler`, which explains them."""

    acquisition: str = "ei"
    beta: float = 2.0
    rank: float | str = AUTO  # a whole number, math.inf or "auto"; see `model_choice`
    components: ModelSpec = COMPONENTS  # the model at finite rank
    process: ModelSpec = PROCESS  # the model at infinite rank
    main_effects: bool = False  # one more component for each dimension alone
    categorical: str = "equal"
    n_startup_trials: int | None = None
    startup_beyond_dims: int = 4  # start points beyond D, where n_startup_trials is None
    max_startup: int = 10  # start points at most, where n_startup_trials is None
    space_filling: bool = True  # scrambled Sobol start points instead of random ones
    compress: bool = True  # a process may see compressed values; see `surrogate.Warp`
    optimism: float | None = None  # 1: as good as the average where nothing is known; `prior_mean`
    refine: bool = True  # axes of continuous parameters are refined around the best points
    warm_start: bool = False  # chains start where those of the last suggestion ended
    allow_repeats: bool = False

    def __post_init__(self) -> None:
        check_acquisition(self.acquisition)
        check_choice("categorical", self.categorical, CATEGORICAL)
        if self.n_startup_trials is not None:
            whole_number("n_startup_trials", self.n_startup_trials, 0, MAX_TRIALS)
        check_beta(self.beta)
        check_optimism(self.optimism)
        if self.rank != AUTO:
            check_rank(self.rank)
        if self.rank not in (AUTO, math.inf, self.components.rank):
            raise ValueError(
                f"components.rank must be the rank, {self.rank}; got {self.components.rank}. "
                "make_settings sets both"
            )
        if self.rank == AUTO and self.components.residual_process:
            raise ValueError(
                "residual_process is an option of finite rank; give the rank too, as rank=3"
            )
        for item in fields(self):
            value = getattr(self, item.name)
            if item.type is bool and not isinstance(value, bool):
                raise ValueError(f"{item.name} must be True or False; got {value!r}")

    def n_startup(self, n_dims: int) -> int:
        """Points of the start design: as set, or by the number of dimensions."""
        if self.n_startup_trials is not None:
            return self.n_startup_trials
        return min(n_dims + self.startup_beyond_dims, self.max_startup)


PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {
        "acquisition": "max",
        "rank": 2,
        "n_sweeps": 400,
        "n_burn_in": 200,
        "n_chains": 1,
        "inference": "gibbs",
        "startup_beyond_dims": 0,
        "max_startup": MAX_TRIALS,
        "space_filling": False,
        "compress": False,
        "optimism": 1.0,
        "refine": False,
        "warm_start": True,
    },
}

LENGTHS = ("n_sweeps", "n_burn_in", "n_chains")
# Fields of ModelSpec at finite rank
OF_COMPONENTS = ("adapt_rank", "offsets", "residual_process", "inference")
OF_BOTH = ("priors", "noise_std")  # fields of ModelSpec at every rank


def make_settings(preset: str, changes: Mapping[str, Any]) -> EngineSettings:
    """The settings of a preset, replaced by those changes that are not None.

    Chain lengths are of components, unless the rank is infinite.
    """
    check_choice("preset", preset, tuple(PRESETS))
    given = {name: value for name, value in changes.items() if value is not None}
    chosen = {**PRESETS[preset], **given}
    rank = chosen.setdefault("rank", AUTO)
    if not isinstance(rank, str) or rank != AUTO:
        check_rank(rank)
    n_sweeps = chosen.get("n_sweeps")
    if "n_burn_in" not in chosen and isinstance(n_sweeps, int | np.integer) and n_sweeps >= 1:
        chosen["n_burn_in"] = BURN_IN * int(n_sweeps) // 100
    both = {name: chosen.pop(name) for name in OF_BOTH if name in chosen}
    lengths = {name: chosen.pop(name) for name in LENGTHS if name in chosen}
    flags = {name: chosen.pop(name) for name in OF_COMPONENTS if name in chosen}
    is_process = rank == math.inf
    refused = [name for name, on in flags.items() if on and name != "inference"]
    if is_process and (refused or chosen.get("main_effects")):
        name = refused[0] if refused else "main_effects"
        raise ValueError(f"{name} is about components, and rank=math.inf has none. Leave it out")
    finite = {"rank": AUTO_RANK if is_process or rank == AUTO else rank, **flags, **both}
    return EngineSettings(
        components=replace(COMPONENTS, **finite, **({} if is_process else lengths)),
        process=replace(PROCESS, **both, **(lengths if is_process else {})),
        **chosen,
    )


def check_optimism(optimism: object) -> None:
    """Refuse what is no place between the worst and the average."""
    is_number = isinstance(optimism, int | float | np.number) and not isinstance(optimism, bool)
    if optimism is not None and not (is_number and 0.0 <= optimism <= 1.0):  # type: ignore[operator]
        raise ValueError(
            "optimism must be a number from 0 (where nothing is known, the worst value seen is "
            f"expected) to 1 (the average), or None for the default rule; got {optimism!r}"
        )


def seed_for(*numbers: int) -> int:
    """A seed derived from whole numbers; different numbers give independent random streams."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is none of the allowed names."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")
