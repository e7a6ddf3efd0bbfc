"""What the model is: one record, validated once, for `fit`, the engine, leave-one-out and files."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bktf._checks import MAX_CHAINS, MAX_RANK, MAX_SWEEPS, check_noise_std, whole_number
from bktf._typing import Bools
from bktf.axis_kernels import MATERN52, Axis, Kernel, check_axes, check_log, dense, resolve_kernels
from bktf.surrogate.priors import Priors

AUTO_RANK = "auto"  # several ranks, weighed by their evidence
INFERENCES = ("annealed", "gibbs")
FLAGS = ("shared_lengthscales", "adapt_rank", "offsets", "residual_process", "comparable")


class ChainLengths(NamedTuple):
    """How long to run and how many chains."""

    n_sweeps: int
    n_burn_in: int
    n_chains: int

    @property
    def n_kept(self) -> int:
        """Draws kept from each chain."""
        return self.n_sweeps - self.n_burn_in


FINITE_LENGTHS = ChainLengths(400, 200, 1)  # the paper's, section 5.1
ANNEALED_LENGTHS = ChainLengths(48, 32, 32)  # where none is given; see `components.population`
INFINITE_LENGTHS = ChainLengths(40, 24, 2)  # values are integrated out, so few sweeps are enough


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelSpec:
    """What the model is; the fields are the keywords of `bktf.fit`, where they are explained."""

    rank: float | str = 2  # a whole number, math.inf for a Gaussian process, or "auto"
    active: Sequence[Collection[int]] | None = None
    kernel: Kernel | Sequence[Kernel | None] | None = None
    log: bool | Sequence[bool] = False
    priors: Priors = field(default_factory=Priors)
    noise_std: float | None = None
    n_sweeps: int | None = None
    n_burn_in: int | None = None
    n_chains: int | None = None
    inference: str = "annealed"  # of finite rank
    shared_lengthscales: bool = False
    adapt_rank: bool = False
    offsets: bool = False
    residual_process: bool = False
    # Priors under which ranks can be compared: weights ~ N(0, σ²/R) with σ² learned, and a constant
    # beside the components, because the mean of y is subtracted, which would count as one
    comparable: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.rank, str) or self.rank != AUTO_RANK:
            check_rank(self.rank)
        if not isinstance(self.priors, Priors):
            raise ValueError(f"priors must be a bktf.Priors; got {type(self.priors).__name__}")
        check_noise_std(self.noise_std)
        if self.inference not in INFERENCES:
            wanted = " or ".join(repr(name) for name in INFERENCES)
            raise ValueError(f"inference must be {wanted}; got {self.inference!r}")
        lengths = self.lengths
        whole_number("n_sweeps", lengths.n_sweeps, 1, MAX_SWEEPS)
        whole_number("n_chains", lengths.n_chains, 1, MAX_CHAINS)
        whole_number("n_burn_in", lengths.n_burn_in, 0)
        if lengths.n_burn_in >= lengths.n_sweeps:
            given = f"{lengths.n_burn_in} with n_sweeps={lengths.n_sweeps}"
            raise ValueError(f"n_burn_in must lie in [0, n_sweeps); got {given}")
        for name in FLAGS:
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}")
        if self.comparable and self.adapt_rank:
            raise ValueError("comparable and adapt_rank are two priors of the weights; got both")
        if self.comparable and self.active is not None:
            raise ValueError("comparable is for components of all dimensions; got active too")
        if self.offsets and self.shared_lengthscales:
            # The offsets' update integrates out one factor at a time.
            raise ValueError(
                "offsets are of one factor at a time, so shared_lengthscales must be False with "
                "them; got both"
            )
        if self.is_process:
            self._check_process()

    def _check_process(self) -> None:
        """Refuse what a Gaussian process cannot do."""
        refused = [name for name in FLAGS if getattr(self, name)]
        if self.active is not None:
            refused.append("active")
        if refused:
            raise ValueError(
                f"{refused[0]} is about components, and infinite rank has none. Leave it out, or "
                "give a finite rank"
            )

    @property
    def is_process(self) -> bool:
        """Whether the rank is infinite, so that the model is a Gaussian process."""
        return self.rank == math.inf

    @property
    def lengths(self) -> ChainLengths:
        """Sweeps, burn-in and chains: as given, or what suits the rank."""
        given = (self.n_sweeps, self.n_burn_in, self.n_chains)
        default = INFINITE_LENGTHS if self.is_process else FINITE_LENGTHS
        if not self.is_process and self.inference == "annealed" and given == (None, None, None):
            default = ANNEALED_LENGTHS
        return ChainLengths(*(d if g is None else g for g, d in zip(given, default, strict=True)))


def check_rank(rank: object) -> None:
    """Refuse a rank that is neither a whole number nor infinity."""
    if isinstance(rank, float | np.floating) and rank == math.inf:
        return
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 1:
        wanted = 'a whole number of at least 1, "auto", or math.inf for a Gaussian process'
        raise ValueError(f"rank must be {wanted}; got {rank!r}")
    whole_number("rank", rank, 1, MAX_RANK)


def make_axes(spec: ModelSpec, axes: Sequence[ArrayLike]) -> tuple[Axis, ...]:
    """The axes with their kernels, checked."""
    points = check_axes(axes, spec.log)
    default = "matern52" if spec.is_process else "matern32"
    kernels = resolve_kernels(spec.kernel, [p.size for p in points], default)
    is_log = check_log(spec.log, len(points))
    made = tuple(Axis(*parts) for parts in zip(points, kernels, is_log, strict=True))
    for d, axis in enumerate(made):
        if axis.has_inactive and axis.kernel.kind == dense.PERIODIC:
            raise ValueError(
                f"axis {d} is periodic, so no point of it is far from all others, and infinity "
                "cannot stand for an inactive parameter. Give it another kernel"
            )
    allowed = (MATERN52, dense.EQUAL_CORRELATION)
    refused = [d for d, axis in enumerate(made) if axis.kernel.kind not in allowed]
    if spec.is_process and refused:
        raise ValueError(
            'at infinite rank an ordered axis has the kernel "matern52" and an axis of levels '
            f'"categorical"; the kernel of axis {refused[0]} is another. Leave it out '
            "(kernel=None), or give a finite rank"
        )
    return made


def active_dimensions(spec: ModelSpec, n_dims: int) -> Bools:
    """Which dimensions each component uses, (R, D): all of them, or what `active` lists."""
    active = spec.active
    if active is None:
        everywhere = np.ones((int(spec.rank), n_dims), dtype=bool)
        return (
            np.vstack((everywhere, np.zeros((1, n_dims), dtype=bool)))
            if spec.comparable
            else everywhere
        )
    given: object = active
    if not isinstance(given, Sequence) or not len(given):
        wanted = "active must list at least one component, as in [(0, 1), (0,)]"
        raise ValueError(f"{wanted}; got {active!r}")
    mask = np.zeros((len(active), n_dims), dtype=bool)
    for c, dims in enumerate(active):
        each: object = dims
        chosen = list(each) if isinstance(each, Collection) else []
        whole = all(
            isinstance(d, int | np.integer) and not isinstance(d, bool) and 0 <= d < n_dims
            for d in chosen
        )
        if not chosen or not whole:
            wanted = f"must name dimensions among 0 … {n_dims - 1}, at least one"
            raise ValueError(f"active[{c}] {wanted}; got {dims!r}")
        mask[c, chosen] = True
    return mask
