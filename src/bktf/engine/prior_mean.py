"""The mean where nothing is known: the choice of the next point is pessimistic at first.

A process falls back to the average of what was seen wherever nothing is known. In many dimensions
almost everything is unknown, so EI goes to the corners of the box, far from all that was seen. Yet
a good point is more probable next to the best ones. So while observations are few, the choice uses
another mean: the worst of what was seen. Kernel parameters stay as they are, and all that is
reported stays that of the model around the average.

docs/model_choices.md has the measurements behind the rule.
"""

import math

from bktf.engine.settings import EngineSettings
from bktf.surrogate import Posterior, around_mean

MIN_DIMS = 4  # parameters from which on the choice is pessimistic
# Observations for each parameter up to which the mean is the worst, and from which the average
WORST_POINTS, AVERAGE_POINTS = 5, 15


def default_optimism(n: int, n_dims: int, has_levels: bool) -> float:
    """Where the mean lies between the worst (0) and the average (1), after n observations.

    It is the average with few parameters, where little is unknown, and where a parameter is an
    unordered category: what is unknown there are levels that nobody has tried.
    """
    if n_dims < MIN_DIMS or has_levels:
        return 1.0
    share = (n / n_dims - WORST_POINTS) / (AVERAGE_POINTS - WORST_POINTS)
    return min(max(share, 0.0), 1.0)


def posterior_for_choice(posterior: Posterior, n: int, settings: EngineSettings) -> Posterior:
    """The oriented posterior that the next point is chosen with, after n observations.

    At finite rank it is the posterior itself.
    """
    process = posterior.draws.process
    if process is None or posterior.rank < math.inf:
        return posterior
    optimism = settings.optimism
    if optimism is None and settings.acquisition != "ei":  # measured with EI only
        return posterior
    if optimism is None:
        optimism = default_optimism(n, len(posterior.grid), bool(process.axis_levels.any()))
    if optimism == 1.0:
        return posterior
    # The worst value may be bad luck. So it is the worst mean at an observation.
    at_observations = process.means_at_observations().mean(axis=0)
    worst = float(at_observations[: len(posterior.y)].min())
    return around_mean(posterior, (1.0 - optimism) * worst)
