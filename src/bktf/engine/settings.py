"""How to choose: the settings of `BKTFSampler`, their presets, and the record of what was chosen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf._checks import MAX_RANK, MAX_TRIALS, check_noise_std, whole_number
from bktf.acquisition.choice import check_acquisition, check_beta
from bktf.spaces.parameters import CATEGORICAL
from bktf.surrogate.model_spec import ModelSpec
from bktf.surrogate.priors import Priors

Floats = NDArray[np.float64]
Feasible = Callable[[dict[str, Any]], bool]


BURN_IN = 85  # per cent of the sweeps, where only those are given
MODELS = ("auto", "process", "components", "both")


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """How to choose; the fields are the settings of `bktf.BKTFSampler`, where they are explained."""

    acquisition: str = "ei"
    beta: float = 2.0
    model: str = "auto"  # the shape of the surrogate; see `shapes`
    rank: int = 3
    n_sweeps: int = 400  # of components; a process needs fewer and has its own
    n_burn_in: int = 340
    n_chains: int = 4
    process_sweeps: int = 40  # its values are integrated out, so that few sweeps are enough
    process_burn_in: int = 24
    process_chains: int = 2
    priors: Priors = field(default_factory=Priors)
    noise_std: float | None = None
    categorical: str = "equal"
    n_startup_trials: int | None = None
    startup_beyond_dims: int = 4  # where n_startup_trials is None: so many more than there are dimensions
    space_filling: bool = True  # scrambled Sobol start points instead of random ones
    adapt_rank: bool = False  # weights shrink from one component to the next; see `fit`
    offsets: bool = False  # factors vary around offsets that are learned; see `fit`
    main_effects: bool = False  # one more component for each dimension alone
    compress: bool = True  # a process may see values whose distance to the best is compressed; see `warping`
    refine: bool = True  # axes of continuous parameters are refined around the best points
    warm_start: bool = False  # chains start where those of the last suggestion ended
    allow_repeats: bool = False

    def __post_init__(self) -> None:
        check_acquisition(self.acquisition)
        if self.categorical not in CATEGORICAL:
            raise ValueError(f"categorical must be one of {', '.join(map(repr, CATEGORICAL))}; got {self.categorical!r}")
        if self.n_startup_trials is not None:
            whole_number("n_startup_trials", self.n_startup_trials, 0, MAX_TRIALS)
        if self.model not in MODELS:
            raise ValueError(f"model must be one of {', '.join(map(repr, MODELS))}; got {self.model!r}")
        whole_number("rank", self.rank, 1, MAX_RANK)
        ModelSpec(n_sweeps=self.n_sweeps, n_burn_in=self.n_burn_in, n_chains=self.n_chains)
        ModelSpec(n_sweeps=self.process_sweeps, n_burn_in=self.process_burn_in, n_chains=self.process_chains)
        if not isinstance(self.priors, Priors):
            raise ValueError(f"priors must be a bktf.Priors; got {type(self.priors).__name__}")
        check_beta(self.beta)
        check_noise_std(self.noise_std)
        for name in ("allow_repeats", "space_filling", "adapt_rank", "offsets", "main_effects", "compress", "refine", "warm_start"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}")

    def n_startup(self, n_dims: int) -> int:
        """Points of the start design: as set, or by the number of dimensions."""
        return n_dims + self.startup_beyond_dims if self.n_startup_trials is None else self.n_startup_trials


PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {
        "acquisition": "max", "model": "components", "rank": 2, "n_sweeps": 400, "n_burn_in": 200, "n_chains": 1,
        "startup_beyond_dims": 0, "space_filling": False, "compress": False, "refine": False, "warm_start": True,
    },
}  # fmt: skip


def make_strategy(preset: str, settings: Mapping[str, Any]) -> Strategy:
    """The strategy of a preset, with the settings that are not None put over it."""
    if not isinstance(preset, str) or preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(map(repr, PRESETS))}; got {preset!r}")
    known = {f.name for f in fields(Strategy)}
    assert settings.keys() <= known
    given = {**PRESETS[preset], **{name: value for name, value in settings.items() if value is not None}}
    n_sweeps = given.get("n_sweeps")
    if "n_burn_in" not in given and isinstance(n_sweeps, int | np.integer) and n_sweeps >= 1:
        given["n_burn_in"] = BURN_IN * int(n_sweeps) // 100
    return Strategy(**given)


class Suggestion(NamedTuple):
    """A point to try, as coordinates, and what the model expects of it."""

    point: Floats  # (D,)
    expected_improvement: float | None  # in the user's units, where the acquisition is EI
    is_repeat: bool  # whether everything was tried already
    is_poor: bool = False  # whether feasible points were so rare that only some near to known ones were compared


class NothingFeasible(ValueError):
    """No point that may be tried was found."""


def seed_for(*numbers: int) -> int:
    """A seed that belongs to these whole numbers alone."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
