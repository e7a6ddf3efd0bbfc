"""Checks of arguments that several front doors share."""

import numpy as np

# Counts beyond these are mistakes: memory or time would run out long before.
MAX_SWEEPS = 10_000_000
MAX_CHAINS = 10_000
MAX_RANK = 10_000
MAX_TRIALS = 10_000_000


def check_noise_std(noise_std: float | None) -> None:
    """Refuse a known noise that is negative or no number."""
    if noise_std is None:
        return
    number = isinstance(noise_std, int | float | np.floating | np.integer) and not isinstance(
        noise_std, bool
    )
    if not number or not np.isfinite(noise_std) or noise_std < 0:
        raise ValueError(
            f"noise_std must be a number of at least 0, in the units of y, or None; got {noise_std!r}"
        )


def whole_number(name: str, value: object, least: int, most: int | None = None) -> int:
    """A whole number of at least `least` and, where it is given, at most `most`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be a whole number of at most {most}; got {value!r}")
    return int(value)
