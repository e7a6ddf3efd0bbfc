"""Studies of any size: suggestions after long histories, long budgets, many dimensions."""
