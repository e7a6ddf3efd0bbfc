"""Settings of a sampler that are kept with its study, so that an analysis models what it modelled.

They are the ones that change what the surrogate is: its rank, the noise, repeats, ordered choices.
Functions, tables and studies cannot be stored; an analysis that needs them is given the sampler.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from optuna.study import Study

from bktf.engine import EngineSettings

KEY = "bktf:settings"
VERSION = 1


def settings_text(settings: EngineSettings, ordinal: frozenset[str]) -> str:
    """The settings as text; equal settings give equal text."""
    rank = "inf" if settings.rank == math.inf else settings.rank
    kept = {
        "rank": rank,
        "noise_std": settings.process.noise_std,
        "allow_repeats": settings.allow_repeats,
        "categorical": settings.categorical,
        "compress": settings.compress,
        "ordinal": sorted(ordinal),
    }
    return json.dumps({"version": VERSION} | kept, separators=(",", ":"))


def store_settings(study: Study, text: str) -> None:
    """Keep the settings with the study, unless they are there."""
    storage, study_id = study._storage, study._study_id
    if storage.get_study_system_attrs(study_id).get(KEY) != text:
        storage.set_study_system_attr(study_id, KEY, text)


def stored_settings(study: Study) -> dict[str, Any]:
    """Keywords of a sampler; none where the study has none, or none that this version reads."""
    attributes: Mapping[str, Any] = study._storage.get_study_system_attrs(study._study_id)
    try:
        found = json.loads(attributes.get(KEY, ""))
        if found.pop("version") != VERSION:
            return {}
        if found["rank"] == "inf":
            found["rank"] = math.inf
        return dict(found)
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
