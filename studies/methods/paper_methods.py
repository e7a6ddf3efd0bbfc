"""The methods of the paper's experiments: each is given what was tried and says what to try next.

A method makes a *chooser* for a problem, a seed and settings; a chooser may remember what it likes between calls. Adding one is a small
class and an entry in METHODS.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bktf.engine.settings import PRESETS, seed_for
from bktf.surrogate.fitting import fit
from bktf.surrogate.posterior import Posterior
from bktf.surrogate.priors import Priors
from studies.methods.gaussian_process import SETTINGS, best_cell, best_in_box, fit_gp, make_score
from studies.problems.grid_problems import Grid

Floats = NDArray[np.float64]
Chooser = Callable[[Floats, Floats], Floats]  # the next point (D,) from points (n, D) and values (n,), smaller being better

BETA = 2.0  # multiplies the standard deviation in every upper bound
PAPER_PRIORS = {
    "lengthscale_log_mean": math.log(0.5),
    "lengthscale_log_var": 0.5,
    "noise_shape": 1.0,
    "noise_rate": 0.01,
}  # the last two: ours
PAPER_SETTINGS: dict[str, Any] = {name: PRESETS["paper"][name] for name in ("rank", "n_sweeps", "n_burn_in", "n_chains")}
PAPER_SETTINGS |= {"priors": PAPER_PRIORS, "warm_start": PRESETS["paper"]["warm_start"]}


@dataclass
class BktfChooser:
    """The paper's model with its preset: one warm chain, and max over draws, B-UCB or EI."""

    grid: Grid
    seed: int
    acquisition: str
    settings: dict[str, Any]  # keywords of `bktf.fit`, `beta`, and whether chains start where the last one ended
    last: Posterior | None = None

    def __call__(self, X: Floats, y: Floats) -> Floats:
        """Fit, starting where the last chain ended, and take the best cell that was not tried."""
        settings = dict(self.settings)
        priors, warm, beta = Priors(**settings.pop("priors")), settings.pop("warm_start"), settings.pop("beta", BETA)
        self.last = fit(
            self.grid.axes,
            X,
            y,
            seed=seed_for(self.seed, len(y)),
            priors=priors,
            warm_start=self.last if warm else None,
            n_threads=1,
            **settings,
        )
        return self.last.argmin(self.acquisition, beta=beta, exclude=X)


@dataclass
class GPChooser:
    """A Gaussian process with EI or UCB, in the box or on the grid without the cells that were tried."""

    grid: Grid
    seed: int
    acquisition: str
    on_grid: bool
    settings: dict[str, Any]

    def __call__(self, X: Floats, y: Floats) -> Floats:
        """Fit anew and maximise the acquisition."""
        low, high = np.array(self.grid.low), np.array(self.grid.high)
        gp = fit_gp((X - low) / (high - low), -y, seed_for(self.seed, len(y)) % 2**32, self.settings)
        score = make_score(self.acquisition, -y, self.settings.get("beta", BETA))
        if not self.on_grid:
            return np.asarray(low + (high - low) * best_in_box(gp, score))
        axes = tuple(np.linspace(0.0, 1.0, m) for m in self.grid.sizes)
        return self.grid.point_at(best_cell(gp, axes, score, self.grid.flat(X)))


@dataclass
class TPEChooser:
    """Optuna's TPE at its defaults, on the grid; it may repeat cells."""

    grid: Grid
    seed: int
    study: Any = None
    asked: Any = None
    told: int = 0
    distributions: dict[str, Any] = field(default_factory=dict)

    def __call__(self, X: Floats, y: Floats) -> Floats:
        """Tell the study what is new and ask."""
        import optuna

        if self.study is None:
            optuna.logging.set_verbosity(optuna.logging.WARNING)
            self.study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed_for(self.seed) % 2**32))
            self.distributions = {f"x{d}": optuna.distributions.IntDistribution(0, m - 1) for d, m in enumerate(self.grid.sizes)}
        cells = self.grid.cells(X)
        for cell, value in zip(cells[self.told :], y[self.told :], strict=True):
            if self.asked is not None:
                self.study.tell(self.asked, float(value))
                self.asked = None
            else:
                params = {f"x{d}": int(i) for d, i in enumerate(cell)}
                self.study.add_trial(optuna.create_trial(params=params, distributions=self.distributions, value=float(value)))
        self.told = len(y)
        self.asked = self.study.ask(self.distributions)
        return np.asarray(self.grid.points(np.array([[self.asked.params[name] for name in self.distributions]]))[0])


@dataclass
class RandomChooser:
    """Random cells, none twice."""

    grid: Grid
    seed: int

    def __call__(self, X: Floats, y: Floats) -> Floats:
        """The next cell."""
        rng = np.random.default_rng(seed_for(self.seed, len(y)))
        tried = set(self.grid.flat(X).tolist())
        if len(tried) == self.grid.n_cells:
            raise ValueError(f"all {len(tried)} cells of {self.grid.name} were tried; ask for a smaller budget")
        flat = next(i for i in iter(lambda: int(rng.integers(self.grid.n_cells)), None) if i not in tried)
        return self.grid.point_at(flat)


@dataclass(frozen=True)
class Method:
    """A method by name."""

    title: str
    make: Callable[[Grid, int, dict[str, Any]], Chooser]
    packages: tuple[str, ...] = ()  # whose versions go into the lines
    is_bktf: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)  # recorded and used, besides those of an experiment


def _bktf(title: str, acquisition: str, **settings: Any) -> Method:
    return Method(title, lambda p, s, o: BktfChooser(p, s, acquisition, o), is_bktf=True, settings=settings)


def _gp(title: str, acquisition: str, on_grid: bool, **settings: Any) -> Method:
    return Method(title, lambda p, s, o: GPChooser(p, s, acquisition, on_grid, o), ("scikit-learn",), settings=SETTINGS | settings)


METHODS: dict[str, Method] = {
    "bktf-max": _bktf("BKTF, max over draws (the paper's)", "max"),
    "bktf-ucb": _bktf("BKTF, B-UCB", "ucb", beta=BETA),
    "bktf-ei": _bktf("BKTF, EI", "ei"),
    "gp-ei": _gp("GP, EI", "ei", False),
    "gp-ucb": _gp("GP, UCB", "ucb", False, beta=BETA),
    "gpgrid-ei": _gp("GP on the grid, EI", "ei", True),
    "gpgrid-ucb": _gp("GP on the grid, UCB", "ucb", True, beta=BETA),
    "tpe": Method("TPE", lambda p, s, _: TPEChooser(p, s), ("optuna",)),
    "random": Method("random cells", lambda p, s, _: RandomChooser(p, s)),
}


def run_settings(method: str, budget: int, bktf: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a run, as they are recorded: the budget, the method's own, and those of the experiment where it is bktf's."""
    return {"budget": budget, **(bktf if METHODS[method].is_bktf else {}), **METHODS[method].settings}


def choose_methods(names: Sequence[str] | None) -> list[str]:
    """Methods by name or family (bktf, gp, gpgrid), in the order of METHODS; all of them where none is named."""
    if not names:
        return list(METHODS)
    families = {name.split("-")[0] for name in METHODS}
    for name in names:
        if name not in METHODS and name not in families:
            known = ", ".join([*METHODS, *sorted(families - set(METHODS))])
            raise ValueError(f"a method must be one of {known}; got {name!r}")
    return [method for method in METHODS if method in names or method.split("-")[0] in names]
