"""What compiled code shares: Numba's options, slice sampling, vector loops, Cholesky routines. Knows nothing of models."""
