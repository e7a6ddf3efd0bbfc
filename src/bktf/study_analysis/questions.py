"""What users ask of a posterior, a `Result` or a study; the answers are those of `analysis`."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from bktf import analysis
from bktf.analysis import (
    AcquisitionSlice,
    Convergence,
    Importance,
    LeaveOneOut,
    Marginal,
    Optimum,
    Score,
    Slice,
    StopRule,
)
from bktf.study_analysis.sources import Source, analyze
from bktf.surrogate import Direction


def optimum(
    source: Source,
    direction: Direction | None = None,
    *,
    n_paths: int = analysis.N_PATHS,
    seed: int | None = None,
) -> Optimum:
    """The posterior distribution of the optimum: its value, its place, the gap to the best point.

    Args:
        source: a posterior, a `Result` or an Optuna study.
        direction: "maximize" or "minimize" where the source does not bring its own.
        n_paths: whole functions whose optima are found.
        seed: of other functions of the same fit.
    """
    return analysis.optimum(analyze(source), direction, n_paths=n_paths, seed=seed)


def convergence(
    source: Source,
    *,
    tolerance: float | None = None,
    confidence: float = analysis.DEFAULT_CONFIDENCE,
    cost: float | None = None,
    direction: Direction | None = None,
) -> Convergence:
    """Am I done? The probability that the best tried point is within `tolerance` of the optimum.

    Args:
        source: a posterior, a `Result` or an Optuna study.
        tolerance: how far from the optimum is good enough, in units of the objective.
        confidence: the probability that is enough; measurements support none above 0.85.
        cost: instead of a tolerance, what an evaluation costs in units of the objective.
        direction: "maximize" or "minimize" where the source does not bring its own.
    """
    rule = StopRule(tolerance, confidence, cost)
    return analysis.convergence(analyze(source), rule, direction)


def importance(
    source: Source,
    *,
    n_paths: int | None = None,
    seed: int | None = None,
    densities: Mapping[str, Any] | None = None,
    pairs: bool = True,
) -> Importance:
    """How much of the variance of f is due to each parameter, alone and with others.

    Sobol indices, exact for every whole function drawn from the posterior; intervals are over
    functions. Parameters are independent and each is uniform on its own scale.

    Args:
        source: a posterior, a `Result` or an Optuna study.
        n_paths: whole functions over which the intervals are.
        seed: of other functions of the same fit.
        densities: other distributions by name: `(centre, standard deviation)` of a normal one in
            the parameter's units, a dictionary from levels to weights, or an object with `pdf`.
        pairs: whether to return interactions.
    """
    return analysis.importance(
        analyze(source), n_paths=n_paths, seed=seed, densities=densities, pairs=pairs
    )


def slice_along(
    source: Source, along: Any, at: Any = None, values: ArrayLike | None = None
) -> Slice:
    """F along one or two parameters, the others fixed, with 50 % and 90 % bands.

    Args:
        source: a posterior, a `Result` or an Optuna study.
        along: the name of a parameter, or a pair of names.
        at: the fixed point, as a dictionary of your values or as coordinates; by default the tried
            point of best posterior mean.
        values: coordinates of `along`, for two parameters a pair of lists.
    """
    return analysis.slice_along(analyze(source), along, at, values)


def marginal_of(
    source: Source,
    along: Any,
    densities: Mapping[str, Any] | None = None,
    values: ArrayLike | None = None,
) -> Marginal:
    """The exact average of f over all other parameters, with 50 % and 90 % bands.

    Args:
        source: a posterior, a `Result` or an Optuna study.
        along: the name of a parameter, or a pair of names.
        densities: how others are spread, where not evenly; as for `bktf.importance`.
        values: coordinates of `along`, for two parameters a pair of lists.
    """
    return analysis.marginal_of(analyze(source), along, densities, values)


def acquisition_along(
    source: Source,
    along: Any,
    at: Any = None,
    values: ArrayLike | None = None,
    score: Score | str | None = None,
) -> AcquisitionSlice:
    """An acquisition along one or two parameters, the others fixed; as `slice_along`.

    score: "ei" (the default), "ucb" or "max"; for another direction or beta a
        `bktf.analysis.Score("ucb", direction="minimize", beta=1.0)`.
    """
    return analysis.acquisition_along(analyze(source), along, at, values, _score(score))


def average_acquisition(
    source: Source,
    along: Any,
    densities: Mapping[str, Any] | None = None,
    values: ArrayLike | None = None,
    score: Score | str | None = None,
) -> AcquisitionSlice:
    """An acquisition averaged over evenly spread points of all other parameters, with its error.

    score: as for `acquisition_along`.
    """
    return analysis.average_acquisition(analyze(source), along, densities, values, _score(score))


def _score(score: object) -> Score | None:
    """The score that a name means."""
    if score is None or isinstance(score, Score):
        return score
    if not isinstance(score, str):
        raise ValueError(
            f'score must be "ei", "ucb", "max" or a bktf.analysis.Score; got {score!r}'
        )
    return Score(score)


def leave_one_out(
    source: Source, *, index: Sequence[int] | None = None, refit: bool | None = None
) -> LeaveOneOut:
    """Predict each observation from the others, and compare: errors, scores, calibration.

    Args:
        source: a posterior, a `Result` or an Optuna study.
        index: restricts the check to some observations.
        refit: True: leave out every observation by a fit without it. False: never refit; infinite
            rank only. None: a closed form at infinite rank, with refits where it is rough.
    """
    return analysis.leave_one_out(analyze(source), index=index, refit=refit)
