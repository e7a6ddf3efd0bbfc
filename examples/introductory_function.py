"""Fit the paper's introductory function from 30 random points and show what was learned.

    python examples/introductory_function.py [--seed 0] [--output demo.png]

Prints a short report and writes a picture: the truth, the posterior mean and the posterior standard
deviation.
"""

import argparse
import time

import numpy as np
from numpy.typing import NDArray

import bktf

Floats = NDArray[np.float64]


def introductory_function(x1: Floats, x2: Floats) -> Floats:
    """Nonstationary, nonseparable, multimodal, on [1, 2] × [−1, 0]. Paper: section 7.3.1."""

    def f1(x: Floats) -> Floats:
        return np.asarray(x * (np.sin(2 * x) + 2))

    def f2(x: Floats) -> Floats:
        return np.asarray(0.2 * x * np.sqrt(99 * (x + 1) + 4))

    waves = np.cos(4 * (f1(x1) + f2(x2))) + np.sin(4 * (f1(x2) - f2(x1))) - 1
    return np.asarray(waves * np.exp(-((x1 - 0.5) ** 2) + (x2 - 1) ** 2 / 5))


def plot(
    axes: list[Floats], X: Floats, truth: Floats, moments: bktf.GridMoments, path: str
) -> None:
    """Three surfaces side by side."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    low, high = float(truth.min()), float(truth.max())
    surfaces = [
        ("truth", truth, "viridis", low, high),
        ("posterior mean", moments.mean, "viridis", low, high),
    ]
    surfaces.append(
        ("posterior standard deviation", moments.std, "magma", 0.0, float(moments.std.max()))
    )
    for panel, (title, surface, colours, vmin, vmax) in zip(panels, surfaces, strict=True):
        mesh = panel.pcolormesh(
            axes[0], axes[1], surface.T, cmap=colours, vmin=vmin, vmax=vmax, shading="nearest"
        )
        panel.plot(
            X[:, 0],
            X[:, 1],
            "o",
            color="white",
            markersize=4,
            markeredgecolor="black",
            label="observations",
        )
        panel.set(title=title, xlabel="$x_1$", ylabel="$x_2$")
        figure.colorbar(mesh, ax=panel)
    panels[0].legend(loc="lower left", fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--output", default="demo.png", help="where the picture goes (default: %(default)s)"
    )
    arguments = parser.parse_args()

    axes = [np.linspace(1, 2, 40), np.linspace(-1, 0, 40)]
    truth = introductory_function(*np.meshgrid(*axes, indexing="ij"))
    rng = np.random.default_rng(arguments.seed)
    X = np.stack([axis[rng.integers(0, 40, 30)] for axis in axes], axis=1)
    y = introductory_function(X[:, 0], X[:, 1])

    chains = "four chains of 1000 sweeps, 600 of them burn-in"
    print(f"30 random points of a 40 × 40 grid; rank 4, {chains}")
    began = time.perf_counter()
    posterior = bktf.fit(
        axes,
        X,
        y,
        rank=4,
        n_sweeps=1000,
        n_burn_in=600,
        n_chains=4,
        seed=arguments.seed,
        show_progress_bar=True,
    )
    print(f"fitted in {time.perf_counter() - began:.2f} s: {posterior}\n")

    moments = posterior.grid_moments()
    inside = np.abs(truth - moments.mean) <= 1.645 * moments.std
    best = np.unravel_index(truth.argmax(), truth.shape)
    guess = np.unravel_index(moments.mean.argmax(), truth.shape)
    correlation = np.corrcoef(moments.mean.ravel(), truth.ravel())[0, 1]
    print(f"correlation of posterior mean and truth over all 1600 cells  {correlation:.3f}")
    print(f"cells whose truth lies within mean ± 1.645 std (90 % wanted)  {inside.mean():.0%}")
    where = f"({axes[0][best[0]]:.4f}, {axes[1][best[1]]:.4f})"
    print(f"highest true value      {truth.max():7.4f} at {where}")
    print(f"highest observed value  {y.max():7.4f}")
    where = f"({axes[0][guess[0]]:.4f}, {axes[1][guess[1]]:.4f})"
    highest = f"{moments.mean.max():7.4f} at {where}, truth there {truth[guess]:.4f}"
    print(f"highest posterior mean  {highest}\n")
    print(posterior.diagnostics())
    plot(axes, X, truth, moments, arguments.output)
    print(f"\npicture written to {arguments.output}; README.md shows how to fit your own data")


if __name__ == "__main__":
    main()
