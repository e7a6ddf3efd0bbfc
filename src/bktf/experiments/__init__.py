"""The experiments of the paper: test functions, baselines, runs, tables and figures. `bktf reproduce` is their front door."""
