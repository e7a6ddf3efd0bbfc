"""What a method is to the studies: told points and values, asked for the next point."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from studies.problems import Params, Problem

P_contra = TypeVar("P_contra", bound=Problem, contravariant=True)


class Method(Protocol):
    """One method on one problem, from one seed; it may remember what it likes between calls."""

    def tell(self, params: Params, value: float) -> None:
        """Take in a point that was tried and its value; smaller is better."""

    def ask(self) -> Params:
        """The next point to try."""


@dataclass(frozen=True)
class MethodEntry(Generic[P_contra]):
    """A method by name: how it is made, and what its lines record of it."""

    title: str
    make: Callable[[P_contra, int, Mapping[str, Any]], Method]  # of problem, seed and settings
    packages: tuple[str, ...] = ()  # whose versions go into the lines
    settings: Mapping[str, Any] = field(default_factory=dict)  # recorded and used
    is_bktf: bool = False  # whether it has the settings of the paper's model
