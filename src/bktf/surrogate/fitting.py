"""`fit`: from axes, points and values to a posterior."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from bktf._checks import warn_of_change
from bktf._typing import Floats
from bktf.acquisition import Draws
from bktf.axis_kernels import Kernel, check_points
from bktf.gaussian_process import Descriptors, ProcessDraws
from bktf.surrogate.fit_components import WarmStart, fit_components
from bktf.surrogate.fit_process import (
    ProcessStart,
    condition_draws,
    fit_process,
    fit_process_mode,
)
from bktf.surrogate.fit_ranks import check_auto, check_rank_prior, fit_ranks, spec_of_rank
from bktf.surrogate.meaning import Meaning, check_names
from bktf.surrogate.model_spec import AUTO_RANK, ModelSpec, make_axes
from bktf.surrogate.observed_values import Data, Standardisation, check_values
from bktf.surrogate.posterior import Posterior
from bktf.surrogate.priors import Priors
from bktf.surrogate.rank_posterior import RankPosterior
from bktf.surrogate.run_chains import RunOptions

# What the kernels of a call with rank 0 meant in version 0.1.
FORMER_KERNELS = {"matern12": None, "matern32": None, "wishart": "categorical"}
NOISE_RANGE = (1e-6, 1e6)  # of a known noise relative to the spread of y; moved into it if outside


def fit(
    axes: Sequence[ArrayLike],
    X: ArrayLike,
    y: ArrayLike,
    *,
    seed: int | None = None,
    rank: float | str = 2,
    n_sweeps: int | None = None,
    n_burn_in: int | None = None,
    n_chains: int | None = None,
    kernel: Kernel | Sequence[Kernel | None] | None = None,
    log: bool | Sequence[bool] = False,
    priors: Priors | None = None,
    shared_lengthscales: bool = False,
    residual_process: bool = False,
    adapt_rank: bool = False,
    offsets: bool = False,
    active: Sequence[Collection[int]] | None = None,
    noise_std: float | None = None,
    warm_start: Posterior | None = None,
    n_threads: int | None = None,
    show_progress_bar: bool = False,
    inference: str = "annealed",
    rank_prior: Mapping[float, float] | None = None,
    names: Sequence[str] | None = None,
    local: bool | None = None,
) -> Posterior:
    """Fit Bayesian kernelized tensor factorization to observations y at points X.

    There is no direction: larger values are not better ones.

    Args:
        axes: one increasing array of points per dimension; their ends are the box.
        X: (n, D) points inside the box. A coordinate that is not on its axis becomes a point of it.
        y: (n,) observed values; repeated points are repeated observations.
        seed: makes the draws reproducible, whatever the number of threads.
        rank: number of components R, each active in every dimension, at most 10,000. `math.inf` is
            the limit of the model at infinite rank: a Gaussian process with a product kernel. Along
            each ordered axis the kernel is a constant plus Matérn 5/2, in shares that are learned;
            levels have equal correlation. The cost is cubic in n. "auto" is ranks 1 to 4 and
            infinity, in proportion to their evidence under equal priors of noise and size; the
            posterior then has `rank_probabilities`, `log_evidence`, `log_evidence_se` and
            `by_rank`. It takes some 15 seconds of CPU for 80 observations.
        n_sweeps: sweeps of each chain, at most 10 million; at infinite rank 40 by default.
        n_burn_in: how many of the first sweeps to drop; at infinite rank 24 by default.
        n_chains: independent chains, at most 10,000, in parallel threads; their draws are
            concatenated. At infinite rank 2 by default. At finite rank, where none of the three is
            given, there are 32 annealed chains of 48 sweeps, and the last 16 are kept. Where one is
            given, the others are the paper's: 400, 200 and 1.
        kernel: one for all axes, or a list with one for each. By default (None) "matern32"; also
            "matern12", "matern52", "squared_exponential", "periodic", `bktf.Periodic(period)` or a
            covariance matrix over the axis's points. For an axis of unordered levels, given by
            their indices: "categorical" (any two levels equally correlated) or "wishart" (a full
            covariance, up to 20 levels). Infinite rank has "matern52" and "categorical" only.
        log: whether an axis is measured on a logarithmic scale; one for all axes, or a list with
            one for each.
        priors: see `bktf.Priors`.
        shared_lengthscales: one length-scale per dimension for all components instead of one each.
        residual_process: add a Gaussian process for the residuals of the components. The two parts
            are not identifiable together, so chains mix slowly. The cost is cubic in n.
        adapt_rank: shrink the weights of components of more than one dimension, each more than
            the one before (a multiplicative gamma process). `rank` is then only an upper bound; see
            `Posterior.ranks`.
        offsets: factors vary around a learned offset instead of around 0, so that an axis that
            does not matter costs nothing.
        active: the components' dimensions, as in [(0, 1), (0,)]; replaces `rank`.
        noise_std: standard deviation of the observation noise where it is known, in the units of y;
            otherwise it is learned. It is moved to between a millionth of and a million times the
            spread of y.
        warm_start: a posterior of the same model on earlier data. At finite rank chains start where
            it ended. At infinite rank the search for the most probable parameters starts there;
            with few observations there is none.
        n_threads: how many chains run at a time; by default as many as there are processors.
        show_progress_bar: show a progress bar of the sweeps.
        inference: how chains of finite rank are run. "annealed": the likelihood counts little at
            first and then more and more, and the factors of all components along an axis are also
            drawn together, so that chains find the same explanations. "gibbs": the paper's
            algorithm, one factor after another from a draw of the prior.
        rank_prior: with `rank="auto"`, prior probabilities of the ranks, as in {1: 0.5, 2: 0.5};
            by default equal ones.
        names: of the parameters, one for each axis; by default x0, x1, ….
        local: the former spelling of `residual_process`, and with `rank=0` of `rank=math.inf`.

    Paper: sections 3.1 and 3.3, algorithm 2. Differs: D1 to D9 in docs/paper_deviations.md.
    """
    if local is not None:
        rank, residual_process = _former_spelling(rank, residual_process, local)
        kernel = _former_kernels(kernel) if rank == math.inf else kernel
    spec = ModelSpec(
        rank=rank,
        active=active,
        kernel=kernel,
        log=log,
        priors=Priors() if priors is None else priors,
        noise_std=noise_std,
        n_sweeps=n_sweeps,
        n_burn_in=n_burn_in,
        n_chains=n_chains,
        inference=inference,
        shared_lengthscales=shared_lengthscales,
        adapt_rank=adapt_rank,
        offsets=offsets,
        residual_process=residual_process,
    )
    options = RunOptions(n_threads, show_progress_bar)
    if spec.rank == AUTO_RANK:
        if warm_start is not None:
            raise ValueError('rank="auto" starts from the prior; leave warm_start out')
        fitted: Posterior = _fit_auto(spec, axes, X, y, seed, check_rank_prior(rank_prior), options)
        return _named(fitted, names)
    if rank_prior is not None:
        raise ValueError(f'rank_prior is for rank="auto"; got it with rank={rank!r}')
    return _named(fit_model(spec, axes, X, y, seed, warm_start, options), names)


def _named(posterior: Posterior, names: Sequence[str] | None) -> Posterior:
    """The posterior with names of its parameters, where they are given."""
    if names is None:
        return posterior
    return replace(posterior, described=Meaning(check_names(names, len(posterior.grid))))


def _fit_auto(
    spec: ModelSpec,
    axes: Sequence[ArrayLike],
    X: ArrayLike,
    y: ArrayLike,
    seed: int | None,
    prior: Mapping[float, float],
    options: RunOptions,
) -> RankPosterior:
    """All ranks, in proportion to their evidence."""
    check_auto(spec)
    entropy = _entropy(seed)
    finite, values, standardisation = _observed(spec_of_rank(spec, 1), axes, X, y)
    infinite = finite
    if prior[math.inf] > 0:
        infinite = _observed(spec_of_rank(spec, math.inf), axes, X, y)[0]
    draws = fit_ranks(spec, finite, infinite, prior, entropy, options)
    return RankPosterior(finite.grid, finite.points, values, spec, entropy, standardisation, draws)


def fit_model(
    spec: ModelSpec,
    axes: Sequence[ArrayLike],
    X: ArrayLike,
    y: ArrayLike,
    seed: int | None,
    warm_start: Posterior | ProcessStart | None = None,
    options: RunOptions | None = None,
) -> Posterior:
    """`fit` with the model as one record."""
    entropy = _entropy(seed)
    data, values, standardisation = _observed(spec, axes, X, y)
    warm = _warm_start(spec, warm_start, standardisation)
    options = RunOptions() if options is None else options
    draws: Draws
    if spec.is_process:
        assert not isinstance(warm, WarmStart)
        draws = fit_process(spec, data, entropy, warm, options)
    else:
        assert not isinstance(warm, ProcessStart)
        draws = fit_components(spec, data, entropy, warm, options)
    return Posterior(data.grid, data.points, values, spec, entropy, standardisation, draws)


def fit_mode(
    spec: ModelSpec,
    axes: Sequence[ArrayLike],
    X: ArrayLike,
    y: ArrayLike,
    start: ProcessStart | None,
) -> Posterior:
    """The process with the most probable parameters, as a posterior with a single draw."""
    data, values, standardisation = _observed(spec, axes, X, y)
    draws = fit_process_mode(spec, data, start)
    return Posterior(data.grid, data.points, values, spec, 0, standardisation, draws)


def move_to_mode(posterior: Posterior, mode: Posterior) -> Posterior:
    """The draws of a fit to few observations, moved to the most probable parameters given many.

    Distances of the draws from their mean shrink like the square root of the number of
    observations, as those of a posterior do. `mode` is a fit by `fit_mode` to the many.
    """
    few, many = posterior.draws, mode.draws
    assert isinstance(few, ProcessDraws)
    assert isinstance(many, ProcessDraws)
    shrink = math.sqrt(len(posterior.y) / len(mode.y))
    logs, log_precision = few.process.logs, np.log(few.process.noise_precision)
    moved = many.process.logs + shrink * (logs - logs.mean(axis=0))
    deviations = shrink * (log_precision - log_precision.mean())
    noise_precision = many.process.noise_precision * np.exp(deviations)
    values = mode.standardisation.to_model(mode.y)
    data = Data(mode.grid, mode.X, values, None)
    draws = condition_draws(data, moved, noise_precision, posterior.seed)
    return replace(mode, spec=posterior.spec, seed=posterior.seed, draws=draws)


def add_descriptors(
    spec: ModelSpec,
    axes: Sequence[Floats],
    X: Floats,
    descriptors: Sequence[Descriptors],
) -> tuple[ModelSpec, list[Floats], Floats]:
    """A process with one more axis for each descriptor of levels; their values follow from X.

    The spec names a kernel and a scale for each axis. Values of descriptors lie in [0, 1]; an
    inactive level has inactive descriptors.
    """
    assert isinstance(spec.kernel, Sequence)
    assert isinstance(spec.log, Sequence)
    wide, columns = list(axes), []
    for own in descriptors:
        level = X[:, own.axis]
        is_active = np.isfinite(level)
        index = np.where(is_active, level, 0.0).astype(np.intp)
        for values in own.values.T:
            points = np.unique(values[np.isfinite(values)])
            wide.append(points if is_active.all() else np.append(points, np.inf))
            columns.append(np.where(is_active, values[index], np.inf))
    more = len(columns)
    kernels, log = [*spec.kernel, *[None] * more], [*spec.log, *[False] * more]
    return replace(spec, kernel=kernels, log=log), wide, np.column_stack((X, *columns))


def fold_descriptors(
    posterior: Posterior, spec: ModelSpec, descriptors: Sequence[Descriptors]
) -> Posterior:
    """The posterior of `add_descriptors` as a function of levels, without the further axes."""
    draws = posterior.draws
    assert isinstance(draws, ProcessDraws)
    n_dims = len(posterior.grid) - sum(own.values.shape[1] for own in descriptors)
    process = draws.process._replace(descriptors=tuple(descriptors))
    grid = posterior.grid[:n_dims]
    seen = replace(draws, axes=grid, process=process)
    return replace(posterior, grid=grid, X=posterior.X[:, :n_dims], spec=spec, draws=seen)


def in_context(posterior: Posterior, n: int, context: Sequence[float]) -> Posterior:
    """The process as a function of its first axes, the others kept at the values of `context`.

    Only the first n observations, which must be there, are shown; the others count all the same.
    """
    draws, n_dims = posterior.draws, len(posterior.grid) - len(context)
    assert isinstance(draws, ProcessDraws)
    pairs = zip(posterior.grid[n_dims:], context, strict=True)
    scaled = np.concatenate([axis.scale(np.array([x])) for axis, x in pairs])
    grid = posterior.grid[:n_dims]
    seen = replace(draws, axes=grid, process=draws.process._replace(context=scaled))
    return replace(posterior, grid=grid, X=posterior.X[:n, :n_dims], y=posterior.y[:n], draws=seen)


def around_mean(posterior: Posterior, mean: float) -> Posterior:
    """The process with the same parameters and observations that falls back to another mean.

    The mean is in the model's units, where that of the observations is 0.
    """
    draws, units = posterior.draws, posterior.standardisation
    assert isinstance(draws, ProcessDraws)
    moved = Standardisation(units.mean + mean * units.scale, units.scale)
    process = draws.process.around(mean)
    return replace(posterior, draws=replace(draws, process=process), standardisation=moved)


def _observed(
    spec: ModelSpec, axes: Sequence[ArrayLike], X: ArrayLike, y: ArrayLike
) -> tuple[Data, Floats, Standardisation]:
    """What a sampler sees of points X and values y, the values themselves, and their units."""
    base = make_axes(spec, axes)
    points = check_points(X, base)
    values = check_values(y, len(points))
    grid = tuple(axis.with_coordinates(points[:, d]) for d, axis in enumerate(base))
    # An axis takes coordinates within rounding as one point, so observations move onto its points.
    on_axes = [axis.points[axis.locate(points[:, d])] for d, axis in enumerate(grid)]
    standardisation = Standardisation.of(values)
    noise_precision = _known_precision(spec.noise_std, standardisation)
    scaled = standardisation.to_model(values)
    return Data(grid, np.stack(on_axes, axis=1), scaled, noise_precision), values, standardisation


def _former_spelling(
    rank: float | str, residual_process: bool, local: object
) -> tuple[float | str, bool]:
    """Rank and residual process of a call that has the keyword `local` of the version before."""
    if not isinstance(local, bool | np.bool_):
        raise ValueError(f"local must be True or False; got {local!r}")
    new = "rank=math.inf" if rank == 0 else "residual_process=True"
    if rank == math.inf or not local:
        new = "by leaving it out"
    warn_of_change(f"local={local} is now written {new}")
    if rank in (0, math.inf) and local:
        return math.inf, False
    return rank, residual_process or bool(local)


def _former_kernels(
    kernel: Kernel | Sequence[Kernel | None] | None,
) -> Kernel | Sequence[Kernel | None] | None:
    """The kernels of a call with rank 0.

    There any Matérn kernel meant 5/2, and both kernels of levels meant equal correlation.
    """
    if isinstance(kernel, list | tuple):
        return [FORMER_KERNELS.get(k, k) if isinstance(k, str) else k for k in kernel]
    return FORMER_KERNELS.get(kernel, kernel) if isinstance(kernel, str) else kernel


def _warm_start(
    spec: ModelSpec, warm: object, standardisation: Standardisation
) -> WarmStart | ProcessStart | None:
    """Where the chains of an earlier fit ended; refused where it was of another kind of model."""
    if warm is None or (isinstance(warm, ProcessStart) and spec.is_process):
        return warm
    if not isinstance(warm, Posterior):
        raise ValueError(f"warm_start must be a bktf.Posterior; got {type(warm).__name__}")
    if spec.is_process != warm.spec.is_process:
        ranks = f"rank={spec.rank} and a warm start of rank={warm.spec.rank}"
        raise ValueError(
            "warm_start must be of the same kind, both of finite or both of infinite rank; got "
            f"{ranks}. Leave it out"
        )
    if isinstance(warm.draws, ProcessDraws):
        return ProcessStart.of(warm.draws)
    log_ratio = float(np.log10(warm.standardisation.scale) - np.log10(standardisation.scale))
    draws, lengths = warm.draws, warm.spec.lengths
    return WarmStart(draws.components, draws.process, lengths.n_chains, lengths.n_kept, log_ratio)


def _entropy(seed: int | None) -> int:
    """The seed as a whole number, fresh where none was given."""
    if seed is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, or None; got {seed!r}")
    return int(seed)


def _known_precision(noise_std: float | None, standardisation: Standardisation) -> float | None:
    """The noise precision in the model's units where the noise is known."""
    if noise_std is None:
        return None
    share = min(float(noise_std), NOISE_RANGE[1] * standardisation.scale) / standardisation.scale
    return float(max(share, NOISE_RANGE[0]) ** -2.0)
