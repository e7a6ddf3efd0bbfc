"""Keywords of the version before: they work for one release, with a warning."""

import math
import warnings
from typing import Any

from bktf.engine import AUTO, AUTO_RANK, check_choice

FORMER_MODELS = (AUTO, "process", "components", "both")


def replace_model(model: str, given: dict[str, Any]) -> None:
    """Replace the former keyword `model` among the keywords `given`, with a warning."""
    check_choice("model", model, FORMER_MODELS)
    rank = AUTO_RANK if given["rank"] is None else given["rank"]
    changes: dict[str, dict[str, Any]] = {
        AUTO: {"rank": AUTO},
        "process": {"rank": math.inf},
        "components": {"rank": rank},
        "both": {"rank": rank, "residual_process": True},
    }
    given |= changes[model]
    spellings = {AUTO: 'rank="auto"', "process": "rank=math.inf", "components": f"rank={rank}"}
    new = spellings.get(model, f"rank={rank}, residual_process=True")
    warnings.warn(f"model={model!r} is now written {new}", FutureWarning, stacklevel=3)


def warn_of_rank(rank: object) -> None:
    """Say what a rank alone means since this version."""
    if rank is not None and rank != math.inf and rank != AUTO:
        warnings.warn(
            f"rank={rank!r} now means that many components on every space; in the version before, "
            'the model was chosen by the space. rank="auto" does that',
            FutureWarning,
            stacklevel=3,
        )
