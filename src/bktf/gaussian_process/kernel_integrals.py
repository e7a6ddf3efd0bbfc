"""Integrals over [0, 1] of the covariances along one ordered axis, in closed form.

    φ_t(x) = ρ + (1 − ρ)·w_t·M(λ·|x − s_t|),    M(r) = (1 + r + r² / 3)·exp(−r)

Over the whole line, the integral of M·M is a polynomial times an exponential, and that of
exp(i·ω·x)·M is its Fourier transform. What lies left of 0 or right of 1 is a product of rank 3,
because with y ≥ 0, the distance beyond the end, and A = λ·s

    M(A + y) = exp(−A − y)·Σ_k p_k(A)·y^k,    p_0 = 1 + A + A² / 3,  p_1 = 1 + 2·A / 3,  p_2 = 1 / 3

Such a difference loses digits where the length-scale is long. The products of two covariances are
then a quadrature: with little noise they are multiplied by large numbers that nearly cancel.
"""

from dataclasses import dataclass

import numpy as np

from bktf._typing import Complexes, Floats
from bktf.gaussian_process.covariance import FROM_FAR, MIDDLE_WEIGHT
from bktf.product_forms import RealMoments, panel_rule

FACTORIALS = np.array([1.0, 1.0, 2.0])  # k! = ∫ y^k·exp(−y) dy
# (k + l)! / 2^(k + l + 1) = ∫ y^(k + l)·exp(−2·y) dy
TAIL_PRODUCTS = np.array([[1 / 2, 1 / 4, 1 / 4], [1 / 4, 1 / 4, 3 / 8], [1 / 4, 3 / 8, 3 / 4]])
LINE_INTEGRAL = 16.0 / 3.0  # of M over the whole line, times λ
# ∫ M(λ·|x|)·M(λ·|x − h|) dx = exp(−r)·Σ_k c_k·r^k / λ, r = λ·h: the form of a Matérn 11/2
LINE_PRODUCT = 3.5 * np.array([1.0, 1.0, 4 / 9, 1 / 9, 1 / 63, 1 / 945])
MIN_RATE = 4.0  # λ; where it is lower, a quadrature is more exact
# Up to MIN_RATE, four nodes on such panels between the knots are exact to 1e-14
LONGEST_PANEL, N_NODES = 1 / 16, 4


@dataclass(frozen=True, eq=False)
class KernelIntegrals:
    """The covariances along one ordered axis with n observations."""

    rate: float  # λ
    share: float  # ρ
    observed: Floats  # (n,) scaled coordinates; inactive ones far away

    @property
    def is_inside(self) -> bool:
        """Whether all observations are inactive or in [0, 1], as the formulas need it."""
        return bool(np.all((self.knots >= -1e-9) & (self.knots <= 1.0 + 1e-9)))

    @property
    def knots(self) -> Floats:
        """The points s (n,); an inactive coordinate has the covariance of the middle."""
        return np.where(self.observed > FROM_FAR, 0.5, self.observed)

    @property
    def sizes(self) -> Floats:
        """(1 − ρ)·w (n,)."""
        return (1.0 - self.share) * np.where(self.observed > FROM_FAR, MIDDLE_WEIGHT, 1.0)

    def moments(self) -> RealMoments:
        """Means (n,) and covariances (n, n) of φ for x uniform on [0, 1]."""
        if self.rate < MIN_RATE:
            return self._moments_by_quadrature()
        left, right = self._tails()
        means = (LINE_INTEGRAL - (left + right) @ FACTORIALS) / self.rate
        r = self.rate * np.abs(self.knots[:, None] - self.knots)
        products = np.exp(-r) * np.polynomial.polynomial.polyval(r, LINE_PRODUCT)
        products -= left @ TAIL_PRODUCTS @ left.T
        products -= right @ TAIL_PRODUCTS @ right.T
        covariances = products / self.rate - means[:, None] * means
        sizes = self.sizes
        return RealMoments(self.share + sizes * means, sizes[:, None] * sizes * covariances)

    def _moments_by_quadrature(self) -> RealMoments:
        """The same from nodes between all knots, for a long length-scale."""
        inside = np.clip(self.knots, 0.0, 1.0)
        ends = np.unique(np.concatenate(([0.0], inside, [1.0])))
        coords, weights = panel_rule(ends, LONGEST_PANEL, N_NODES)
        r = self.rate * np.abs(inside[:, None] - coords)
        values = (1.0 + r + r * r / 3.0) * np.exp(-r)
        means = values @ weights
        values -= means[:, None]
        values *= np.sqrt(weights)
        sizes = self.sizes
        values *= sizes[:, None]
        return RealMoments(self.share + sizes * means, values @ values.T)

    def with_waves(self, frequencies: Floats) -> Complexes:
        """Cov(exp(i·ω·x), φ) for x uniform on [0, 1], (F, n); 0 where ω is."""
        out = np.zeros((frequencies.size, self.knots.size), dtype=np.complex128)
        present = np.flatnonzero(frequencies)  # an axis is absent from many waves
        omega, rate = frequencies[present], self.rate
        left, right = self._tails()
        p = rate + 1j * omega
        # ∫ y^k·exp(−y·p / λ) dy / λ, y = λ·distance
        powers = FACTORIALS * (rate / p[:, None]) ** np.arange(3) / p[:, None]
        end = np.exp(1j * omega)
        transform = LINE_INTEGRAL * rate**5 / (rate**2 + omega**2) ** 3
        integrals = transform[:, None] * np.exp(1j * omega[:, None] * self.knots)
        integrals -= powers @ left.T
        integrals -= (end[:, None] * powers.conj()) @ right.T
        wave_means = np.exp(0.5j * omega) * np.sinc(0.5 * omega / np.pi)
        means = (LINE_INTEGRAL - (left + right) @ FACTORIALS) / rate
        out[present] = (integrals - wave_means[:, None] * means) * self.sizes
        return out

    def _tails(self) -> tuple[Floats, Floats]:
        """exp(−A)·p_k(A) (n, 3), for the distances A from the left end and from the right one."""
        inside = np.clip(self.knots, 0.0, 1.0)
        return _tail(self.rate * inside), _tail(self.rate * (1.0 - inside))


def _tail(A: Floats) -> Floats:
    """exp(−A)·p_k(A) (n, 3)."""
    columns = (1.0 + A + A**2 / 3.0, 1.0 + 2.0 * A / 3.0, np.full_like(A, 1.0 / 3.0))
    return np.exp(-A)[:, None] * np.stack(columns, axis=1)
