"""Files of posteriors: what can be saved, and damaged files."""

import contextlib
from pathlib import Path

import numpy as np
import pytest

import bktf
from seeds import seeded

AXES = [np.linspace(0, 1, 5), np.linspace(-1, 1, 4)]
X = np.array([[0.0, -1.0], [0.5, 1.0], [1.0, 0.0], [0.25, 1.0]])
Y = np.array([1.0, 2.0, 0.0, 1.5])


def test_settings_given_as_numpy_numbers_can_be_saved(tmp_path: Path) -> None:
    posterior = bktf.fit(
        AXES, X, Y, seed=seeded(0), n_sweeps=np.int64(20), n_burn_in=np.int64(10), shared_lengthscales=np.bool_(True),  # type: ignore[arg-type]
        priors=bktf.Priors(noise_rate=np.float32(0.01)),  # type: ignore[arg-type]
    )  # fmt: skip
    posterior.save(tmp_path / "p.npz")
    np.testing.assert_array_equal(bktf.load(tmp_path / "p.npz").weights, posterior.weights)


def test_damaged_files_are_refused_and_never_crash_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    bktf.fit(AXES, X, Y, seed=seeded(0), n_sweeps=4, n_burn_in=2).save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(seeded(0))
    for _ in range(200):
        broken = bytearray(whole)
        broken[rng.integers(len(whole))] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(broken))
        with contextlib.suppress(ValueError):
            bktf.load(path)
    np.savez(path, settings=np.array('{"format": 1}'))
    with pytest.raises(ValueError, match="is damaged"):
        bktf.load(path)
    np.savez(path, settings=np.array("[1]"))
    with pytest.raises(ValueError, match="not a posterior"):
        bktf.load(path)
