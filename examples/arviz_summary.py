"""Look at the draws of a fit with ArviZ: summaries, and the posterior of the noise.

Needs: pip install 'bktf[arviz]'
Run: python examples/arviz_summary.py
"""

import arviz
import numpy as np

import bktf


def main() -> None:
    rng = np.random.default_rng(0)
    axes = [np.linspace(0, 1, 21)] * 2
    X = rng.choice(axes[0], (25, 2))
    y = np.sin(6 * X[:, 0]) * X[:, 1] + rng.normal(0, 0.05, 25)
    posterior = bktf.fit(axes, X, y, seed=0, n_chains=4)
    data = posterior.to_arviz()
    table = arviz.summary(data)
    print(table.loc[[name for name in table.index if not name.startswith("f[")]])
    print(f"\nnoise: {np.median(posterior.noise_std):.3f} (the data were made with 0.05)")


if __name__ == "__main__":
    main()
