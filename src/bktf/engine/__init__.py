"""The engine behind every front door: from what was tried to what to try next."""

from bktf.engine.history import ContextAxis, History, NothingFeasible, RelatedValues, Suggestion
from bktf.engine.model_choice import (
    MAX_PARAMETER_POINTS,
    MAX_PROCESS_POINTS,
    EarlierProcess,
    fit_surrogate,
    settings_to_show,
)
from bktf.engine.observations import Observations
from bktf.engine.settings import (
    AUTO,
    AUTO_RANK,
    NEEDS_WHOLE_DRAWS,
    PRESETS,
    Direction,
    EngineSettings,
    Objective,
    check_choice,
    check_optimism,
    make_settings,
    seed_for,
)
from bktf.engine.suggestion import Engine, Model, improvement_baseline, process_to_publish

__all__ = [
    "AUTO",
    "AUTO_RANK",
    "MAX_PARAMETER_POINTS",
    "MAX_PROCESS_POINTS",
    "NEEDS_WHOLE_DRAWS",
    "PRESETS",
    "ContextAxis",
    "Direction",
    "EarlierProcess",
    "Engine",
    "EngineSettings",
    "History",
    "Model",
    "NothingFeasible",
    "Objective",
    "Observations",
    "RelatedValues",
    "Suggestion",
    "check_choice",
    "check_optimism",
    "fit_surrogate",
    "improvement_baseline",
    "make_settings",
    "process_to_publish",
    "seed_for",
    "settings_to_show",
]
