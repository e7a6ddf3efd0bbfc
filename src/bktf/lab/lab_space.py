"""The records of the lab loop: the space of an experiment, its constraints and its objective."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution

from bktf.analysis import StopRule
from bktf.engine import Objective
from bktf.spaces import INACTIVE, Parameter, Space, only_value, sums_to_totals

SPECIAL_COLUMNS = (
    "status",
    "predicted",
    "uncertainty",
    "reason",
)  # columns that bktf fills in or reads


class LabError(ValueError):
    """An error in a file that only its author can correct; the message is one line."""


@dataclass(frozen=True)
class Constraint:
    """low ≤ Σ factor × parameter ≤ high."""

    factors: dict[str, float]
    low: float
    high: float

    def holds(self, params: dict[str, Any]) -> bool:
        """Whether these parameters satisfy it, up to rounding."""
        # A parameter that an experiment does not have counts as nothing.
        terms = [factor * float(params.get(name, 0.0)) for name, factor in self.factors.items()]
        total, slack = sum(terms), 1e-9 * sum(map(abs, terms))
        return self.low - slack <= total <= self.high + slack


@dataclass(frozen=True)
class LabSpace:
    """Everything `space.toml` says."""

    objective: Objective
    noise: float | None
    repeats: bool
    rank: float | str
    optimism: float | None
    space: Space  # parameters and the conditions of some of them
    units: dict[str, str]
    constraints: tuple[Constraint, ...]
    other_columns: tuple[str, ...]
    earlier: tuple[Path, ...] = ()  # tables of earlier campaigns
    expected: Mapping[str, Any] = field(default_factory=dict)  # where the optimum is expected
    stop: StopRule | None = None  # when the campaign is done

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """All parameters, those with a single value included."""
        return self.space.distributions

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that can vary."""
        return self.space.modelled

    @property
    def constants(self) -> dict[str, Any]:
        """Parameters with a single value."""
        return {name: only_value(d) for name, d in self.distributions.items() if d.single()}

    def holds(self, params: dict[str, Any]) -> bool:
        """Whether all constraints hold, and mixtures have their totals."""
        are_met = all(constraint.holds(params) for constraint in self.constraints)
        return are_met and sums_to_totals(self.space.mixtures, params)


def point_of(parameters: tuple[Parameter, ...], params: dict[str, Any]) -> list[float | None]:
    """The coordinates (D,) of an experiment."""
    return [p.coordinate(params[p.name]) if p.name in params else INACTIVE for p in parameters]


def read_text(path: Path) -> str:
    """The text of a file, as it is; a LabError where there is none."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise LabError(f"{path}: no such file; `bktf suggest --init` writes an example") from None
    except UnicodeDecodeError as error:
        wanted = f"{path.name}: must be UTF-8 text; byte {error.start} is not"
        raise LabError(f"{wanted}. Save it as “CSV UTF-8”") from None
    except OSError as error:
        raise LabError(f"{path}: cannot be read: {error.strerror}") from None


def as_text(value: Any) -> str:
    """A value as it is written in a table: short, and read back as the same number."""
    if isinstance(value, float):
        return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    return str(value)
