"""Studies of what the surrogate says beyond predictions: importance, and when to stop."""
