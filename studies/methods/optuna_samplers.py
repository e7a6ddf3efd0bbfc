"""Optuna's samplers and bktf's as methods of the studies."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import optuna

from bktf import BKTFSampler
from studies.methods.protocol import Method
from studies.problems import GridProblem, Params, Problem, Space


@dataclass
class OptunaMethod:
    """Any Optuna sampler, in a separate study."""

    space: Space
    sampler: Any
    study: Any = None
    asked: Any = None  # the trial that was asked for and not yet told

    def __post_init__(self) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.study = optuna.create_study(sampler=self.sampler)

    def tell(self, params: Params, value: float) -> None:
        """Tell the trial that was asked for, or add one that was given."""
        if self.asked is not None:
            self.study.tell(self.asked, value)
            self.asked = None
            return
        distributions = dict(self.space)
        trial = optuna.create_trial(params=params, distributions=distributions, value=value)
        self.study.add_trial(trial)

    def ask(self) -> Params:
        """Ask for a trial with the whole space."""
        self.asked = self.study.ask(dict(self.space))
        return dict(self.asked.params)


@dataclass
class OnCells:
    """A method that is told and asked for cells of the problem's grid."""

    problem: GridProblem
    method: Method  # on the grid's `cell_space`

    def tell(self, params: Params, value: float) -> None:
        """Tell the nearest cell."""
        self.method.tell(self.problem.cell_of(params), value)

    def ask(self) -> Params:
        """The point of the cell that the method asks for."""
        return self.problem.point_of(self.method.ask())


def sampler_method(name: str, problem: Problem, seed: int) -> OptunaMethod:
    """One of Optuna's samplers at its defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return OptunaMethod(problem.space, getattr(optuna.samplers, name)(seed=seed))


def bktf_method(problem: Problem, seed: int, _: Mapping[str, Any]) -> OptunaMethod:
    """Bktf's sampler at its defaults; it may repeat a point where there is noise."""
    repeats = problem.noise_std > 0
    space = dict(problem.space)
    return OptunaMethod(space, BKTFSampler(seed=seed, search_space=space, allow_repeats=repeats))
