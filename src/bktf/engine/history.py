"""What was tried so far, as the engine sees it: points, values, failures and points under way."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class History(NamedTuple):
    """Points (·, D) as coordinates on the axes, and values in the user's units."""

    X: Floats  # points with a value
    y: Floats  # finite
    failed: Floats  # points that failed
    tried: Floats  # all points that were evaluated, with whatever outcome
    pending: Floats  # points under way
