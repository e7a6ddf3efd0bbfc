"""Finite rank: the paper's model, a sum of products of factors, sampled by Gibbs updates."""
