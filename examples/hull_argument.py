"""Plot why a maximum over 30^D cells needs only a few points: a figure of docs/acquisition.md.

    python examples/hull_argument.py [--output docs/figures/hull_argument.png]

The forms are random; the seed is fixed.
"""

import argparse
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

matplotlib.use("Agg")
import matplotlib.pyplot as plt

Floats = NDArray[np.float64]


def vertices(points: Floats) -> Floats:
    """The vertices of the convex hull, in order around it."""
    return np.asarray(points[ConvexHull(points).vertices])


def outline(panel: Any, corners: Floats, **style: object) -> None:
    closed = np.vstack((corners, corners[:1]))
    panel.plot(closed[:, 0], closed[:, 1], **style)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", default="docs/figures/hull_argument.png")
    rng = np.random.default_rng(4)
    x = np.linspace(0, 1, 30)
    axes = [
        np.stack(
            [
                sum(
                    rng.standard_normal() * np.cos(k * np.pi * x + rng.uniform(0, 6)) / k
                    for k in (1, 2, 3)
                )
                for _ in range(2)
            ],
            axis=1,
        )
        for _ in range(10)
    ]
    figure, panels = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")

    first_vertices = vertices(axes[0])
    panels[0].plot(
        axes[0][:, 0], axes[0][:, 1], "o", color="0.7", markersize=4, label="30 points of axis 1"
    )
    panels[0].plot(
        first_vertices[:, 0],
        first_vertices[:, 1],
        "o",
        color="C0",
        label=f"{len(first_vertices)} vertices",
    )
    outline(panels[0], first_vertices, color="C0")
    panels[0].set(
        title="axis 1: $(g_1^1(j),\\ g_1^2(j))$", xlabel="component 1", ylabel="component 2"
    )
    panels[0].legend(fontsize=8)

    every = (axes[0][:, None] * axes[1][None]).reshape(-1, 2)
    few = (first_vertices[:, None] * vertices(axes[1])[None]).reshape(-1, 2)
    kept = vertices(few)
    best = few[few.sum(axis=1).argmax()]
    panels[1].plot(
        every[:, 0], every[:, 1], ".", color="0.8", markersize=3, label="900 products of points"
    )
    panels[1].plot(
        few[:, 0],
        few[:, 1],
        ".",
        color="C1",
        markersize=5,
        label=f"{len(few)} products of vertices",
    )
    panels[1].plot(
        kept[:, 0], kept[:, 1], "o", color="C0", label=f"{len(kept)} vertices, taken on to axis 3"
    )
    outline(panels[1], kept, color="C0")
    span = np.ptp(every[:, 0])
    line = best[0] + span * np.array([-0.25, 0.25])
    panels[1].plot(
        line, best.sum() - line, "--", color="C3", label="largest sum, if this were the last axis"
    )
    panels[1].set(
        title="axes 1 and 2: componentwise products", xlabel="component 1", ylabel="component 2"
    )
    panels[1].set_ylim(top=1.6)
    panels[1].legend(fontsize=8, loc="upper left")

    partial, counts = np.ones((1, 2)), []
    for points in axes:
        products = (partial[:, None] * vertices(points)[None]).reshape(-1, 2)
        partial = vertices(products)
        counts.append(len(partial))
    n_axes = np.arange(1, len(axes) + 1)
    panels[2].semilogy(n_axes, 30.0**n_axes, "o-", color="0.6", label="cells of the grid, $30^D$")
    panels[2].semilogy(n_axes, counts, "o-", color="C0", label="vertices kept")
    panels[2].set(title="what has to be carried along", xlabel="axes multiplied in, D")
    panels[2].legend(fontsize=8)

    figure.savefig(parser.parse_args().output, dpi=110)


if __name__ == "__main__":
    main()
