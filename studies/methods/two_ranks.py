"""bktf with the rank of each suggestion chosen by a record of predictions, or by evidence.

Two rules that were compared with the sampler's own (docs/model_choices.md). Both give every rank a
share of the suggestions, at least MIN_SHARE.

    scores     both ranks are fitted, and predict the value at the chosen point. The share of finite
               rank grows with its lead in log density over the latest predictions
    evidence   the share of finite rank follows its posterior probability against infinite rank,
               from one small population (`components.temper`) and importance sampling
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from bktf._compiled import Progress
from bktf.components import stack_states, temper
from bktf.engine import Engine, EngineSettings, History, Model, Objective, make_settings, seed_for
from bktf.spaces import Parameter, parameters_of, values_at
from bktf.surrogate import Warp, fitting
from bktf.surrogate.fit_components import make_component_problem, state_from_prior
from bktf.surrogate.fit_process import evidence_of_process
from bktf.surrogate.fit_ranks import spec_of_rank
from studies.methods.protocol import Method
from studies.problems import Floats, Params, Problem

FINITE = 3
MIN_SHARE = 1 / 6  # of the suggestions, for either rank
MAX_LEAD = 3.0  # nats that one prediction counts at most
MEMORY = 0.9  # by which a prediction counts less with every later one
N_PARTICLES, SWEEPS_PER_STEP = 32, 2  # of the population behind the evidence
GOLDEN = (math.sqrt(5) - 1) / 2  # multiples of it, modulo 1, are spread evenly


class Forecast(NamedTuple):
    """The normal distribution of the next observation, of warped values where there is a warp."""

    mean: float
    variance: float
    warp: Warp | None

    def log_density(self, value: float) -> float:
        """Of an oriented value."""
        y, slope = np.array([value]), 0.0
        if self.warp is not None:
            slope, y = float(self.warp.log_slope(y)[0]), self.warp.forward(y)
        error = float(y[0]) - self.mean
        return slope - 0.5 * (error**2 / self.variance + math.log(2 * math.pi * self.variance))


def forecast_of(model: Model, point: Floats) -> Forecast:
    """What a model expects at a point (D,)."""
    posterior = model.posterior
    assert posterior is not None
    noise = float(np.mean(posterior.noise_std**2))
    variance = float(posterior.std(point[None])[0]) ** 2 + noise
    is_warped = not np.isin(posterior.y, model.history.y).all()
    warp = Warp.of(model.history.y) if is_warped else None
    return Forecast(float(posterior.mean(point[None])[0]), variance, warp)


def finite_share(log_odds: float) -> float:
    """The share of the suggestions that finite rank makes."""
    probability = 1.0 / (1.0 + math.exp(-min(max(log_odds, -50.0), 50.0)))
    return MIN_SHARE + (1.0 - 2.0 * MIN_SHARE) * probability


@dataclass
class TwoRanks:
    """One run; it keeps what the storage would."""

    parameters: tuple[Parameter, ...]
    engines: Mapping[float, Engine]  # by rank
    rule: str
    points: list[Params] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    leads: list[float] = field(default_factory=list)  # of finite rank, in log density
    forecasts: dict[float, Forecast] = field(default_factory=dict)  # of what was asked for

    def tell(self, params: Params, value: float) -> None:
        """Take in a value; the forecasts of it are compared."""
        if self.forecasts:
            finite, infinite = (self.forecasts[r].log_density(-value) for r in (FINITE, math.inf))
            self.leads.append(min(max(finite - infinite, -MAX_LEAD), MAX_LEAD))
        self.forecasts = {}
        self.points.append(params)
        self.values.append(value)

    def ask(self) -> Params:
        """Fit what the rule needs, and choose with the rank whose turn it is."""
        coordinates = [
            [p.coordinate(params[p.name]) for p in self.parameters] for params in self.points
        ]
        X = np.array(coordinates, dtype=float).reshape(-1, len(self.parameters))
        nothing = X[:0]
        history = History(X, -np.array(self.values), nothing, X, nothing)
        number = len(X)
        if self.rule == "scores":
            weights = MEMORY ** np.arange(len(self.leads))[::-1]
            share = finite_share(float(weights @ np.array(self.leads)))
        else:
            share = finite_share(self._log_odds(history))
        rank = FINITE if number * GOLDEN % 1.0 < share else math.inf
        wanted = self.engines if self.rule == "scores" else {rank: self.engines[rank]}
        models = {r: engine.learn(history, number) for r, engine in wanted.items()}
        point = self.engines[rank].choose(models[rank], number, nothing, nothing).point
        if self.rule == "scores":
            self.forecasts = {r: forecast_of(model, point) for r, model in models.items()}
        return values_at(self.parameters, point)

    def _log_odds(self, history: History) -> float:
        """Log evidence of finite minus that of infinite rank, of plain values."""
        engine = self.engines[FINITE]
        axes = [p.axis(history.X[:, d], history.X[:0, d]) for d, p in enumerate(self.parameters)]
        spec = replace(
            engine.settings.components,
            rank=FINITE,
            n_sweeps=None,
            n_burn_in=None,
            n_chains=None,
            inference="annealed",
            kernel=[p.kernel("equal") for p in self.parameters],
            log=[p.log for p in self.parameters],
        )
        X = np.stack([axis.observed for axis in axes], axis=1)
        found = {}
        rng = np.random.default_rng(seed_for(engine.seed, len(X), 7))
        for rank in (FINITE, math.inf):
            one = spec_of_rank(spec, rank)
            data = fitting._observed(one, [a.points for a in axes], X, history.y)[0]
            if rank == math.inf:
                found[rank] = evidence_of_process(one, data, rng).log
                continue
            problem = make_component_problem(one, data).problem
            states = [state_from_prior(problem, data, rng) for _ in range(N_PARTICLES)]
            progress = Progress(Event(), lambda _: None)
            population = stack_states(states)
            tempered = temper(problem, population, SWEEPS_PER_STEP, rng, progress)
            found[rank] = tempered.log_evidence
        return found[FINITE] - found[math.inf]


def two_ranks(
    problem: Problem, seed: int, rule: str, changes: Mapping[str, Any] | None = None
) -> Method:
    """The method with this rule; changes are settings of the sampler."""
    parameters = parameters_of(dict(problem.space), frozenset())

    def engine(rank: float) -> Engine:
        settings: EngineSettings = make_settings("default", {**(changes or {}), "rank": rank})
        settings = replace(settings, allow_repeats=problem.noise_std > 0)
        return Engine(parameters, Objective(direction="minimize"), settings, seed)

    return TwoRanks(parameters, {r: engine(r) for r in (FINITE, math.inf)}, rule)
