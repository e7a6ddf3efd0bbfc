"""Sums of cosines: the library's cosine takes one number at a time, these loops are vectorised."""

import math

import numpy as np

from bktf._compiled.numba_options import compiled, compiled_part

INV_PI = 1.0 / math.pi
# Their sum is π. The first has few significant bits, so that n·PI_HIGH is exact for n below 2²³.
PI_HIGH, PI_LOW = 3.141592651605606, 1.984187159361081e-09
TO_INTEGER = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the last bits
# Of the sine: (−1)^k / (2k + 1)!
S1, S2, S3, S4, S5, S6, S7, S8, S9 = ((-1.0) ** k / math.factorial(2 * k + 1) for k in range(1, 10))


@compiled_part
def write_sines(x, shift, buffer, out):
    """Write sin(x + shift) into out, to about 1e-15 where |x| is below 1e6; buffer is overwritten.

    With n the integer nearest to x / π, sin(x) = (−1)ⁿ·sin(x − n·π), and that is a polynomial.
    """
    for i in range(x.size):
        v = x[i] + shift
        rounded = v * INV_PI + TO_INTEGER
        buffer[i] = rounded
        n = rounded - TO_INTEGER
        r = (v - n * PI_HIGH) - n * PI_LOW
        s = r * r
        tail = S5 + s * (S6 + s * (S7 + s * (S8 + s * S9)))
        out[i] = r + r * s * (S1 + s * (S2 + s * (S3 + s * (S4 + s * tail))))
    bits, signs = out.view(np.int64), buffer.view(np.int64)
    for i in range(x.size):
        bits[i] ^= signs[i] << 63  # an odd n changes the sign


@compiled
def sum_cosines(angles, amplitudes, out):
    """Add Σ_f amplitudes_f·cos(angles_if) to out (m,); angles (m, F)."""
    n_features = amplitudes.size
    buffer, sines = np.empty(n_features), np.empty(n_features)
    for i in range(out.size):
        write_sines(angles[i], 0.5 * math.pi, buffer, sines)
        total = 0.0
        for f in range(n_features):
            total += amplitudes[f] * sines[f]
        out[i] += total
