"""Where EI is largest between the points of the axes, for draws that are a Gaussian process alone: by its gradient.

On a grid the cells of an axis can all be looked at. Between them f is smooth, and log EI has a gradient in closed form, so a search climbs
from the best of many candidates: free coordinates together by L-BFGS, coordinates that have only certain values one after the other.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bktf._compiled.numba_options import kernel, part
from bktf.acquisition.process_scores import log_improvement
from bktf.gaussian_process.conditional_process import ConditionalProcess, moments
from bktf.gaussian_process.covariance import SQRT5, exponentiate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_RANDOM = 256  # candidates anywhere
N_NEAR = 256  # candidates near the best points
NEAR = (0.003, 0.3)  # how far from them, as shares of the axes, even in the logarithm
N_CLIMBERS = 5
APART = 0.1  # of at least one axis, between climbers
N_STEPS = 25  # of L-BFGS in each round
MAX_ROUNDS = 4
MAX_SEARCH = 20_000  # random points asked for one that is allowed
N_RESTRICTED = 2  # allowed points around which others are tried
N_NEARBY = 64  # of them in each round
NEARBY = (0.1, 0.03, 0.01, 0.003)  # how far from the best so far, as shares of the axes
LOG_TOLERANCE = 1e-3  # of log EI, below which a round has brought nothing


@part
def multiply_along(observed, d, coordinate, own, shares, powers, room, out, fall, wants_fall):
    """Multiply out (n, K) by κ_d between a coordinate and the observations; fall: how fast log κ_d falls with the distance."""
    n, n_draws = out.shape
    for i in range(n):
        row, apart = powers[i], abs(coordinate - observed[i, d])
        for k in range(n_draws):
            row[k] = -apart * own[k]
    exponentiate(powers.reshape(powers.size), room)
    for i in range(n):
        total, row, falling, apart = out[i], powers[i], fall[i], abs(coordinate - observed[i, d])
        for k in range(n_draws):
            r = apart * own[k]
            row[k] *= 1.0 - shares[k]
            total[k] *= shares[k] + row[k] * (1.0 + r + r * r / 3.0)
        if wants_fall:
            for k in range(n_draws):
                r = apart * own[k]
                falling[k] = own[k] * row[k] * (r + r * r) / (3.0 * shares[k] + row[k] * (3.0 + 3.0 * r + r * r))


@part
def covariances(observed, on_levels, inverse, shares, sizes, point, powers, room, out, falls, wants_falls):
    """Write the covariance of h at a point with h at the observations into out (n, K).

    inverse (D, K): √5 / l, or the correlation on levels. Where they are wanted, falls (D, n, K) of `multiply_along` too. powers (n, K) and
    room (n·K,) are room.
    """
    n, n_draws = out.shape
    for i in range(n):
        row = out[i]
        for k in range(n_draws):
            row[k] = sizes[k]
    for d in range(point.size):
        own = inverse[d]
        if not on_levels[d]:
            multiply_along(observed, d, point[d], own, shares, powers, room, out, falls[d if wants_falls else 0], wants_falls)
            continue
        for i in range(n):
            if point[d] != observed[i, d]:
                row = out[i]
                for k in range(n_draws):
                    row[k] *= own[k]


@kernel
def values(observed, on_levels, inverse, shares, sizes, coefficients, roots, thresholds, points):
    """Log EI (N,) at scaled points (N, D)."""
    n, n_draws = coefficients.shape
    covariance, solved = np.empty((n, n_draws)), np.empty((n, n_draws))
    means, variances, logs = np.empty(n_draws), np.empty(n_draws), np.empty(n_draws)
    powers, room, nothing = np.empty((n, n_draws)), np.empty(n * n_draws), np.empty((1, n, n_draws))
    out = np.empty(len(points))
    for i in range(len(points)):
        covariances(observed, on_levels, inverse, shares, sizes, points[i], powers, room, covariance, nothing, False)
        moments(covariance, sizes, coefficients, roots, means, variances, solved)
        out[i] = log_improvement(means, variances, thresholds, logs)
    return out


@part
def slopes(gain, deviation, log_improvement):
    """The derivatives of log EI of a normal variable by its mean and by its variance."""
    u = gain / deviation
    log_excess = log_improvement - math.log(deviation)
    by_deviation = math.exp(-0.5 * u * u - 0.9189385332046727 - log_excess) / deviation  # φ / EI
    by_mean = 0.5 * math.erfc(-u * 0.7071067811865476) * math.exp(-log_improvement)  # Φ / EI
    if u < -1.0:
        by_mean = (1.0 / deviation - by_deviation) / u  # the same, because the excess is φ + u·Φ
    return by_mean, 0.5 * by_deviation / deviation


@kernel
def value_and_gradient(observed, on_levels, inverse, shares, sizes, coefficients, roots, thresholds, point, gradient):
    """Log EI at a scaled point (D,); writes its gradient, 0 on axes of levels."""
    n, n_draws = coefficients.shape
    covariance, solved = np.empty((n, n_draws)), np.empty((n, n_draws))
    means, variances, logs = np.empty(n_draws), np.empty(n_draws), np.empty(n_draws)
    powers, room, falls = np.empty((n, n_draws)), np.empty(n * n_draws), np.empty((point.size, n, n_draws))
    covariances(observed, on_levels, inverse, shares, sizes, point, powers, room, covariance, falls, True)
    moments(covariance, sizes, coefficients, roots, means, variances, solved)
    value = log_improvement(means, variances, thresholds, logs)
    by_mean, by_variance = np.empty(n_draws), np.empty(n_draws)
    for k in range(n_draws):
        share = math.exp(logs[k] - value) / n_draws
        first, second = slopes(means[k] - thresholds[k], math.sqrt(variances[k]), logs[k])
        by_mean[k] = share * first
        by_variance[k] = -2.0 * share * second
    weights = np.empty((n, n_draws))  # of each covariance's relative change
    for i in range(n):
        row, coefficient = weights[i], coefficients[i]
        for k in range(n_draws):
            row[k] = 0.0
        for a in range(i, n):
            root, other = roots[a, i], solved[a]
            for k in range(n_draws):
                row[k] += root[k] * other[k]
        for k in range(n_draws):
            row[k] = (by_mean[k] * coefficient[k] + by_variance[k] * row[k]) * covariance[i, k]
    for d in range(point.size):
        gradient[d] = 0.0
        if not on_levels[d]:
            for i in range(n):
                row, fall, total = weights[i], falls[d, i], 0.0
                for k in range(n_draws):
                    total += row[k] * fall[k]
                gradient[d] -= total if point[d] > observed[i, d] else -total
    return value


class Ascended(NamedTuple):
    """The best point that a search found."""

    point: Floats  # (D,) scaled
    log_score: float
    is_rare: bool  # whether no candidate was allowed, so that only points near to known ones were compared


class Ascent(NamedTuple):
    """Log EI over a box, some of whose axes have only certain values."""

    local: ConditionalProcess
    inverse: Floats  # (D, K)
    thresholds: Floats  # (K,)
    axes: tuple[Floats, ...]  # scaled points; a single one where an axis must keep it
    free: NDArray[np.bool_]  # (D,) axes on which every coordinate between the ends may be chosen

    def values(self, points: Floats) -> Floats:
        """Log EI (N,) at scaled points (N, D)."""
        own = self.local
        return np.asarray(
            values(own.observed, own.on_levels, self.inverse, own.shares, own.sizes, own.coefficients, own.roots, self.thresholds, points)
        )

    def value_and_gradient(self, point: Floats) -> tuple[float, Floats]:
        """Log EI and its gradient (D,) at a scaled point."""
        own, gradient = self.local, np.empty(point.size)
        value = value_and_gradient(
            own.observed, own.on_levels, self.inverse, own.shares, own.sizes, own.coefficients, own.roots, self.thresholds, point, gradient
        )
        return float(value), gradient

    def candidates(self, incumbents: Floats, rng: np.random.Generator) -> Floats:
        """Points (N, D) to begin from: anywhere, and near incumbents in some of their coordinates."""
        n_dims = len(self.axes)
        anywhere = np.stack([self._random(d, N_RANDOM, rng) for d in range(n_dims)], axis=1)
        near = incumbents[np.arange(N_NEAR) % len(incumbents)].copy()
        size = np.exp(rng.uniform(math.log(NEAR[0]), math.log(NEAR[1]), N_NEAR))
        share = np.maximum(rng.random(N_NEAR), 1.0 / n_dims)
        for d in range(n_dims):
            moved = rng.random(N_NEAR) < share
            if self.free[d]:
                step = size * rng.standard_normal(N_NEAR)
                near[:, d] = np.clip(near[:, d] + np.where(moved, step, 0.0), self.axes[d][0], self.axes[d][-1])
            else:
                near[:, d] = np.where(moved & (rng.random(N_NEAR) < 0.5), self._random(d, N_NEAR, rng), near[:, d])
        return np.concatenate((near, anywhere))

    def _random(self, d: int, n: int, rng: np.random.Generator) -> Floats:
        points = self.axes[d]
        return rng.uniform(points[0], points[-1], n) if self.free[d] else rng.choice(points, n)

    def climb(self, point: Floats, value: float) -> tuple[Floats, float]:
        """A local maximum from a point: free coordinates together, the others one by one, in turn."""
        point = point.copy()
        for _ in range(MAX_ROUNDS):
            before = value
            if self.free.any():
                point, value = self._climb_free(point, value)
            for d in np.flatnonzero(~self.free):
                line = np.repeat(point[None], self.axes[d].size, axis=0)
                line[:, d] = self.axes[d]
                on_line = self.values(line)
                if on_line.max() > value:
                    point, value = line[on_line.argmax()], float(on_line.max())
            if value < before + LOG_TOLERANCE or self.free.all():
                break
        return point, value

    def _climb_free(self, point: Floats, value: float) -> tuple[Floats, float]:
        from scipy.optimize import minimize  # heavy, and only needed here

        free = self.free

        def negative(x: Floats) -> tuple[float, Floats]:
            full = point.copy()
            full[free] = x
            found, gradient = self.value_and_gradient(full)
            return -found, -gradient[free]

        bounds = [(axis[0], axis[-1]) for axis, able in zip(self.axes, free, strict=True) if able]
        result = minimize(negative, point[free], jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": N_STEPS})
        if not -result.fun > value:
            return point, value
        better = point.copy()
        better[free] = result.x
        return better, float(-result.fun)

    def best(
        self,
        incumbents: Floats,
        allowed: Callable[[Floats], bool],
        rng: np.random.Generator,
        log_chance: Callable[[Floats], Floats] | None = None,
    ) -> "Ascended | None":
        """The best allowed point that was found and its log EI, log chance of success included where there is one.

        incumbents (m, D) are scaled points to look around. A chance has no gradient and what is allowed may be anything, so from where the
        gradient leads the search goes on by trying points nearby. Where no candidate is allowed, it tries points near the incumbents.
        """
        candidates = self.candidates(incumbents, rng)
        plain = self.values(candidates)
        climbed = [self.climb(candidates[i], float(plain[i])) for i in _spread(candidates, np.argsort(-plain, kind="stable"))]
        points = np.concatenate((np.stack([point for point, _ in climbed]), candidates))
        scores = np.concatenate(([value for _, value in climbed], plain))
        if log_chance is None and allowed(points[scores.argmax()]):
            return Ascended(points[scores.argmax()], float(scores.max()), False)
        if log_chance is not None:
            scores = scores + log_chance(points)
        starts = [(points[i], float(scores[i])) for i in _first_allowed(points, scores, allowed)]
        is_rare = not starts
        if is_rare:
            starts = [(point, -math.inf) for point in incumbents] + self._search(allowed, rng)
        found = [self._try_nearby(point, score, allowed, rng, log_chance) for point, score in starts]
        point, score = max(found, key=lambda pair: pair[1])
        return Ascended(point, score, is_rare) if score > -math.inf else None

    def _search(self, allowed: Callable[[Floats], bool], rng: np.random.Generator) -> list[tuple[Floats, float]]:
        """An allowed point that turns up at random and its log EI; nothing where they are too rare."""
        for _ in range(0, MAX_SEARCH, N_RANDOM):
            points = np.stack([self._random(d, N_RANDOM, rng) for d in range(len(self.axes))], axis=1)
            for point in points:
                if allowed(point):
                    return [(point, float(self.values(point[None])[0]))]
        return []

    def _try_nearby(
        self,
        point: Floats,
        score: float,
        allowed: Callable[[Floats], bool],
        rng: np.random.Generator,
        log_chance: Callable[[Floats], Floats] | None,
    ) -> tuple[Floats, float]:
        """The best allowed of ever nearer points, each round around the best so far."""
        for size in NEARBY:
            around = np.repeat(point[None], N_NEARBY, axis=0)
            for d, axis in enumerate(self.axes):
                if self.free[d]:
                    around[:, d] = np.clip(around[:, d] + size * rng.standard_normal(N_NEARBY), axis[0], axis[-1])
                else:
                    around[:, d] = np.where(rng.random(N_NEARBY) < size, self._random(d, N_NEARBY, rng), around[:, d])
            scores = self.values(around) + (0.0 if log_chance is None else log_chance(around))
            for i in np.argsort(-scores, kind="stable"):
                if not scores[i] > score:
                    break
                if allowed(around[i]):
                    point, score = around[i], float(scores[i])
                    break
        return point, score


def _first_allowed(points: Floats, scores: Floats, allowed: Callable[[Floats], bool]) -> list[int]:
    """The best few allowed points."""
    chosen: list[int] = []
    for i in np.argsort(-scores, kind="stable").tolist():
        if allowed(points[i]):
            chosen.append(i)
            if len(chosen) == N_RESTRICTED:
                break
    return chosen


def _spread(candidates: Floats, order: Ints) -> list[int]:
    """The first of the candidates in some order that are not next to each other, so that climbers do not all end on one hill."""
    chosen: list[int] = []
    for i in order.tolist():
        if not chosen or np.abs(candidates[chosen] - candidates[i]).max(axis=1).min() > APART:
            chosen.append(i)
            if len(chosen) == N_CLIMBERS:
                break
    return chosen


def make_ascent(local: ConditionalProcess, thresholds: Floats, axes: tuple[Floats, ...], free: NDArray[np.bool_]) -> Ascent:
    """The search over the box that scaled axes span."""
    inverse = np.where(local.on_levels, 1.0 / (1.0 + np.exp(-local.logs[:, :-2])), SQRT5 * np.exp(-local.logs[:, :-2]))
    return Ascent(local, np.ascontiguousarray(inverse.T), thresholds, axes, free)
