"""From what was tried to what to try next: a start design, then the surrogate and its acquisition.

A suggestion is a function of the search space, the history, the settings and a seed; nothing is remembered between suggestions.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf.acquisition import check_acquisition, check_beta, choose
from bktf.fitting import fit
from bktf.history import History
from bktf.model import Priors, Settings, check_noise_std, whole_number
from bktf.posterior import Posterior
from bktf.space import CATEGORICAL, Parameter, n_points

Floats = NDArray[np.float64]
Feasible = Callable[[dict[str, Any]], bool]

N_INCUMBENTS = 4  # best points around which axes are refined
SHARPNESS = 12.0  # of the step from failure (0) to success (1): the chance at 0 is 0.25 %
LEAST_CAUTION, MOST_CAUTION = 1.0, 32.0  # powers of the chance of success
CAUTION_WINDOW = 30  # latest trials whose share of failures sets the caution
MAX_TRIES = 20_000  # random points asked for one that is allowed
ENUMERATE_POINTS = 200_000  # spaces up to this size are searched whole for a point that is left


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """How to choose; the fields are the settings of `bktf.BKTFSampler`, where they are explained."""

    acquisition: str = "ei"
    beta: float = 2.0
    rank: int = 3
    n_sweeps: int = 150
    n_burn_in: int = 100
    n_chains: int = 4
    priors: Priors = field(default_factory=Priors)
    noise_std: float | None = None
    categorical: str = "equal"
    n_startup_trials: int | None = None
    startup_beyond_dims: int = 4  # where n_startup_trials is None: so many more than there are dimensions
    space_filling: bool = True  # scrambled Sobol start points instead of random ones
    refine: bool = True  # axes of continuous parameters are refined around the best points
    warm_start: bool = False  # chains start where those of the last suggestion ended
    allow_repeats: bool = False

    def __post_init__(self) -> None:
        check_acquisition(self.acquisition)
        if self.categorical not in CATEGORICAL:
            raise ValueError(f"categorical must be one of {', '.join(map(repr, CATEGORICAL))}; got {self.categorical!r}")
        if self.n_startup_trials is not None:
            whole_number("n_startup_trials", self.n_startup_trials, 0)
        whole_number("rank", self.rank, 1)
        Settings(n_sweeps=self.n_sweeps, n_burn_in=self.n_burn_in, n_chains=self.n_chains)
        if not isinstance(self.priors, Priors):
            raise ValueError(f"priors must be a bktf.Priors; got {type(self.priors).__name__}")
        check_beta(self.beta)
        check_noise_std(self.noise_std)
        for name in ("allow_repeats", "space_filling", "refine", "warm_start"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}")

    def n_startup(self, n_dims: int) -> int:
        """Points of the start design: as set, or by the number of dimensions."""
        return n_dims + self.startup_beyond_dims if self.n_startup_trials is None else self.n_startup_trials


PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {
        "acquisition": "max", "rank": 2, "n_sweeps": 400, "n_burn_in": 200, "n_chains": 1,
        "startup_beyond_dims": 0, "space_filling": False, "refine": False, "warm_start": True,
    },
}  # fmt: skip


def make_strategy(preset: str, settings: Mapping[str, Any]) -> Strategy:
    """The strategy of a preset, with the settings that are not None put over it."""
    if preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(map(repr, PRESETS))}; got {preset!r}")
    known = {f.name for f in fields(Strategy)}
    assert settings.keys() <= known
    return Strategy(**{**PRESETS[preset], **{name: value for name, value in settings.items() if value is not None}})


class Suggestion(NamedTuple):
    """A point to try, as coordinates, and what the model expects of it."""

    point: Floats  # (D,)
    expected_improvement: float | None  # in the user's units, where the acquisition is EI
    is_repeat: bool  # whether everything was tried already


class Model(NamedTuple):
    """What the history teaches, before the last look at what is under way."""

    posterior: Posterior  # in the user's units and direction
    chance: Callable[[Floats], Floats] | None  # of success at points; None where nothing failed
    history: History


def seed_for(*numbers: int) -> int:
    """A seed that belongs to these whole numbers alone."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


# --- the start ---------------------------------------------------------------------------------------------------


def start_point(
    parameters: Sequence[Parameter],
    strategy: Strategy,
    number: int,
    seed: int,
    avoid: Floats,
    feasible: Callable[[Floats], bool] | None,
    fixed: Mapping[int, float],
) -> Suggestion:
    """Point `number` of a scrambled Sobol sequence; where that is to be avoided (avoid is (n, D)) or not feasible, a random one."""
    taken = {tuple(row) for row in avoid.tolist()}
    rng = np.random.default_rng(seed_for(seed, number))

    def place(units: Floats) -> tuple[float, ...]:
        return tuple(fixed[d] if d in fixed else p.from_unit(float(u)) for d, (p, u) in enumerate(zip(parameters, units, strict=True)))

    def is_good(point: tuple[float, ...], repeats: bool) -> bool:
        return (repeats or point not in taken) and (feasible is None or feasible(np.array(point)))

    first = place(_sobol(len(parameters), number, seed) if strategy.space_filling else rng.random(len(parameters)))
    if is_good(first, strategy.allow_repeats):
        return Suggestion(np.array(first), None, False)
    for _ in range(MAX_TRIES):
        point = place(rng.random(len(parameters)))
        if is_good(point, strategy.allow_repeats):
            return Suggestion(np.array(point), None, False)
    left = _any_left(parameters, is_good, fixed, rng)
    if left is not None:
        return Suggestion(np.array(left), None, False)
    for _ in range(MAX_TRIES):
        point = place(rng.random(len(parameters)))
        if is_good(point, True):
            return Suggestion(np.array(point), None, True)
    raise ValueError(
        f"no point that `feasible` allows was found among {MAX_TRIES:,} random ones; "
        "it must be true on a part of the space that can be found"
    )


def _sobol(n_dims: int, number: int, seed: int) -> Floats:
    """Point `number` of a scrambled Sobol sequence in [0, 1)^D, the scrambling given by the seed."""
    from scipy.stats import qmc  # takes half a second to import, and only a start needs it

    sequence = qmc.Sobol(n_dims, scramble=True, rng=np.random.default_rng(seed_for(seed)))
    if number:
        sequence.fast_forward(number)
    point: Floats = np.asarray(sequence.random(1)[0], dtype=np.float64)
    return np.minimum(point, 1.0 - 2.0**-53)


def _any_left(
    parameters: Sequence[Parameter],
    is_good: Callable[[tuple[float, ...], bool], bool],
    fixed: Mapping[int, float],
    rng: np.random.Generator,
) -> tuple[float, ...] | None:
    """A point that is left on a small finite space, by looking at all of them in random order."""
    free = [d for d in range(len(parameters)) if d not in fixed]
    total = n_points([parameters[d] for d in free])
    if total > ENUMERATE_POINTS:
        return None
    sizes = [int(parameters[d].n_values) for d in free]
    for flat in rng.permutation(int(total)):
        units = dict(zip(free, (np.array(np.unravel_index(flat, sizes)) + 0.5) / sizes, strict=True)) if free else {}
        point = tuple(fixed[d] if d in fixed else _value_number(p, units[d]) for d, p in enumerate(parameters))
        if is_good(point, False):
            return point
    return None


def _value_number(parameter: Parameter, share: float) -> float:
    """The coordinate of the value at this share of a finite parameter's values."""
    if parameter.places is not None:
        return parameter.from_unit(share)
    return float(parameter.axis(np.zeros(0), np.zeros(0)).points[int(share * parameter.n_values)])


# --- the model ---------------------------------------------------------------------------------------------------


def fit_history(
    parameters: Sequence[Parameter],
    history: History,
    strategy: Strategy,
    maximize: bool,
    seed: int,
    fixed: Mapping[int, float],
    warm_start: Posterior | None = None,
) -> Model:
    """Fit the surrogate to the values, and where something failed a second one to success."""
    best_first = np.argsort(-history.y if maximize else history.y, kind="stable")[: N_INCUMBENTS if strategy.refine else 0]
    n, n_tried, n_pending = len(history.X), len(history.tried), len(history.pending)
    wanted = np.concatenate(
        (np.array([[fixed.get(d, math.nan) for d in range(len(parameters))]]), history.pending, history.tried, history.X)
    )
    axes, moved = [], np.empty_like(wanted)
    for d, parameter in enumerate(parameters):
        first = 0 if d in fixed else 1
        refined = parameter.axis(wanted[first:, d], history.X[best_first, d])
        axes.append(refined.points)
        moved[first:, d] = refined.observed
    on_axes = history._replace(
        X=moved[len(moved) - n :], pending=moved[1 : 1 + n_pending], tried=moved[1 + n_pending : 1 + n_pending + n_tried]
    )
    kernels = [p.kernel(strategy.categorical) for p in parameters]
    log = [p.log for p in parameters]
    try:
        posterior = fit(
            axes, on_axes.X, history.y, seed=seed, kernel=kernels, log=log, priors=strategy.priors, noise_std=strategy.noise_std,
            rank=strategy.rank, n_sweeps=strategy.n_sweeps, n_burn_in=strategy.n_burn_in, n_chains=strategy.n_chains, warm_start=warm_start,
        )  # fmt: skip
    except ValueError:
        if warm_start is None:
            raise
        return fit_history(parameters, history, strategy, maximize, seed, fixed)  # the space has changed: without the warm start
    chance = None
    if len(history.failed):
        X = np.concatenate((on_axes.X, history.failed))
        label = np.concatenate((np.ones(n), np.zeros(len(history.failed))))
        success = fit(
            axes, X, label, seed=seed_for(seed, 1), kernel=kernels, log=log, priors=strategy.priors, n_sweeps=150, n_burn_in=100, n_chains=2
        )

        power = caution(history)

        def chance(points: Floats) -> Floats:
            return np.asarray(
                (1.0 / (1.0 + np.exp(np.clip(SHARPNESS * (0.5 - success.draws_at(points)), -50.0, 50.0)))).mean(axis=0) ** power
            )

    return Model(posterior, chance, on_axes)


def caution(history: History) -> float:
    """The power to which the chance of success is raised: 3 where a tenth of the latest trials failed, doubling with every twentieth more.

    The model of success is rough and improvement looks largest where nothing has a value, so plain EI × chance spends up to two fifths of
    its trials in a failing quarter; docs/sampler.md has the figures.
    """
    latest = history.tried[-CAUTION_WINDOW:].tolist()
    failed = {tuple(row) for row in history.failed.tolist()}
    share = sum(tuple(row) in failed for row in latest) / max(len(latest), 10)
    return float(np.clip(3.0 * 2.0 ** ((share - 0.1) / 0.05), LEAST_CAUTION, MOST_CAUTION))


def next_point(
    model: Model,
    strategy: Strategy,
    maximize: bool,
    seed: int,
    pending: Floats,
    also_avoid: Floats,
    feasible: Callable[[Floats], bool] | None,
    fixed: Mapping[int, float],
) -> Suggestion:
    """The point to try next given what is under way now; a repeat where everything was tried."""
    signed = model.posterior if maximize else model.posterior.negated()
    inside = _inside(signed, pending)
    best = float(signed.mean(signed.X).max()) if strategy.allow_repeats else None
    avoid = np.concatenate((model.history.tried, model.history.X, _inside(signed, also_avoid)))

    def ask(exclude: Floats | None, waiting: Floats) -> Any:
        return choose(
            signed, strategy.acquisition, beta=strategy.beta, exclude=exclude, pending=waiting, feasible=feasible, chance=model.chance,
            fixed=fixed, best=best, seed=seed,
        )  # fmt: skip

    choice = ask(None if strategy.allow_repeats else avoid, inside)
    is_repeat = choice.point is None
    if is_repeat:
        choice = ask(None, np.empty((0, len(signed.grid))))
    if choice.point is None:
        raise ValueError("no point that `feasible` allows was found; it must be true on a part of the space that can be found")
    return Suggestion(choice.point, choice.value if strategy.acquisition == "ei" else None, is_repeat)


def _inside(posterior: Posterior, points: Floats) -> Floats:
    """The points that lie in the box of the posterior, and on a level where an axis has levels."""
    keep = np.ones(len(points), dtype=bool)
    for d, axis in enumerate(posterior.grid):
        keep &= (points[:, d] >= axis.points[0]) & (points[:, d] <= axis.points[-1])
        if axis.kernel.on_levels:
            keep[keep] &= axis.locate(points[keep, d]) >= 0
    return points[keep]
