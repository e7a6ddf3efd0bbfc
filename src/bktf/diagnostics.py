"""Has the chain mixed? Split R-hat and effective sample size of quantities that do not depend on labels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def split_rhat(chains: Floats) -> Floats:
    """Split R-hat of (C, N, …) draws: each chain is cut in two, then between- against within-chain variance.

    NaN with fewer than four draws per chain, 1 for a quantity that never changes (Gelman et al. 2013, section 11.4).
    """
    half = chains.shape[1] // 2
    if half < 2:
        return np.full(chains.shape[2:], np.nan)
    parts = np.concatenate((chains[:, :half], chains[:, -half:]), axis=0)
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.sqrt((half - 1) / half + between / within)
    return np.where((within == 0) & (between == 0), 1.0, ratio)


def effective_sample_size(chains: Floats) -> Floats:
    """Effective number of independent draws in (C, N, …), from autocorrelations of the split chains.

    Sums pairs of lags while they are positive, made monotone (Geyer's initial sequence; Vehtari et al. 2021, eq. 10–14).
    """
    half = chains.shape[1] // 2
    if half < 2:
        return np.full(chains.shape[2:], np.nan)
    parts = np.concatenate((chains[:, :half], chains[:, -half:]), axis=0)
    n_parts, n = parts.shape[:2]
    centred = parts - parts.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    autocovariance = np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=1)[:, :n] / n
    within = autocovariance[:, 0].mean(axis=0) * n / (n - 1)
    pooled = within * (n - 1) / n + parts.mean(axis=1).var(axis=0, ddof=1)
    flat = pooled <= 0
    correlation = 1.0 - (within - autocovariance.mean(axis=0)) / np.where(flat, 1.0, pooled)
    correlation[0] = 1.0
    n_pairs = n // 2
    pairs = correlation[: 2 * n_pairs].reshape(n_pairs, 2, *correlation.shape[1:]).sum(axis=1)
    pairs = np.minimum.accumulate(np.where(np.minimum.accumulate(pairs, axis=0) > 0, pairs, 0.0), axis=0)
    total = n_parts * n
    time = np.maximum(2.0 * pairs.sum(axis=0) - 1.0, 1.0 / np.log10(total))
    return np.where(flat, float(total), total / time)


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Split R-hat (1 is mixed, above 1.1 is not) and effective sample size by quantity; print it for a summary."""

    names: tuple[str, ...]
    rhat: Floats
    ess: Floats

    def __str__(self) -> str:
        """The worst quantities and a verdict."""
        worst = np.argsort(-np.nan_to_num(self.rhat, nan=np.inf))[:5]
        width = max(len(self.names[i]) for i in worst)
        lines = [f"{'quantity':{width}s}  split R-hat  effective draws"]
        lines += [f"{self.names[i]:{width}s}  {self.rhat[i]:11.3f}  {self.ess[i]:15.0f}" for i in worst]
        if np.all(np.isnan(self.rhat)):
            lines.append("too few draws to tell: R-hat needs at least four per chain")
        else:
            lines.append(f"{int(np.sum(self.rhat > 1.1))} of {len(self.names)} quantities have R-hat above 1.1")
        return "\n".join(lines)


def diagnose(quantities: dict[str, Floats], n_chains: int) -> Diagnostics:
    """Diagnostics of draws (K,), chain after chain, by name."""
    stacked = np.stack(list(quantities.values()), axis=1)
    stacked = stacked - stacked[:1]  # in units of its own spread, so that values near 1e±300 neither overflow nor vanish
    largest = np.abs(stacked).max(axis=0)
    stacked = stacked / np.where(largest > 0, largest, 1.0)
    chains = stacked.reshape(n_chains, -1, stacked.shape[1])
    return Diagnostics(tuple(quantities), split_rhat(chains), effective_sample_size(chains))
