"""How a parameter is spread over its axis, for averages over it."""

from typing import NamedTuple

from bktf._typing import Floats


class AxisMeasure(NamedTuple):
    """A probability distribution on a scaled axis: uniform on [0, 1], or on nodes.

    Nodes are the values of a finite parameter, or those of a quadrature of a density.
    """

    coords: Floats | None = None  # (Q,) scaled; None: uniform on [0, 1]
    weights: Floats | None = None  # (Q,) they sum to 1


UNIFORM = AxisMeasure()
