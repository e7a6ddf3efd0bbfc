"""The surrogate: priors, fit and posterior."""
