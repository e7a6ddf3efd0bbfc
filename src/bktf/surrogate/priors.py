"""The priors, frozen and validated once; the paper's values as defaults."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from bktf._checks import warn_of_change
from bktf.gaussian_process import LOG_ODDS_HIGH

T = TypeVar("T")

OLD_PREFIX, NEW_PREFIX = "local_", "process_"  # of the names of version 0.1


def _accept_old_names(cls: type[T]) -> type[T]:
    """Let a record take its fields by their names of the version before, with a warning."""
    make: Callable[..., None] = cls.__init__

    @functools.wraps(make)
    def init(self: T, **given: Any) -> None:
        known = {item.name for item in fields(cls)}  # type: ignore[arg-type]
        for name in [name for name in given if name.startswith(OLD_PREFIX)]:
            new = NEW_PREFIX + name.removeprefix(OLD_PREFIX)
            if new not in known:
                continue  # refused below, by the name that was given
            if new in given:
                raise TypeError(
                    f"Priors got both {name} and {new}, which are one; leave out {name}"
                )
            warn_of_change(f"Priors.{name} is called {new}; the old name goes away")
            given[new] = given.pop(name)
        make(self, **given)

    cls.__init__ = init  # type: ignore[method-assign, assignment]
    return cls


@_accept_old_names
@dataclass(frozen=True, kw_only=True)
class Priors:
    """The priors, on inputs scaled to [0, 1] and z-scored observations.

    lengthscale_log_mean, lengthscale_log_var: log l ~ N(mean, var), cut to l in [1e-3, 1e3]
    noise_shape, noise_rate: noise precision ~ Gamma(shape, rate); the paper gives no values,
        docs/paper_deviations.md (D4) says why 1 and 0.01
    weight_var: weights ~ N(0, weight_var)
    shrinkage_first, shrinkage_rest: with `adapt_rank`, the prior variance of the c-th weight is
        weight_var / (δ_1 ⋯ δ_c) with δ_1 ~ Gamma(first, 1) and the others ~ Gamma(rest, 1)
    offset_mean, offset_var: with `offsets`, each factor varies around an offset ~ N(mean, var)
    correlation_logit_mean, correlation_logit_var: log of the odds ρ / (1 − ρ) of the correlation
        between two levels of a categorical axis ~ N(mean, var), cut to odds in [1e-3, 1e3]; with 0
        and 2, ρ is spread almost evenly over (0, 1)
    process_lengthscale_log_mean, process_lengthscale_log_var: log l / √D ~ N(mean, var) for a
        Gaussian process (infinite rank, or a residual process); distances in D dimensions grow like
        √D
    process_noise_rate: replaces noise_rate where there is a process; the noise then need not
        explain what a few components cannot
    process_size_log_mean, process_size_log_var: the logarithm of the process's variance ~ N(mean,
        var)
    process_share_logit_mean, process_share_logit_var: the logarithm of ρ / (1 − ρ) / D ~ N(mean,
        var), ρ the share of every ordered axis of the process that is constant: near 1 main
        effects, near 0 everything depends on all axes at once. With odds of D / 2 about two of D
        ordered axes act together; D counts axes of levels too
    Parameters of the process are cut to l in [1e-3, 1e3], a variance in [1e-8, 1e8] and log odds of
        ρ in [−8, 8]; the prior of these is centred at 7 at most

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
    process_lengthscale_log_mean: float = math.log(0.4)
    process_lengthscale_log_var: float = 1.0
    process_noise_rate: float = 1e-5
    process_size_log_mean: float = 0.0
    process_size_log_var: float = 1.0
    process_share_logit_mean: float = -math.log(2.0)
    process_share_logit_var: float = 4.0

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
                f"Priors.lengthscale_log_mean must lie in ({low:.2f}, {high:.2f}), the logarithms "
                f"of 1e-3 and 1e3; got {self.lengthscale_log_mean}. It is the logarithm of a "
                "length on an axis scaled to [0, 1]"
            )
        if not low < self.process_lengthscale_log_mean < high / 2:  # half of the range is for √D
            raise ValueError(
                f"Priors.process_lengthscale_log_mean must lie in ({low:.2f}, {high / 2:.2f}); "
                f"got {self.process_lengthscale_log_mean}. It is the logarithm of a length on axes "
                "scaled to [0, 1], divided by √D"
            )
        max_share = LOG_ODDS_HIGH / 2  # half of the range is for D
        if not -LOG_ODDS_HIGH < self.process_share_logit_mean < max_share:
            raise ValueError(
                f"Priors.process_share_logit_mean must lie in ({-LOG_ODDS_HIGH:g}, {max_share:g}); "
                f"got {self.process_share_logit_mean}. It is the logarithm of odds divided by D"
            )
        if not low < self.correlation_logit_mean < high:
            raise ValueError(
                f"Priors.correlation_logit_mean must lie in ({low:.2f}, {high:.2f}), the "
                f"logarithms of odds of 1e-3 and 1e3; got {self.correlation_logit_mean}"
            )
