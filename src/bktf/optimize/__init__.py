"""`minimize` and `maximize`: one call on an Optuna study, and its result."""

from bktf.optimize.front_door import maximize, minimize
from bktf.optimize.result import Result

__all__ = ["Result", "maximize", "minimize"]
