"""Vizier's default algorithm as a method of the comparison; it has an environment of its own."""

import os
from dataclasses import dataclass
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from studies.problems import Params, Problem

METRIC = "value"


@dataclass
class VizierMethod:
    """GP-UCB-PE at its defaults, in double precision.

    Trials are padded to powers of two, because otherwise it compiles for every number of them.
    """

    problem: Problem
    seed: int
    designer: Any = None
    n_told: int = 0

    def __post_init__(self) -> None:
        os.environ.setdefault("JAX_ENABLE_X64", "1")  # read when jax is imported
        import jax
        from vizier import pyvizier as vz

        # `vizier.algorithms.designers` itself needs packages that this algorithm does not.
        from vizier._src.algorithms.designers.gp_ucb_pe import VizierGPUCBPEBandit
        from vizier.pyvizier.converters import padding

        statement = vz.ProblemStatement()
        root = statement.search_space.root
        for name, dist in self.problem.space.items():
            if isinstance(dist, CategoricalDistribution):
                root.add_categorical_param(name, [str(choice) for choice in dist.choices])
            elif isinstance(dist, IntDistribution):
                root.add_int_param(name, dist.low, dist.high)
            else:
                assert isinstance(dist, FloatDistribution)
                scale = vz.ScaleType.LOG if dist.log else vz.ScaleType.LINEAR
                root.add_float_param(name, dist.low, dist.high, scale_type=scale)
        goal = vz.ObjectiveMetricGoal.MINIMIZE
        statement.metric_information.append(vz.MetricInformation(name=METRIC, goal=goal))
        self.designer = VizierGPUCBPEBandit(
            statement,
            rng=jax.random.PRNGKey(self.seed),
            padding_schedule=padding.PaddingSchedule(
                num_trials=padding.PaddingType.POWERS_OF_2,
                num_features=padding.PaddingType.NONE,
            ),
        )

    def tell(self, params: Params, value: float) -> None:
        """Tell a completed trial."""
        from vizier import algorithms as vza
        from vizier import pyvizier as vz

        self.n_told += 1
        given = {
            name: str(params[name]) if isinstance(dist, CategoricalDistribution) else params[name]
            for name, dist in self.problem.space.items()
        }
        trial = vz.Trial(id=self.n_told, parameters=given)
        trial.complete(vz.Measurement(metrics={METRIC: float(value)}))
        self.designer.update(vza.CompletedTrials([trial]), vza.ActiveTrials())

    def ask(self) -> Params:
        """The next suggestion."""
        suggested = self.designer.suggest(1)[0].parameters
        found: dict[str, Any] = {}
        for name, dist in self.problem.space.items():
            value = suggested.get_value(name)
            if isinstance(dist, CategoricalDistribution):
                found[name] = next(c for c in dist.choices if str(c) == value)
            elif isinstance(dist, IntDistribution):
                found[name] = int(value)
            else:
                found[name] = float(value)
        return found
