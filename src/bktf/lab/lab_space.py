"""The records of the lab loop: the space of an experiment, its constraints and its objective."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution

from bktf.engine import Objective
from bktf.spaces import Parameter, can_be_modelled, only_value, parameters_of

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
        total = sum(factor * float(params[name]) for name, factor in self.factors.items())
        sizes = (abs(factor * float(params[name])) for name, factor in self.factors.items())
        slack = 1e-9 * sum(sizes)
        return self.low - slack <= total <= self.high + slack


@dataclass(frozen=True)
class LabSpace:
    """Everything `space.toml` says."""

    objective: Objective
    noise: float | None
    repeats: bool
    rank: float | str
    optimism: float | None
    distributions: dict[str, BaseDistribution]
    ordinal: frozenset[str]
    units: dict[str, str]
    constraints: tuple[Constraint, ...]
    other_columns: tuple[str, ...]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that can vary."""
        modelled = {name: d for name, d in self.distributions.items() if can_be_modelled(d)}
        return parameters_of(modelled, self.ordinal)

    @property
    def constants(self) -> dict[str, Any]:
        """Parameters with a single value."""
        return {name: only_value(d) for name, d in self.distributions.items() if d.single()}

    def holds(self, params: dict[str, Any]) -> bool:
        """Whether all constraints hold."""
        return all(constraint.holds(params) for constraint in self.constraints)


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
