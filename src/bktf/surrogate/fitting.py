"""`fit`: from axes, points and values to a posterior."""

import math
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bktf._checks import MAX_CHAINS, check_noise_std, whole_number
from bktf._compiled.numba_options import announce_compilation
from bktf._compiled.slice_sampling import LOG_LENGTHSCALE_HIGH, LOG_LENGTHSCALE_LOW
from bktf.axis_kernels import dense
from bktf.axis_kernels import operations as processes
from bktf.axis_kernels.axes import Axis, check_axes, check_log, check_points
from bktf.axis_kernels.gaps import steps_along
from bktf.axis_kernels.kernel_choice import Kernel, resolve_kernels
from bktf.components import gibbs
from bktf.components.chain_state import LocalModel, Problem, State
from bktf.components.chains import ChainResult, run_chain, states_between
from bktf.gaussian_process.covariance import LOG_ODDS_HIGH, n_logs
from bktf.surrogate.posterior import Posterior
from bktf.surrogate.priors import Priors, Settings, resolve_active
from bktf.surrogate.standardisation import Standardisation, check_values

Floats = NDArray[np.float64]

CHAIN_STREAM = 0
START_NOISE_PRECISION = 100.0  # of a process: from smaller noise a chain does not find the way to large noise, from here it finds both
LENGTHSCALE_RANGE = (np.exp(LOG_LENGTHSCALE_LOW), np.exp(LOG_LENGTHSCALE_HIGH))
NOISE_RANGE = (1e-6, 1e6)  # a known noise outside this range, as a share of the spread of y, is moved into it
UNITS_RANGE = (1e-8, 1e8)  # a warm start whose units of y differ by more than this begins with fresh weights and noise


def fit(
    axes: Sequence[ArrayLike],
    X: ArrayLike,
    y: ArrayLike,
    *,
    seed: int | None = None,
    rank: int = 2,
    n_sweeps: int = 400,
    n_burn_in: int = 200,
    n_chains: int = 1,
    kernel: Kernel | Sequence[Kernel] = "matern32",
    log: bool | Sequence[bool] = False,
    priors: Priors | None = None,
    shared_lengthscales: bool = False,
    local: bool = False,
    adapt_rank: bool = False,
    offsets: bool = False,
    active: Sequence[Collection[int]] | None = None,
    noise_std: float | None = None,
    warm_start: Posterior | None = None,
    n_threads: int | None = None,
    show_progress_bar: bool = False,
) -> Posterior:
    """Fit Bayesian kernelized tensor factorization to observations y at points X; larger is just larger.

    Args:
        axes: one increasing array of points per dimension; their ends are the box.
        X: (n, D) points inside the box. A coordinate that is not on its axis becomes a point of it.
        y: (n,) observed values; repeated points are repeated observations.
        seed: makes the draws reproducible, whatever the number of threads.
        rank: number of components R, each active in every dimension; at most 10,000.
        n_sweeps: sweeps of each chain, at most 10 million.
        n_burn_in: how many of the first sweeps to drop.
        n_chains: independent chains, at most 10,000, in parallel threads; their draws are put one after the other.
        kernel: "matern12", "matern32", "matern52", "squared_exponential", "periodic", `bktf.Periodic(period)` or a
            covariance matrix over the axis's points; for an axis of unordered levels, given by their indices, "categorical" (any two
            levels equally correlated) or "wishart" (a full covariance, up to 20 levels); one for all axes, or a list with one for each.
        log: whether an axis is measured on a logarithmic scale; one for all axes, or a list with one for each.
        priors: see `bktf.Priors`.
        shared_lengthscales: one length-scale per dimension for all components instead of one each.
        local: add a Gaussian process with a product kernel for what the components leave over: a constant and Matérn 5/2 on ordered
            axes, in shares that are learned, so that main effects are in it, and equal correlation on levels, whatever `kernel` says of the
            components. With `rank` 0 it is all there is. The cost is cubic in n, and answers hold n² numbers for every draw.
        adapt_rank: shrink the weights of components of more than one dimension, more from one to the next (a multiplicative gamma
            process), so that `rank` is only the most there can be; see `Posterior.ranks`.
        offsets: factors vary around an offset that is learned, instead of around 0, so that a direction that does not matter costs nothing.
        active: the components' dimensions, as in [(0, 1), (0,)]; replaces `rank`.
        noise_std: standard deviation of the observation noise where it is known, in the units of y; otherwise it is
            learned. Below a millionth or above a million times the spread of y it counts as that.
        warm_start: a posterior of the same model on earlier data; chains start where it ended.
        n_threads: how many chains run at a time; by default as many as there are processors.
        show_progress_bar: show one, counting sweeps.

    Paper: sections 3.1 and 3.3, algorithm 2. Differs: D1 to D9 in docs/paper_deviations.md.
    """
    settings = Settings(
        n_sweeps=n_sweeps, n_burn_in=n_burn_in, n_chains=n_chains, shared_lengthscales=shared_lengthscales, local=local,
        adapt_rank=adapt_rank, offsets=offsets,
    )  # fmt: skip
    priors = Priors() if priors is None else priors
    if not isinstance(priors, Priors):
        raise ValueError(f"priors must be a bktf.Priors; got {type(priors).__name__}")
    base = make_axes(axes, kernel, log)
    mask = resolve_active(rank, active, len(base), least=0 if local else 1)
    unheard = [
        d for d, axis in enumerate(base) if not len(mask) and axis.kernel.kind in (dense.SQUARED_EXPONENTIAL, dense.PERIODIC, dense.GIVEN)
    ]
    if unheard:
        raise ValueError(
            f"a local component by itself (rank 0) has Matérn 5/2 on ordered axes and equal correlation on levels; the kernel of axis "
            f"{unheard[0]} is another. Leave it out, or give components by rank"
        )
    observed_at = check_points(X, base)
    values = check_values(y, len(observed_at))
    entropy = _entropy(seed)

    grid = tuple(axis.with_coordinates(observed_at[:, d]) for d, axis in enumerate(base))
    observed_at = np.stack([axis.points[axis.locate(observed_at[:, d])] for d, axis in enumerate(grid)], axis=1)
    standardisation = Standardisation.of(values)
    noise_precision = _known_precision(noise_std, standardisation)
    problem, observed = make_problem(grid, observed_at, standardisation.to_model(values), mask, priors, settings, noise_precision)
    if warm_start is not None:
        _check_warm_start(warm_start, grid, mask)

    stop = threading.Event()
    threads = min(n_chains, (os.cpu_count() or 1) if n_threads is None else whole_number("n_threads", n_threads, 1, MAX_CHAINS))
    announce_compilation(gibbs.run)

    def chain(number: int, report: Callable[[int], None]) -> ChainResult:
        stream = np.random.SeedSequence(entropy, spawn_key=(CHAIN_STREAM, number))
        start_rng, chain_rng, fill_rng = (np.random.default_rng(s) for s in stream.spawn(3))
        state = new_state(problem)
        if noise_precision is not None:
            state.noise_precision[0] = noise_precision
        gibbs.draw_prior(problem, state, start_rng)
        if local and noise_precision is None:
            state.noise_precision[0] = START_NOISE_PRECISION
        if warm_start is not None:
            _resume(warm_start, number, problem, grid, observed, standardisation, state, stop, start_rng)
        return run_chain(problem, grid, observed, state, n_sweeps, n_burn_in, chain_rng, fill_rng, stop, report)

    with _progress(n_sweeps * n_chains, show_progress_bar) as report:
        results = _run_all(chain, n_chains, threads, report, stop)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = [
            a.sum() for r in results for a in (r.weights, r.noise_precision, r.local_logs, *r.states, r.weights * r.states[0][:, :, 0, 0])
        ]
    if not np.all(np.isfinite(sums)):
        raise ArithmeticError(
            "the draws overflowed double precision; use priors and a given covariance with values nearer to 1 "
            f"(weight_var={priors.weight_var:g}, noise_rate={priors.noise_rate:g}, noise_std={noise_std})"
        )
    return Posterior(
        grid=grid,
        X=observed_at,
        y=values,
        active=mask,
        priors=priors,
        settings=settings,
        known_noise_std=None if noise_std is None else float(noise_std),
        seed=entropy,
        standardisation=standardisation,
        lengthscales=np.where(problem.learned, np.concatenate([r.lengthscales for r in results]), np.nan),
        states=tuple(np.concatenate([r.states[d] for r in results]) for d in range(len(grid))),
        weights=np.concatenate([r.weights for r in results]),
        noise_precision=np.concatenate([r.noise_precision for r in results]),
        weight_vars=np.concatenate([r.weight_vars for r in results]),
        offsets=np.concatenate([r.offsets for r in results]),
        local_logs=np.concatenate([r.local_logs for r in results]) if local else None,
    )


def make_axes(axes: Sequence[ArrayLike], kernel: Kernel | Sequence[Kernel], log: bool | Sequence[bool]) -> tuple[Axis, ...]:
    """The axes with their kernels, checked; arguments as in `fit`."""
    points = check_axes(axes, log)
    kernels = resolve_kernels(kernel, [p.size for p in points])
    return tuple(Axis(p, k, lg) for p, k, lg in zip(points, kernels, check_log(log, len(points)), strict=True))


def make_problem(
    grid: tuple[Axis, ...],
    points: Floats,
    values: Floats,
    active: NDArray[np.bool_],
    priors: Priors,
    settings: Settings,
    noise_precision: float | None,
) -> tuple[Problem, tuple[NDArray[np.int64], ...]]:
    """The sampler's view of the data, and the indices of the observed points of each axis."""
    observed, cells, coords = [], [], []
    for d, axis in enumerate(grid):
        seen, place = np.unique(axis.locate(points[:, d]), return_inverse=True)
        if axis.kernel.kind == dense.FULL_COVARIANCE:  # all levels, because the covariance is of all of them
            seen, place = np.arange(axis.size), axis.locate(points[:, d])
        observed.append(seen)
        cells.append(place)
        coords.append(axis.scale(axis.points)[seen])
    full = np.array([axis.kernel.kind == dense.FULL_COVARIANCE for axis in grid])
    has_matrix = np.array([axis.kernel.covariance is not None for axis in grid]) | full
    matrix_index = np.maximum(np.cumsum(has_matrix) - 1, 0).astype(np.int64)
    largest = max((axis.size for d, axis in enumerate(grid) if has_matrix[d]), default=1)
    covariances = np.zeros((max(int(has_matrix.sum()), 1), largest, largest))
    for d, axis in enumerate(grid):
        if axis.kernel.covariance is not None:
            covariances[matrix_index[d], : axis.size, : axis.size] = axis.kernel.covariance
    learned = np.array([axis.kernel.has_lengthscale for axis in grid])
    equal = np.array([axis.kernel.kind == dense.EQUAL_CORRELATION for axis in grid])
    kinds = np.array([axis.kernel.kind for axis in grid], dtype=np.int64)
    steps = [steps_along(c) for c in coords]
    problem = Problem(
        values=np.ascontiguousarray(values),
        cells=np.array(cells, dtype=np.uint32),
        coords=np.concatenate(coords),
        starts=_starts([c.size for c in coords]),
        steps=np.concatenate([s.places for s in steps]),
        gaps=np.concatenate([s.values for s in steps]),
        gap_starts=_starts([s.values.size for s in steps]),
        kinds=kinds,
        periods=np.array([axis.period for axis in grid]),
        covariances=covariances,
        covariance_index=matrix_index,
        operations=processes.operations(kinds, settings.shared_lengthscales, settings.local),
        learned=learned,
        full=full,
        active=active,
        shared=bool(settings.shared_lengthscales),
        log_means=np.where(equal, priors.correlation_logit_mean, priors.lengthscale_log_mean).astype(float),
        log_vars=np.where(equal, priors.correlation_logit_var, priors.lengthscale_log_var).astype(float),
        noise_shape=float(priors.noise_shape),
        noise_rate=float(priors.local_noise_rate if settings.local else priors.noise_rate),
        noise_known=noise_precision is not None,
        weight_var=float(priors.weight_var),
        shrunk=(active.sum(axis=1) > min(1, len(grid) - 1)) & bool(settings.adapt_rank),
        shrinkage_first=float(priors.shrinkage_first),
        shrinkage_rest=float(priors.shrinkage_rest),
        offset=~full & bool(settings.offsets),
        offset_mean=float(priors.offset_mean),
        offset_var=float(priors.offset_var),
        local=_make_local(grid, points, priors, settings.local),
    )
    return problem, tuple(observed)


def _make_local(grid: tuple[Axis, ...], points: Floats, priors: Priors, present: bool) -> LocalModel:
    """The local component of a problem, empty where there is none."""
    n_dims = len(grid)
    on_levels = np.array([axis.kernel.on_levels for axis in grid])
    scaled = np.stack([axis.scale(points[:, d]) for d, axis in enumerate(grid)])
    first, second = np.triu_indices(len(points)) if present else (np.empty(0, dtype=np.int64),) * 2
    apart = np.abs(scaled[:, first] - scaled[:, second])
    shift = priors.local_lengthscale_log_mean + 0.5 * math.log(n_dims)
    means = np.where(on_levels, priors.correlation_logit_mean, shift)
    variances = np.where(on_levels, priors.correlation_logit_var, priors.local_lengthscale_log_var)
    share = min(priors.local_share_logit_mean + math.log(n_dims), LOG_ODDS_HIGH - 1.0)
    return LocalModel(
        present=bool(present),
        separations=np.ascontiguousarray(np.where(on_levels[:, None], apart > 0, apart).astype(float)),
        on_levels=on_levels.astype(np.int64),
        log_means=np.append(means, (priors.local_size_log_mean, share)),
        log_vars=np.append(variances, (priors.local_size_log_var, priors.local_share_logit_var)),
    )


def _starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Where each of several pieces begins when they are laid one after the other, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def new_state(problem: Problem) -> State:
    """An empty state of the right sizes."""
    n_components, n_dims = problem.active.shape
    size = max(processes.state_size(int(kind)) for kind in problem.kinds)
    n = problem.values.size
    return State(
        lengthscales=np.zeros((n_components, n_dims)),
        covariances=problem.covariances.copy(),
        factors=np.zeros((n_components, problem.coords.size, size)),
        weights=np.zeros(n_components),
        weight_vars=np.full(n_components, problem.weight_var),
        shrinkage=np.ones(n_components),
        offsets=np.zeros((n_components, n_dims)),
        noise_precision=np.ones(1),
        products=np.zeros((n_components, n)),
        residual=np.zeros(n),
        local=np.zeros(n),
        local_logs=np.zeros(n_logs(n_dims)),
    )


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
    check_noise_std(noise_std)
    share = min(float(noise_std), NOISE_RANGE[1] * standardisation.scale) / standardisation.scale
    return float(max(share, NOISE_RANGE[0]) ** -2.0)


def _check_warm_start(warm: Posterior, grid: tuple[Axis, ...], active: NDArray[np.bool_]) -> None:
    """Refuse a warm start from a posterior of another model."""
    if not isinstance(warm, Posterior):
        raise ValueError(f"warm_start must be a bktf.Posterior; got {type(warm).__name__}")
    same = np.array_equal(warm.active, active) and len(warm.grid) == len(grid)
    if not same or not all(a.kernel.same_as(b.kernel) for a, b in zip(warm.grid, grid, strict=True)):
        raise ValueError("warm_start must come from a fit with the same dimensions, components and kernels; this one differs")
    for d, (old, new) in enumerate(zip(warm.grid, grid, strict=True)):
        if old.log != new.log or (new.kernel.on_levels and not np.array_equal(old.points, new.points)):
            raise ValueError(f"warm_start must come from a fit with the same levels and scale on axis {d}; this one differs")


def _resume(
    warm: Posterior,
    number: int,
    problem: Problem,
    grid: tuple[Axis, ...],
    observed: tuple[NDArray[np.int64], ...],
    standardisation: Standardisation,
    state: State,
    stop: threading.Event,
    rng: np.random.Generator,
) -> None:
    """Write the last draw of a chain of `warm` into state: rescaled to today's units, drawn at today's new coordinates."""
    kept = warm.settings.n_kept
    k = (number % warm.settings.n_chains) * kept + kept - 1
    log_ratio = np.log10(warm.standardisation.scale) - np.log10(standardisation.scale)
    if np.log10(UNITS_RANGE[0]) < log_ratio < np.log10(UNITS_RANGE[1]):
        ratio = 10.0**log_ratio
        state.weights[:] = warm.weights[k] * ratio
        if not problem.noise_known:
            state.noise_precision[0] = warm.noise_precision[k] / ratio**2
    if problem.local.present and warm.local_logs is not None:
        known = np.isfinite(warm.local_logs[k])  # a file from before the constant share knows nothing of it
        state.local_logs[known] = warm.local_logs[k][known]
    for d, axis in enumerate(grid):
        old = warm.grid[d]
        states = warm.states[d][k : k + 1]
        lengthscales = warm.axis_lengthscales(d)[k : k + 1]
        if problem.learned[d] and not axis.kernel.on_levels:
            lengthscales = np.clip(lengthscales * (old.length / axis.length), *LENGTHSCALE_RANGE)
        if problem.shared and problem.active[:, d].any():  # a fit with one length-scale each may warm one that shares them
            lengthscales = np.where(np.isnan(lengthscales), np.nan, np.nanmean(lengthscales))
        state.lengthscales[:, d] = lengthscales[0]
        state.offsets[:, d] = warm.offsets[k, :, d] if problem.offset[d] else 0.0
        wanted = axis.points[observed[d]]
        place = old.locate(wanted)
        size = states.shape[3]
        now = np.empty((1, len(problem.active), wanted.size, size))
        now[:, :, place >= 0] = states[:, :, place[place >= 0]]
        new = axis.scale(wanted[place < 0])
        now[:, :, place < 0] = states_between(
            axis, lengthscales, warm.offsets[k : k + 1, :, d], axis.scale(old.points), states, new, stop, rng
        )
        state.factors[:, problem.starts[d] : problem.starts[d + 1], :size] = now[0]
    gibbs.update_covariances(problem, state, False, rng)


def _run_all(
    chain: Callable[[int, Callable[[int], None]], ChainResult],
    n_chains: int,
    threads: int,
    report: Callable[[int], None],
    stop: threading.Event,
) -> list[ChainResult]:
    """Run the chains, here or in threads; an interrupt or an error stops all of them."""
    if threads <= 1:
        return [chain(c, report) for c in range(n_chains)]
    with ThreadPoolExecutor(threads, thread_name_prefix="bktf") as pool:
        futures = [pool.submit(chain, c, report) for c in range(n_chains)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        except BaseException:
            stop.set()
            raise
        for future in futures:
            error = future.exception() if future.done() else None
            if error is not None:  # this one, not the interrupt that stopping causes in the others
                stop.set()
                raise error
        return [future.result() for future in futures]


@contextmanager
def _progress(total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """A function that counts sweeps, on a progress bar if shown."""
    if not shown:
        yield lambda _: None
        return
    from tqdm.auto import tqdm  # comes with Optuna; not needed otherwise

    lock = threading.Lock()
    with tqdm(total=total, unit="sweep") as bar:

        def report(count: int) -> None:
            with lock:
                bar.update(count)

        yield report
