"""Means and covariances of a path's terms along one axis, exact but for rounding.

A path is Re Σ_f W_f·Π_d z_fd(x_d) + Σ_t c_t·Π_d φ_td(x_d). Coordinates are independent, so every
integral of the path, or of its square, over some axes is made of integrals along single axes:

    E z_f,  E φ_t,  Cov(z_f, z_g),  Cov(z_f, conj z_g),  Cov(z_f, φ_t),  Cov(φ_s, φ_t)

where Cov(a, b) = E[a·b] − E[a]·E[b], without a conjugate. A measure on nodes gives sums. Over the
uniform measure, waves are exp(i·ω·x) and their integrals are those of sin(θ/2) / (θ/2). Real terms
bring closed forms, or say where they are smooth: then each piece has its Gauss-Legendre rule.
"""

from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from bktf._typing import Complexes, Floats
from bktf.product_forms.axis_measures import AxisMeasure
from bktf.product_forms.path_terms import PathTerms, Pieces, RealMoments

Values = TypeVar("Values", Floats, Complexes)

N_GAUSS = 10  # nodes of a panel: exact for polynomials of degree 19
MAX_TURN = 4.0  # radians that the fastest wave turns within a panel
SMALL_ANGLE = 0.02  # below, sin(a) / a is its series


class AxisMoments(NamedTuple):
    """Means and covariances of the terms of one path along one axis.

    The waves are taken without a phase each, so that their covariances are real where they can be:
    z = phase·(what is described here).
    """

    phases: Complexes  # (F,)
    wave_means: Complexes  # (F,)
    real_means: Floats  # (T,)
    waves: Floats | Complexes  # (F, F) Cov(z_f, z_g)
    conjugates: Floats | Complexes  # (F, F) Cov(z_f, conj z_g)
    mixed: Complexes  # (F, T) Cov(z_f, φ_t)
    reals: Floats  # (T, T) Cov(φ_s, φ_t)


def axis_means(terms: PathTerms, d: int, measure: AxisMeasure) -> tuple[Complexes, Floats]:
    """The means of the waves (F,) and of the real terms (T,) of one path along axis d."""
    if measure.coords is not None and measure.weights is not None:
        weights = measure.weights
        return terms.waves(d, measure.coords) @ weights, terms.reals(d, measure.coords) @ weights
    frequencies = _frequencies(terms, d)
    wave_means = np.exp(0.5j * frequencies) * _sine_ratio(0.5 * frequencies)
    known = terms.real_moments(d)
    if known is not None:
        return wave_means, known.means
    coords, weights = quadrature(terms.pieces(d), 0.0)
    return wave_means, terms.reals(d, coords) @ weights


def axis_moments(
    terms: PathTerms, d: int, measure: AxisMeasure, known: RealMoments | None = None
) -> AxisMoments:
    """The means and covariances of the terms of one path along axis d.

    known: `terms.real_moments(d)`, where the caller has it: paths of one draw share it.
    """
    if measure.coords is not None and measure.weights is not None:
        return _moments_on_nodes(terms, d, measure.coords, measure.weights)
    frequencies = _frequencies(terms, d)
    phases = np.exp(0.5j * frequencies)
    half = 0.5 * frequencies
    means = _sine_ratio(half)
    waves, conjugates = _wave_covariances(half, means)
    known = terms.real_moments(d) if known is None else known
    if known is not None:
        real_means, reals = known.means, known.covariances
        mixed = terms.mixed_covariances(d) / phases[:, None]
    else:
        fastest = float(np.abs(frequencies).max(initial=0.0))
        coords, weights = quadrature(terms.pieces(d), fastest)
        centred, real_means = _centred(terms.reals(d, coords), weights)
        reals = (centred * weights) @ centred.T
        turned = np.exp(1j * frequencies[:, None] * (coords - 0.5))
        mixed = (turned * weights) @ centred.T
    return AxisMoments(
        phases, means.astype(np.complex128), real_means, waves, conjugates, mixed, reals
    )


def quadrature(pieces: Pieces, fastest: float) -> tuple[Floats, Floats]:
    """Nodes and weights (Q,) over [0, 1], a Gauss-Legendre rule on every panel.

    Panels end at the knots, and are so short that functions of the pieces' length and waves up to
    the frequency `fastest` are smooth on them.
    """
    inside = pieces.knots[(pieces.knots > 0.0) & (pieces.knots < 1.0)]
    ends = np.unique(np.concatenate(([0.0], inside, [1.0])))
    longest = min(pieces.longest, MAX_TURN / max(fastest, MAX_TURN))
    return panel_rule(ends, longest)


def panel_rule(ends: Floats, longest: float, n_nodes: int = N_GAUSS) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights (Q,) on panels between `ends`, none above `longest`."""
    widths = np.diff(ends)
    counts = np.maximum(np.ceil(widths / longest), 1.0).astype(np.int64)
    first = np.repeat(ends[:-1], counts)
    width = np.repeat(widths / counts, counts)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    nodes, weights = _gauss_legendre(n_nodes)
    coords = (first + number * width)[:, None] + width[:, None] * nodes
    return coords.ravel(), (width[:, None] * weights).ravel()


@lru_cache(maxsize=8)
def _gauss_legendre(n_nodes: int) -> tuple[Floats, Floats]:
    """The rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _moments_on_nodes(terms: PathTerms, d: int, coords: Floats, weights: Floats) -> AxisMoments:
    """Means and covariances over a measure on nodes."""
    z, wave_means = _centred(terms.waves(d, coords), weights)
    phi, real_means = _centred(terms.reals(d, coords), weights)
    weighted = z * weights
    return AxisMoments(
        np.ones(len(z), dtype=np.complex128),
        wave_means,
        real_means,
        weighted @ z.T,
        weighted @ z.conj().T,
        weighted @ phi.T,
        (phi * weights) @ phi.T,
    )


def _centred(table: Values, weights: Floats) -> tuple[Values, Values]:
    """A table (·, Q) less its means, and the means (·,)."""
    means = table @ weights
    return table - means[:, None], means


def _frequencies(terms: PathTerms, d: int) -> Floats:
    """The frequencies (F,) of the waves along an ordered axis."""
    frequencies = terms.frequencies(d)
    assert frequencies is not None, f"axis {d} has levels: its measure is on nodes"
    return frequencies


def _sine_ratio(angles: Floats) -> Floats:
    """Return sin(a) / a, with its series where a is small."""
    square = np.square(angles)
    series = 1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0))
    is_small = np.abs(angles) < SMALL_ANGLE
    return np.where(is_small, series, np.sin(angles) / np.where(is_small, 1.0, angles))


def _wave_covariances(half: Floats, means: Floats) -> tuple[Floats, Floats]:
    """Cov(z, z') and Cov(z, conj z') (F, F) of waves exp(2i·half·(x − ½)) with these means.

    The sine of a sum comes from sines and cosines of single waves.
    """
    present = np.flatnonzero(half)  # an axis is absent from many waves: they are constant
    a, m = half[present], means[present]
    sine, cosine = np.sin(a), np.cos(a)
    left, right = sine[:, None] * cosine, cosine[:, None] * sine
    product = m[:, None] * m
    out = []
    for angles, sines in ((a[:, None] + a, left + right), (a[:, None] - a, left - right)):
        is_small = np.abs(angles) < SMALL_ANGLE
        ratio = sines / np.where(is_small, 1.0, angles)
        ratio[is_small] = _sine_ratio(angles[is_small])
        full = np.zeros((half.size, half.size))
        full[np.ix_(present, present)] = ratio - product
        out.append(full)
    return out[0], out[1]
