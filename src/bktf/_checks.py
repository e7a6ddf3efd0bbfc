"""Checks of arguments, and warnings, that several front doors share."""

import sys
import warnings

import numpy as np

OWN_MODULES = ("bktf", "dataclasses")  # a warning points at the first line outside of these

# Counts beyond these are mistakes: memory or time would run out long before.
MAX_SWEEPS = 10_000_000
MAX_CHAINS = 10_000
MAX_RANK = 10_000
MAX_TRIALS = 10_000_000


def check_noise_std(noise_std: float | None) -> None:
    """Refuse a known noise that is negative or no number."""
    if noise_std is None:
        return
    is_real = isinstance(noise_std, int | float | np.floating | np.integer)
    if not is_real or isinstance(noise_std, bool) or not np.isfinite(noise_std) or noise_std < 0:
        wanted = "noise_std must be a number of at least 0, in the units of y, or None"
        raise ValueError(f"{wanted}; got {noise_std!r}")


def whole_number(name: str, value: object, low: int, high: int | None = None) -> int:
    """The value, refused where it is not a whole number of at least `low` and at most `high`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise ValueError(f"{name} must be a whole number of at least {low}; got {value!r}")
    if high is not None and value > high:
        raise ValueError(f"{name} must be a whole number of at most {high}; got {value!r}")
    return int(value)


def warn_of_change(text: str) -> None:
    """A FutureWarning at the line of the user's code that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(OWN_MODULES):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, FutureWarning, stacklevel=level)
