"""What a share of whole functions is worth as a probability; from recorded runs.

`python -m studies.analysis.stopping --tables` fits the map on the development half of the
comparison's problems and tests it on the other half (docs/analysis.md).
"""

import numpy as np

# Shares of functions, and how often the statement was true; between them a straight line. Small
# shares were true more often than they say. They are left as they are: a tolerance below all that
# were measured must not be promised.
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0)
PROBABILITIES = (0.0, 0.1, 0.25, 0.5, 0.659, 0.828, 0.85, 0.851)
MAX_STATED = PROBABILITIES[-1]  # no larger probability is supported


def probability_of_share(share: float) -> float:
    """The calibrated probability of a statement that holds on this share of functions."""
    return float(np.interp(share, SHARES, PROBABILITIES))
