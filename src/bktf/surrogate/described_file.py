"""What a file keeps of names, values and what may be suggested: plain data, no functions."""

from typing import Any

import numpy as np

from bktf.acquisition import SearchDomain
from bktf.product_forms import AxisMeasure
from bktf.surrogate.meaning import Meaning

PLAIN = ("names", "direction", "objective", "unit")
CONDITIONS, RESTRICTIONS = "the conditions of parameters", "what may be suggested"


class ListedValues:
    """The user's value of each coordinate that a parameter may take."""

    def __init__(self, pairs: list[tuple[float, Any]]) -> None:
        self.pairs = pairs

    def __call__(self, coordinate: float) -> Any:
        """The value at the nearest coordinate."""
        return min(self.pairs, key=lambda pair: abs(pair[0] - coordinate))[1]


def described_settings(meaning: Meaning) -> dict[str, Any]:
    """The plain settings of a meaning; what functions know is named as lost."""
    settings: dict[str, Any] = {name: getattr(meaning, name) for name in PLAIN}
    domain = meaning.domain
    lost = [meaning.lost] if meaning.lost else []
    if meaning.point_at is not None:
        lost.append(CONDITIONS)
    is_restricted = any(part.fixed or part.within for part in domain.parts)
    if domain.feasible is not None or (is_restricted and meaning.point_at is None):
        lost.append(RESTRICTIONS)
    settings["lost"] = " and ".join(dict.fromkeys(lost))
    settings["free"] = sorted(domain.free)
    settings["allows_repeats"] = domain.allows_repeats
    settings["measures"], settings["values"] = {}, {}
    for d, measure in meaning.measures.items():
        if measure.coords is None or measure.weights is None:
            continue
        settings["measures"][d] = [measure.coords.tolist(), measure.weights.tolist()]
    for d, listed in meaning.listed.items():
        values = [meaning.value(d, x) for x in listed]
        if all(value is None or isinstance(value, bool | int | float | str) for value in values):
            settings["values"][d] = list(zip(listed, values, strict=True))
    return settings


def read_described(settings: dict[str, Any]) -> Meaning | None:
    """The meaning that `described_settings` wrote, where it was known."""
    known = settings.get("described")
    if known is None:
        return None
    measures = {
        int(d): AxisMeasure(np.array(coords), np.array(weights))
        for d, (coords, weights) in known.get("measures", {}).items()
    }
    pairs = {
        int(d): [(float(x), value) for x, value in listed]
        for d, listed in known.get("values", {}).items()
    }
    return Meaning(
        **{name: known[name] for name in PLAIN} | {"names": tuple(known["names"])},
        values={d: ListedValues(own) for d, own in pairs.items()},
        listed={d: tuple(x for x, _ in own) for d, own in pairs.items()},
        measures=measures,
        domain=SearchDomain(
            free=frozenset(known.get("free", ())),
            allows_repeats=known.get("allows_repeats", True),
        ),
        lost=known.get("lost", ""),
    )
