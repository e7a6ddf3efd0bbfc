"""CPU seconds of one suggestion from 60 points of Hartmann-6, in one run.

bktf is compared with Optuna's GPSampler and BoTorch's fully Bayesian SAAS.

python -m benchmarks.peers        (needs torch and botorch: make bench-peers installs the CPU build)
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray

import bktf

Floats = NDArray[np.float64]

A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
B = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
C = np.array([1.0, 1.2, 3.0, 3.2])


def hartmann(X: Floats) -> Floats:
    """Hartmann-6, to be minimised."""
    return np.asarray(-np.exp(-np.einsum("jd,njd->nj", A, (X[:, None, :] - B) ** 2)) @ C)


def cpu(job: Callable[[], Any]) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    job()
    return time.process_time() - began


def gp_sampler(X: Floats, y: Floats) -> Callable[[], Any]:
    """One ask of a study with the data; a first call has warmed it up."""
    space: dict[str, Any] = {
        f"x{d}": optuna.distributions.FloatDistribution(0.0, 1.0) for d in range(6)
    }
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=0))
    for row, value in zip(X.tolist(), y.tolist(), strict=True):
        study.add_trial(
            optuna.trial.create_trial(
                params={f"x{d}": v for d, v in enumerate(row)}, distributions=space, value=value
            )
        )
    study.ask(space)
    return lambda: study.ask(space)


def saas(X: Floats, y: Floats) -> Callable[[], Any]:
    """Fit SAAS by NUTS at BoTorch's defaults and maximise LogEI."""
    import torch
    from botorch.acquisition.logei import qLogExpectedImprovement
    from botorch.fit import fit_fully_bayesian_model_nuts
    from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf

    def suggest() -> None:
        model = SaasFullyBayesianSingleTaskGP(
            torch.tensor(X), torch.tensor(-y)[:, None], outcome_transform=Standardize(1)
        )
        fit_fully_bayesian_model_nuts(model, disable_progbar=True)
        acquisition = qLogExpectedImprovement(model, best_f=float((-y).max()))
        bounds = torch.tensor([[0.0] * 6, [1.0] * 6], dtype=torch.double)
        optimize_acqf(acquisition, bounds, q=1, num_restarts=4, raw_samples=64)

    return suggest


def main() -> int:
    """Print the three times and two ratios; exit code 1 where a ratio is below its limit."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rng = np.random.default_rng(0)
    axes = [np.linspace(0, 1, 12)] * 6
    X = rng.integers(0, 12, (60, 6)) / 11
    y = hartmann(X)

    def ours() -> None:
        bktf.fit(axes, X, y, seed=0).argmin("ei", exclude=X)

    ours()
    ask = gp_sampler(X, y)
    seconds = min(cpu(ours) for _ in range(5))
    gp = float(np.median([cpu(ask) for _ in range(5)]))
    print(f"bktf, 400 sweeps and EI      {seconds:8.3f} s")
    ratio = f"{gp / seconds:6.0f} times ours (wanted 1)"
    print(f"Optuna GPSampler             {gp:8.3f} s   {ratio}", flush=True)
    nuts = cpu(saas(X, y))
    ratio = f"{nuts / seconds:6.0f} times ours (wanted 100)"
    print(f"BoTorch SAAS with NUTS       {nuts:8.3f} s   {ratio}")
    return 0 if gp >= seconds and nuts >= 100 * seconds else 1


if __name__ == "__main__":
    sys.exit(main())
