"""Covariance along one axis: Matérn kernels as Markov chains, dense kernels, categories."""
