"""The methods of `bktf compare`: bktf's sampler and the real packages of others, at their own defaults.

A method is a small class: it is made for a contest and a seed, told points and values, and asked for the next point. What a package does
with a space is its own affair: peers that repeat points on a grid are left as they are.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from studies.problems.comparison_problems import Contest

Floats = NDArray[np.float64]
Params = dict[str, Any]


class Player(Protocol):
    """What the runner needs of a method."""

    def tell(self, params: Params, value: float) -> None:
        """Take in a point that was tried and its value."""

    def ask(self) -> Params:
        """The next point to try."""


@dataclass
class OptunaPlayer:
    """Any Optuna sampler, in a study of its own."""

    contest: Contest
    sampler: Any
    study: Any = None
    asked: Any = None

    def __post_init__(self) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.study = optuna.create_study(sampler=self.sampler)

    def tell(self, params: Params, value: float) -> None:
        """Tell the trial that was asked for, or add one that was given."""
        import optuna

        if self.asked is not None:
            self.study.tell(self.asked, value)
            self.asked = None
            return
        self.study.add_trial(optuna.create_trial(params=params, distributions=dict(self.contest.space), value=value))

    def ask(self) -> Params:
        """Ask for a trial with the whole space."""
        self.asked = self.study.ask(dict(self.contest.space))
        return dict(self.asked.params)


def _optuna(make: Callable[[int], Any]) -> Callable[[Contest, int], Player]:
    return lambda contest, seed: OptunaPlayer(contest, make(seed))


def _bktf(contest: Contest, seed: int) -> Player:
    from bktf.optuna_sampler.sampler import BKTFSampler

    return OptunaPlayer(contest, BKTFSampler(seed=seed, search_space=dict(contest.space), allow_repeats=contest.noise_std > 0))


def _optuna_sampler(name: str, seed: int) -> Any:
    import warnings

    import optuna

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return getattr(optuna.samplers, name)(seed=seed)


@dataclass(frozen=True)
class Cube:
    """Parameters as numbers: coordinates in [0, 1], logarithms where the parameter is logarithmic, a category's place among its choices."""

    space: Mapping[str, BaseDistribution]

    @property
    def categorical(self) -> list[int]:
        """Places of the categories."""
        return [d for d, dist in enumerate(self.space.values()) if isinstance(dist, CategoricalDistribution)]

    def to_numbers(self, params: Params) -> Floats:
        """The coordinates (D,) of a point."""
        return np.array([_coordinate(dist, params[name]) for name, dist in self.space.items()])

    def to_params(self, numbers: Floats) -> Params:
        """The nearest point."""
        return {name: _value(dist, float(v)) for (name, dist), v in zip(self.space.items(), numbers, strict=True)}


def _coordinate(distribution: BaseDistribution, value: Any) -> float:
    if isinstance(distribution, CategoricalDistribution):
        return float(distribution.choices.index(value))
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    scale = np.log if distribution.log else float
    return float((scale(value) - scale(distribution.low)) / (scale(distribution.high) - scale(distribution.low)))


def _value(distribution: BaseDistribution, coordinate: float) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(np.clip(round(coordinate), 0, len(distribution.choices) - 1))]
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, u = distribution.low, distribution.high, float(np.clip(coordinate, 0.0, 1.0))
    value = float(np.exp(np.log(low) + u * (np.log(high) - np.log(low)))) if distribution.log else low + u * (high - low)
    if isinstance(distribution, IntDistribution):
        return int(np.clip(round(value), low, high))
    return float(np.clip(value, low, high))


@dataclass
class BoTorchPlayer:
    """BoTorch's SingleTaskGP and LogEI; its mixed kernel and optimiser where there are categories; whole numbers are rounded."""

    contest: Contest
    seed: int
    X: list[Floats] = field(default_factory=list)
    y: list[float] = field(default_factory=list)

    def tell(self, params: Params, value: float) -> None:
        """Keep the point."""
        self.X.append(Cube(self.contest.space).to_numbers(params))
        self.y.append(value)

    def ask(self) -> Params:
        """Fit by marginal likelihood and maximise LogEI from ten of 512 starts, as BoTorch's tutorials do."""
        import warnings

        import torch
        from botorch.acquisition import LogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import MixedSingleTaskGP, SingleTaskGP
        from botorch.optim import optimize_acqf, optimize_acqf_mixed
        from gpytorch.mlls import ExactMarginalLogLikelihood

        cube = Cube(self.contest.space)
        torch.manual_seed(self.seed * 1000 + len(self.y))
        torch.set_num_threads(1)
        X, y = torch.tensor(np.array(self.X)), -torch.tensor(self.y, dtype=torch.float64)[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MixedSingleTaskGP(X, y, cat_dims=cube.categorical) if cube.categorical else SingleTaskGP(X, y)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            acquisition = LogExpectedImprovement(model, best_f=y.max())
            high = [len(d.choices) - 1 if isinstance(d, CategoricalDistribution) else 1.0 for d in self.contest.space.values()]
            bounds = torch.tensor([[0.0] * len(high), high], dtype=torch.float64)
            settings = {"bounds": bounds, "q": 1, "num_restarts": 10, "raw_samples": 512}
            if cube.categorical:
                place = cube.categorical[0]  # the contests have one category at most
                found, _ = optimize_acqf_mixed(
                    acquisition, fixed_features_list=[{place: float(i)} for i in range(int(high[place]) + 1)], **settings
                )
            else:
                found, _ = optimize_acqf(acquisition, **settings)
        return cube.to_params(found[0].numpy())


@dataclass
class SkoptPlayer:
    """scikit-optimize's Optimizer."""

    contest: Contest
    seed: int
    optimizer: Any = None
    X: list[list[Any]] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    told: int = 0

    def __post_init__(self) -> None:
        from skopt import Optimizer
        from skopt.space import Categorical, Integer, Real

        dimensions: list[Any] = []
        for dist in self.contest.space.values():
            if isinstance(dist, CategoricalDistribution):
                dimensions.append(Categorical(list(dist.choices)))
            else:
                assert isinstance(dist, FloatDistribution | IntDistribution)
                kind = Integer if isinstance(dist, IntDistribution) else Real
                dimensions.append(kind(dist.low, dist.high, prior="log-uniform" if dist.log else "uniform"))
        self.optimizer = Optimizer(dimensions, random_state=self.seed)

    def tell(self, params: Params, value: float) -> None:
        """Keep the point; the optimiser is told when it is asked, so that it fits once."""
        self.X.append([params[name] for name in self.contest.space])
        self.y.append(value)

    def ask(self) -> Params:
        """Tell what is new, then ask."""
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.optimizer.tell(self.X[self.told :], self.y[self.told :])
            self.told = len(self.y)
            found = self.optimizer.ask()
        return {n: v.item() if isinstance(v, np.generic) else v for n, v in zip(self.contest.space, found, strict=True)}


def _never_called(config: Any, seed: int = 0) -> float:  # noqa: ARG001
    """SMAC wants a function even where it is only asked and told."""
    raise AssertionError


@dataclass
class SmacPlayer:
    """SMAC3: its black-box facade (a Gaussian process), or the one for hyperparameters (a random forest) where there are categories."""

    contest: Contest
    seed: int
    facade: Any = None
    asked: Any = None
    folder: Any = None

    def __post_init__(self) -> None:
        import logging
        import tempfile

        from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer
        from smac import BlackBoxFacade, HyperparameterOptimizationFacade, Scenario

        logging.getLogger("smac").setLevel(logging.ERROR)
        space = ConfigurationSpace(seed=self.seed)
        for name, dist in self.contest.space.items():
            if isinstance(dist, CategoricalDistribution):
                space.add(Categorical(name, list(dist.choices)))
            elif isinstance(dist, IntDistribution):
                space.add(Integer(name, (dist.low, dist.high), log=dist.log))
            else:
                assert isinstance(dist, FloatDistribution)
                space.add(Float(name, (dist.low, dist.high), log=dist.log))
        self.folder = tempfile.TemporaryDirectory()
        scenario = Scenario(
            space, deterministic=self.contest.noise_std == 0, n_trials=10_000, seed=self.seed, output_directory=self.folder.name
        )
        kind = HyperparameterOptimizationFacade if Cube(self.contest.space).categorical else BlackBoxFacade
        design = kind.get_initial_design(scenario, n_configs=0, additional_configs=[])
        self.facade = kind(scenario, _never_called, initial_design=design, logging_level=False, overwrite=True)

    def tell(self, params: Params, value: float) -> None:
        """Tell the trial that was asked for, or one that was given."""
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo, TrialValue

        info = self.asked or TrialInfo(Configuration(self.facade.scenario.configspace, values=params), seed=self.seed)
        self.facade.tell(info, TrialValue(cost=value))
        self.asked = None

    def ask(self) -> Params:
        """Ask for the next configuration."""
        self.asked = self.facade.ask()
        found = dict(self.asked.config)
        return {name: v.item() if isinstance(v := found[name], np.generic) else v for name in self.contest.space}


@dataclass(frozen=True)
class Peer:
    """A method by name."""

    title: str
    make: Callable[[Contest, int], Player]
    packages: tuple[str, ...]


def _recorded_only(_contest: Contest, _seed: int) -> Player:
    raise ValueError("bktf-first is bktf at commit 7b89cd0, before it was improved; its lines are recorded and no more are made")


PEERS: dict[str, Peer] = {
    "bktf": Peer("bktf", _bktf, ("optuna",)),
    "bktf-first": Peer("bktf, first version", _recorded_only, ("optuna",)),
    "random": Peer("random", _optuna(lambda s: _optuna_sampler("RandomSampler", s)), ("optuna",)),
    "tpe": Peer("Optuna TPE", _optuna(lambda s: _optuna_sampler("TPESampler", s)), ("optuna",)),
    "gp": Peer("Optuna GP", _optuna(lambda s: _optuna_sampler("GPSampler", s)), ("optuna", "torch")),
    "cmaes": Peer("Optuna CMA-ES", _optuna(lambda s: _optuna_sampler("CmaEsSampler", s)), ("optuna", "cmaes")),
    "botorch": Peer("BoTorch LogEI", BoTorchPlayer, ("botorch", "gpytorch", "torch")),
    "skopt": Peer("scikit-optimize", SkoptPlayer, ("scikit-optimize", "scikit-learn")),
    "smac": Peer("SMAC3", SmacPlayer, ("smac", "ConfigSpace")),
}
