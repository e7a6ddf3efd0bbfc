"""How little R vectors teach a full covariance between levels: the table of docs/sampler.md.

Two halves of the levels have correlation 0.9 within, 0 between. R factors are drawn from that
covariance and taken as known. The posterior of the correlation between two levels of one half,
under the prior of the kernel "wishart", is then the most that can be learned.

Run: python examples/wishart_lesson.py
"""

import numpy as np
from scipy import stats

from bktf.axis_kernels import EXTRA_DOF


def main() -> None:
    rng = np.random.default_rng(0)
    print("| levels | R | posterior mean | posterior standard deviation |\n|---|---|---|---|")
    for n_levels, rank in ((4, 2), (4, 3), (8, 3), (8, 10), (8, 50)):
        half = np.arange(n_levels) < n_levels // 2
        truth = np.where(half[:, None] == half, 0.9, 0.0)
        np.fill_diagonal(truth, 1.0)
        means, deviations = [], []
        for _ in range(200):
            factors = rng.multivariate_normal(np.zeros(n_levels), truth, rank)
            scale = (EXTRA_DOF - 1) * np.eye(n_levels) + factors.T @ factors
            draws = np.asarray(
                stats.invwishart(df=n_levels + EXTRA_DOF + rank, scale=scale).rvs(
                    200, random_state=rng
                )
            )
            correlation = draws[:, 0, 1] / np.sqrt(draws[:, 0, 0] * draws[:, 1, 1])
            means.append(correlation.mean())
            deviations.append(correlation.std())
        print(f"| {n_levels} | {rank} | {np.mean(means):.2f} | {np.mean(deviations):.2f} |")


if __name__ == "__main__":
    main()
