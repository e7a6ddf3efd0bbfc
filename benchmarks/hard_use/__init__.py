"""Hard use: long histories, pruning, rare huge values, noise, thin feasible sets, tables of categories."""
