"""How much of the variance of f is due to each parameter: Sobol indices with intervals.

    first     Var(E[f | x_d]) / Var(f): what parameter d explains alone
    total     1 − Var(E[f | all but x_d]) / Var(f): what is lost without it, interactions included
    pairs     what two parameters explain together beyond what each does alone

Each path of the posterior is a sum of products, so its indices have a closed form. The intervals
are over paths: they contain what the data leave open, and the parameters of the model. Noise is no
part of f.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bktf._checks import whole_number
from bktf._typing import Floats
from bktf.analysis.conditional_variances import sampled_variances
from bktf.analysis.densities import measures_of
from bktf.analysis.estimates import LEVEL, MIN_DRAWS, Estimate
from bktf.analysis.explained import MIN_EXPLAINED, check_observed, explained_part
from bktf.analysis.path_variances import VarianceParts, path_variances
from bktf.gaussian_process import ProcessDraws
from bktf.product_forms import AxisMeasure, ProductPaths, RealMoments
from bktf.surrogate import Posterior

N_PATHS = 64  # at infinite rank two for each draw; at finite rank at most the draws of the fit
MAX_PATHS = 100_000
MIN_VARIANCE = 1e-12  # of a path over the variance of the observations; a smaller one counts as 0
T_FACTOR = 2.35  # of a standard error: the 95 % quantile of Student's t with 3 degrees of freedom
N_SHOWN = 5  # interactions that a printed table has


@dataclass(frozen=True, eq=False)
class Interactions(Mapping[tuple[str, str], Estimate]):
    """The interaction of every two parameters; the order of their names does not matter."""

    estimates: Mapping[tuple[str, str], Estimate]

    def __getitem__(self, names: tuple[str, str]) -> Estimate:
        """That of two parameters."""
        if isinstance(names, tuple) and len(names) == 2:
            for pair in (names, names[::-1]):
                if pair in self.estimates:
                    return self.estimates[pair]
        known = list(dict.fromkeys(name for pair in self.estimates for name in pair))
        raise KeyError(f"pairs has keys of two different names among {known}; got {names!r}")

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """All pairs of names, each once."""
        return iter(self.estimates)

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.estimates)


@dataclass(frozen=True, eq=False)
class Importance:
    """First-order, total and pairwise Sobol indices; print it for a table.

    All of them are 0 for a path that is constant.
    """

    first: Mapping[str, Estimate]
    total: Mapping[str, Estimate]
    pairs: Interactions  # empty where they were not asked for
    n_paths: int
    explained: float  # the part of the variation of the values that the model explains

    def __str__(self) -> str:
        """A line for each parameter, the most important first, and the largest interactions."""
        names = sorted(self.total, key=lambda name: -self.total[name].mean)
        width = max(map(len, ["parameter", *names]))
        title = f"importance: share of the variance of f, {100 * LEVEL:.0f} % intervals"
        lines = [
            f"{title} over {self.n_paths} paths",
            f"{'parameter':{width}}  {'total':>20}  {'alone':>20}",
        ]
        for name in names:
            lines.append(
                f"{name:{width}}  {_in_percent(self.total[name]):>20}  "
                f"{_in_percent(self.first[name]):>20}"
            )
        largest = sorted(self.pairs.items(), key=lambda item: -item[1].mean)[:N_SHOWN]
        if largest:
            lines.append("largest interactions:")
            lines += [f"  {a} and {b}: {_in_percent(own).strip()}" for (a, b), own in largest]
        if self.explained < MIN_EXPLAINED:
            part = f"{100 * max(self.explained, 0.0):.0f} %"
            lines.append(
                f"(the model explains only {part} of the variation of the values; most of this is "
                "what it expects of any function)"
            )
        return "\n".join(lines)


def importance(
    posterior: Posterior,
    *,
    n_paths: int | None = None,
    seed: int | None = None,
    densities: Mapping[str, Any] | None = None,
    pairs: bool = True,
) -> Importance:
    """First-order, total and pairwise Sobol indices of f, with 90 % intervals.

    Parameters are independent, each uniform on its own scale: on the logarithm of a logarithmic
    one, over the values or levels of a finite one. Where parameters have conditions, each is drawn
    independently from its range and has no effect where its condition does not hold. Indices of a
    path are then means over points of Sobol' sequences; intervals contain the error of that.
    Constraints and mixtures do not count: points of the whole box do, also those that may not be
    tried.

    Args:
        posterior: of any rank. At finite rank paths between axis points are the factors'
            conditional means, so intervals there are a little narrow.
        n_paths: whole functions over which the intervals are. By default 64, at finite rank at
            most the draws of the fit.
        seed: other paths of the same fit.
        densities: other distributions by name: `(centre, standard deviation)` of a normal one in
            the parameter's units, a dictionary from levels to weights, or an object with `pdf`.
            They are cut to the range.
        pairs: whether to return interactions.
    """
    check_observed(posterior, "importance")
    measures = measures_of(posterior, densities)
    is_process = isinstance(posterior.draws, ProcessDraws)
    default = N_PATHS if is_process else min(N_PATHS, posterior.n_draws)
    count = default if n_paths is None else whole_number("n_paths", n_paths, MIN_DRAWS, MAX_PATHS)
    paths = posterior.paths(count, seed)
    if posterior.meaning.point_at is None:
        repeats = [variances_of_paths(paths.forms, measures, pairs)]
    elif densities:
        raise ValueError(
            "densities cannot be given where parameters have conditions, because each is drawn "
            f"from its range there; got {densities!r}. Leave them out"
        )
    else:
        repeats = sampled_variances(posterior, paths, pairs)
    shares = zip(*(shares_of(parts) for parts in repeats), strict=True)
    first, total, together = (np.stack(own) for own in shares)
    names, found = posterior.names, {}
    if pairs:
        found = {
            (names[a], names[b]): _estimate(together[..., a, b])
            for a in range(len(names))
            for b in range(a + 1, len(names))
        }
    return Importance(
        {name: _estimate(first[..., d]) for d, name in enumerate(names)},
        {name: _estimate(total[..., d]) for d, name in enumerate(names)},
        Interactions(found),
        count,
        explained_part(posterior),
    )


def variances_of_paths(
    forms: ProductPaths, measures: list[AxisMeasure], with_pairs: bool
) -> list[VarianceParts]:
    """The variance of each path and its parts; what paths of one draw share is computed once."""
    terms = [forms.terms(p) for p in range(forms.n_paths)]
    by_key: dict[object, list[int]] = {}
    for p, own in enumerate(terms):
        key: object = ("alone", p) if own.real_key is None else own.real_key
        by_key.setdefault(key, []).append(p)
    parts: dict[int, VarianceParts] = {}
    for members in by_key.values():
        shared: list[RealMoments] | None = None
        for p in members:
            parts[p], shared = path_variances(terms[p], measures, shared, with_pairs)
    return [parts[p] for p in range(forms.n_paths)]


def shares_of(parts: list[VarianceParts]) -> tuple[Floats, Floats, Floats]:
    """First (N, D), total (N, D) and pairs (N, D, D) over the variance; 0 where that is 0."""
    variance = np.array([part.variance for part in parts])
    scale = np.where(variance > MIN_VARIANCE, 1.0, 0.0) / np.maximum(variance, MIN_VARIANCE)
    first = np.stack([part.first for part in parts]) * scale[:, None]
    total = np.stack([part.total for part in parts]) * scale[:, None]
    return first, total, np.stack([part.pairs for part in parts]) * scale[:, None, None]


def _estimate(draws: Floats) -> Estimate:
    """Mean and interval of an index from draws (S, N), rounding errors below 0 and above 1 cut.

    The ends are quantiles at (N + 1)·p in the order of N draws. A further draw then lies between
    them with probability 0.9, however few there are. Where S integrations differ, their error is
    added to the interval.
    """
    tail = (1.0 - LEVEL) / 2.0
    own = np.mean(draws, axis=0)
    mean = float(own.mean())
    low, high = np.quantile(own, (tail, 1.0 - tail), method="weibull").tolist()
    if len(draws) > 1:
        error = float(np.sqrt(np.var(draws, axis=0, ddof=1).mean() / len(draws)))
        low = mean - math.hypot(min(low - mean, 0.0), T_FACTOR * error)
        high = mean + math.hypot(max(high - mean, 0.0), T_FACTOR * error)
    return Estimate(*(min(max(x, 0.0), 1.0) for x in (mean, low, high)))


def _in_percent(estimate: Estimate) -> str:
    """An estimate as percentages."""
    mean, low, high = (100.0 * x for x in estimate)
    return f"{mean:5.1f} % ({low:.1f} to {high:.1f})"
