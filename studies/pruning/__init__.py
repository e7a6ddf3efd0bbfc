"""Studies with pruning: bktf against TPE on tables of real learning curves."""
