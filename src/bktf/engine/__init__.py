"""The engine behind every front door: from what was tried to what to try next."""

from bktf.engine.beliefs import Belief, check_expected, make_belief
from bktf.engine.campaigns import Campaign, make_campaign, with_campaigns
from bktf.engine.described import describe
from bktf.engine.history import ContextAxis, History, NothingFeasible, RelatedValues, Suggestion
from bktf.engine.learned_model import Model
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
    PRESETS,
    Direction,
    EngineSettings,
    Objective,
    check_choice,
    check_optimism,
    make_settings,
    seed_for,
)
from bktf.engine.suggestion import Engine, improvement_baseline, process_to_publish

__all__ = [
    "AUTO",
    "AUTO_RANK",
    "MAX_PARAMETER_POINTS",
    "MAX_PROCESS_POINTS",
    "PRESETS",
    "Belief",
    "Campaign",
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
    "check_expected",
    "check_optimism",
    "describe",
    "fit_surrogate",
    "improvement_baseline",
    "make_belief",
    "make_campaign",
    "make_settings",
    "process_to_publish",
    "seed_for",
    "settings_to_show",
    "with_campaigns",
]
