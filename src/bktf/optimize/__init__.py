"""`minimize` and `maximize`: one call on an Optuna study, and its result."""

from bktf.optimize.front_door import maximize, minimize
from bktf.optimize.result import Result
from bktf.optimize.suggest_from import suggest_from

__all__ = ["Result", "maximize", "minimize", "suggest_from"]
