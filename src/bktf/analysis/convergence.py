"""Am I done? The chance that the best tried point is good enough, and what going on would bring.

Stop when P(optimum − f(best) ≤ ε) ≥ 1 − δ over whole functions drawn from the posterior (Wilson
2024). `best` is the tried point with the best posterior mean, and f is taken there on the same
function. The share of functions is turned into a probability by a map that was fitted to how often
such shares were right (`reliability`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bktf.acquisition import choose
from bktf.analysis.estimates import Estimate, in_digits
from bktf.analysis.explained import MIN_EXPLAINED, explained_part
from bktf.analysis.optimum import (
    N_PATHS,
    Optimum,
    best_tried,
    check_direction,
    check_tolerance,
    optimum,
)
from bktf.analysis.reliability import MAX_STATED, probability_of_share
from bktf.surrogate import Direction, Posterior, RankPosterior

MIN_CONFIDENCE, DEFAULT_CONFIDENCE = 0.5, 0.8


@dataclass(frozen=True)
class StopRule:
    """When to stop: a tolerance and how sure one wants to be, or the cost of an evaluation."""

    tolerance: float | None = None  # ε, in units of the objective
    confidence: float = DEFAULT_CONFIDENCE  # 1 − δ
    cost: float | None = None  # of an evaluation, in units of the objective

    def __post_init__(self) -> None:
        if (self.tolerance is None) == (self.cost is None):
            raise ValueError(
                "give either tolerance= (how far from the optimum is good enough) or cost= (what "
                "an evaluation costs), in units of the objective; got "
                f"tolerance={self.tolerance!r} and cost={self.cost!r}"
            )
        if self.tolerance is not None:
            check_tolerance("tolerance", self.tolerance)
        if self.cost is not None and check_tolerance("cost", self.cost) == 0:
            raise ValueError("cost must be positive: without a cost there is no reason to stop")
        c = self.confidence
        is_number = isinstance(c, int | float | np.number) and not isinstance(c, bool)
        if not is_number or not MIN_CONFIDENCE <= c < 1.0:
            raise ValueError(f"confidence must lie in [{MIN_CONFIDENCE}, 1); got {c!r}")
        if c > MAX_STATED:
            raise ValueError(
                f"confidence must be at most {MAX_STATED}: measurements support no larger "
                f"probability; got {c!r}"
            )


@dataclass(frozen=True, eq=False)
class Convergence:
    """Whether to stop, and why; print it for one line."""

    rule: StopRule
    is_reached: bool
    probability: float | None  # that the best tried point is within the tolerance; calibrated
    share: float | None  # of whole functions on which it is; what the map turns into a probability
    explained: float  # the part of the variation of the values that the model explains
    expected_improvement: float | None  # the largest of one more evaluation, where there is a cost
    gap: Estimate  # how much better the optimum is
    typical_gap: float  # its median
    best: dict[str, Any]  # the tried point with the best posterior mean
    n_values: int
    missed: float  # how much more another search found of a function's optimum, on average

    def __str__(self) -> str:
        """What was found in one line."""
        verdict = "converged" if self.is_reached else "not converged"
        if not self.best:
            reason = "none of the tried points may be suggested now"
        elif self.explained < MIN_EXPLAINED:
            reason = (
                f"the model explains only {100 * max(self.explained, 0.0):.0f} % of the variation "
                f"of {self.n_values} values, so it cannot tell yet"
            )
        elif self.probability is not None:
            stated = percentage(self.probability)
            wanted = percentage(self.rule.confidence)
            reason = (
                f"the best of {self.n_values} values is within {self.rule.tolerance:g} of the "
                f"optimum with probability {stated} (asked: {wanted})"
            )
        else:
            assert self.expected_improvement is not None
            reason = (
                f"one more evaluation should gain {self.expected_improvement:.3g}, and costs "
                f"{self.rule.cost:g}"
            )
        likely = f"; the gap is about {in_digits(self.typical_gap, self.gap)}" if self.best else ""
        return f"{verdict}: {reason}{likely}"


def convergence(
    posterior: Posterior,
    rule: StopRule,
    direction: Direction | None = None,
    *,
    n_paths: int = N_PATHS,
    found: Optimum | None = None,
) -> Convergence:
    """Whether a rule says to stop; `found` is the optimum where it is known already."""
    found = found or optimum(posterior, direction, n_paths=n_paths)
    share = probability = gain = None
    explained = explained_part(posterior)
    can_tell = explained >= MIN_EXPLAINED
    if rule.tolerance is not None:
        share = found.within(rule.tolerance)
        probability = probability_of_share(share) if can_tell and found.best else None
        is_reached = probability is not None and probability >= rule.confidence
    else:
        assert rule.cost is not None
        gain = largest_improvement(posterior, direction)
        is_reached = can_tell and bool(found.best) and gain < rule.cost
    return Convergence(
        rule=rule,
        is_reached=is_reached,
        probability=probability,
        share=share,
        explained=explained,
        expected_improvement=gain,
        gap=found.gap,
        typical_gap=found.typical_gap,
        best=found.best,
        n_values=len(posterior.y),
        missed=found.missed,
    )


def largest_improvement(posterior: Posterior, direction: Direction | None = None) -> float:
    """The largest expected improvement of one more evaluation over the best posterior mean."""
    is_maximized = check_direction(posterior, direction) == "maximize"
    oriented = posterior if is_maximized else posterior.negated()
    domain = posterior.meaning.domain
    tried = best_tried(oriented, domain)
    best = float((oriented.mean(oriented.X) if tried is None else oriented.mean(tried[None])).max())
    taken = None if domain.allows_repeats else oriented.X
    if isinstance(oriented, RankPosterior):  # of a fit: every cell of its grid may be suggested
        point = oriented.argmax("ei", exclude=taken)
        return float(oriented.expected_improvement(point[None], best)[0])
    found = [
        choose(
            oriented, "ei", feasible=domain.feasible, fixed=part.fixed, within=part.within,
            free=domain.free, best=best, exclude=taken,
        )
        for part in domain.parts
    ]  # fmt: skip
    return max((choice.value for choice in found if choice.point is not None), default=0.0)


def percentage(probability: float) -> str:
    """A probability in per cent."""
    return f"{100 * probability:.0f} %"
