"""Keywords of the version before: they work for one release, with a warning."""

import math
from typing import Any

from bktf.acquisition import WHOLE_FUNCTIONS
from bktf.engine import AUTO, AUTO_RANK, PRESETS, check_choice

FORMER_MODELS = (AUTO, "process", "components", "both")
# What the version before read, and did not use, where the model was a process.
UNUSED_BY_PROCESS = (
    "n_sweeps",
    "n_burn_in",
    "n_chains",
    "adapt_rank",
    "offsets",
    "main_effects",
)


def replace_model(model: str, preset: str, given: dict[str, Any]) -> str:
    """Write what the former keyword `model` is called now into the keywords given.

    Returns the text of the warning.
    """
    check_choice("model", model, FORMER_MODELS)
    check_choice("preset", preset, tuple(PRESETS))
    former_rank = given["rank"]
    if model in ("components", "both") and former_rank == math.inf:
        raise ValueError(
            f"model={model!r} has components, and rank=math.inf has none; leave one out"
        )
    rank = PRESETS[preset].get("rank", AUTO_RANK) if former_rank is None else former_rank
    changes: dict[str, dict[str, Any]] = {
        AUTO: {"rank": AUTO},
        "process": {"rank": math.inf, **dict.fromkeys(UNUSED_BY_PROCESS)},
        "components": {"rank": rank},
        "both": {"rank": rank, "residual_process": True},
    }
    unused = [name for name in ("rank", *UNUSED_BY_PROCESS) if given[name] is not None]
    given |= changes[model]
    new = {
        AUTO: 'rank="auto"',
        "process": "rank=math.inf",
        "components": f"rank={rank}",
        "both": f"rank={rank}, residual_process=True",
    }
    text = f"model={model!r} is now written {new[model]}"
    if model == AUTO and former_rank is not None:
        text += f"; rank={former_rank!r} is not used: finite rank is {AUTO_RANK} then"
    if model == "process" and unused:
        text += f"; leave out {', '.join(unused)}, which had no effect"
    return text


def changed_meaning(preset: str, given: dict[str, Any]) -> str | None:
    """What a rank alone means since this version; None where it means what it did."""
    rank = given["rank"]
    if preset != "default" or rank is None or rank == AUTO or rank == math.inf:
        return None
    # These had that many components in the version before, too.
    if given["residual_process"] or given["acquisition"] in WHOLE_FUNCTIONS:
        return None
    return (
        f"rank={rank!r} now means that many components on every space; in the version before, "
        'the model was chosen by the space. rank="auto" does that. Nothing is to be done where '
        "components are meant; the next release no longer says so"
    )
