"""What the user may set: priors and settings. Frozen, validated once, the paper's values as defaults."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from bktf._checks import MAX_CHAINS, MAX_RANK, MAX_SWEEPS, whole_number
from bktf.gaussian_process.covariance import LOG_ODDS_HIGH


@dataclass(frozen=True, kw_only=True)
class Priors:
    """The priors, on inputs scaled to [0, 1] and z-scored observations.

    lengthscale_log_mean, lengthscale_log_var: log l ~ N(mean, var), cut to l in [1e-3, 1e3]
    noise_shape, noise_rate: noise precision ~ Gamma(shape, rate); the paper gives no values, docs/paper_deviations.md
        (D4) says why 1 and 0.01
    weight_var: weights ~ N(0, weight_var)
    shrinkage_first, shrinkage_rest: with `adapt_rank`, the prior variance of the c-th weight is weight_var / (δ_1 ⋯ δ_c) with
        δ_1 ~ Gamma(first, 1) and the others ~ Gamma(rest, 1)
    offset_mean, offset_var: with `offsets`, each factor varies around an offset ~ N(mean, var)
    correlation_logit_mean, correlation_logit_var: log of the odds ρ / (1 − ρ) of the correlation between two levels of a categorical axis
        ~ N(mean, var), cut to odds in [1e-3, 1e3]; with 0 and 2, ρ is spread almost evenly over (0, 1)
    local_lengthscale_log_mean, local_lengthscale_log_var: log l / √D ~ N(mean, var) for the local component; distances in D dimensions
        grow like √D
    local_noise_rate: takes the place of noise_rate where there is a local component; the noise then need not stand for what a few
        components cannot say
    local_size_log_mean, local_size_log_var: the logarithm of the local component's variance ~ N(mean, var)
    local_share_logit_mean, local_share_logit_var: the logarithm of ρ / (1 − ρ) / D ~ N(mean, var), ρ the share of every ordered axis of
        the local component that is constant: near 1 main effects, near 0 everything depends on all axes at once. With odds of D / 2
        about two of D ordered axes act together; D counts axes of levels too
    Parameters of the local component are cut to l in [1e-3, 1e3], a variance in [1e-8, 1e8] and log odds of ρ in [−8, 8], whose prior is
        centred at 7 at the most

    Paper: section 3.1.
    """

    lengthscale_log_mean: float = math.log(0.5)
    lengthscale_log_var: float = 0.5
    noise_shape: float = 1.0
    noise_rate: float = 0.01
    weight_var: float = 1.0
    shrinkage_first: float = 2.1
    shrinkage_rest: float = 3.1
    offset_mean: float = 0.0
    offset_var: float = 1.0
    correlation_logit_mean: float = 0.0
    correlation_logit_var: float = 2.0
    local_lengthscale_log_mean: float = math.log(0.4)
    local_lengthscale_log_var: float = 1.0
    local_noise_rate: float = 1e-5
    local_size_log_mean: float = 0.0
    local_size_log_var: float = 1.0
    local_share_logit_mean: float = -math.log(2.0)
    local_share_logit_var: float = 4.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (isinstance(value, int | float | np.number) and math.isfinite(value)):
                raise ValueError(f"Priors.{field.name} must be a finite number; got {value!r}")
            if not field.name.endswith("_mean") and value <= 0:
                raise ValueError(f"Priors.{field.name} must be positive; got {value!r}")
        low, high = math.log(1e-3), math.log(1e3)
        if not low < self.lengthscale_log_mean < high:
            raise ValueError(
                f"Priors.lengthscale_log_mean must lie in ({low:.2f}, {high:.2f}), the logarithms of 1e-3 and 1e3; "
                f"got {self.lengthscale_log_mean}. It is the logarithm of a length on an axis scaled to [0, 1]"
            )
        if not low < self.local_lengthscale_log_mean < high / 2:  # half of the range is for √D
            raise ValueError(
                f"Priors.local_lengthscale_log_mean must lie in ({low:.2f}, {high / 2:.2f}); got {self.local_lengthscale_log_mean}. "
                "It is the logarithm of a length on axes scaled to [0, 1], divided by √D"
            )
        if not -LOG_ODDS_HIGH < self.local_share_logit_mean < LOG_ODDS_HIGH / 2:  # half of the range is for D
            raise ValueError(
                f"Priors.local_share_logit_mean must lie in ({-LOG_ODDS_HIGH:g}, {LOG_ODDS_HIGH / 2:g}); "
                f"got {self.local_share_logit_mean}. It is the logarithm of odds divided by D"
            )
        if not low < self.correlation_logit_mean < high:
            raise ValueError(
                f"Priors.correlation_logit_mean must lie in ({low:.2f}, {high:.2f}), the logarithms of odds of 1e-3 and 1e3; "
                f"got {self.correlation_logit_mean}"
            )


def resolve_active(rank: int, active: Sequence[Collection[int]] | None, n_dims: int, *, least: int = 1) -> NDArray[np.bool_]:
    """Which dimensions each component uses, (R, D): all of them, or what `active` lists."""
    if active is None:
        return np.ones((whole_number("rank", rank, least, MAX_RANK), n_dims), dtype=bool)
    given: object = active
    if not isinstance(given, Sequence) or not len(given):
        raise ValueError(f"active must list at least one component, as in [(0, 1), (0,)]; got {active!r}")
    mask = np.zeros((len(active), n_dims), dtype=bool)
    for c, dims in enumerate(active):
        each: object = dims
        chosen = list(each) if isinstance(each, Collection) else []
        whole = all(isinstance(d, int | np.integer) and not isinstance(d, bool) and 0 <= d < n_dims for d in chosen)
        if not chosen or not whole:
            raise ValueError(f"active[{c}] must name dimensions among 0 … {n_dims - 1}, at least one; got {dims!r}")
        mask[c, chosen] = True
    return mask


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How long to run and how many chains. Defaults: the paper's, section 5.1."""

    n_sweeps: int = 400
    n_burn_in: int = 200
    n_chains: int = 1
    shared_lengthscales: bool = False
    local: bool = False
    adapt_rank: bool = False
    offsets: bool = False

    def __post_init__(self) -> None:
        whole_number("n_sweeps", self.n_sweeps, 1, MAX_SWEEPS)
        whole_number("n_chains", self.n_chains, 1, MAX_CHAINS)
        whole_number("n_burn_in", self.n_burn_in, 0)
        for name in ("shared_lengthscales", "local", "adapt_rank", "offsets"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}")
        if self.offsets and self.shared_lengthscales:
            raise ValueError("offsets are of one factor at a time, so shared_lengthscales must be False with them; got both")
        if self.n_burn_in >= self.n_sweeps:
            raise ValueError(f"n_burn_in must lie in [0, n_sweeps); got {self.n_burn_in} with n_sweeps={self.n_sweeps}")

    @property
    def n_kept(self) -> int:
        """Draws kept from each chain."""
        return self.n_sweeps - self.n_burn_in
