"""Engineering emulators with published formulas: cheap, smooth, with interactions.

The formulas are those of Surjanovic & Bingham's collection.

Each is a function of points (n, D) in physical units, minimised, with the names and ranges of its
inputs. `robot_arm` is negated: the reach is to be as long as possible.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ranges = dict[str, tuple[float, float]]

BOREHOLE: Ranges = {
    "borehole_radius": (0.05, 0.15),
    "influence_radius": (100.0, 50000.0),
    "upper_transmissivity": (63070.0, 115600.0),
    "upper_head": (990.0, 1110.0),
    "lower_transmissivity": (63.1, 116.0),
    "lower_head": (700.0, 820.0),
    "length": (1120.0, 1680.0),
    "conductivity": (9855.0, 12045.0),
}
PISTON: Ranges = {
    "weight": (30.0, 60.0),
    "surface": (0.005, 0.020),
    "gas_volume": (0.002, 0.010),
    "spring": (1000.0, 5000.0),
    "pressure": (90000.0, 110000.0),
    "ambient_temperature": (290.0, 296.0),
    "filling_temperature": (340.0, 360.0),
}
CIRCUIT: Ranges = {
    "b1": (50.0, 150.0),
    "b2": (25.0, 70.0),
    "f": (0.5, 3.0),
    "c1": (1.2, 2.5),
    "c2": (0.25, 1.2),
    "gain": (50.0, 300.0),
}
WING: Ranges = {
    "area": (150.0, 200.0),
    "fuel": (220.0, 300.0),
    "aspect": (6.0, 10.0),
    "sweep": (-10.0, 10.0),
    "dynamic_pressure": (16.0, 45.0),
    "taper": (0.5, 1.0),
    "thickness": (0.08, 0.18),
    "load_factor": (2.5, 6.0),
    "design_weight": (1700.0, 2500.0),
    "paint": (0.025, 0.08),
}
ARM: Ranges = {f"angle{i}": (0.0, 2 * math.pi) for i in range(1, 5)} | {
    f"length{i}": (0.0, 1.0) for i in range(1, 5)
}


def borehole(X: Floats) -> Floats:
    """Water flow through a borehole."""
    rw, r, tu, hu, tl, hl, length, kw = X.T
    log = np.log(r / rw)
    return np.asarray(
        2 * math.pi * tu * (hu - hl) / (log * (1 + 2 * length * tu / (log * rw**2 * kw) + tu / tl))
    )


def piston(X: Floats) -> Floats:
    """Cycle time of a piston."""
    m, s, v0, k, p0, ta, t0 = X.T
    a = p0 * s + 19.62 * m - k * v0 / s
    v = s / (2 * k) * (np.sqrt(a**2 + 4 * k * p0 * v0 / t0 * ta) - a)
    return np.asarray(2 * math.pi * np.sqrt(m / (k + s**2 * p0 * v0 / t0 * ta / v**2)))


def circuit(X: Floats) -> Floats:
    """Midpoint voltage of a push-pull circuit without a transformer."""
    rb1, rb2, rf, rc1, rc2, gain = X.T
    vb1 = 12 * rb2 / (rb1 + rb2)
    load = gain * (rc2 + 9)
    return np.asarray(
        (vb1 + 0.74) * load / (load + rf)
        + 11.35 * rf / (load + rf)
        + 0.74 * rf * load / ((load + rf) * rc1)
    )


def wing_weight(X: Floats) -> Floats:
    """Weight of the wing of a light aircraft."""
    sw, wfw, a, sweep, q, taper, tc, nz, wdg, wp = X.T
    cosine = np.cos(np.radians(sweep))
    shape = 0.036 * sw**0.758 * wfw**0.0035 * (a / cosine**2) ** 0.6 * q**0.006 * taper**0.04
    return np.asarray(shape * (100 * tc / cosine) ** -0.3 * (nz * wdg) ** 0.49 + sw * wp)


def robot_arm(X: Floats) -> Floats:
    """Minus the distance that an arm of four segments reaches."""
    angles, lengths = np.cumsum(X[:, :4], axis=1), X[:, 4:]
    return np.asarray(
        -np.hypot((lengths * np.cos(angles)).sum(axis=1), (lengths * np.sin(angles)).sum(axis=1))
    )
