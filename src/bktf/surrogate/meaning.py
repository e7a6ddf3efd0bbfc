"""What the columns and values of a posterior are to the user: names, values, direction, limits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bktf._typing import Floats
from bktf.acquisition import SearchDomain
from bktf.product_forms import UNIFORM, AxisMeasure

Direction = Literal["minimize", "maximize"]


@dataclass(frozen=True, eq=False)
class Meaning:
    """Names, values and direction of what was fitted."""

    names: tuple[str, ...]
    direction: Direction | None = None  # None: a fit has none
    objective: str = "value"
    unit: str = ""
    # By axis, the user's value of a coordinate; where there is none, the coordinate is the value
    values: Mapping[int, Callable[[float], Any]] = field(default_factory=dict)
    # By axis, the coordinates of all values of a parameter, where they are few
    listed: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    # By axis, how a parameter is spread over its range; where there is none, evenly
    measures: Mapping[int, AxisMeasure] = field(default_factory=dict)
    domain: SearchDomain = field(default_factory=SearchDomain)
    # Of a conditional space, the units in [0, 1) of all parameters as a point (D,); else None
    point_at: Callable[[Floats], Floats] | None = None
    lost: str = ""  # what a file could not keep and analyses need

    def axis(self, name: str | int) -> int:
        """The axis of a parameter, by its name or its number."""
        if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(self.names):
            return name
        if name not in self.names:
            known = ", ".join(map(repr, self.names))
            raise ValueError(f"{name!r} is not a parameter; there are {known}")
        return self.names.index(str(name))

    def value(self, d: int, coordinate: float) -> Any:
        """The user's value of a coordinate."""
        return self.values[d](coordinate) if d in self.values else float(coordinate)

    def params(self, point: Floats) -> dict[str, Any]:
        """The values of a point (D,) by name, without those that are inactive."""
        pairs = zip(self.names, enumerate(point.tolist()), strict=True)
        return {name: self.value(d, x) for name, (d, x) in pairs if x != float("inf")}

    def measure(self, d: int) -> AxisMeasure:
        """How parameter d is spread over its range."""
        return self.measures.get(d, UNIFORM)

    def negated(self) -> "Meaning":
        """Of −f: the other direction."""
        other: dict[Direction | None, Direction | None] = {
            "minimize": "maximize", "maximize": "minimize", None: None,
        }  # fmt: skip
        return replace(self, direction=other[self.direction])


def check_names(names: Sequence[str] | None, n_dims: int) -> tuple[str, ...]:
    """The names of the parameters: as given, one for each axis, or x0, x1, …."""
    if names is None:
        return tuple(f"x{d}" for d in range(n_dims))
    given: object = names
    listed = [] if isinstance(given, str) else list(names)
    is_right = all(isinstance(name, str) and name for name in listed)
    if len(listed) != n_dims or not is_right or len(set(listed)) != n_dims:
        wanted = f"names must be {n_dims} different names, one for each axis"
        raise ValueError(f"{wanted}; got {names!r}")
    return tuple(listed)
