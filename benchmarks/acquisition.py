"""How fast is the choice of the next point? Ratios and growth within one run, in CPU time.

python -m benchmarks.acquisition
"""

import subprocess
import sys
import time
from functools import partial

import numpy as np
from numpy.typing import NDArray

import bktf
from benchmarks.measuring import check, cpu_seconds, growth
from benchmarks.surrogate import data
from bktf import acquisition
from bktf.product_forms import hull_maximum

Floats = NDArray[np.float64]


def tensor_of(posterior: bktf.Posterior, k: int) -> Floats:
    """The whole tensor of one draw, in the model's units."""
    tensor = np.zeros([axis.size for axis in posterior.grid])
    for r in range(len(posterior.active)):
        term = posterior.weights[k, r] * posterior.factors[0][k, r]
        for factor in posterior.factors[1:]:
            term = np.multiply.outer(term, factor[k, r])
        tensor += term
    return tensor


def enumerate_maximum(posterior: bktf.Posterior) -> float:
    """Max over draws by enumeration of each draw's tensor, observed cells left out."""
    best = -np.inf
    observed = tuple(axis.locate(posterior.X[:, d]) for d, axis in enumerate(posterior.grid))
    for k in range(posterior.n_draws):
        tensor = tensor_of(posterior, k)
        tensor[observed] = -np.inf
        best = max(best, float(tensor.max()))
    return float(posterior.standardisation.to_user(np.array(best)))


def enumerate_improvement(posterior: bktf.Posterior) -> float:
    """EI by enumeration: the mean excess of the draws' tensors, observed cells left out."""
    total = np.zeros([axis.size for axis in posterior.grid])
    best = float(posterior.standardisation.to_model(posterior.y).max())
    for k in range(posterior.n_draws):
        total += np.maximum(tensor_of(posterior, k) - best, 0.0)
    total[tuple(axis.locate(posterior.X[:, d]) for d, axis in enumerate(posterior.grid))] = -np.inf
    return float(posterior.standardisation.scale * total.max() / posterior.n_draws)


def against_enumeration(posterior: bktf.Posterior) -> bool:
    """12⁶ cells, 200 draws, 60 observed points."""
    fine = True
    for name, slow, wanted in [
        ("max", enumerate_maximum, 200.0),
        ("ei", enumerate_improvement, 20.0),
    ]:
        ours = cpu_seconds(partial(acquisition.choose, posterior, name, exclude=posterior.X), 9)
        began = time.process_time()
        expected = slow(posterior)
        theirs = time.process_time() - began
        choice = acquisition.choose(posterior, name, exclude=posterior.X)
        agree = abs(choice.value - expected) <= 1e-9 * max(1.0, abs(expected))
        outcome = "agree" if agree else f"differ: {choice.value} against {expected}"
        print(
            f"  {name}: {ours * 1e3:6.1f} ms against {theirs:5.2f} s: {theirs / ours:5.0f} times "
            f"faster (wanted {wanted:.0f}); values {outcome}"
        )
        fine = fine and theirs / ours >= wanted and agree
    return fine


def maximise(n_dims: int, n_points: int) -> None:
    """The exact maximum of a random smooth rank-2 form."""
    rng = np.random.default_rng(0)
    first, second = (
        0.3 * np.cumsum(rng.standard_normal((n_dims, n_points)), axis=1).reshape(1, -1)
        for _ in range(2)
    )
    starts = np.arange(n_dims + 1, dtype=np.int64) * n_points
    cells = np.empty((1, n_dims), dtype=np.int64)
    hull_maximum.maximise_all(first, second, False, starts, np.ones(starts[-1], dtype=bool), cells)


MEMORY = """
import resource
from benchmarks.acquisition import maximise
maximise(2, 5)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
maximise(200, 100)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3)
"""


def main() -> int:
    """Run everything; exit code 1 where a figure misses its limit."""
    axes, _, X, y = data((12,) * 6, 60)
    posterior = bktf.fit(axes, X, y, seed=0)
    for name in acquisition.ACQUISITIONS:
        acquisition.choose(posterior, name, exclude=X)
    fine = []
    print("12⁶ cells, 200 draws, 60 observed points, against enumerating the tensor (CPU time)")
    fine.append(against_enumeration(posterior))
    print("Exact maximum of a rank-2 form (CPU time)")
    fine.append(check("ms for 100¹⁰⁰ cells", 1e3 * cpu_seconds(partial(maximise, 100, 100)), 50.0))
    fine.append(
        growth(
            "dimensions of 100 points",
            2,
            [(f"{d:>3}", partial(maximise, d, 100)) for d in (25, 50, 100, 200)],
        )
    )
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    fine.append(check("MB of memory that 200 dimensions add", float(done.stdout), 100.0))
    print("A whole suggestion: 400 sweeps and EI (CPU time)")
    axes, _, X, y = data((50,) * 50, 100)
    seconds = cpu_seconds(lambda: bktf.fit(axes, X, y, seed=0).argmax("ei", exclude=X), 1)
    fine.append(check("seconds at D = 50, m = 50, n = 100", seconds, 10.0))
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
