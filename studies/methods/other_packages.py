"""The methods of the comparison: bktf's sampler and the real packages of others, at their defaults.

What a package does with a space is up to it: those that repeat points on a grid are left as they
are.
"""

import logging
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from studies.methods.optuna_samplers import bktf_method, sampler_method
from studies.methods.protocol import Method, MethodEntry
from studies.methods.vizier_designer import VizierMethod
from studies.problems import Floats, Params, Problem, UnitCube


@dataclass
class BoTorchMethod:
    """BoTorch's SingleTaskGP and LogEI; whole numbers are rounded.

    Its mixed kernel is used where there are categories, and its mixed optimiser where there is one.
    With several categories all points of the space are compared: only tables have so many.
    """

    problem: Problem
    seed: int
    X: list[Floats] = field(default_factory=list)
    y: list[float] = field(default_factory=list)

    def tell(self, params: Params, value: float) -> None:
        """Keep the point."""
        self.X.append(UnitCube(self.problem.space).to_numbers(params))
        self.y.append(value)

    def ask(self) -> Params:
        """Fit by marginal likelihood; maximise LogEI from ten of 512 starts, as in tutorials."""
        import torch
        from botorch.acquisition import LogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import MixedSingleTaskGP, SingleTaskGP
        from botorch.optim import optimize_acqf, optimize_acqf_discrete, optimize_acqf_mixed
        from gpytorch.mlls import ExactMarginalLogLikelihood

        cube = UnitCube(self.problem.space)
        torch.manual_seed(self.seed * 1000 + len(self.y))
        torch.set_num_threads(1)
        X, y = torch.tensor(np.array(self.X)), -torch.tensor(self.y, dtype=torch.float64)[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = (
                MixedSingleTaskGP(X, y, cat_dims=cube.categorical)
                if cube.categorical
                else SingleTaskGP(X, y)
            )
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            acquisition = LogExpectedImprovement(model, best_f=y.max())
            high = [
                len(d.choices) - 1 if isinstance(d, CategoricalDistribution) else 1.0
                for d in self.problem.space.values()
            ]
            bounds = torch.tensor([[0.0] * len(high), high], dtype=torch.float64)
            settings = {"bounds": bounds, "q": 1, "num_restarts": 10, "raw_samples": 512}
            if len(cube.categorical) > 1:
                choices = torch.tensor(np.array(cube.all_points()))
                found, _ = optimize_acqf_discrete(acquisition, q=1, choices=choices)
            elif cube.categorical:
                index = cube.categorical[0]
                fixed = [{index: float(i)} for i in range(int(high[index]) + 1)]
                found, _ = optimize_acqf_mixed(acquisition, fixed_features_list=fixed, **settings)
            else:
                found, _ = optimize_acqf(acquisition, **settings)
        return cube.to_params(found[0].numpy())


@dataclass
class SkoptMethod:
    """scikit-optimize's Optimizer."""

    problem: Problem
    seed: int
    optimizer: Any = None
    X: list[list[Any]] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    told: int = 0

    def __post_init__(self) -> None:
        from skopt import Optimizer
        from skopt.space import Categorical, Integer, Real

        dimensions: list[Any] = []
        for dist in self.problem.space.values():
            if isinstance(dist, CategoricalDistribution):
                dimensions.append(Categorical(list(dist.choices)))
            else:
                assert isinstance(dist, FloatDistribution | IntDistribution)
                kind = Integer if isinstance(dist, IntDistribution) else Real
                dimensions.append(
                    kind(dist.low, dist.high, prior="log-uniform" if dist.log else "uniform")
                )
        self.optimizer = Optimizer(dimensions, random_state=self.seed)

    def tell(self, params: Params, value: float) -> None:
        """Keep the point; the optimiser is told when it is asked, so that it fits once."""
        self.X.append([params[name] for name in self.problem.space])
        self.y.append(value)

    def ask(self) -> Params:
        """Tell what is new, then ask."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.optimizer.tell(self.X[self.told :], self.y[self.told :])
            self.told = len(self.y)
            found = self.optimizer.ask()
        return {
            n: v.item() if isinstance(v, np.generic) else v
            for n, v in zip(self.problem.space, found, strict=True)
        }


def _never_called(config: Any, seed: int = 0) -> float:  # noqa: ARG001
    """SMAC needs a function even where only its ask and tell are used."""
    raise AssertionError


@dataclass
class SmacMethod:
    """SMAC3: its black-box facade, which has a Gaussian process.

    Where there are categories, the facade for hyperparameters, which has a random forest.
    """

    problem: Problem
    seed: int
    facade: Any = None
    asked: Any = None
    folder: Any = None

    def __post_init__(self) -> None:
        from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer
        from smac import BlackBoxFacade, HyperparameterOptimizationFacade, Scenario

        logging.getLogger("smac").setLevel(logging.ERROR)
        space = ConfigurationSpace(seed=self.seed)
        for name, dist in self.problem.space.items():
            if isinstance(dist, CategoricalDistribution):
                space.add(Categorical(name, list(dist.choices)))
            elif isinstance(dist, IntDistribution):
                space.add(Integer(name, (dist.low, dist.high), log=dist.log))
            else:
                assert isinstance(dist, FloatDistribution)
                space.add(Float(name, (dist.low, dist.high), log=dist.log))
        self.folder = tempfile.TemporaryDirectory()
        scenario = Scenario(
            space,
            deterministic=self.problem.noise_std == 0,
            n_trials=10_000,
            seed=self.seed,
            output_directory=self.folder.name,
        )
        kind = (
            HyperparameterOptimizationFacade
            if UnitCube(self.problem.space).categorical
            else BlackBoxFacade
        )
        design = kind.get_initial_design(scenario, n_configs=0, additional_configs=[])
        self.facade = kind(
            scenario, _never_called, initial_design=design, logging_level=False, overwrite=True
        )

    def tell(self, params: Params, value: float) -> None:
        """Tell the trial that was asked for, or one that was given."""
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo, TrialValue

        info = self.asked or TrialInfo(
            Configuration(self.facade.scenario.configspace, values=params), seed=self.seed
        )
        self.facade.tell(info, TrialValue(cost=value))
        self.asked = None

    def ask(self) -> Params:
        """Ask for the next configuration."""
        self.asked = self.facade.ask()
        found = dict(self.asked.config)
        return {
            name: v.item() if isinstance(v := found[name], np.generic) else v
            for name in self.problem.space
        }


def _optuna(title: str, sampler: str, *packages: str) -> MethodEntry[Problem]:
    """One of Optuna's samplers."""
    return MethodEntry(title, lambda p, s, _: sampler_method(sampler, p, s), ("optuna", *packages))


def _package(
    title: str, make: Callable[[Problem, int], Method], *packages: str
) -> MethodEntry[Problem]:
    """A method of another package, which has no settings of ours."""
    return MethodEntry(title, lambda p, s, _: make(p, s), packages)


def _recorded_only(_problem: Problem, _seed: int, _settings: Mapping[str, Any]) -> Method:
    raise ValueError(
        "bktf-first is bktf at commit 7b89cd0, before it was improved; "
        "its lines are recorded and no more are made"
    )


COMPARISON_METHODS: dict[str, MethodEntry[Problem]] = {
    "bktf": MethodEntry("bktf", bktf_method, ("optuna",)),
    "bktf-first": MethodEntry("bktf, first version", _recorded_only, ("optuna",)),
    "random": _optuna("random", "RandomSampler"),
    "tpe": _optuna("Optuna TPE", "TPESampler"),
    "gp": _optuna("Optuna GP", "GPSampler", "torch"),
    "cmaes": _optuna("Optuna CMA-ES", "CmaEsSampler", "cmaes"),
    "botorch": _package("BoTorch LogEI", BoTorchMethod, "botorch", "gpytorch", "torch"),
    "skopt": _package("scikit-optimize", SkoptMethod, "scikit-optimize", "scikit-learn"),
    "smac": _package("SMAC3", SmacMethod, "smac", "ConfigSpace"),
    "vizier": _package("Vizier", VizierMethod, "google-vizier", "jax"),
}
MODULES = {  # what a method needs besides Optuna
    "gp": "torch",
    "cmaes": "cmaes",
    "botorch": "botorch",
    "skopt": "skopt",
    "smac": "smac",
    "vizier": "vizier",
}
