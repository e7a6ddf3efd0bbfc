"""What users ask for: the objective, the settings of the engine, and their presets.

Larger is better inside. An `Objective` knows the user's direction. Values are oriented where a
history is read, and turned back where an answer is shown. The settings are those of `BKTFSampler`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bktf._checks import MAX_RANK, MAX_TRIALS, check_noise_std, whole_number
from bktf.acquisition.choice import check_acquisition, check_beta
from bktf.spaces import CATEGORICAL
from bktf.surrogate.posterior import Posterior
from bktf.surrogate.priors import Priors, Settings

Floats = NDArray[np.float64]
Direction = Literal["minimize", "maximize"]

BURN_IN = 85  # per cent of the sweeps, where only those are given
MODELS = ("auto", "process", "components", "both")


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What is optimised, as users speak of it."""

    direction: Direction
    name: str = "value"
    unit: str = ""

    @property
    def is_maximized(self) -> bool:
        """Whether larger values are better for the user, too."""
        return self.direction == "maximize"

    def orient(self, values: Floats) -> Floats:
        """Values in the user's direction as values of which larger ones are better."""
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
    model: str = "auto"  # the kind of surrogate; see `model_choice`
    rank: int = 3
    n_sweeps: int = 400  # of components
    n_burn_in: int = 340
    n_chains: int = 4
    process_sweeps: int = 40  # its function values are integrated out, so few sweeps are enough
    process_burn_in: int = 24
    process_chains: int = 2
    priors: Priors = field(default_factory=Priors)
    noise_std: float | None = None
    categorical: str = "equal"
    n_startup_trials: int | None = None
    startup_beyond_dims: int = 4  # start points beyond D, where n_startup_trials is None
    space_filling: bool = True  # scrambled Sobol start points instead of random ones
    adapt_rank: bool = False  # weights shrink from one component to the next; see `fit`
    offsets: bool = False  # factors vary around offsets that are learned; see `fit`
    main_effects: bool = False  # one more component for each dimension alone
    compress: bool = True  # a process may see compressed values; see `warping`
    refine: bool = True  # axes of continuous parameters are refined around the best points
    warm_start: bool = False  # chains start where those of the last suggestion ended
    allow_repeats: bool = False

    def __post_init__(self) -> None:
        check_acquisition(self.acquisition)
        _check_choice("categorical", self.categorical, CATEGORICAL)
        if self.n_startup_trials is not None:
            whole_number("n_startup_trials", self.n_startup_trials, 0, MAX_TRIALS)
        _check_choice("model", self.model, MODELS)
        whole_number("rank", self.rank, 1, MAX_RANK)
        Settings(n_sweeps=self.n_sweeps, n_burn_in=self.n_burn_in, n_chains=self.n_chains)
        Settings(
            n_sweeps=self.process_sweeps,
            n_burn_in=self.process_burn_in,
            n_chains=self.process_chains,
        )
        if not isinstance(self.priors, Priors):
            raise ValueError(f"priors must be a bktf.Priors; got {type(self.priors).__name__}")
        check_beta(self.beta)
        check_noise_std(self.noise_std)
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type is bool and not isinstance(value, bool):
                raise ValueError(f"{each.name} must be True or False; got {value!r}")

    def n_startup(self, n_dims: int) -> int:
        """Points of the start design: as set, or by the number of dimensions."""
        if self.n_startup_trials is not None:
            return self.n_startup_trials
        return n_dims + self.startup_beyond_dims


PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {
        "acquisition": "max",
        "model": "components",
        "rank": 2,
        "n_sweeps": 400,
        "n_burn_in": 200,
        "n_chains": 1,
        "startup_beyond_dims": 0,
        "space_filling": False,
        "compress": False,
        "refine": False,
        "warm_start": True,
    },
}


def make_settings(preset: str, changes: Mapping[str, Any]) -> EngineSettings:
    """The settings of a preset, replaced by those changes that are not None."""
    _check_choice("preset", preset, tuple(PRESETS))
    assert changes.keys() <= {each.name for each in fields(EngineSettings)}
    given = {name: value for name, value in changes.items() if value is not None}
    chosen = {**PRESETS[preset], **given}
    n_sweeps = chosen.get("n_sweeps")
    if "n_burn_in" not in chosen and isinstance(n_sweeps, int | np.integer) and n_sweeps >= 1:
        chosen["n_burn_in"] = BURN_IN * int(n_sweeps) // 100
    return EngineSettings(**chosen)


def seed_for(*numbers: int) -> int:
    """A seed that belongs to these whole numbers alone."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is none of the allowed names."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")
