"""Infinite rank: a Gaussian process with a product kernel."""
