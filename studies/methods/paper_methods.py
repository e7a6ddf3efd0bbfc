"""The methods of the paper's experiments.

Each chooses on the grid of a problem or in its box. Adding one is a small class and an entry in
PAPER_METHODS.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optuna

from bktf import Posterior, Priors, fit
from bktf.engine import PRESETS, seed_for
from studies.methods.gaussian_process import SETTINGS, best_cell, best_in_box, fit_gp, make_score
from studies.methods.optuna_samplers import OnCells, OptunaMethod
from studies.methods.protocol import Method, MethodEntry
from studies.problems import Floats, GridProblem, Params

BETA = 2.0  # multiplies the standard deviation in every upper bound
PAPER_PRIORS = {
    "lengthscale_log_mean": math.log(0.5),
    "lengthscale_log_var": 0.5,
    "noise_shape": 1.0,  # this and the next are ours; the paper gives none
    "noise_rate": 0.01,
}
PAPER_SETTINGS: dict[str, Any] = {
    **{name: PRESETS["paper"][name] for name in ("rank", "n_sweeps", "n_burn_in", "n_chains")},
    "priors": PAPER_PRIORS,
    "warm_start": PRESETS["paper"]["warm_start"],
}


@dataclass
class ArrayMethod:
    """A method that chooses from all points (n, D) and values (n,) told so far."""

    problem: GridProblem
    seed: int
    rows: list[Floats] = field(default_factory=list, kw_only=True)
    values: list[float] = field(default_factory=list, kw_only=True)

    @property
    def X(self) -> Floats:
        """The points told, (n, D)."""
        return np.stack(self.rows)

    @property
    def y(self) -> Floats:
        """Their values, (n,)."""
        return np.array(self.values)

    def tell(self, params: Params, value: float) -> None:
        """Keep the point."""
        self.rows.append(self.problem.to_row(params))
        self.values.append(value)

    def ask(self) -> Params:
        """The point of the row that is chosen."""
        return self.problem.to_params(self.choose(self.X, self.y))

    def choose(self, X: Floats, y: Floats) -> Floats:
        """The next point (D,)."""
        raise NotImplementedError


@dataclass
class BktfOnGrid(ArrayMethod):
    """The paper's model with its preset: one warm chain, and max over draws, B-UCB or EI."""

    acquisition: str
    settings: Mapping[str, Any]  # keywords of `bktf.fit`, `beta` and `warm_start`
    last: Posterior | None = None  # of the last choice; the next chain starts where it ended

    def choose(self, X: Floats, y: Floats) -> Floats:
        """Fit, and take the best cell that was not tried."""
        settings = {name: value for name, value in self.settings.items() if name != "budget"}
        priors, beta = Priors(**settings.pop("priors")), settings.pop("beta", BETA)
        self.last = fit(
            self.problem.grid.axes,
            X,
            y,
            seed=seed_for(self.seed, len(y)),
            priors=priors,
            warm_start=self.last if settings.pop("warm_start") else None,
            n_threads=1,
            inference="gibbs",
            **settings,
        )
        return self.last.argmin(self.acquisition, beta=beta, exclude=X)


@dataclass
class GaussianProcess(ArrayMethod):
    """A Gaussian process with EI or UCB, in the box or on the grid's cells not tried yet."""

    acquisition: str
    on_grid: bool
    settings: Mapping[str, Any]

    def choose(self, X: Floats, y: Floats) -> Floats:
        """Fit anew and maximise the acquisition."""
        grid = self.problem.grid
        low, high = np.array(grid.low), np.array(grid.high)
        seed = seed_for(self.seed, len(y)) % 2**32
        gp = fit_gp((X - low) / (high - low), -y, seed, self.settings)
        score = make_score(self.acquisition, -y, self.settings.get("beta", BETA))
        if not self.on_grid:
            return np.asarray(low + (high - low) * best_in_box(gp, score))
        axes = tuple(np.linspace(0.0, 1.0, size) for size in grid.sizes)
        return grid.point_at(best_cell(gp, axes, score, grid.flat(X)))


@dataclass
class RandomCells(ArrayMethod):
    """Random cells, none twice."""

    def choose(self, X: Floats, y: Floats) -> Floats:
        """The next cell."""
        grid = self.problem.grid
        rng = np.random.default_rng(seed_for(self.seed, len(y)))
        tried = set(grid.flat(X).tolist())
        if len(tried) == grid.n_cells:
            raise ValueError(
                f"all {len(tried)} cells of {self.problem.name} were tried; "
                "ask for a smaller budget"
            )
        drawn = iter(lambda: int(rng.integers(grid.n_cells)), None)
        return grid.point_at(next(cell for cell in drawn if cell not in tried))


def _bktf(title: str, acquisition: str, **settings: Any) -> MethodEntry[GridProblem]:
    """The paper's model with an acquisition."""

    def make(problem: GridProblem, seed: int, settings: Mapping[str, Any]) -> Method:
        return BktfOnGrid(problem, seed, acquisition, settings)

    return MethodEntry(title, make, settings=settings, is_bktf=True)


def _gp(title: str, acquisition: str, on_grid: bool, **settings: Any) -> MethodEntry[GridProblem]:
    """A Gaussian process with an acquisition."""

    def make(problem: GridProblem, seed: int, settings: Mapping[str, Any]) -> Method:
        return GaussianProcess(problem, seed, acquisition, on_grid, settings)

    return MethodEntry(title, make, ("scikit-learn",), settings=SETTINGS | settings)


def _tpe(problem: GridProblem, seed: int, _: Mapping[str, Any]) -> Method:
    """Optuna's TPE at its defaults, on the grid; it may repeat cells."""
    sampler = optuna.samplers.TPESampler(seed=seed_for(seed) % 2**32)
    return OnCells(problem, OptunaMethod(problem.grid.cell_space, sampler))


PAPER_METHODS: dict[str, MethodEntry[GridProblem]] = {
    "bktf-max": _bktf("BKTF, max over draws (the paper's)", "max"),
    "bktf-ucb": _bktf("BKTF, B-UCB", "ucb", beta=BETA),
    "bktf-ei": _bktf("BKTF, EI", "ei"),
    "gp-ei": _gp("GP, EI", "ei", False),
    "gp-ucb": _gp("GP, UCB", "ucb", False, beta=BETA),
    "gpgrid-ei": _gp("GP on the grid, EI", "ei", True),
    "gpgrid-ucb": _gp("GP on the grid, UCB", "ucb", True, beta=BETA),
    "tpe": MethodEntry("TPE", _tpe, ("optuna",)),
    "random": MethodEntry("random cells", lambda p, s, _: RandomCells(p, s)),
}


def run_settings(method: str, budget: int, bktf: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a run, as they are recorded.

    These are the budget, the method's, and those of the experiment where the model is bktf's.
    """
    entry = PAPER_METHODS[method]
    return {"budget": budget, **(bktf if entry.is_bktf else {}), **entry.settings}


def choose_methods(names: Sequence[str] | None) -> list[str]:
    """Methods by name or family (bktf, gp, gpgrid), in the usual order; all where none is named."""
    if not names:
        return list(PAPER_METHODS)
    families = {name.split("-")[0] for name in PAPER_METHODS}
    for name in names:
        if name not in PAPER_METHODS and name not in families:
            known = ", ".join([*PAPER_METHODS, *sorted(families - set(PAPER_METHODS))])
            raise ValueError(f"a method must be one of {known}; got {name!r}")
    return [m for m in PAPER_METHODS if m in names or m.split("-")[0] in names]
