"""Hard use: long histories, pruning, outliers, noise, rare feasible points, category tables."""
