"""Use a fit inside BoTorch: its noisy expected improvement over our draws, on a grid.

Needs: pip install torch (the CPU build), then pip install 'bktf[botorch]'
Run: python examples/botorch_acquisition.py
"""

import itertools

import numpy as np
import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.optim import optimize_acqf_discrete
from botorch.sampling import SobolQMCNormalSampler

import bktf
from bktf.integrations.botorch import BKTFModel


def f(X: np.ndarray) -> np.ndarray:
    """Two hills, the higher one at (0.7, 0.25)."""
    near = np.exp(-8 * ((X[:, 0] - 0.7) ** 2 + (X[:, 1] - 0.25) ** 2))
    return np.asarray(near + 0.6 * np.exp(-12 * ((X[:, 0] - 0.2) ** 2 + (X[:, 1] - 0.8) ** 2)))


def main() -> None:
    rng = np.random.default_rng(0)
    axes = [np.linspace(0, 1, 21)] * 2
    X = rng.choice(axes[0], (8, 2))
    y = f(X) + rng.normal(0, 0.01, 8)
    choices = torch.tensor(list(itertools.product(*axes)), dtype=torch.double)
    for _ in range(5):
        model = BKTFModel(
            bktf.fit(axes, X, y, seed=0, n_chains=4, n_sweeps=150, n_burn_in=100), n_draws=32
        )
        sampler = SobolQMCNormalSampler(
            torch.Size([16]), seed=0
        )  # few: most of the spread is between the draws
        improvement = qLogNoisyExpectedImprovement(
            model, torch.as_tensor(X), sampler, prune_baseline=False, cache_root=False
        )
        batch, _ = optimize_acqf_discrete(improvement, q=2, choices=choices)
        X = np.vstack((X, batch.numpy()))
        y = np.append(y, f(batch.numpy()) + rng.normal(0, 0.01, 2))
        print(f"{len(y)} evaluations, best {y.max():.3f} at {X[y.argmax()].round(2)}")


if __name__ == "__main__":
    main()
